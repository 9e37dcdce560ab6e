-- Tables in which no column, or only one, can be given a value: all are generated, or have a default that is all there
-- ever was. Guards against: an empty column list in INSERT or LOAD DATA, rows that differ in nothing collapsed, and a
-- dump without any column that gets the number of rows wrong.
DROP DATABASE IF EXISTS c_only_generated_columns;
CREATE DATABASE c_only_generated_columns CHARACTER SET utf8mb4;
USE c_only_generated_columns;

CREATE TABLE generated_only (a INT AS (1 + 1) VIRTUAL, b VARCHAR(10) AS (CONCAT('x', 'y')) STORED);
INSERT INTO generated_only () VALUES (), (), ();

CREATE TABLE one_stored (a INT AS (42) STORED);
INSERT INTO one_stored VALUES (DEFAULT), (DEFAULT);

CREATE TABLE defaults_only (a INT DEFAULT 7, b VARCHAR(10) DEFAULT 'it''s', c INT DEFAULT NULL, d DECIMAL(5,2) DEFAULT (1 + 0.5));
INSERT INTO defaults_only () VALUES (), ();

CREATE TABLE key_and_generated (id INT NOT NULL AUTO_INCREMENT PRIMARY KEY, g INT AS (3) VIRTUAL, d INT DEFAULT (2 * 4));
INSERT INTO key_and_generated () VALUES (), (), ();
DELETE FROM key_and_generated WHERE id = 2;
INSERT INTO key_and_generated (d) VALUES (NULL);

-- The generated columns stand first, last and between.
CREATE TABLE interleaved (g1 INT AS (a + 1) STORED, a INT, g2 VARCHAR(20) AS (CONCAT(b, '-', a)) VIRTUAL, b VARCHAR(10), g3 INT AS (CHAR_LENGTH(b)) VIRTUAL);
INSERT INTO interleaved (a, b) VALUES (1, 'x'), (NULL, 'y'), (2, NULL), (NULL, NULL), (2147483646, 'a\tb');
