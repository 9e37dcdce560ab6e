-- Characters beyond the BMP (four bytes in UTF-8) in literals of definitions: DEFAULT, generated columns, CHECK, partition lists, views,
-- routines, triggers, events. SHOW CREATE TABLE passes through utf8mb3: with character_set_results = utf8mb4 MySQL
-- prints '????' for the character in a DEFAULT expression, a generated column and a CHECK, with binary the true bytes.
-- MariaDB prints these right, but '?' for a plain DEFAULT '😀' under every setting (HEX(DEFAULT(a)) knows better); MySQL
-- prints that one as 0xF09F9880. Guards against: definitions that restore without any error and compute something else.
DROP DATABASE IF EXISTS c_four_byte_literals;
CREATE DATABASE c_four_byte_literals CHARACTER SET utf8mb4;
USE c_four_byte_literals;

CREATE TABLE expression_default (id INT NOT NULL AUTO_INCREMENT PRIMARY KEY, a VARCHAR(20) DEFAULT (CONCAT('😀', 'x')), b VARCHAR(20) DEFAULT 'é');
INSERT INTO expression_default (b) VALUES ('1'), ('2');
CREATE TABLE computed (id INT NOT NULL PRIMARY KEY, a VARCHAR(20), v VARCHAR(20) AS (CONCAT(a, '😀')) VIRTUAL, s VARCHAR(20) AS (REPLACE(a, '😀', 'smile')) STORED);
INSERT INTO computed (id, a) VALUES (1, 'a'), (2, 'x😀y'), (3, '?'), (4, '????'), (5, NULL);
CREATE TABLE checked (id INT NOT NULL PRIMARY KEY, a VARCHAR(20), CONSTRAINT only_these CHECK (a IN ('😀', '😁', 'é')));
INSERT INTO checked VALUES (1, '😀'), (2, '😁'), (3, 'é'), (4, NULL);
CREATE TABLE listed (a VARCHAR(10) COLLATE utf8mb4_bin) PARTITION BY LIST COLUMNS (a) (PARTITION p1 VALUES IN ('😀', 'a'), PARTITION p2 VALUES IN ('😁', 'é'));
INSERT INTO listed VALUES ('😀'), ('😁'), ('é'), ('a');

CREATE VIEW smile AS SELECT '😀' AS x, CHAR_LENGTH('😀é') AS n, g.v FROM computed AS g WHERE g.a <> '😁';
DELIMITER //
CREATE FUNCTION smiley(n INT) RETURNS VARCHAR(20) CHARACTER SET utf8mb4 DETERMINISTIC COMMENT 'é' RETURN REPEAT('😀', n)//
CREATE PROCEDURE say() BEGIN SELECT '😀' AS `x`, 'é'; -- MySQL refuses such a character in a comment
END//
CREATE TRIGGER mark BEFORE UPDATE ON computed FOR EACH ROW SET NEW.a = CONCAT(NEW.a, '😀')//
CREATE EVENT grin ON SCHEDULE AT '2037-01-01 00:00:00' DISABLE COMMENT 'ü' DO UPDATE computed SET a = '😀'//
DELIMITER ;
