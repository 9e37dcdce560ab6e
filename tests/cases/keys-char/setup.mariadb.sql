-- NO PAD: 'a' and 'a ' are two keys. UCA 14: ignorable characters compare equal to nothing at all.
USE c_keys_char;
CREATE TABLE no_pad (k VARCHAR(10) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin NOT NULL PRIMARY KEY);
INSERT INTO no_pad VALUES (''), (' '), ('  '), ('a'), ('a '), ('a  '), ('a\t'), ('A');
CREATE TABLE uca (k VARCHAR(10) CHARACTER SET utf8mb4 COLLATE uca1400_nopad_as_cs NOT NULL PRIMARY KEY);
INSERT INTO uca VALUES (''), (' '), ('a'), ('a '), ('á'), ('A'), ('Á'), ('ä'), ('z'), ('Z'), ('日'), ('😀'), ('😁');
CREATE TABLE uca_equal (k VARCHAR(10) CHARACTER SET utf8mb4 COLLATE uca1400_ai_ci NOT NULL, n INT, KEY (k));
INSERT INTO uca_equal VALUES ('a', 1), ('A', 2), ('Å', 3), ('a ', 4), ('ａ', 5), ('', 6), ('b', 7), (_utf8mb4 0x61C2AD, 8);
