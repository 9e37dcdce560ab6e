-- gb18030 and the 0900 collations are MySQL's.
USE c_charset_columns;
CREATE TABLE only_mysql (id INT NOT NULL PRIMARY KEY, g VARCHAR(10) CHARACTER SET gb18030 DEFAULT '中', a VARCHAR(10) COLLATE utf8mb4_0900_as_ci, b VARCHAR(10) COLLATE utf8mb4_ja_0900_as_cs, c VARCHAR(10) COLLATE utf8mb4_zh_0900_as_cs, d VARCHAR(10) COLLATE utf8mb4_0900_bin);
INSERT INTO only_mysql VALUES (1, '中€😀', 'é', 'あ', '中', 'x '), (2, '', NULL, '', NULL, ' ');
INSERT INTO only_mysql (id) VALUES (3);
