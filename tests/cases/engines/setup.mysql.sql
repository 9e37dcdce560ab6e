-- ARCHIVE (rows cannot be updated; an auto-increment is its only possible key) and BLACKHOLE (no rows, ever).
USE c_engines;
CREATE TABLE in_archive (id INT NOT NULL AUTO_INCREMENT PRIMARY KEY, v VARCHAR(20)) ENGINE = ARCHIVE;
INSERT INTO in_archive VALUES (5, 'a'), (7, NULL), (100, 'it''s');
CREATE TABLE in_blackhole (id INT NOT NULL PRIMARY KEY, v VARCHAR(20)) ENGINE = BLACKHOLE;
INSERT INTO in_blackhole VALUES (1, 'gone');
