-- Names of 64 characters, the most there can be: ASCII, two and three bytes each in UTF-8 (192 bytes), for every kind of object, also
-- names that agree in the first 63 characters. As a file name the servers encode ế with three bytes, so a table's name of 64 fits;
-- 日 takes five there and a table of 64 of them fails with "File name too long" (so does a dump file's naive name), but
-- not a column. Guards against: file names longer than 255 bytes, names cut to 64 bytes, suffixes (`.triggers`, `_new`)
-- added to a full name.
DROP DATABASE IF EXISTS c_names_long;
DROP DATABASE IF EXISTS c_names_long_bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb;
CREATE DATABASE c_names_long CHARACTER SET utf8mb4;
CREATE DATABASE c_names_long_bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb CHARACTER SET utf8mb4;
USE c_names_long;

SET @ascii = REPEAT('a', 64), @ascii2 = CONCAT(REPEAT('a', 63), 'b'), @latin = REPEAT('é', 64), @wide = REPEAT('ế', 64), @wide2 = CONCAT(REPEAT('ế', 63), 'b'), @cjk = REPEAT('日', 64), @cjk50 = REPEAT('日', 50), @view = CONCAT(REPEAT('ế', 63), 'w');
DELIMITER //
CREATE PROCEDURE run(IN statement TEXT CHARACTER SET utf8mb4)
BEGIN
  SET @sql = REPLACE(REPLACE(REPLACE(REPLACE(REPLACE(REPLACE(REPLACE(REPLACE(statement, '{a}', @ascii), '{b}', @ascii2), '{l}', @latin), '{w}', @wide), '{v}', @wide2), '{c}', @cjk), '{50}', @cjk50), '{x}', @view);
  PREPARE s FROM @sql;
  EXECUTE s;
  DEALLOCATE PREPARE s;
END//
DELIMITER ;
CALL run('CREATE TABLE `{a}` (`{a}` INT NOT NULL PRIMARY KEY, `{c}` INT, KEY `{c}` (`{c}`), CONSTRAINT `{b}` CHECK (`{c}` > 0))');
CALL run('INSERT INTO `{a}` VALUES (1, 2)');
CALL run('CREATE TABLE `{b}` (`{b}` INT NOT NULL PRIMARY KEY, p INT, CONSTRAINT `{w}` FOREIGN KEY (p) REFERENCES `{a}` (`{a}`))');
CALL run('INSERT INTO `{b}` VALUES (3, 1)');
CALL run('CREATE TABLE `{l}` (`{l}` INT NOT NULL PRIMARY KEY)');
CALL run('INSERT INTO `{l}` VALUES (1)');
CALL run('CREATE TABLE `{w}` (`{w}` INT NOT NULL, `{v}` INT, `{c}` VARCHAR(10), PRIMARY KEY (`{w}`), UNIQUE KEY `{w}` (`{v}`), KEY `{v}` (`{c}`))');
CALL run('INSERT INTO `{w}` VALUES (1, 2, ''x''), (2, NULL, ''日'')');
CALL run('CREATE TABLE `{v}` (`{c}` INT)');
CALL run('INSERT INTO `{v}` VALUES (1)');
CALL run('CREATE TABLE `{50}` (id INT NOT NULL PRIMARY KEY)');
CALL run('INSERT INTO `{50}` VALUES (1)');
CALL run('CREATE TABLE parted (id INT NOT NULL PRIMARY KEY) PARTITION BY RANGE (id) (PARTITION `{a}` VALUES LESS THAN (5), PARTITION `{b}` VALUES LESS THAN (10))');
CALL run('INSERT INTO parted VALUES (1), (7)');
CALL run('CREATE VIEW `{x}` AS SELECT `{w}` AS `{c}` FROM `{w}`');
DELIMITER //
CREATE TRIGGER aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa BEFORE DELETE ON parted FOR EACH ROW SET @x = 1//
CREATE TRIGGER ếếếếếếếếếếếếếếếếếếếếếếếếếếếếếếếếếếếếếếếếếếếếếếếếếếếếếếếế AFTER DELETE ON aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa FOR EACH ROW SET @x = 1//
CREATE PROCEDURE 日日日日日日日日日日日日日日日日日日日日日日日日日日日日日日日日日日日日日日日日日日日日日日日日日日日日日日日日日日日日日日日日() SELECT 1//
CREATE FUNCTION 日日日日日日日日日日日日日日日日日日日日日日日日日日日日日日日日日日日日日日日日日日日日日日日日日日日日日日日日日日日日日日日日() RETURNS INT DETERMINISTIC RETURN 1//
CREATE EVENT 日日日日日日日日日日日日日日日日日日日日日日日日日日日日日日日日日日日日日日日日日日日日日日日日日日日日日日日日日日日日日日日日 ON SCHEDULE AT '2036-01-01 00:00:00' DISABLE DO SET @x = 1//
DELIMITER ;
DROP PROCEDURE run;
CREATE TABLE c_names_long_bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb.t (id INT NOT NULL PRIMARY KEY);
INSERT INTO c_names_long_bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb.t VALUES (1);
