-- The 0900 collations do not pad: 'a' and 'a ' are two keys, also accent- and case-insensitively.
USE c_keys_char;
CREATE TABLE no_pad (k VARCHAR(10) CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_bin NOT NULL PRIMARY KEY);
INSERT INTO no_pad VALUES (''), (' '), ('  '), ('a'), ('a '), ('a  '), ('a\t'), ('A');
CREATE TABLE uca (k VARCHAR(10) CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_as_cs NOT NULL PRIMARY KEY);
INSERT INTO uca VALUES (''), (' '), ('a'), ('a '), ('á'), ('A'), ('Á'), ('ä'), ('z'), ('Z'), ('日'), ('😀'), ('😁');
CREATE TABLE uca_equal (k VARCHAR(10) CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_ai_ci NOT NULL, n INT, KEY (k));
INSERT INTO uca_equal VALUES ('a', 1), ('A', 2), ('Å', 3), ('a ', 4), ('ａ', 5), ('', 6), ('b', 7), (_utf8mb4 0x61C2AD, 8);
CREATE TABLE japanese (k VARCHAR(10) CHARACTER SET utf8mb4 COLLATE utf8mb4_ja_0900_as_cs_ks NOT NULL PRIMARY KEY);
INSERT INTO japanese VALUES ('あ'), ('ア'), ('ァ'), ('か'), ('が'), ('カ'), ('亜'), ('日本'), ('a'), ('ー');
