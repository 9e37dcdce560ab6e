-- MariaDB: ignored, unique over long columns (a hash that is hidden), more than 16 columns.
USE c_indexes;
CREATE TABLE only_mariadb (id INT NOT NULL PRIMARY KEY, a VARCHAR(50), t TEXT, b BLOB, KEY skipped (a) IGNORED, UNIQUE KEY whole_text (t), UNIQUE KEY whole_blob (b, a), UNIQUE KEY by_hash (a) USING HASH);
INSERT INTO only_mariadb VALUES (1, 'a', REPEAT('x', 5000), x'00FF'), (2, 'b', 'X', NULL), (3, NULL, NULL, NULL), (4, 'd', CONCAT(REPEAT('x', 5000), 'y'), x'00FF');
CREATE TABLE wide_key (a1 TINYINT, a2 TINYINT, a3 TINYINT, a4 TINYINT, a5 TINYINT, a6 TINYINT, a7 TINYINT, a8 TINYINT, a9 TINYINT, a10 TINYINT, a11 TINYINT, a12 TINYINT, a13 TINYINT, a14 TINYINT, a15 TINYINT, a16 TINYINT, a17 TINYINT, a18 TINYINT, a19 TINYINT, a20 TINYINT,
  a21 TINYINT, a22 TINYINT, a23 TINYINT, a24 TINYINT, a25 TINYINT, a26 TINYINT, a27 TINYINT, a28 TINYINT, a29 TINYINT, a30 TINYINT, a31 TINYINT, a32 TINYINT,
  PRIMARY KEY (a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, a18, a19, a20, a21, a22, a23, a24, a25, a26, a27, a28, a29, a30, a31, a32));
INSERT INTO wide_key VALUES (1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1), (1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2);
