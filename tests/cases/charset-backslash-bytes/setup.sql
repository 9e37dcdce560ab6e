-- Characters of gbk, sjis, cp932 and big5 whose second byte is 0x5C (a backslash in ASCII) or 0x7C ('|'). Whoever escapes bytes
-- without knowing the character set doubles that byte, and a server reading in that character set does not take the
-- doubling back; whoever reads such bytes as text ends a string too early. Guards against: mojibake, shifted columns, and
-- rows glued together because the newline after such a character was taken for an escaped one.
DROP DATABASE IF EXISTS c_charset_backslash_bytes;
CREATE DATABASE c_charset_backslash_bytes CHARACTER SET utf8mb4;
USE c_charset_backslash_bytes;

CREATE TABLE texts (id INT NOT NULL PRIMARY KEY, g VARCHAR(30) CHARACTER SET gbk, s VARCHAR(30) CHARACTER SET sjis, c VARCHAR(30) CHARACTER SET cp932, b VARCHAR(30) CHARACTER SET big5, l VARCHAR(30) CHARACTER SET latin1, v VARBINARY(30));
INSERT INTO texts VALUES
  (1, _gbk 0xD55C, _sjis 0x955C, _cp932 0x955C, _big5 0xA55C, _latin1 0x955C, 0x955C),
  (2, _gbk 0xD57C, _sjis 0x837C, _cp932 0x837C, _big5 0xA57C, _latin1 0x837C, 0x837C),
  (3, _gbk 0xD55C6E, _sjis 0x955C6E, _cp932 0x955C6E, _big5 0xA55C6E, _latin1 0x955C6E, 0x955C6E),
  (4, _gbk 0xD55C27, _sjis 0x955C27, _cp932 0x955C27, _big5 0xA55C27, _latin1 0x955C27, 0x955C27),
  (5, _gbk 0xD55C5C, _sjis 0x955C5C, _cp932 0x955C5C, _big5 0xA55C5C, _latin1 0x955C5C, 0x955C5C),
  (6, _gbk 0xD55C0A, _sjis 0x955C0A, _cp932 0x955C0A, _big5 0xA55C0A, _latin1 0x955C0A, 0x955C0A),
  (7, _gbk 0xD55C09D55C, _sjis 0x955C09955C, _cp932 0x955C09955C, _big5 0xA55C09A55C, _latin1 0x955C09955C, 0x955C09955C),
  (8, _gbk 0xD55C00, _sjis 0x955C00, _cp932 0x955C00, _big5 0xA55C00, _latin1 0x955C00, 0x955C00),
  (9, _gbk 0x27D55C, _sjis 0x27955C, _cp932 0x27955C, _big5 0x27A55C, _latin1 0x27955C, 0x27955C),
  (10, _gbk 0x5CD55C, _sjis 0x5C955C, _cp932 0x5C955C, _big5 0x5CA55C, _latin1 0x5C955C, 0x5C955C),
  (11, _gbk 0x815CA85C, _sjis 0x835C945C, _cp932 0x835C945C, _big5 0xB35CBB5C, _latin1 0x835C945C, 0x835C945C),
  (12, _gbk 0xD54E, _sjis 0x5C4E, _cp932 0x5C4E, _big5 0x5C4E, _latin1 0x5C4E, 0x5C4E),
  (13, '', '', '', '', '', ''), (14, NULL, NULL, NULL, NULL, NULL, NULL),
  (15, _gbk 0xD55C20, _sjis 0xA6B15C, _cp932 0x815F8160, _big5 0xA55C20, _latin1 0xD55C20, 0xD55C20);

-- Every character of each set whose second byte is a backslash and that has a Unicode code point.
CREATE TABLE every_one (id INT NOT NULL AUTO_INCREMENT PRIMARY KEY, cs VARCHAR(10), g VARCHAR(5) CHARACTER SET gbk, s VARCHAR(5) CHARACTER SET sjis, b VARCHAR(5) CHARACTER SET big5);
INSERT INTO every_one (cs, g, s, b)
  WITH RECURSIVE n(i) AS (SELECT 164 UNION ALL SELECT i + 1 FROM n WHERE i < 197) SELECT 'big5', NULL, NULL, CONVERT(UNHEX(CONCAT(HEX(i), '5C')) USING big5) FROM n;
INSERT INTO every_one (cs, g, s, b)
  WITH RECURSIVE n(i) AS (SELECT 129 UNION ALL SELECT i + 1 FROM n WHERE i < 160) SELECT 'gbk', CONVERT(UNHEX(CONCAT(HEX(i), '5C')) USING gbk), NULL, NULL FROM n;
INSERT INTO every_one (cs, g, s, b)
  WITH RECURSIVE n(i) AS (SELECT 137 UNION ALL SELECT i + 1 FROM n WHERE i < 151) SELECT 'sjis', NULL, CONVERT(UNHEX(CONCAT(HEX(i), '5C')) USING sjis), NULL FROM n;

-- As table default, in ENUM, SET, DEFAULT and a key.
CREATE TABLE sjis_table (k VARCHAR(20) NOT NULL PRIMARY KEY, e ENUM('表','ソ','a|b') DEFAULT 'ソ', st SET('能','表') DEFAULT '能,表', d VARCHAR(10) NOT NULL DEFAULT '表\\', t TEXT) DEFAULT CHARSET = sjis COMMENT '表';
INSERT INTO sjis_table VALUES ('表', '表', '表', '表', REPEAT('ソ', 500)), ('ソ', 'ソ', '能,表', 'ソ\\', '表''表'), ('a', 'a|b', '', 'ポ|', '\\表\\');
INSERT INTO sjis_table (k) VALUES ('能');
CREATE TABLE gbk_table (k VARCHAR(20) NOT NULL PRIMARY KEY, t LONGTEXT) DEFAULT CHARSET = gbk;
INSERT INTO gbk_table VALUES (_gbk 0xD55C, REPEAT(_gbk 0xD55C, 500)), (_gbk 0xD55C27, _gbk 0xD55C5C6E), (_gbk 0x5C, _gbk 0xD57C);
CREATE TABLE big5_table (k VARCHAR(20) NOT NULL PRIMARY KEY, t TEXT) DEFAULT CHARSET = big5;
INSERT INTO big5_table VALUES ('功', '許功蓋'), ('許''', '功\\'), ('蓋', '功\n功\t功');
