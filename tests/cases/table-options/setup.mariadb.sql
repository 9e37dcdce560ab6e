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
