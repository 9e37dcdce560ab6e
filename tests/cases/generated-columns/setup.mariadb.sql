-- MariaDB: PERSISTENT, the old word for STORED; expressions that depend on the session's sql_mode are refused in indexes there.
USE c_generated_columns;
SET sql_mode = 'PIPES_AS_CONCAT';
CREATE TABLE pipes (id INT NOT NULL PRIMARY KEY, a VARCHAR(10), p VARCHAR(30) AS (a || '-' || id) PERSISTENT, v VARCHAR(10) GENERATED ALWAYS AS (TRIM(TRAILING FROM a)) VIRTUAL);
INSERT INTO pipes (id, a) VALUES (1, 'x'), (2, 'y  '), (3, NULL);
SET sql_mode = DEFAULT;
