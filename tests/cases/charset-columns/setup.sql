-- One column per character set: single-byte ones, the multi-byte East Asian ones, ucs2, utf16, utf16le and utf32 (in which even a
-- space has zero bytes), utf8mb3, utf8mb4, binary; with defaults, members and collations of the column's own. Guards
-- against: text converted twice or not at all, the collation of a column lost when it differs from the table's, CHAR
-- padding in wide character sets, '' against NULL, trailing spaces cut.
DROP DATABASE IF EXISTS c_charset_columns;
CREATE DATABASE c_charset_columns CHARACTER SET utf8mb4;
USE c_charset_columns;

CREATE TABLE single_byte (id INT NOT NULL PRIMARY KEY,
  latin1 VARCHAR(20) CHARACTER SET latin1 DEFAULT 'é€', latin2 VARCHAR(20) CHARACTER SET latin2 DEFAULT 'ł', latin5 VARCHAR(20) CHARACTER SET latin5 DEFAULT 'ş',
  latin7 VARCHAR(20) CHARACTER SET latin7 DEFAULT 'š', cp1250 VARCHAR(20) CHARACTER SET cp1250, cp1251 VARCHAR(20) CHARACTER SET cp1251 COMMENT 'Ж',
  cp1256 VARCHAR(20) CHARACTER SET cp1256, cp1257 VARCHAR(20) CHARACTER SET cp1257, cp850 VARCHAR(20) CHARACTER SET cp850, cp852 VARCHAR(20) CHARACTER SET cp852,
  cp866 VARCHAR(20) CHARACTER SET cp866, greek VARCHAR(20) CHARACTER SET greek, hebrew VARCHAR(20) CHARACTER SET hebrew, koi8r VARCHAR(20) CHARACTER SET koi8r,
  koi8u VARCHAR(20) CHARACTER SET koi8u, tis620 VARCHAR(20) CHARACTER SET tis620, macroman VARCHAR(20) CHARACTER SET macroman, ascii VARCHAR(20) CHARACTER SET ascii,
  dec8 VARCHAR(20) CHARACTER SET dec8, hp8 VARCHAR(20) CHARACTER SET hp8, swe7 VARCHAR(20) CHARACTER SET swe7);
