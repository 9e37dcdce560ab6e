-- Columns that `SELECT *` and an INSERT without a column list leave out, though they hold data. Guards against: their
-- values lost, or a column count that does not fit; one is even in the primary key.
DROP DATABASE IF EXISTS c_invisible_columns;
CREATE DATABASE c_invisible_columns CHARACTER SET utf8mb4;
USE c_invisible_columns;

CREATE TABLE last_one (id INT NOT NULL PRIMARY KEY, v VARCHAR(10), secret VARCHAR(20) DEFAULT 'hidden' INVISIBLE);
INSERT INTO last_one (id, v, secret) VALUES (1, 'a', 'x'), (2, 'b', NULL), (3, 'c', 'it''s');
INSERT INTO last_one VALUES (4, 'd');
CREATE TABLE first_and_middle (h1 INT NOT NULL DEFAULT 7 INVISIBLE, a INT, h2 BLOB INVISIBLE, b INT, h3 INT AS (a + b) VIRTUAL INVISIBLE, c VARCHAR(5));
INSERT INTO first_and_middle (h1, a, h2, b, c) VALUES (1, 2, x'00FF', 3, 'x'), (7, NULL, NULL, NULL, NULL), (-1, 5, '', 6, '');
CREATE TABLE key_hidden (id INT NOT NULL AUTO_INCREMENT INVISIBLE PRIMARY KEY, v VARCHAR(10));
INSERT INTO key_hidden VALUES ('a'), ('b'), ('b');
INSERT INTO key_hidden (id, v) VALUES (100, 'c');
CREATE TABLE all_but_one (a INT INVISIBLE, b VARCHAR(10) INVISIBLE, c DATETIME(6) INVISIBLE, seen INT);
INSERT INTO all_but_one (a, b, c, seen) VALUES (1, 'x', '2024-01-01 00:00:00.5', NULL), (NULL, NULL, NULL, 1), (1, 'x', '2024-01-01 00:00:00.5', NULL);
CREATE TABLE stamps (id INT NOT NULL PRIMARY KEY, changed TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6) ON UPDATE CURRENT_TIMESTAMP(6) INVISIBLE);
INSERT INTO stamps (id, changed) VALUES (1, '2000-01-01 00:00:00.000001'), (2, '2001-01-01 00:00:00');
