-- Members of ENUM and SET, and on MariaDB a plain DEFAULT, with a character of four bytes in UTF-8. The servers store them right, but
-- both print '?' in SHOW CREATE TABLE and in information_schema.COLUMNS, whatever character_set_results says, so the
-- table's definition cannot be had from there: two members may even come out equal ('?','?'), which the target refuses.
-- The true bytes: HEX of the values of rows, of DEFAULT(column), or of a row per index in a temporary table LIKE this.
-- Guards against: 'Duplicated value' on restore, and ENUM values silently turned into '?'.
DROP DATABASE IF EXISTS c_enum_four_byte_members;
CREATE DATABASE c_enum_four_byte_members CHARACTER SET utf8mb4;
USE c_enum_four_byte_members;

CREATE TABLE one (id INT NOT NULL PRIMARY KEY, e ENUM('a','😀','é') NOT NULL DEFAULT '😀', s SET('x','y😁'));
INSERT INTO one VALUES (1, 'a', 'x'), (2, '😀', 'y😁'), (3, 'é', 'x,y😁'), (4, DEFAULT, NULL);
CREATE TABLE several (id INT NOT NULL PRIMARY KEY, e ENUM('😀','😁','?') COLLATE utf8mb4_bin);
INSERT INTO several VALUES (1, '😀'), (2, '😁'), (3, '?'), (4, NULL);
CREATE TABLE plain_default (id INT NOT NULL PRIMARY KEY, a VARCHAR(10) DEFAULT '😀', b CHAR(3) NOT NULL DEFAULT 'é😁', c VARCHAR(5) DEFAULT '?');
INSERT INTO plain_default (id) VALUES (1), (2);
