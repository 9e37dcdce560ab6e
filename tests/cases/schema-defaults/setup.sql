-- Schemas with a default character set and collation of their own (the collation not being the character set's default),
-- with tables made before and after the default was changed, tables of the default and of another; comments of schemas are
-- MariaDB's. Guards against: schemas created with the target server's default, and columns or routine parameters without
-- a character set of their own that take over that.
DROP DATABASE IF EXISTS c_schema_defaults;
DROP DATABASE IF EXISTS c_schema_defaults_latin1;
DROP DATABASE IF EXISTS c_schema_defaults_bin;
CREATE DATABASE c_schema_defaults CHARACTER SET cp1251 COLLATE cp1251_bulgarian_ci;
CREATE DATABASE c_schema_defaults_latin1 CHARACTER SET latin1 COLLATE latin1_german2_ci;
CREATE DATABASE c_schema_defaults_bin CHARACTER SET binary;

USE c_schema_defaults;
CREATE TABLE made_before (a VARCHAR(10), b VARCHAR(10) COLLATE cp1251_general_ci, c TEXT CHARACTER SET utf8mb4);
INSERT INTO made_before VALUES ('Жж', 'Ж', '日');
ALTER DATABASE c_schema_defaults CHARACTER SET utf8mb4 COLLATE utf8mb4_polish_ci;
CREATE TABLE made_after (a VARCHAR(10), b VARCHAR(10) COLLATE cp1251_general_ci, c ENUM('ł','l'));
INSERT INTO made_after VALUES ('łŁ', 'Ж', 'ł');
CREATE FUNCTION typed(a VARCHAR(10)) RETURNS VARCHAR(10) DETERMINISTIC RETURN a;

USE c_schema_defaults_latin1;
CREATE TABLE t (a VARCHAR(10) NOT NULL PRIMARY KEY, b TEXT, c VARCHAR(10) COLLATE latin1_swedish_ci);
INSERT INTO t VALUES ('Ä', 'ß', 'é'), ('Ad', 'ss', 'E');
CREATE TABLE with_own (a VARCHAR(10)) COLLATE utf8mb4_bin;
INSERT INTO with_own VALUES ('日');
DELIMITER //
CREATE PROCEDURE p(a VARCHAR(10)) BEGIN DECLARE b VARCHAR(10) DEFAULT 'ä'; SELECT a = b; END//
DELIMITER ;

USE c_schema_defaults_bin;
CREATE TABLE t (a VARCHAR(10), b CHAR(3), c TEXT, d ENUM('x','y'));
INSERT INTO t VALUES (0xFF5C, 0x00, 0xC328, 'x');
