-- Keys of DATE, TIME, DATETIME and TIMESTAMP with fractions, negative times, zero dates and the ends of each type.
-- Guards against: borders rounded to whole seconds, zero dates refused in a WHERE under a strict sql_mode,
-- TIMESTAMP borders read in one time zone and compared in another.
DROP DATABASE IF EXISTS c_keys_temporal;
CREATE DATABASE c_keys_temporal CHARACTER SET utf8mb4;
USE c_keys_temporal;
SET time_zone = '+00:00';
SET sql_mode = 'ALLOW_INVALID_DATES';

CREATE TABLE date_key (k DATE NOT NULL PRIMARY KEY, n INT);
INSERT INTO date_key VALUES ('0000-00-00', 1), ('0000-01-01', 2), ('1000-01-01', 3), ('2023-00-00', 4), ('2023-02-00', 5), ('2023-02-30', 6),
  ('2024-02-29', 7), ('9999-12-31', 8);

CREATE TABLE datetime_key (k DATETIME(6) NOT NULL PRIMARY KEY, n INT);
INSERT INTO datetime_key
  WITH RECURSIVE s(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM s WHERE n < 399)
  SELECT '2023-12-31 23:59:59.999800' + INTERVAL n MICROSECOND, n FROM s;
INSERT INTO datetime_key VALUES ('0000-00-00 00:00:00', 1000), ('1000-01-01 00:00:00.000001', 1001), ('9999-12-31 23:59:59.999999', 1002), ('2023-02-31 00:00:00', 1003);

CREATE TABLE timestamp_key (k TIMESTAMP(6) NOT NULL DEFAULT '2000-01-01 00:00:00' PRIMARY KEY, n INT);
INSERT INTO timestamp_key VALUES ('0000-00-00 00:00:00', 1), ('1970-01-01 00:00:01', 2), ('1970-01-01 00:00:01.000001', 3),
  ('2023-10-29 00:30:00', 4), ('2023-10-29 01:30:00', 5), ('2023-10-29 02:30:00', 6), ('2038-01-19 03:14:07', 7), ('2038-01-19 03:14:07.999999', 8);
-- An hour's worth of seconds on each side of the end of summer time in Europe: 01:00 UTC.
INSERT INTO timestamp_key
  WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < 479)
  SELECT '2022-10-30 00:00:00' + INTERVAL n * 15 SECOND, n + 1000 FROM s;

CREATE TABLE time_key (k TIME(6) NOT NULL PRIMARY KEY, n INT);
INSERT INTO time_key VALUES ('-838:59:59', 1), ('838:59:59', 2), ('-00:00:00.000001', 3), ('00:00:00', 4), ('00:00:00.000001', 5), ('-24:00:00', 6),
  ('24:00:00.5', 7), ('-01:00:00.25', 8);

CREATE TABLE day_and_id (d DATE NOT NULL, id INT NOT NULL, PRIMARY KEY (d, id));
INSERT INTO day_and_id
  WITH RECURSIVE s(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM s WHERE n < 499) SELECT '2024-02-28' + INTERVAL n DIV 200 DAY, n FROM s;
INSERT INTO day_and_id VALUES ('0000-00-00', 1), ('0000-00-00', 2), ('2024-00-00', 3);
