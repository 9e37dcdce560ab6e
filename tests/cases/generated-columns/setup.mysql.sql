-- MySQL: created under other sql_modes, whose effect must be in the printed expression.
USE c_generated_columns;
-- (Not NO_BACKSLASH_ESCAPES: MySQL then computes another value than the expression that it prints would give, so that such a
-- column cannot be restored by anything that goes through its definition.)
SET sql_mode = 'PIPES_AS_CONCAT,ANSI_QUOTES';
CREATE TABLE pipes (id INT NOT NULL PRIMARY KEY, a VARCHAR(10), p VARCHAR(30) AS ("a" || '-' || id) STORED, r VARCHAR(30) AS (REPLACE(a, '-', '--')) VIRTUAL);
INSERT INTO pipes (id, a) VALUES (1, 'x'), (2, 'y-'), (3, NULL);
SET sql_mode = DEFAULT;
-- Virtual, but NOT NULL, and one that is the first part of a functional key as well.
CREATE TABLE not_null (id INT NOT NULL PRIMARY KEY, v INT AS (id + 1) VIRTUAL NOT NULL, s INT AS (id * 2) STORED NOT NULL, UNIQUE KEY ((v * 2)), KEY (s DESC));
INSERT INTO not_null (id) VALUES (1), (2), (-5);
