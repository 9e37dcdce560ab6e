-- MariaDB: page compression, Aria's options, options of other vendors kept as they were written, WITH SYSTEM VERSIONING is elsewhere.
USE c_table_options;
CREATE TABLE paged (id INT NOT NULL PRIMARY KEY, v TEXT) PAGE_COMPRESSED = 1 PAGE_COMPRESSION_LEVEL = 3;
INSERT INTO paged VALUES (1, REPEAT('x', 9000)), (2, '');
CREATE TABLE aria_page (id INT NOT NULL PRIMARY KEY, v TEXT) ENGINE = Aria ROW_FORMAT = PAGE TRANSACTIONAL = 1 PAGE_CHECKSUM = 0;
INSERT INTO aria_page VALUES (1, 'a'), (2, NULL);
CREATE TABLE aria_dynamic (id INT NOT NULL PRIMARY KEY, v TEXT) ENGINE = Aria ROW_FORMAT = DYNAMIC TRANSACTIONAL = 0;
INSERT INTO aria_dynamic VALUES (1, 'a');
CREATE TABLE not_encrypted (id INT NOT NULL PRIMARY KEY) ENCRYPTED = NO;
INSERT INTO not_encrypted VALUES (1);
SET sql_mode = 'IGNORE_BAD_TABLE_OPTIONS';
CREATE TABLE unknown_options (id INT NOT NULL PRIMARY KEY SOME_FIELD_OPTION = 'it''s', v INT, KEY (v) SOME_KEY_OPTION = 5) SOME_TABLE_OPTION = 'x\\y';
INSERT INTO unknown_options VALUES (1, 1);
SET sql_mode = DEFAULT;

-- MariaDB's COMPRESSED columns: SHOW CREATE TABLE prints them inside a version comment. Guards against: the attribute lost, values
-- cut at the length of the compressed form, '' and values too short to compress.
CREATE TABLE packed (id INT NOT NULL PRIMARY KEY, v VARCHAR(5000) COMPRESSED, t TEXT COMPRESSED = zlib CHARACTER SET latin1, b MEDIUMBLOB COMPRESSED NOT NULL, vb VARBINARY(300) COMPRESSED DEFAULT 'x\\', l LONGTEXT COMPRESSED COMMENT 'it''s');
INSERT INTO packed VALUES (1, REPEAT('é日', 2000), REPEAT('é', 30000), REPEAT(x'00FF5C27', 100000), REPEAT('\\', 300), REPEAT('line\n', 50000)), (2, '', '', '', '', ''), (3, NULL, NULL, 'short', NULL, NULL), (4, 'é', 'é', x'00', DEFAULT, '\\N');
CREATE TABLE packed_myisam (t TEXT COMPRESSED, n INT) ENGINE = MyISAM;
INSERT INTO packed_myisam VALUES (REPEAT('x', 60000), 1), (NULL, NULL), (NULL, NULL);
