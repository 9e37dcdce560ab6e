-- Character keys: values with quotes, backslashes, % and _, accents and control characters; collations that call
-- different bytes equal, sort out of byte order, treat two letters as one, or ignore trailing spaces. Guards against:
-- chunk borders put into SQL unescaped or through LIKE; borders compared by the client in byte order while the server
-- compares by collation; equal-but-different values on both sides of a border lost or read twice.
DROP DATABASE IF EXISTS c_keys_char;
CREATE DATABASE c_keys_char CHARACTER SET utf8mb4;
USE c_keys_char;

CREATE TABLE punctuation (k VARCHAR(40) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL PRIMARY KEY, n INT);
INSERT INTO punctuation VALUES
  ('', 1), ('''', 2), ('"', 3), ('`', 4), ('\\', 5), ('\\''', 6), ('%', 7), ('%%', 8), ('\\%', 9), ('_', 10),
  ('a''b', 11), ('a"b', 12), ('a''''b', 13), ('a\\', 14), ('a\\''b', 15), ('''; DROP TABLE x; -- ', 16), ('/* c */', 17),
  ('#', 18), ('--', 19), ('?', 20), (':x', 21), ('{}', 22), ('%s', 23), ('\t', 24), ('\n', 25), ('\r', 26), ('\0', 27),
  ('\Z', 28), ('a\0b', 29), ('NULL', 30), ('\\N', 31), ('é', 32), ('É', 33), ('日本', 34), ('😀', 35), ('😀z', 36),
  ('e', 37), (_utf8mb4 0x65CC81, 38), (_utf8mb4 0xEFBFBF, 39), (_utf8mb4 0xF48FBFBF, 40), (_utf8mb4 0xEFBFBD, 41);

-- 1500 mixed-case keys: byte order (all capitals first) is not collation order.
CREATE TABLE mixed_case (k VARCHAR(40) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci NOT NULL PRIMARY KEY, n INT);
INSERT INTO mixed_case
  WITH RECURSIVE s(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM s WHERE n < 749), k(m) AS (SELECT 0 UNION ALL SELECT m + 1 FROM k WHERE m < 1)
  SELECT CONCAT(IF((n + m) % 2, 'é', 'E'), IF(n % 3, UPPER(LEFT(SHA2(n, 256), 6)), LEFT(SHA2(n, 256), 6)), '''', m), n FROM s, k;

CREATE TABLE letters (k VARCHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci NOT NULL PRIMARY KEY);
INSERT INTO letters VALUES
  ('apple'), ('Banana'), ('cherry'), ('Éclair'), ('eclipse'), ('Zebra'), ('zoo'), ('_under'), ('~tilde'), ('ñandú'), ('nu'),
  ('ß'), ('st'), ('Ω'), ('ω2'), ('я'), ('Ю'), ('0'), ('1'), ('10'), ('2'), ('-1');

-- Different bytes, equal to the server, under a key that is not unique; no other key to split by.
CREATE TABLE equal_bytes (k VARCHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci NOT NULL, n INT, KEY (k));
INSERT INTO equal_bytes VALUES
  ('a', 1), ('A', 2), ('á', 3), ('Á', 4), ('a ', 5), ('a  ', 6), ('ß', 7), ('ss', 8), ('SS', 9), ('sS', 10), ('a', 11),
  ('ａ', 12), ('Ⓐ', 13), ('', 14), (' ', 15), (_utf8mb4 0xC2AD, 17), ('b', 18), ('B', 19);

-- The same, as the first column of a primary key.
CREATE TABLE equal_prefix (k VARCHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci NOT NULL, n INT NOT NULL, PRIMARY KEY (k, n));
INSERT INTO equal_prefix
  WITH RECURSIVE s(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM s WHERE n < 599)
  SELECT ELT(n % 6 + 1, 'a', 'A', 'á', 'Á', 'a ', 'B'), n FROM s;

-- Trailing spaces: kept in VARCHAR, though they do not count in comparison; not kept in CHAR.
CREATE TABLE padded_varchar (k VARCHAR(10) CHARACTER SET latin1 COLLATE latin1_bin NOT NULL PRIMARY KEY);
INSERT INTO padded_varchar VALUES (''), ('a '), ('b'), ('c   '), ('\t'), ('c\t');
CREATE TABLE padded_char (k CHAR(5) CHARACTER SET latin1 COLLATE latin1_swedish_ci NOT NULL PRIMARY KEY);
INSERT INTO padded_char VALUES (''), ('a'), ('b   '), ('ab\t'), ('  a');

-- In German phone book order ä = ae; in Czech ch follows h; in Spanish ll follows l; in Swedish å, ä, ö follow z.
CREATE TABLE german (k VARCHAR(20) CHARACTER SET latin1 COLLATE latin1_german2_ci NOT NULL PRIMARY KEY);
INSERT INTO german VALUES ('Muller'), ('Müllex'), ('Muelles'), ('Müllet'), ('Mufler'), ('Öl'), ('Ofen'), ('of'), ('ß'), ('st');
CREATE TABLE czech (k VARCHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_czech_ci NOT NULL PRIMARY KEY);
INSERT INTO czech VALUES ('cena'), ('chata'), ('hora'), ('chléb'), ('ihned'), ('čas'), ('cz'), ('CH'), ('c'), ('hz');
CREATE TABLE spanish (k VARCHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_spanish2_ci NOT NULL PRIMARY KEY);
INSERT INTO spanish VALUES ('lana'), ('llama'), ('luz'), ('lz'), ('m'), ('chico'), ('cz'), ('d'), ('ñu'), ('nz');
CREATE TABLE swedish (k VARCHAR(20) CHARACTER SET latin1 COLLATE latin1_swedish_ci NOT NULL PRIMARY KEY);
INSERT INTO swedish VALUES ('zon'), ('ål'), ('äng'), ('öl'), ('abc'), ('yx'), ('üy'), ('~');

-- Keys in character sets that are not ASCII-compatible.
CREATE TABLE utf16_key (k VARCHAR(20) CHARACTER SET utf16 COLLATE utf16_general_ci NOT NULL PRIMARY KEY, n INT);
INSERT INTO utf16_key VALUES ('a''b', 1), ('\\', 2), ('é', 3), ('日', 4), ('😀', 5), ('z', 6), ('', 7);
CREATE TABLE sjis_key (k VARCHAR(20) CHARACTER SET sjis NOT NULL PRIMARY KEY, n INT);
INSERT INTO sjis_key VALUES (_sjis 0x955C, 1), (_sjis 0x8E9A, 2), (_sjis 0x835C5C, 3), (_sjis 0xB1, 4), (_sjis 0x27, 5);
