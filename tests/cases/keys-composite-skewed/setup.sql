-- Composite primary keys that the first column cannot split: one value holds nearly all rows, or all of them; borders
-- fall inside a run of equal first columns. Guards against: chunks by the first column only (one chunk of the whole
-- table), and `a >= x AND b >= y` in place of the row comparison (rows lost or read twice).
DROP DATABASE IF EXISTS c_keys_composite_skewed;
CREATE DATABASE c_keys_composite_skewed CHARACTER SET utf8mb4;
USE c_keys_composite_skewed;

-- Tenant 5 has 4000 rows, the other nine have three each; order of b is opposed to order of insertion.
CREATE TABLE one_big_tenant (tenant INT NOT NULL, id BIGINT NOT NULL, v VARCHAR(20), PRIMARY KEY (tenant, id));
INSERT INTO one_big_tenant
  WITH RECURSIVE s(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM s WHERE n < 799), k(m) AS (SELECT 0 UNION ALL SELECT m + 1 FROM k WHERE m < 4)
  SELECT 5, 9000000 - (n * 5 + m) * 3, CONCAT('r', n) FROM s, k;
INSERT INTO one_big_tenant
  WITH RECURSIVE s(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM s WHERE n < 9), k(m) AS (SELECT 0 UNION ALL SELECT m + 1 FROM k WHERE m < 2)
  SELECT n, m, 'small' FROM s, k WHERE n <> 5;

-- The first two columns never differ.
CREATE TABLE constant_prefix (a TINYINT NOT NULL, b CHAR(3) NOT NULL, c INT NOT NULL, PRIMARY KEY (a, b, c));
INSERT INTO constant_prefix
  WITH RECURSIVE s(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM s WHERE n < 899) SELECT 1, 'x''y', n * n FROM s;

-- Every column takes few values and only all four together are unique.
CREATE TABLE grid (a TINYINT NOT NULL, b ENUM('z','y','x') NOT NULL, c DATE NOT NULL, d VARCHAR(5) NOT NULL, PRIMARY KEY (a, b, c, d));
INSERT INTO grid
  WITH RECURSIVE s(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM s WHERE n < 809)
  SELECT n DIV 270 - 1, n DIV 90 MOD 3 + 1, '2024-02-27' + INTERVAL n DIV 10 MOD 9 DAY, CONCAT(CHAR(65 + n MOD 10), '%_') FROM s;

-- The key's column order is not the table's, and its first column is the last of the table.
CREATE TABLE reordered (v INT, z INT NOT NULL, y VARCHAR(10) NOT NULL, x INT NOT NULL, PRIMARY KEY (x, z, y));
INSERT INTO reordered
  WITH RECURSIVE s(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM s WHERE n < 499) SELECT n, n MOD 7, CONCAT('k', n), n MOD 2 FROM s;

-- A text column first, unsigned and signed numbers after it.
CREATE TABLE text_first (lang VARCHAR(10) NOT NULL, u BIGINT UNSIGNED NOT NULL, i INT NOT NULL, PRIMARY KEY (lang, u, i));
INSERT INTO text_first VALUES
  ('', 0, 0), ('', 0, -1), ('', 18446744073709551615, 1), ('cs', 9223372036854775808, 2), ('CZ', 1, -2147483648),
  ('da', 1, 2147483647), ('o''h', 5, 5), ('zh', 0, 1), ('zh', 0, 2), ('zh', 0, 3), ('zh', 1, 0);

-- Sixteen key columns, the most that both vendors allow.
CREATE TABLE sixteen (
  a01 TINYINT, a02 TINYINT, a03 TINYINT, a04 TINYINT, a05 TINYINT, a06 TINYINT, a07 TINYINT, a08 TINYINT,
  a09 TINYINT, a10 TINYINT, a11 TINYINT, a12 TINYINT, a13 TINYINT, a14 TINYINT, a15 TINYINT, a16 TINYINT,
  PRIMARY KEY (a01, a02, a03, a04, a05, a06, a07, a08, a09, a10, a11, a12, a13, a14, a15, a16));
INSERT INTO sixteen
  WITH RECURSIVE s(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM s WHERE n < 255)
  SELECT 0, 0, 0, 0, n >> 7 & 1, 0, n >> 6 & 1, 0, n >> 5 & 1, n >> 4 & 1, 0, n >> 3 & 1, n >> 2 & 1, 0, n >> 1 & 1, n & 1 FROM s;
