-- No key at all, with rows that are equal in every column; and tables whose only keys are not unique. Guards against:
-- tables without a key skipped, duplicates collapsed by a comparison of sets or by INSERT IGNORE, chunks by a key that
-- is not unique with OFFSET (rows lost or read twice at a border).
DROP DATABASE IF EXISTS c_keys_none;
CREATE DATABASE c_keys_none CHARACTER SET utf8mb4;
USE c_keys_none;

CREATE TABLE heap (a INT, b VARCHAR(20), c DATETIME);
INSERT INTO heap VALUES (1, 'x', '2024-01-01'), (1, 'x', '2024-01-01'), (1, 'x', '2024-01-01'), (NULL, NULL, NULL), (NULL, NULL, NULL),
  (2, '', NULL), (2, NULL, NULL), (2, 'NULL', NULL), (1, 'X', '2024-01-01');

-- 3000 rows of which 2000 are the same.
CREATE TABLE mostly_same (a INT NOT NULL, b CHAR(10) NOT NULL);
INSERT INTO mostly_same
  WITH RECURSIVE s(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM s WHERE n < 749), k(m) AS (SELECT 0 UNION ALL SELECT m + 1 FROM k WHERE m < 3)
  SELECT IF((n * 4 + m) % 3, 7, n), IF((n * 4 + m) % 3, 'same', 'other') FROM s, k;

CREATE TABLE one_column (v VARCHAR(10));
INSERT INTO one_column VALUES (''), (''), (NULL), (NULL), ('a'), ('a'), ('\\N'), ('NULL');

CREATE TABLE blobs_only (b BLOB, t TEXT);
INSERT INTO blobs_only VALUES (0x00, ''), (0x00, ''), (NULL, NULL), (0xFF27, '\n'), (0xFF27, '\n');

-- An ordinary index: 500 rows have 20 values, one of which is NULL.
CREATE TABLE plain_index (k INT NULL, v INT, KEY (k));
INSERT INTO plain_index WITH RECURSIVE s(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM s WHERE n < 499) SELECT NULLIF(n % 20, 0), n DIV 100 FROM s;

-- One row, one column, and that NULL.
CREATE TABLE single_null (a INT);
INSERT INTO single_null VALUES (NULL);
