-- Every byte value, alone and next to each byte that text formats treat specially, in BINARY, VARBINARY, the BLOBs and latin1 (whose bytes
-- 81, 8D, 8F, 90 and 9D have no character in cp1252, but survive on both servers). Guards against: escaping rules that miss one
-- byte or one pair (0x5C 0x4E is \N, 0x5C 0x30 a NUL), BINARY's padding, conversion of bytes through a character set.
DROP DATABASE IF EXISTS c_bytes_all;
CREATE DATABASE c_bytes_all CHARACTER SET utf8mb4;
USE c_bytes_all;

CREATE TABLE singles (n INT NOT NULL PRIMARY KEY, b BINARY(1), v VARBINARY(3), l VARCHAR(3) CHARACTER SET latin1, lc CHAR(1) CHARACTER SET latin1, t BLOB);
INSERT INTO singles WITH RECURSIVE s(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM s WHERE n < 255)
  SELECT n, CHAR(n), CHAR(n), CHAR(n USING latin1), CHAR(n USING latin1), CHAR(n) FROM s;

-- Backslash, quote, tab, newline, NUL, 0xFF before and after every byte.
CREATE TABLE pairs (id INT NOT NULL AUTO_INCREMENT PRIMARY KEY, v VARBINARY(4), l VARCHAR(4) CHARACTER SET latin1);
INSERT INTO pairs (v, l)
  WITH RECURSIVE s(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM s WHERE n < 255), x(m) AS (SELECT 92 UNION SELECT 39 UNION SELECT 9 UNION SELECT 10 UNION SELECT 0 UNION SELECT 255)
  SELECT CONCAT(CHAR(m), CHAR(n)), CONCAT(CHAR(n USING latin1), CHAR(m USING latin1)) FROM s, x;

-- All 256 in one value, forwards and backwards, in every binary type.
CREATE TABLE whole (id INT NOT NULL PRIMARY KEY, b BINARY(255), v VARBINARY(600), tb TINYBLOB, bl BLOB, mb MEDIUMBLOB, lb LONGBLOB, lt TEXT CHARACTER SET latin1);
SET SESSION group_concat_max_len = 100000;
INSERT INTO whole SELECT 1, LEFT(a, 255), CONCAT(a, z), LEFT(z, 255), a, z, CONCAT(a, a, z), CONVERT(a USING latin1) FROM (
  SELECT UNHEX(GROUP_CONCAT(LPAD(HEX(n), 2, '0') ORDER BY n SEPARATOR '')) AS a, UNHEX(GROUP_CONCAT(LPAD(HEX(n), 2, '0') ORDER BY n DESC SEPARATOR '')) AS z
  FROM (WITH RECURSIVE s(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM s WHERE n < 255) SELECT n FROM s) AS q) AS w;
INSERT INTO whole VALUES (2, '', '', '', '', '', '', ''), (3, NULL, NULL, NULL, NULL, NULL, NULL, NULL), (4, x'00', x'00', x'00', x'0000', x'5C4E', x'5C5C4E', x'5C4E'), (5, x'20', x'20', x'2020', x'0A', x'0D0A', x'1A', x'1A'), (6, x'EFBBBF', x'EFBBBF', x'FFFE', x'FEFF', x'5C', x'27', x'22');
