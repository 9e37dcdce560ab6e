-- MariaDB's application-time periods and WITHOUT OVERLAPS, with and without system versioning (both periods: bitemporal). The period adds
-- a hidden CHECK (start < end); the key WITHOUT OVERLAPS is no key to cut chunks by its columns alone. Guards against: the
-- PERIOD clause or WITHOUT OVERLAPS lost when indexes are built after the load, rows of one key taken for duplicates.
DROP DATABASE IF EXISTS c_application_periods;
CREATE DATABASE c_application_periods CHARACTER SET utf8mb4;
USE c_application_periods;
SET time_zone = '+00:00';

CREATE TABLE dates (id INT, v VARCHAR(10), d1 DATE, d2 DATE, PERIOD FOR valid (d1, d2));
INSERT INTO dates VALUES (1, 'a', '2020-01-01', '2021-01-01'), (1, 'a', '2020-01-01', '2021-01-01'), (2, NULL, '1000-01-01', '9999-12-31');
UPDATE dates FOR PORTION OF valid FROM '2020-03-01' TO '2020-06-01' SET v = 'middle' WHERE id = 1;
CREATE TABLE rooms (room INT NOT NULL, guest VARCHAR(20), s DATETIME(6), e DATETIME(6), PERIOD FOR stay (s, e), PRIMARY KEY (room, stay WITHOUT OVERLAPS));
INSERT INTO rooms VALUES (1, 'a', '2024-01-01 12:00:00', '2024-01-02 12:00:00'), (1, 'b', '2024-01-02 12:00:00', '2024-01-03 12:00:00.000001'), (2, 'a', '2024-01-01 00:00:00', '2024-12-31 00:00:00');
CREATE TABLE unique_only (id INT NOT NULL PRIMARY KEY, k VARCHAR(10), a TIMESTAMP NULL, b TIMESTAMP NULL, PERIOD FOR `odd ``period` (a, b), UNIQUE KEY no_overlap (k, `odd ``period` WITHOUT OVERLAPS));
INSERT INTO unique_only VALUES (1, 'x', '2020-01-01 00:00:00', '2020-02-01 00:00:00'), (2, 'x', '2020-02-01 00:00:00', '2020-03-01 00:00:00'), (3, NULL, '2020-01-01 00:00:00', '2020-03-01 00:00:00'), (4, NULL, '2020-01-01 00:00:00', '2020-03-01 00:00:00');
SET @@timestamp = UNIX_TIMESTAMP('2021-01-01 00:00:00');
CREATE TABLE bitemporal (id INT NOT NULL, price DECIMAL(8,2), d1 DATE, d2 DATE, rs TIMESTAMP(6) GENERATED ALWAYS AS ROW START INVISIBLE, re TIMESTAMP(6) GENERATED ALWAYS AS ROW END INVISIBLE, PERIOD FOR valid (d1, d2), PERIOD FOR SYSTEM_TIME (rs, re), PRIMARY KEY (id, valid WITHOUT OVERLAPS)) WITH SYSTEM VERSIONING;
INSERT INTO bitemporal (id, price, d1, d2) VALUES (1, 9.99, '2021-01-01', '2022-01-01'), (2, 5, '2021-01-01', '2022-01-01');
SET @@timestamp = UNIX_TIMESTAMP('2021-06-01 00:00:00');
UPDATE bitemporal FOR PORTION OF valid FROM '2021-07-01' TO '2021-08-01' SET price = 8.88 WHERE id = 1;
DELETE FROM bitemporal FOR PORTION OF valid FROM '2021-03-01' TO '2021-04-01' WHERE id = 2;
SET @@timestamp = DEFAULT;
