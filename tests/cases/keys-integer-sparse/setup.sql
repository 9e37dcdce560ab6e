-- Integer keys whose range is far larger than the number of rows: both ends of BIGINT, unsigned keys above 2^63, dense
-- runs with one far outlier, clusters 10^18 apart. Guards against: splitting min..max evenly (millions of empty
-- chunks), max + 1 or max - min overflowing a signed 64-bit number, `<` for `<=` at the last chunk (the row with the
-- largest key is lost), unsigned keys read as negative numbers, key 0 and negative keys skipped.
DROP DATABASE IF EXISTS c_keys_integer_sparse;
CREATE DATABASE c_keys_integer_sparse CHARACTER SET utf8mb4;
USE c_keys_integer_sparse;

CREATE TABLE signed_ends (id BIGINT NOT NULL PRIMARY KEY, v VARCHAR(30));
INSERT INTO signed_ends VALUES
  (-9223372036854775808, 'smallest'), (-9223372036854775807, 'smallest + 1'), (-9000000000000000000, '-9e18'),
  (-4611686018427387904, '-2^62'), (-2147483649, 'below INT'), (-1, '-1'), (0, 'zero'), (1, '1'),
  (4294967296, '2^32'), (9007199254740993, '2^53 + 1, not a double'), (9000000000000000000, '9e18'),
  (9223372036854775806, 'largest - 1'), (9223372036854775807, 'largest');

CREATE TABLE unsigned_ends (id BIGINT UNSIGNED NOT NULL PRIMARY KEY, v VARCHAR(30));
INSERT INTO unsigned_ends VALUES
  (0, 'zero'), (1, '1'), (9223372036854775807, '2^63 - 1'), (9223372036854775808, '2^63'),
  (9223372036854775809, '2^63 + 1'), (18000000000000000000, '1.8e19'), (18446744073709551614, '2^64 - 2'),
  (18446744073709551615, '2^64 - 1');

CREATE TABLE only_smallest (id BIGINT NOT NULL PRIMARY KEY);
INSERT INTO only_smallest VALUES (-9223372036854775808);
CREATE TABLE only_largest (id BIGINT UNSIGNED NOT NULL PRIMARY KEY);
INSERT INTO only_largest VALUES (18446744073709551615);

-- 400 rows, every one above 2^63.
CREATE TABLE unsigned_high (id BIGINT UNSIGNED NOT NULL PRIMARY KEY, v INT NOT NULL);
INSERT INTO unsigned_high
  WITH RECURSIVE s(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM s WHERE n < 399)
  SELECT 18446744073709551615 - n * 1000003, n FROM s;

-- 4000 neighbours and three rows very far away.
CREATE TABLE outliers (id BIGINT NOT NULL PRIMARY KEY, v CHAR(40) NOT NULL);
INSERT INTO outliers
  WITH RECURSIVE s(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM s WHERE n < 799), k(m) AS (SELECT 0 UNION ALL SELECT m + 1 FROM k WHERE m < 4)
  SELECT n + 800 * m, LEFT(SHA2(n + 800 * m, 256), 40) FROM s, k;
INSERT INTO outliers VALUES (-9223372036854775808, 'low'), (9223372036854775806, 'high'), (9223372036854775807, 'high');

-- Five clusters of 300 rows, 4 * 10^18 apart.
CREATE TABLE clusters (id BIGINT NOT NULL PRIMARY KEY, v INT NOT NULL);
INSERT INTO clusters
  WITH RECURSIVE s(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM s WHERE n < 299), k(m) AS (SELECT -2 UNION ALL SELECT m + 1 FROM k WHERE m < 2)
  SELECT 4000000000000000000 * m + n * 7, n FROM s, k;

-- Every value of TINYINT, so that no chunk has a border outside the type.
CREATE TABLE whole_tinyint (id TINYINT NOT NULL PRIMARY KEY);
INSERT INTO whole_tinyint WITH RECURSIVE s(n) AS (SELECT -128 UNION ALL SELECT n + 1 FROM s WHERE n < 127) SELECT n FROM s;
CREATE TABLE whole_tinyint_unsigned (id TINYINT UNSIGNED NOT NULL PRIMARY KEY);
INSERT INTO whole_tinyint_unsigned WITH RECURSIVE s(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM s WHERE n < 255) SELECT n FROM s;

-- Leading zeros are display only; a key read as text and taken for octal, or compared as text, loses rows.
CREATE TABLE zerofilled (id INT(8) UNSIGNED ZEROFILL NOT NULL PRIMARY KEY, v VARCHAR(10));
INSERT INTO zerofilled VALUES (0, 'a'), (7, 'b'), (8, 'c'), (10, 'd'), (99999999, 'e'), (4294967295, 'f');

-- No primary key: the sparse unique key is what there is to split by.
CREATE TABLE unique_only (v VARCHAR(10), id BIGINT NOT NULL, UNIQUE KEY sparse (id));
INSERT INTO unique_only VALUES ('a', 9223372036854775807), ('b', -9223372036854775808), ('c', 0), ('d', -1), ('e', 1);
