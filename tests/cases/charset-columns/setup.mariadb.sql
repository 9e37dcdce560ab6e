-- The nopad and uca1400 collations are MariaDB's; uca1400 is shown with its character set in front.
USE c_charset_columns;
CREATE TABLE only_mariadb (id INT NOT NULL PRIMARY KEY, a VARCHAR(10) COLLATE utf8mb4_nopad_bin, b VARCHAR(10) COLLATE latin1_swedish_nopad_ci, c VARCHAR(10) COLLATE utf8mb4_uca1400_swedish_as_cs, d VARCHAR(10) CHARACTER SET ucs2 COLLATE uca1400_ai_ci, e VARCHAR(10) COLLATE utf8mb4_croatian_mysql561_ci)
  DEFAULT CHARSET = utf8mb3 COLLATE = utf8mb3_uca1400_ai_cs;
INSERT INTO only_mariadb VALUES (1, 'x ', 'å', 'å', '日', 'č'), (2, ' ', '', NULL, '', NULL);
