-- Bytes that the character set accepts but has no character for: 0x98 in cp1251, 0x81 in cp1250, several in greek, hebrew,
-- cp1257, tis620, macce, and two-byte codes of gbk, big5, sjis and euckr. On the way through utf8mb4 each becomes '?', without a
-- word from the server. Guards against: reading or loading such columns with a conversion, instead of as bytes.
DROP DATABASE IF EXISTS c_bytes_unassigned;
CREATE DATABASE c_bytes_unassigned CHARACTER SET utf8mb4;
USE c_bytes_unassigned;

CREATE TABLE single_byte (n INT NOT NULL PRIMARY KEY, latin1 CHAR(1) CHARACTER SET latin1, cp1250 CHAR(1) CHARACTER SET cp1250, cp1251 CHAR(1) CHARACTER SET cp1251, cp1256 CHAR(1) CHARACTER SET cp1256,
  cp1257 CHAR(1) CHARACTER SET cp1257, greek CHAR(1) CHARACTER SET greek, hebrew CHAR(1) CHARACTER SET hebrew, tis620 CHAR(1) CHARACTER SET tis620, macce CHAR(1) CHARACTER SET macce,
  latin7 CHAR(1) CHARACTER SET latin7, geostd8 CHAR(1) CHARACTER SET geostd8, armscii8 CHAR(1) CHARACTER SET armscii8, keybcs2 CHAR(1) CHARACTER SET keybcs2);
-- CHAR(n) is binary, so the bytes are taken as they are; _cp1250 x'81' would bring a warning on MySQL.
INSERT INTO single_byte WITH RECURSIVE s(n) AS (SELECT 128 UNION ALL SELECT n + 1 FROM s WHERE n < 255)
  SELECT n, CHAR(n), CHAR(n), CHAR(n), CHAR(n), CHAR(n), CHAR(n), CHAR(n), CHAR(n), CHAR(n),
    CHAR(n), CHAR(n), CHAR(n), CHAR(n) FROM s;

CREATE TABLE multi_byte (id INT NOT NULL PRIMARY KEY, gbk VARCHAR(10) CHARACTER SET gbk, big5 VARCHAR(10) CHARACTER SET big5, sjis VARCHAR(10) CHARACTER SET sjis, cp932 VARCHAR(10) CHARACTER SET cp932, euckr VARCHAR(10) CHARACTER SET euckr, gb2312 VARCHAR(10) CHARACTER SET gb2312, ujis VARCHAR(10) CHARACTER SET ujis);
INSERT INTO multi_byte VALUES
  (1, _gbk 0xFEFE, _big5 0xF9FE, _sjis 0xFCFC, _cp932 0xFCFC, _euckr 0xFEFE, _gb2312 0xF7FE, _ujis 0xFEFE), (2, _gbk 0xA2A1, _big5 0xC8FE, _sjis 0x85A0, _cp932 0x85A0, _euckr 0xC9A1, _gb2312 0xA2A1, _ujis 0xA9A1),
  (3, _gbk 0xAAA1, _big5 0xC87C, _sjis 0x855C, _cp932 0x855C, _euckr 0xC9FE, _gb2312 0xAAA1, _ujis 0x8FA1A1), (4, _gbk 0x61FEFE62, _big5 0x61F9FE62, _sjis 0x61FC5C62, _cp932 0x61F05C62, _euckr 0x61FEA162, _gb2312 0x61F7FE62, _ujis 0x61FEA162);

-- As keys: two rows with keys that the conversion would make equal.
CREATE TABLE keyed (k VARCHAR(5) CHARACTER SET greek COLLATE greek_bin NOT NULL PRIMARY KEY, n INT);
INSERT INTO keyed VALUES (x'AE', 1), (x'D2', 2), (x'FF', 3), (x'3F', 4);
