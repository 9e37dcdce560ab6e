-- MariaDB's system-versioned tables with history: implicit period columns, explicit ones (visible and invisible), columns without
-- versioning, partitions by system time, no key, rows deleted and inserted again. The times are fixed by @@timestamp.
-- `SELECT *` sees the present only: the history needs FOR SYSTEM_TIME ALL, its restore system_versioning_insert_history
-- = 1 (10.11 and later), with row_start and row_end named. Guards against: history lost, all rows stamped with the time of
-- the restore, history rows restored as present ones (duplicate key). Not here: periods by transaction number, which name
-- transactions of the old server and cannot be restored.
DROP DATABASE IF EXISTS c_system_versioned;
CREATE DATABASE c_system_versioned CHARACTER SET utf8mb4;
USE c_system_versioned;
SET time_zone = '+00:00';

SET @@timestamp = UNIX_TIMESTAMP('2020-01-01 00:00:00.123456');
CREATE TABLE implicit (id INT NOT NULL PRIMARY KEY, v VARCHAR(20), n INT) WITH SYSTEM VERSIONING;
CREATE TABLE explicit (id INT NOT NULL PRIMARY KEY, v VARCHAR(20), valid_from TIMESTAMP(6) GENERATED ALWAYS AS ROW START, valid_to TIMESTAMP(6) GENERATED ALWAYS AS ROW END, PERIOD FOR SYSTEM_TIME (valid_from, valid_to)) WITH SYSTEM VERSIONING;
CREATE TABLE hidden (s TIMESTAMP(6) GENERATED ALWAYS AS ROW START INVISIBLE, id INT NOT NULL PRIMARY KEY, v VARCHAR(20), e TIMESTAMP(6) GENERATED ALWAYS AS ROW END INVISIBLE, PERIOD FOR SYSTEM_TIME (s, e)) WITH SYSTEM VERSIONING;
CREATE TABLE no_key (v VARCHAR(20)) WITH SYSTEM VERSIONING;
CREATE TABLE some_columns (id INT NOT NULL PRIMARY KEY, versioned VARCHAR(20), plain VARCHAR(20) WITHOUT SYSTEM VERSIONING) WITH SYSTEM VERSIONING;
CREATE TABLE only_column (id INT NOT NULL PRIMARY KEY, a INT, b INT WITH SYSTEM VERSIONING);
CREATE TABLE parted (id INT NOT NULL PRIMARY KEY, v VARCHAR(20)) WITH SYSTEM VERSIONING PARTITION BY SYSTEM_TIME (PARTITION p0 HISTORY, PARTITION `now` CURRENT);
CREATE TABLE parted_limit (id INT NOT NULL PRIMARY KEY, v VARCHAR(20)) WITH SYSTEM VERSIONING PARTITION BY SYSTEM_TIME LIMIT 2 (PARTITION h0 HISTORY, PARTITION h1 HISTORY, PARTITION pn CURRENT);
CREATE TABLE in_aria (id INT NOT NULL PRIMARY KEY, v VARCHAR(20)) ENGINE = Aria WITH SYSTEM VERSIONING;
CREATE TABLE generated (id INT NOT NULL AUTO_INCREMENT PRIMARY KEY, a INT, g INT AS (a * 2) STORED, h INT AS (a + 1) VIRTUAL INVISIBLE, u TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6) ON UPDATE CURRENT_TIMESTAMP(6)) WITH SYSTEM VERSIONING;
INSERT INTO implicit VALUES (1, 'first', 1), (2, 'it''s', 2), (3, 'gone', 3);
INSERT INTO explicit (id, v) VALUES (1, 'first'), (2, 'second');
INSERT INTO hidden (id, v) VALUES (1, 'first'), (2, 'second');
INSERT INTO no_key VALUES ('a'), ('a'), (NULL);
INSERT INTO some_columns VALUES (1, 'a', 'x'), (2, 'b', 'y');
INSERT INTO only_column VALUES (1, 1, 1), (2, 2, 2);
INSERT INTO parted VALUES (1, 'a'), (2, 'b');
INSERT INTO parted_limit VALUES (1, 'a'), (2, 'b');
INSERT INTO in_aria VALUES (1, 'a');
INSERT INTO generated (a) VALUES (1), (2);

SET @@timestamp = UNIX_TIMESTAMP('2021-06-15 12:00:00.000001');
UPDATE implicit SET v = 'changed', n = n + 10 WHERE id < 3;
UPDATE explicit SET v = 'changed' WHERE id = 1;
UPDATE hidden SET v = 'changed' WHERE id = 1;
UPDATE no_key SET v = 'b' WHERE v = 'a' LIMIT 1;
UPDATE some_columns SET versioned = 'a2', plain = 'x2' WHERE id = 1;
UPDATE some_columns SET plain = 'y2' WHERE id = 2;
UPDATE only_column SET b = 20 WHERE id = 2;
UPDATE only_column SET a = 10 WHERE id = 1;
UPDATE parted SET v = CONCAT(v, '2');
UPDATE parted_limit SET v = CONCAT(v, '2');
UPDATE in_aria SET v = 'b';
UPDATE generated SET a = a + 100;
DELETE FROM implicit WHERE id = 3;

SET @@timestamp = UNIX_TIMESTAMP('2022-10-30 00:30:00');
UPDATE implicit SET v = 'again' WHERE id = 1;
INSERT INTO implicit VALUES (3, 'back', 33);
DELETE FROM explicit WHERE id = 2;
DELETE FROM hidden;
DELETE FROM no_key WHERE v = 'a';
UPDATE parted SET v = CONCAT(v, '3') WHERE id = 1;
UPDATE parted_limit SET v = CONCAT(v, '3');
DELETE FROM in_aria;
SET @@timestamp = UNIX_TIMESTAMP('2022-10-30 01:30:00');
UPDATE implicit SET v = NULL WHERE id = 1;
INSERT INTO in_aria VALUES (1, 'c');
DELETE FROM generated WHERE id = 2;

-- Altered under history, once with the old rows kept.
SET @@system_versioning_alter_history = KEEP;
ALTER TABLE implicit ADD COLUMN added VARCHAR(10) DEFAULT 'new';
SET @@timestamp = DEFAULT;

CREATE VIEW as_of AS SELECT id, v FROM implicit FOR SYSTEM_TIME AS OF TIMESTAMP '2020-06-01 00:00:00';
CREATE VIEW whole_history AS SELECT id, v, row_start, row_end FROM implicit FOR SYSTEM_TIME ALL;
