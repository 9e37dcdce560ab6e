-- Auto-increment columns: gaps at the end (the next value is in the table's definition only), 0 and negative values in the column (which
-- an INSERT would replace by the next number unless sql_mode has NO_AUTO_VALUE_ON_ZERO), the type's last value used up,
-- columns that are a plain index and no primary key, the second column of a MyISAM key (numbered per group). Guards
-- against: 0 restored as another number, the next value reset to max + 1, numbering of groups lost.
DROP DATABASE IF EXISTS c_auto_increment;
CREATE DATABASE c_auto_increment CHARACTER SET utf8mb4;
USE c_auto_increment;
SET sql_mode = 'NO_AUTO_VALUE_ON_ZERO,STRICT_TRANS_TABLES';

CREATE TABLE zero (id INT NOT NULL AUTO_INCREMENT PRIMARY KEY, v VARCHAR(10));
INSERT INTO zero VALUES (0, 'zero'), (1, 'one'), (5, 'five'), (-3, 'negative');
INSERT INTO zero (v) VALUES ('next');
CREATE TABLE gap_at_end (id INT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY, v INT) AUTO_INCREMENT = 1000;
INSERT INTO gap_at_end (v) VALUES (1), (2), (3);
DELETE FROM gap_at_end WHERE id = 1002;
ALTER TABLE gap_at_end AUTO_INCREMENT = 5000000;
CREATE TABLE used_up (id TINYINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY);
INSERT INTO used_up VALUES (1), (254), (255);
CREATE TABLE huge_next (id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY, v INT) AUTO_INCREMENT = 18446744073709551610;
INSERT INTO huge_next (v) VALUES (1), (2);
CREATE TABLE not_primary (k VARCHAR(10) NOT NULL PRIMARY KEY, n INT NOT NULL AUTO_INCREMENT, KEY (n));
INSERT INTO not_primary VALUES ('x', 7), ('a', 0), ('b', 7), ('c', 100);
CREATE TABLE no_primary (n SMALLINT NOT NULL AUTO_INCREMENT, v VARCHAR(5), UNIQUE KEY (n));
INSERT INTO no_primary VALUES (0, 'x'), (30000, 'y');
CREATE TABLE second_column (g CHAR(1) NOT NULL, n INT NOT NULL AUTO_INCREMENT, v INT, PRIMARY KEY (g, n)) ENGINE = MyISAM;
INSERT INTO second_column (g, v) VALUES ('a', 1), ('a', 2), ('b', 1), ('c', 1), ('a', 3), ('b', 2);
INSERT INTO second_column VALUES ('d', 0, 0), ('d', 50, 1);
CREATE TABLE innodb_second (g INT NOT NULL, n INT NOT NULL AUTO_INCREMENT, PRIMARY KEY (g, n), KEY (n));
INSERT INTO innodb_second VALUES (2, 1), (1, 1), (1, 0);
INSERT INTO innodb_second (g) VALUES (2);
CREATE TABLE with_trigger (id INT NOT NULL AUTO_INCREMENT PRIMARY KEY, v INT);
INSERT INTO with_trigger VALUES (0, 1), (10, 2);
CREATE TRIGGER renumber BEFORE INSERT ON with_trigger FOR EACH ROW SET NEW.id = NEW.id + 1000;
CREATE TABLE on_float (id DOUBLE NOT NULL PRIMARY KEY, n BIGINT NOT NULL AUTO_INCREMENT, UNIQUE KEY (n));
INSERT INTO on_float VALUES (0.5, 0), (1.5, 9223372036854775806);
SET sql_mode = DEFAULT;
