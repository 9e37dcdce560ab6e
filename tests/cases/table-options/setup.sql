-- Table options: row formats, block sizes, statistics, checksums, row counts, collations, and a table whose row format holds only because
-- innodb_strict_mode was off. Guards against: options lost, or an error on restore under strict mode.
DROP DATABASE IF EXISTS c_table_options;
CREATE DATABASE c_table_options CHARACTER SET utf8mb4;
USE c_table_options;

CREATE TABLE redundant (id INT NOT NULL PRIMARY KEY, v VARCHAR(100)) ROW_FORMAT = REDUNDANT;
INSERT INTO redundant VALUES (1, 'a'), (2, NULL);
CREATE TABLE compact (id INT NOT NULL PRIMARY KEY, v VARCHAR(100), w CHAR(30)) ROW_FORMAT = COMPACT CHECKSUM = 1;
INSERT INTO compact VALUES (1, 'a', 'é'), (2, NULL, '');
CREATE TABLE compressed (id INT NOT NULL PRIMARY KEY, v TEXT) ROW_FORMAT = COMPRESSED KEY_BLOCK_SIZE = 4;
INSERT INTO compressed VALUES (1, REPEAT('abc', 5000)), (2, NULL);
CREATE TABLE stats (id INT NOT NULL PRIMARY KEY, v INT, KEY (v)) STATS_PERSISTENT = 1 STATS_AUTO_RECALC = 0 STATS_SAMPLE_PAGES = 7 MIN_ROWS = 10 MAX_ROWS = 1000000 AVG_ROW_LENGTH = 20;
INSERT INTO stats VALUES (1, 1), (2, 2);
CREATE TABLE myisam_fixed (id INT NOT NULL PRIMARY KEY, v CHAR(10)) ENGINE = MyISAM ROW_FORMAT = FIXED PACK_KEYS = 1 DELAY_KEY_WRITE = 1 CHECKSUM = 1 MAX_ROWS = 5000;
INSERT INTO myisam_fixed VALUES (1, 'a'), (2, NULL);
CREATE TABLE myisam_dynamic (id INT NOT NULL PRIMARY KEY, v VARCHAR(10)) ENGINE = MyISAM ROW_FORMAT = DYNAMIC PACK_KEYS = 0;
INSERT INTO myisam_dynamic VALUES (1, 'a'), (2, NULL);
CREATE TABLE collation_only (v VARCHAR(10), w VARCHAR(10) COLLATE latin1_bin) COLLATE = latin1_german1_ci;
INSERT INTO collation_only VALUES ('ä', 'Ä');
SET SESSION innodb_strict_mode = OFF, group_concat_max_len = 100000;
-- Too wide for a page if every column were kept in it.
SET @sql = (WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < 40) SELECT CONCAT('CREATE TABLE too_wide (id INT NOT NULL PRIMARY KEY, ', GROUP_CONCAT('c', n, ' CHAR(250) CHARACTER SET latin1' ORDER BY n), ') ROW_FORMAT = COMPACT') FROM s);
PREPARE s FROM @sql;
EXECUTE s;
DEALLOCATE PREPARE s;
INSERT INTO too_wide (id, c1, c40) VALUES (1, 'first', 'last'), (2, NULL, 'x');
SET SESSION innodb_strict_mode = ON;
