-- Nothing to dump, in every form: empty tables with and without keys, with an auto-increment already advanced, emptied
-- by DELETE; a schema without any object; a schema with nothing but a view, a routine and an event. Guards against: an
-- object skipped because it has no rows, a missing data file taken for a damaged dump, MIN/MAX of no rows, the
-- auto-increment value of an empty table lost.
DROP DATABASE IF EXISTS c_empty;
DROP DATABASE IF EXISTS c_empty_schema;
DROP DATABASE IF EXISTS c_empty_only_view;
CREATE DATABASE c_empty_schema CHARACTER SET latin2;
CREATE DATABASE c_empty CHARACTER SET utf8mb4;
USE c_empty;

CREATE TABLE with_key (id INT NOT NULL PRIMARY KEY);
CREATE TABLE without_key (a INT, b TEXT);
CREATE TABLE advanced (id INT NOT NULL AUTO_INCREMENT PRIMARY KEY, v INT) AUTO_INCREMENT = 5000;
CREATE TABLE emptied (id INT NOT NULL AUTO_INCREMENT PRIMARY KEY, v INT);
INSERT INTO emptied (v) VALUES (1), (2), (3);
DELETE FROM emptied;
CREATE TABLE composite (a INT NOT NULL, b VARCHAR(5) NOT NULL, PRIMARY KEY (a, b));
CREATE TABLE partitioned (id INT NOT NULL PRIMARY KEY) PARTITION BY HASH (id) PARTITIONS 4;
CREATE TABLE nullable_unique (a INT NULL, UNIQUE KEY (a));
CREATE TABLE text_key (k VARCHAR(10) NOT NULL PRIMARY KEY);
CREATE TABLE binary_key (k VARBINARY(10) NOT NULL PRIMARY KEY);
CREATE TABLE enum_key (k ENUM('b','a') NOT NULL PRIMARY KEY);
CREATE TABLE child (id INT NOT NULL PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES with_key (id));
CREATE TABLE with_trigger (id INT NOT NULL PRIMARY KEY);
CREATE TRIGGER t BEFORE INSERT ON with_trigger FOR EACH ROW SET NEW.id = NEW.id + 1;
CREATE TABLE myisam (id INT) ENGINE = MyISAM;
CREATE TABLE memory (id INT) ENGINE = MEMORY;
CREATE TABLE one_row (id INT NOT NULL PRIMARY KEY);
INSERT INTO one_row VALUES (1);

CREATE DATABASE c_empty_only_view CHARACTER SET utf8mb4;
USE c_empty_only_view;
CREATE VIEW constant AS SELECT 1 AS one, 'x' AS x;
CREATE PROCEDURE nothing() BEGIN END;
CREATE EVENT far_away ON SCHEDULE AT '2037-01-01 00:00:00' DISABLE DO SET @x = 1;
