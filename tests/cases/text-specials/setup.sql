-- Text that looks like the dump's own syntax: tabs, newlines, CR LF, NUL, backslashes, both quotes, Ctrl-Z, the strings NULL, \N and \\N, '' and NULL
-- side by side, byte order marks, long lines, comment and statement look-alikes. In the first, a middle and the last column, and in tables
-- of one column (where an empty line is a row). Guards against: NULL for 'NULL' or '\N', '' for NULL, CR LF turned into LF,
-- a last empty line dropped, a value that ends with a backslash swallowing the separator.
DROP DATABASE IF EXISTS c_text_specials;
CREATE DATABASE c_text_specials CHARACTER SET utf8mb4;
USE c_text_specials;

CREATE TABLE samples (id INT NOT NULL PRIMARY KEY, v VARCHAR(60));
INSERT INTO samples VALUES
  (1, NULL), (2, ''), (3, 'NULL'), (4, '\\N'), (5, '\\\\N'), (6, 'N'), (7, '\\'), (8, '\\\\'), (9, '\t'), (10, '\n'), (11, '\r'), (12, '\r\n'),
  (13, '\0'), (14, '\Z'), (15, ''''), (16, '"'), (17, '`'), (18, '\\t'), (19, '\\n'), (20, '\\0'), (21, 'ends with \\'), (22, 'ends with \n'), (23, '\nstarts'),
  (24, 'two\n\nempty'), (25, '\t\t\t'), (26, ' '), (27, ' lead'), (28, 'trail '), (29, '-- not a comment'), (30, '/* nor this */'), (31, '# nor this'),
  (32, '; DELIMITER //'), (33, 'INSERT INTO x VALUES (1);\n'), (34, '(1,2),(3,4)'), (35, '%s %d {} $1 ?'), (36, _utf8mb4 0xEFBBBF), (37, _utf8mb4 0xEFBBBF41), (38, _utf8mb4 0xE280A8),
  (39, _utf8mb4 0xC285), (40, '=1+1'), (41, ','), (42, '",'), (43, '",\n"'), (44, 'a\0b\0'), (45, '\b'), (46, '\\%\\_'), (47, _utf8mb4 0x7F), (48, _utf8mb4 0x01021B1C1D1E1F), (49, 'null'), (50, 'é日😀'),
  (51, '0'), (52, '0x41'), (53, '1e5'), (54, 'TRUE'), (55, '\\.'), (56, '\\.\n'), (57, '$$'), (58, _utf8mb4 0xF09F98800A), (59, 'a\\'), (60, 'a\\\\'), (61, 'a\\\\\\''');

-- Each sample in the first, the middle and the last column, beside '' and NULL.
CREATE TABLE places (a VARCHAR(60), id INT NOT NULL PRIMARY KEY, b TEXT, n INT, c VARCHAR(60));
INSERT INTO places SELECT v, id, NULL, id, '' FROM samples;
INSERT INTO places SELECT '', id + 100, v, NULL, NULL FROM samples;
INSERT INTO places SELECT NULL, id + 200, '', id, v FROM samples;
INSERT INTO places SELECT v, id + 300, v, NULL, v FROM samples;

CREATE TABLE one_column (v VARCHAR(60));
INSERT INTO one_column SELECT v FROM samples;
INSERT INTO one_column VALUES (''), (''), (NULL), (NULL), ('\n'), ('');
CREATE TABLE only_empty (v VARCHAR(5) NOT NULL);
INSERT INTO only_empty VALUES (''), (''), ('');
CREATE TABLE only_null (v VARCHAR(5), w INT);
INSERT INTO only_null VALUES (NULL, NULL), (NULL, NULL);

-- The same in the text and binary types, and in latin1.
CREATE TABLE other_types (id INT NOT NULL PRIMARY KEY, t TINYTEXT, m MEDIUMTEXT, l LONGTEXT, b BLOB, vb VARBINARY(60), c CHAR(60), lt VARCHAR(60) CHARACTER SET latin1);
INSERT INTO other_types SELECT id, v, v, v, v, v, v, IF(LENGTH(v) = CHAR_LENGTH(v), v, 'é€') FROM samples;

-- Long ones: a line of 1 MiB, 200 000 newlines, 200 000 backslashes, 60 000 times NUL and quote.
CREATE TABLE long_ones (id INT NOT NULL PRIMARY KEY, t LONGTEXT);
INSERT INTO long_ones VALUES (1, REPEAT('x', 1048576)), (2, REPEAT('\n', 200000)), (3, REPEAT('\\', 200000)), (4, REPEAT('\0''', 60000)), (5, REPEAT('日\t', 50000)), (6, CONCAT(REPEAT('a', 65535), '\\')), (7, CONCAT(REPEAT('a', 65536), '\n')), (8, REPEAT('\\N\t', 30000));