INSERT INTO single_byte VALUES
  (1, 'é€ß', 'łőŘ', 'şıĞ', 'šāž', 'ťŐ', 'Жшё', 'پچ', 'šģ', 'éÄ½', 'őŘ', 'Жёш', 'λΩ', 'שלום', 'Юж', 'їґ', 'ไทย', 'é∞', 'plain\\''"', 'éÄ', 'é', 'åäö'),
  (2, '', '', '', '', '', '', '', '', '', '', '', '', '', '', '', '', '', '', '', '', ''),
  (3, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
  (4, ' x ', ' x ', ' x ', ' x ', ' x ', ' x ', ' x ', ' x ', ' x ', ' x ', ' x ', ' x ', ' x ', ' x ', ' x ', ' x ', ' x ', ' x ', ' x ', ' x ', ' x '),
  (5, 'a\tb\n''', 'a\tb\n''', 'a\tb\n''', 'a\tb\n''', 'a\tb\n''', 'a\tb\n''', 'a\tb\n''', 'a\tb\n''', 'a\tb\n''', 'a\tb\n''', 'a\tb\n''', 'a\tb\n''', 'a\tb\n''', 'a\tb\n''', 'a\tb\n''', 'a\tb\n''', 'a\tb\n''', 'a\tb\n''', 'a\tb\n''', 'a\tb\n''', 'a\tb\n''');
INSERT INTO single_byte (id) VALUES (6);

CREATE TABLE multi_byte (id INT NOT NULL PRIMARY KEY,
  utf8mb3 VARCHAR(20) CHARACTER SET utf8mb3 DEFAULT '日', utf8mb4 VARCHAR(20) CHARACTER SET utf8mb4 DEFAULT '日', ucs2 VARCHAR(20) CHARACTER SET ucs2 DEFAULT 'é日',
  utf16 VARCHAR(20) CHARACTER SET utf16 DEFAULT 'a''b', utf16le VARCHAR(20) CHARACTER SET utf16le DEFAULT 'x', utf32 VARCHAR(20) CHARACTER SET utf32 DEFAULT '\\',
  gbk VARCHAR(20) CHARACTER SET gbk, gb2312 VARCHAR(20) CHARACTER SET gb2312, big5 VARCHAR(20) CHARACTER SET big5, sjis VARCHAR(20) CHARACTER SET sjis, cp932 VARCHAR(20) CHARACTER SET cp932,
  ujis VARCHAR(20) CHARACTER SET ujis, eucjpms VARCHAR(20) CHARACTER SET eucjpms, euckr VARCHAR(20) CHARACTER SET euckr, bin VARCHAR(20) CHARACTER SET binary);
INSERT INTO multi_byte VALUES
  (1, 'é日本', 'é日😀', 'é日', 'é日😀', 'é日😀', 'é日😀', '中文', '中文', '中文', '日本ｱ', '日本①', '日本ｱ', '日本①', '한국', 'é日😀'), (2, '', '', '', '', '', '', '', '', '', '', '', '', '', '', ''),
  (3, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL), (4, ' x ', ' x ', ' x ', ' x ', ' x ', ' x ', ' x ', ' x ', ' x ', ' x ', ' x ', ' x ', ' x ', ' x ', ' x '),
  (5, 'a\tb\n''\\', 'a\tb\n''\\', 'a\tb\n''\\', 'a\tb\n''\\', 'a\tb\n''\\', 'a\tb\n''\\', 'a\tb\n''\\', 'a\tb\n''\\', 'a\tb\n''\\', 'a\tb\n''\\', 'a\tb\n''\\', 'a\tb\n''\\', 'a\tb\n''\\', 'a\tb\n''\\', 'a\tb\n''\\');
INSERT INTO multi_byte (id) VALUES (6);
-- Units of utf16 and ucs2 whose bytes are a quote, a backslash, a tab, a newline: U+275C, U+5C27, U+0A09, U+0D5C, U+5C5C.
INSERT INTO multi_byte (id, ucs2, utf16, utf16le, utf32) VALUES
  (7, _ucs2 0x275C5C270A090D5C5C5C, _utf16 0x275C5C270A090D5C5C5C, _utf16le 0x275C5C270A090D5C5C5C, _utf32 0x0000275C00005C2700000A090001F60A), (8, _ucs2 0x000000000020, _utf16 0x000000000020, _utf16le 0x000000002000, _utf32 0x0000000000000020);

-- CHAR pads with spaces of its own character set and gives them back cut.
CREATE TABLE fixed (id INT NOT NULL PRIMARY KEY, a CHAR(5) CHARACTER SET latin1, b CHAR(5) CHARACTER SET utf8mb4, c CHAR(5) CHARACTER SET utf16, d CHAR(5) CHARACTER SET utf32, e CHAR(5) CHARACTER SET gbk, f CHAR(0), g CHAR(255) CHARACTER SET ucs2, h BINARY(5));
INSERT INTO fixed VALUES (1, 'é', '日', '日', '😀', '中', '', 'é', 'é'), (2, 'a  ', 'a  ', 'a  ', 'a  ', 'a  ', NULL, 'a  ', 'a  '), (3, '', '', '', '', '', '', '', ''), (4, '  a', '\ta', '\na', '\0a', 'a\0', '', '\\', '\0');

-- Collations of columns that differ from the table's, and those from the schema's.
CREATE TABLE collated (id INT NOT NULL PRIMARY KEY,
  a VARCHAR(10) COLLATE latin1_general_cs, b VARCHAR(10) COLLATE latin1_bin, c VARCHAR(10) COLLATE utf8mb4_bin, d VARCHAR(10) COLLATE utf8mb4_unicode_520_ci, e VARCHAR(10) COLLATE utf8mb4_turkish_ci,
  f VARCHAR(10) CHARACTER SET utf8mb3 COLLATE utf8mb3_unicode_ci, g TINYTEXT COLLATE cp1251_bulgarian_ci, h MEDIUMTEXT COLLATE big5_bin, i LONGTEXT COLLATE utf16_bin, j ENUM('x') COLLATE greek_bin, k VARCHAR(10)
) DEFAULT CHARSET = latin1 COLLATE = latin1_german2_ci;
INSERT INTO collated VALUES (1, 'É', 'é', '日', 'ß', 'ı', 'ü', 'Ж', '中', '日', 'x', 'ä'), (2, NULL, '', NULL, '', NULL, '', NULL, '', NULL, NULL, '');
CREATE TABLE binary_default (a VARCHAR(10), b TEXT, c CHAR(3)) DEFAULT CHARSET = binary;
INSERT INTO binary_default VALUES ('é', 'é', 'a'), (0xFF, 0xFE, 0xFD);
