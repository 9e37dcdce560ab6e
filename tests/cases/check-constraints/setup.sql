-- CHECK constraints, named, unnamed, of a column and of the table, with quotes and functions; and some that rows violate, since
-- these were stored while checks were off (setup.mariadb.sql) or not enforced (setup.mysql.sql). Guards against: rows refused on
-- restore, the constraint's name or its NOT ENFORCED lost, backslashes in the expression doubled.
DROP DATABASE IF EXISTS c_check_constraints;
CREATE DATABASE c_check_constraints CHARACTER SET utf8mb4;
USE c_check_constraints;

CREATE TABLE kept (id INT NOT NULL PRIMARY KEY CHECK (id > 0), a INT CHECK (a BETWEEN 1 AND 10), b VARCHAR(20), c DATE, d VARCHAR(20) DEFAULT 'x' CHECK (d <> 'it''s' AND d <> '\\'),
  CONSTRAINT `named one` CHECK (b LIKE '%\\_%' OR b REGEXP '^[a-z\\\\]+$'), CONSTRAINT dates CHECK (c > '2000-01-01' AND c IS NOT NULL), CHECK (a + id < 1000), CONSTRAINT accents CHECK (b <> 'é日'));
INSERT INTO kept VALUES (1, 1, 'under_score', '2024-01-01', 'a'), (2, NULL, 'abc', '2001-01-01', NULL), (3, 10, 'back\\', '2024-01-01', '');
CREATE TABLE across_columns (a INT, b INT, CHECK (a < b OR b IS NULL));
INSERT INTO across_columns VALUES (1, 2), (2, NULL), (NULL, 1), (1, 2);
