-- Only MySQL lets a stored generated column be the primary key, and has keys on expressions.
USE c_keys_generated;
CREATE TABLE stored_primary (v VARCHAR(20) NOT NULL, k BINARY(32) AS (UNHEX(SHA2(v, 256))) STORED NOT NULL PRIMARY KEY);
INSERT INTO stored_primary (v)
  WITH RECURSIVE s(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM s WHERE n < 399) SELECT CONCAT('v', n) FROM s;
CREATE TABLE stored_first (id INT NOT NULL, bucket TINYINT AS (id MOD 4) STORED NOT NULL, PRIMARY KEY (bucket, id));
INSERT INTO stored_first (id) WITH RECURSIVE s(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM s WHERE n < 399) SELECT n FROM s;
CREATE TABLE expression_unique (a INT NOT NULL, b VARCHAR(10) NOT NULL, UNIQUE KEY by_expression ((a * 10), (LOWER(b))));
INSERT INTO expression_unique VALUES (1, 'x'), (2, 'X'), (-1, 'y'), (0, '');
