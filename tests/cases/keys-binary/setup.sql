-- Binary keys that hold every byte value: quote, backslash, NUL, newline, bytes that are no UTF-8. Guards against: chunk
-- borders written as text literals, or converted from or to the connection's character set; padding zeros taken for the
-- end of a string; keys that are prefixes of each other.
DROP DATABASE IF EXISTS c_keys_binary;
CREATE DATABASE c_keys_binary CHARACTER SET utf8mb4;
USE c_keys_binary;

CREATE TABLE one_byte (k BINARY(1) NOT NULL PRIMARY KEY);
INSERT INTO one_byte WITH RECURSIVE s(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM s WHERE n < 255) SELECT CHAR(n) FROM s;

-- Every two-byte value of 1024 chosen ones.
CREATE TABLE two_bytes (k BINARY(2) NOT NULL PRIMARY KEY, n INT);
INSERT INTO two_bytes
  WITH RECURSIVE s(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM s WHERE n < 255), b(m) AS (SELECT 0 UNION SELECT 39 UNION SELECT 92 UNION SELECT 255)
  SELECT UNHEX(CONCAT(LPAD(HEX(n), 2, '0'), LPAD(HEX(m), 2, '0'))), n FROM s, b;

CREATE TABLE prefixes (k VARBINARY(8) NOT NULL PRIMARY KEY, n INT);
INSERT INTO prefixes VALUES
  (x'', 1), (0x00, 2), (0x0000, 3), (0x000000, 4), (0x0001, 5), (0x27, 6), (0x2700, 7), (0x2727, 8), (0x5C, 9), (0x5C5C, 10),
  (0x5C27, 11), (0x5C4E, 12), (0x20, 13), (0x2020, 14), (0x61, 15), (0x6120, 16), (0x41, 17), (0x0A, 18), (0x0D0A, 19),
  (0x09, 20), (0x1A, 21), (0xC3A9, 22), (0xC3, 23), (0xA9, 24), (0xF09F9880, 25), (0xF09F98, 26), (0xFF, 27), (0xFFFF, 28),
  (0xFFFFFFFFFFFFFFFF, 29), (0x3078, 30), (0x80, 31), (0x8000, 32);

-- BINARY(4) pads with 0x00 and those zeros are part of the value.
CREATE TABLE zero_padded (k BINARY(4) NOT NULL PRIMARY KEY, n INT);
INSERT INTO zero_padded VALUES (x'', 1), (0x61, 2), (0x6120, 3), (0x61202020, 4), (0x610000FF, 5), (0xFF, 6);

-- 16-byte identifiers in no order.
CREATE TABLE uuids (k BINARY(16) NOT NULL PRIMARY KEY, n INT NOT NULL);
INSERT INTO uuids
  WITH RECURSIVE s(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM s WHERE n < 999) SELECT UNHEX(LEFT(SHA2(n, 256), 32)), n FROM s;

-- Only the first four bytes are in the key.
CREATE TABLE blob_prefix (k BLOB NOT NULL, n INT, PRIMARY KEY (k(4)));
INSERT INTO blob_prefix VALUES (0x27, 1), (0x5C00, 2), (0x0000000001, 3), (0xFFFFFFFFFE, 4), (REPEAT('x', 9000), 5), (x'', 6);
CREATE TABLE text_prefix (k TEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci NOT NULL, n INT, PRIMARY KEY (k(3)));
INSERT INTO text_prefix VALUES ('é''\\ and more', 1), ('abc and more', 2), ('', 3), ('日本語 and more', 4), ('😀😀😀😀', 5), ('AB', 6);
