-- TIMESTAMPs at the instants of daylight saving changes, written in several time zones. Restored in the server's own zone
-- where that has such a change, the hour that occurs twice loses its first half and the hour that does not exist is an
-- error; so the harness does well to start the servers in such a zone. DATETIMEs must not move at all. Guards against:
-- dump and restore sessions of different time zones. Defaults given as literals are shown in the session's zone, too.
DROP DATABASE IF EXISTS c_timestamp_offsets;
CREATE DATABASE c_timestamp_offsets CHARACTER SET utf8mb4;
USE c_timestamp_offsets;
SET time_zone = '+00:00';

CREATE TABLE changes (id INT NOT NULL PRIMARY KEY, ts TIMESTAMP NULL, ts6 TIMESTAMP(6) NULL, dt DATETIME, note VARCHAR(60));
INSERT INTO changes VALUES
  (1, '2024-03-31 00:59:59', '2024-03-31 00:59:59.999999', '2024-03-31 00:59:59', 'Europe: last second of winter time'),
  (2, '2024-03-31 01:00:00', '2024-03-31 01:00:00.000000', '2024-03-31 02:30:00', 'Europe: first second of summer time; dt does not exist there'),
  (3, '2024-10-27 00:30:00', '2024-10-27 00:30:00.5', '2024-10-27 02:30:00', 'Europe: 02:30 for the first time'),
  (4, '2024-10-27 01:30:00', '2024-10-27 01:30:00.5', '2024-10-27 02:30:00', 'Europe: 02:30 for the second time'),
  (5, '2024-03-10 06:59:59', '2024-03-10 07:00:00', '2024-03-10 02:30:00', 'New York: start'),
  (6, '2024-11-03 05:30:00', '2024-11-03 06:30:00', '2024-11-03 01:30:00', 'New York: end, both 01:30'),
  (7, '2024-04-06 14:45:00', '2024-04-06 15:15:00', '2024-04-07 01:45:00', 'Lord Howe: half an hour'),
  (8, '2011-12-30 09:59:59', '2011-12-30 10:00:00', '2011-12-30 12:00:00', 'Samoa: a day that was skipped');
-- Every quarter of an hour of the two nights in Europe.
INSERT INTO changes
  WITH RECURSIVE s(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM s WHERE n < 31)
  SELECT 100 + n, '2024-10-26 22:00:00' + INTERVAL n * 15 MINUTE, '2024-03-30 22:00:00' + INTERVAL n * 15 MINUTE, '2024-10-26 22:00:00' + INTERVAL n * 15 MINUTE, 'step' FROM s;

-- The same instant, written from four zones.
CREATE TABLE offsets (id INT NOT NULL PRIMARY KEY, ts TIMESTAMP NOT NULL DEFAULT '2001-02-03 04:05:06', dt DATETIME NOT NULL DEFAULT '2001-02-03 04:05:06');
INSERT INTO offsets VALUES (1, '2024-06-01 12:00:00', '2024-06-01 12:00:00');
SET time_zone = '+05:45';
INSERT INTO offsets VALUES (2, '2024-06-01 17:45:00', '2024-06-01 17:45:00');
SET time_zone = '-12:00';
INSERT INTO offsets VALUES (3, '2024-06-01 00:00:00', '2024-06-01 00:00:00');
SET time_zone = '+13:00';
INSERT INTO offsets VALUES (4, '2024-06-02 01:00:00', '2024-06-02 01:00:00'), (5, DEFAULT, DEFAULT);
SET time_zone = '+00:00';

-- Equal in local time at the end of summer, different in UTC: a unique key over them breaks when restored as local time.
CREATE TABLE unique_instants (ts TIMESTAMP NOT NULL DEFAULT '2001-02-03 04:05:06', UNIQUE KEY (ts));
INSERT INTO unique_instants VALUES ('2024-10-27 00:30:00'), ('2024-10-27 01:30:00'), ('2024-11-03 05:30:00'), ('2024-11-03 06:30:00');
