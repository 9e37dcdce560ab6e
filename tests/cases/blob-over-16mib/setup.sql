-- Single values of 17, 20 and 32 MiB in BLOB and TEXT: more than MariaDB's default max_allowed_packet (16 MiB), which limits what a
-- statement and the result of HEX, REPEAT or CONCAT can hold (NULL and a warning), but not a stored value, a row that is
-- sent, LOAD DATA LOCAL, SHA2 or CRC32. The values come about by changing a column's character set: é takes one byte
-- in latin1, two in utf8mb4 and four in utf32. Guards against: a dump that stops at such a row or cuts it, a restore that
-- must send it in one statement, and a comparison of HEX() that finds NULL equal to NULL.
DROP DATABASE IF EXISTS c_blob_over_16mib;
CREATE DATABASE c_blob_over_16mib CHARACTER SET utf8mb4;
USE c_blob_over_16mib;

CREATE TABLE huge (id INT NOT NULL PRIMARY KEY, v LONGTEXT CHARACTER SET latin1, n INT);
INSERT INTO huge VALUES (1, 'before', 1);
INSERT INTO huge VALUES (2, REPEAT(x'E95C', 2621440), 2);
INSERT INTO huge VALUES (3, REPEAT(x'E9270AE9', 2097152), 3);
INSERT INTO huge VALUES (4, 'after', 4);
CREATE TABLE huge_text (id INT NOT NULL PRIMARY KEY, v LONGTEXT CHARACTER SET latin1, w VARCHAR(10));
INSERT INTO huge_text VALUES (1, REPEAT(x'E9', 8912896), 'x'), (2, NULL, NULL), (3, '', '');
-- 20 and 32 MiB, of which most bytes are zero.
ALTER TABLE huge MODIFY v LONGTEXT CHARACTER SET utf32;
ALTER TABLE huge MODIFY v LONGBLOB;
-- 17 MiB.
ALTER TABLE huge_text MODIFY v LONGTEXT CHARACTER SET utf8mb4;
