-- The only key is on a generated column: a stored one as primary key, a virtual one in a unique key. Its values can be
-- selected by but not inserted. Guards against: generated columns left out of the SELECT and so out of the chunk
-- borders, or put into the column list of the restore.
DROP DATABASE IF EXISTS c_keys_generated;
CREATE DATABASE c_keys_generated CHARACTER SET utf8mb4;
USE c_keys_generated;

CREATE TABLE virtual_unique (n INT NOT NULL, v VARCHAR(10), k INT AS (n * 2 + 1) VIRTUAL, UNIQUE KEY (k));
INSERT INTO virtual_unique (n, v)
  WITH RECURSIVE s(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM s WHERE n < 599) SELECT n * n, CONCAT('v', n) FROM s;

CREATE TABLE stored_text_unique (a VARCHAR(10) NOT NULL, b VARCHAR(10) NOT NULL, k VARCHAR(30) AS (CONCAT(a, '\\', b)) STORED, UNIQUE KEY (k));
INSERT INTO stored_text_unique (a, b) VALUES ('a', 'b'), ('a''', 'c'), ('', ''), ('%', '_'), ('B', 'b'), ('é', 'x');

-- From JSON, with NULLs where the member is missing.
CREATE TABLE from_json (doc JSON, id BIGINT AS (JSON_VALUE(doc, '$.id')) VIRTUAL, UNIQUE KEY (id));
INSERT INTO from_json (doc) VALUES ('{"id": 7}'), ('{"id": -9000000000000000000}'), ('{"x": 1}'), ('{}'), (NULL), ('{"id": 8}');
