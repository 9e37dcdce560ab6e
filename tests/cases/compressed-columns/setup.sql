-- MariaDB's COMPRESSED columns: SHOW CREATE TABLE prints them inside a version comment. Guards against: the attribute lost, values
-- cut at the length of the compressed form, '' and values too short to compress.
DROP DATABASE IF EXISTS c_compressed_columns;
CREATE DATABASE c_compressed_columns CHARACTER SET utf8mb4;
USE c_compressed_columns;

CREATE TABLE packed (id INT NOT NULL PRIMARY KEY, v VARCHAR(5000) COMPRESSED, t TEXT COMPRESSED = zlib CHARACTER SET latin1, b MEDIUMBLOB COMPRESSED NOT NULL, vb VARBINARY(300) COMPRESSED DEFAULT 'x\\', l LONGTEXT COMPRESSED COMMENT 'it''s');
INSERT INTO packed VALUES (1, REPEAT('é日', 2000), REPEAT('é', 30000), REPEAT(x'00FF5C27', 100000), REPEAT('\\', 300), REPEAT('line\n', 50000)), (2, '', '', '', '', ''), (3, NULL, NULL, 'short', NULL, NULL), (4, 'é', 'é', x'00', DEFAULT, '\\N');
CREATE TABLE packed_myisam (t TEXT COMPRESSED, n INT) ENGINE = MyISAM;
INSERT INTO packed_myisam VALUES (REPEAT('x', 60000), 1), (NULL, NULL), (NULL, NULL);
