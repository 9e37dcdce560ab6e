-- Keys of ENUM, SET and BIT: they are numbers that read like text. An ENUM sorts by its index ('zebra' before 'apple'
-- here), a SET by its bit mask, yet a comparison with a string literal finds the member, and `BETWEEN 'a' AND 'b'` on an
-- ENUM compares text. Guards against: min and max taken in one order and used in the other, so that whole chunks come
-- out empty; members that look like numbers ('2' with index 1) found by the wrong one; BIT borders sent as text.
DROP DATABASE IF EXISTS c_keys_enum_set_bit;
CREATE DATABASE c_keys_enum_set_bit CHARACTER SET utf8mb4;
USE c_keys_enum_set_bit;

CREATE TABLE enum_alone (k ENUM('zebra','apple','mango','','Äpfel','it''s','b\\c') NOT NULL PRIMARY KEY, n INT);
INSERT INTO enum_alone VALUES ('zebra', 1), ('apple', 2), ('mango', 3), ('', 4), ('Äpfel', 5), ('it''s', 6), ('b\\c', 7);

CREATE TABLE enum_first (k ENUM('z','a','m','B') NOT NULL, id INT NOT NULL, v VARCHAR(10), PRIMARY KEY (k, id));
INSERT INTO enum_first
  WITH RECURSIVE s(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM s WHERE n < 799) SELECT n % 4 + 1, n, CONCAT('v', n) FROM s;

CREATE TABLE enum_numbers (k ENUM('2','1','0','3','10') NOT NULL, id INT NOT NULL, PRIMARY KEY (k, id));
INSERT INTO enum_numbers VALUES ('2', 1), ('1', 1), ('0', 1), ('3', 1), ('10', 1), ('2', 2), ('10', 2);

-- Index 0, the value of an invalid insert, reads as '' and is another value than the member ''.
SET sql_mode = '';
CREATE TABLE enum_error (k ENUM('b','','a') NOT NULL PRIMARY KEY, n INT);
INSERT INTO enum_error VALUES ('no such member', 0), ('b', 1), ('', 2), ('a', 3);
SET sql_mode = DEFAULT;

CREATE TABLE enum_second (g TINYINT NOT NULL, k ENUM('new','done','active') NOT NULL, id INT NOT NULL, PRIMARY KEY (g, k, id));
INSERT INTO enum_second
  WITH RECURSIVE s(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM s WHERE n < 299) SELECT n % 2, n % 3 + 1, n FROM s;

CREATE TABLE set_key (k SET('z','a','','m','é') NOT NULL, n INT NOT NULL, PRIMARY KEY (k, n));
INSERT INTO set_key WITH RECURSIVE s(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM s WHERE n < 31) SELECT n, n FROM s;
INSERT INTO set_key VALUES (0, 100), (31, 101);

CREATE TABLE bit1_key (k BIT(1) NOT NULL PRIMARY KEY);
INSERT INTO bit1_key VALUES (b'0'), (b'1');
CREATE TABLE bit64_key (k BIT(64) NOT NULL PRIMARY KEY, n INT);
INSERT INTO bit64_key VALUES (0, 0), (1, 1), (39, 2), (92, 3), (255, 4), (0x5C27, 5), (b'1000000000000000000000000000000000000000000000000000000000000000', 6),
  (18446744073709551615, 7), (9223372036854775807, 8), (0x0A0D001A, 9);
CREATE TABLE bit12_key (k BIT(12) NOT NULL, n INT NOT NULL, PRIMARY KEY (k, n));
INSERT INTO bit12_key WITH RECURSIVE s(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM s WHERE n < 499) SELECT n * 8 + 7, n FROM s;
