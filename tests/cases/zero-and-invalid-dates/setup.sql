-- Zero dates, dates with zero parts, days that do not exist (ALLOW_INVALID_DATES), year 0000, zero dates as column defaults. A
-- strict sql_mode on the restoring session refuses them; without strictness they turn into 0000-00-00 with only a
-- warning. Guards against: both, and against 0000-00-00 exported as NULL.
DROP DATABASE IF EXISTS c_zero_and_invalid_dates;
CREATE DATABASE c_zero_and_invalid_dates CHARACTER SET utf8mb4;
USE c_zero_and_invalid_dates;
SET time_zone = '+00:00';

SET sql_mode = '';
CREATE TABLE zeros (id INT NOT NULL PRIMARY KEY, d DATE, dt DATETIME, dt6 DATETIME(6), ts TIMESTAMP NULL, ts3 TIMESTAMP(3) NULL, y YEAR, t TIME);
INSERT INTO zeros VALUES
  (1, '0000-00-00', '0000-00-00 00:00:00', '0000-00-00 00:00:00.000000', '0000-00-00 00:00:00', '0000-00-00 00:00:00', 0, '00:00:00'),
  (2, '2024-00-00', '2024-00-00 00:00:00', '2024-00-00 12:34:56.789012', '1970-01-01 00:00:01', '1970-01-01 00:00:01.001', 1901, '-00:00:01'),
  (3, '2024-02-00', '2024-12-00 23:59:59', '2024-00-15 00:00:00.000001', '2038-01-19 03:14:07', '2038-01-19 03:14:07.999', 2155, '00:00:00'),
  (4, '0000-12-31', '0000-01-01 00:00:00', '0000-00-01 00:00:00.5', NULL, NULL, NULL, NULL), (5, NULL, NULL, NULL, NULL, NULL, 1970, '838:59:59'),
  (6, '0001-01-01', '0001-01-01 00:00:00', '0099-12-31 23:59:59.999999', NULL, NULL, 2000, '-838:59:59'), (7, '9999-12-31', '9999-12-31 23:59:59', '9999-12-31 23:59:59.999999', NULL, NULL, 1999, NULL);

SET sql_mode = 'ALLOW_INVALID_DATES';
CREATE TABLE invalid (id INT NOT NULL PRIMARY KEY, d DATE, dt DATETIME, dt6 DATETIME(6));
INSERT INTO invalid VALUES
  (1, '2023-02-29', '2023-02-29 01:02:03', '2023-02-31 01:02:03.000004'), (2, '2023-02-30', '2100-02-29 00:00:00', '1900-02-29 23:59:59.999999'),
  (3, '2023-04-31', '2023-06-31 00:00:00', '2023-11-31 00:00:00'), (4, '2023-00-31', '0000-02-31 00:00:00', '0000-00-31 00:00:00');

-- Defaults that the strict sql_mode of MySQL refuses in CREATE TABLE.
SET sql_mode = '';
CREATE TABLE zero_defaults (id INT NOT NULL PRIMARY KEY, d DATE NOT NULL DEFAULT '0000-00-00', dt DATETIME NOT NULL DEFAULT '0000-00-00 00:00:00',
  ts TIMESTAMP NOT NULL DEFAULT '0000-00-00 00:00:00', p DATE NOT NULL DEFAULT '2024-00-00', y YEAR NOT NULL DEFAULT 0, KEY (d), KEY (ts));
INSERT INTO zero_defaults (id) VALUES (1), (2);
INSERT INTO zero_defaults VALUES (3, '2024-01-01', '2024-01-01 00:00:00', '2024-01-01 00:00:00', '2024-01-01', 2024);
SET sql_mode = DEFAULT;
