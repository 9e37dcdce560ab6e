-- Engines without transactions or without data: MyISAM, MEMORY (hash keys), CSV (no keys, no NULLs), MERGE (its rows are those of other
-- tables and must not be dumped twice). Guards against: rows of MERGE restored into its last table on top of the real ones,
-- engines silently replaced, MyISAM's rows read outside the snapshot without a word.
DROP DATABASE IF EXISTS c_engines;
CREATE DATABASE c_engines CHARACTER SET utf8mb4;
USE c_engines;

CREATE TABLE in_myisam (id INT NOT NULL AUTO_INCREMENT PRIMARY KEY, v VARCHAR(20), b BLOB) ENGINE = MyISAM;
INSERT INTO in_myisam VALUES (1, 'a', x'00FF'), (5, NULL, NULL), (9, 'it''s', '');
DELETE FROM in_myisam WHERE id = 5;
CREATE TABLE in_memory (id INT NOT NULL, v VARCHAR(20), d DATETIME(3), KEY USING HASH (id), KEY USING BTREE (v)) ENGINE = MEMORY MAX_ROWS = 500;
INSERT INTO in_memory VALUES (1, 'x', '2024-01-01 00:00:00.5'), (1, 'x', '2024-01-01 00:00:00.5'), (2, '', NULL);
CREATE TABLE in_csv (id INT NOT NULL, v VARCHAR(40) NOT NULL, t TEXT NOT NULL, d DOUBLE NOT NULL) ENGINE = CSV;
INSERT INTO in_csv VALUES (1, 'plain', 'comma, "quote"', 0.1), (2, 'back\\slash', 'line\nfeed', -1e300), (3, '', 'it''s é日', 0), (3, '', 'it''s é日', 0);
CREATE TABLE part_one (id INT NOT NULL, v VARCHAR(10), KEY (id)) ENGINE = MyISAM;
CREATE TABLE part_two (id INT NOT NULL, v VARCHAR(10), KEY (id)) ENGINE = MyISAM;
INSERT INTO part_one VALUES (1, 'one'), (2, 'two');
INSERT INTO part_two VALUES (2, 'two'), (3, 'three');
-- Sorted before and after its parts.
CREATE TABLE all_parts (id INT NOT NULL, v VARCHAR(10), KEY (id)) ENGINE = MERGE UNION = (part_one, part_two) INSERT_METHOD = LAST;
CREATE TABLE z_only_one (id INT NOT NULL, v VARCHAR(10), KEY (id)) ENGINE = MERGE UNION = (part_one) INSERT_METHOD = NO;
CREATE TABLE in_innodb (id INT NOT NULL PRIMARY KEY) ENGINE = InnoDB;
INSERT INTO in_innodb VALUES (1);
