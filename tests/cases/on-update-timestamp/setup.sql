-- Columns that change by themselves: ON UPDATE CURRENT_TIMESTAMP, TIMESTAMP's implicit rules, NULL written into a NOT NULL TIMESTAMP
-- (which means now under explicit_defaults_for_timestamp = OFF). Guards against: the time of the restore in place of the
-- stored one, attributes lost or added (the first TIMESTAMP column got them implicitly on old servers).
DROP DATABASE IF EXISTS c_on_update_timestamp;
CREATE DATABASE c_on_update_timestamp CHARACTER SET utf8mb4;
USE c_on_update_timestamp;
SET time_zone = '+00:00';

CREATE TABLE several (id INT NOT NULL PRIMARY KEY, a TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6) ON UPDATE CURRENT_TIMESTAMP(6), b DATETIME(6) DEFAULT NULL ON UPDATE CURRENT_TIMESTAMP(6),
  c TIMESTAMP NULL DEFAULT NULL ON UPDATE CURRENT_TIMESTAMP, d DATETIME DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP, e TIMESTAMP(3) NOT NULL DEFAULT '2000-01-01 00:00:00' ON UPDATE CURRENT_TIMESTAMP(3), v INT);
INSERT INTO several VALUES (1, '2000-01-02 03:04:05.678901', NULL, NULL, NULL, DEFAULT, 1), (2, '1999-01-01 00:00:00', '1999-01-01 00:00:00.000001', '1999-01-01 00:00:00', '1999-01-01 00:00:00', '1999-01-01 00:00:00.5', 2),
  (3, '2038-01-19 03:14:07.999999', '9999-12-31 23:59:59.999999', '2038-01-19 03:14:07', '9999-12-31 23:59:59', '2038-01-19 03:14:07.999', NULL);
-- Neither default nor update.
SET explicit_defaults_for_timestamp = ON;
CREATE TABLE bare (id INT NOT NULL PRIMARY KEY, a TIMESTAMP NOT NULL, b TIMESTAMP NULL, c TIMESTAMP(6));
INSERT INTO bare VALUES (1, '2000-01-01 00:00:00', NULL, NULL), (2, '2001-01-01 00:00:00', '2001-01-01 00:00:00', '2001-01-01 00:00:00.000001');
-- The implicit rules: a gets both attributes, b a zero default.
SET explicit_defaults_for_timestamp = OFF;
SET sql_mode = '';
CREATE TABLE implicit (id INT NOT NULL PRIMARY KEY, a TIMESTAMP, b TIMESTAMP, v INT);
INSERT INTO implicit VALUES (1, '2000-01-01 00:00:00', '2001-01-01 00:00:00', 1), (2, '2000-01-01 00:00:01', 0, 2);
SET sql_mode = DEFAULT, explicit_defaults_for_timestamp = ON;
