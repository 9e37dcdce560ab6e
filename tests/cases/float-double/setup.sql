-- FLOAT and DOUBLE with all their digits, the ends of each range, denormals, -0, and a declared scale. A FLOAT's text form
-- has six digits, so it must be read as DOUBLE; `f + 0e0` does that but turns -0 into 0, while `f * 1e0` and
-- CAST(f AS DOUBLE) keep it. HEX() of a FLOAT or DOUBLE rounds to an integer and shows none of this. MySQL stores -0 and
-- prints it as -0; MariaDB stores 0 in its place. Guards against: digits or the sign of zero lost, out-of-range
-- errors at the largest values, and a scaled FLOAT(7,4) that no longer compares equal after it went through text.
DROP DATABASE IF EXISTS c_float_double;
CREATE DATABASE c_float_double CHARACTER SET utf8mb4;
USE c_float_double;

CREATE TABLE floats (id INT NOT NULL PRIMARY KEY, f FLOAT, note VARCHAR(40));
INSERT INTO floats VALUES
  (1, 0, 'zero'), (2, -0e0, 'minus zero'), (3, 0.1, ''), (4, 16777215, '2^24 - 1'), (5, 16777216, '2^24'), (6, 123456.789, ''),
  (7, 1234567.5, ''), (8, 3.4028234663852886e38, 'largest'), (9, -3.4028234663852886e38, 'smallest'),
  (10, 1.1754943508222875e-38, 'smallest normal'), (11, 1.401298464324817e-45, 'smallest denormal'),
  (12, -1.401298464324817e-45, ''), (13, 5.877471754111438e-39, 'denormal'), (14, 0.33333334, '1/3'), (15, 3.1415927, 'pi'),
  (16, 0.30000001192092896, ''), (17, 8388609, ''), (18, 99999.992, ''), (19, 1e10, ''), (20, NULL, '');

-- 300 neighbouring floats between 1 and 2: 1 + n / 2^23.
CREATE TABLE float_neighbours (id INT NOT NULL PRIMARY KEY, f FLOAT NOT NULL);
INSERT INTO float_neighbours
  WITH RECURSIVE s(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM s WHERE n < 299) SELECT n, 1 + n / 8388608e0 FROM s;

CREATE TABLE doubles (id INT NOT NULL PRIMARY KEY, d DOUBLE, note VARCHAR(40));
INSERT INTO doubles VALUES
  (1, 0, 'zero'), (2, -0e0, 'minus zero'), (3, 0.1, ''), (4, 0.30000000000000004, ''), (5, 1e15, ''), (6, 1e16, ''), (7, 1e17, ''),
  (8, 9007199254740991, '2^53 - 1'), (9, 9007199254740993e0, 'rounds'), (10, 1.7976931348623157e308, 'largest'),
  (11, -1.7976931348623157e308, 'smallest'), (12, 2.2250738585072014e-308, 'smallest normal'), (13, 5e-324, 'smallest denormal'),
  (14, -5e-324, ''), (15, 2.225073858507201e-308, 'largest denormal'), (16, 3.141592653589793, 'pi'),
  (17, 5.0000000000000001e-5, ''), (18, 123456789012345678e0, ''), (19, 1e-7, ''), (20, 4.35, ''), (21, 1e23, ''), (22, 9.5e-3, ''), (23, NULL, '');

CREATE TABLE double_neighbours (id INT NOT NULL PRIMARY KEY, d DOUBLE NOT NULL);
INSERT INTO double_neighbours
  WITH RECURSIVE s(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM s WHERE n < 299) SELECT n, 1 + n * 2.220446049250313e-16 FROM s;

CREATE TABLE scaled (id INT NOT NULL PRIMARY KEY, f74 FLOAT(7,4), f100 FLOAT(10,0), d1510 DOUBLE(15,10), d5330 DOUBLE(53,30), f255 FLOAT(255,30), u FLOAT UNSIGNED, z DOUBLE(8,2) ZEROFILL);
INSERT INTO scaled VALUES
  (1, 999.9999, 9999999999, 99999.9999999999, 0.1, 3.4028234663852886e38, 0.1, 1.5),
  (2, -999.9999, -5, -0.0000000001, -1e-30, 1e-30, 3.4028234663852886e38, 0),
  (3, 0.0001, 0, 12345.6789012345, 12345678901234567890, 0.1, 0, 99999.99), (4, 123.4567, 16777217, 1, 1e-17, 1, 1e-45, 0.01), (5, -0e0, -0e0, -0e0, -0e0, -0e0, 0, 0),
  (6, NULL, NULL, NULL, NULL, NULL, NULL, NULL);

-- Generated from the value, so that a lost digit shows as text, too.
CREATE TABLE as_text (id INT NOT NULL PRIMARY KEY, f FLOAT, d DOUBLE, f_text VARCHAR(40) AS (CONCAT(f * 1e0)) STORED, d_text VARCHAR(40) AS (CONCAT(d * 1e0)) STORED);
INSERT INTO as_text (id, f, d) VALUES (1, 0.1, 0.1), (2, 16777215, 0.30000000000000004), (3, -0e0, -0e0), (4, 1.1754944e-38, 5e-324), (5, 3.4028234663852886e38, 1.7976931348623157e308);

-- As defaults.
CREATE TABLE float_defaults (id INT NOT NULL PRIMARY KEY, f FLOAT DEFAULT 0.1, d DOUBLE DEFAULT 1.7976931348623157e308, g FLOAT(7,4) DEFAULT -1.5, h DOUBLE DEFAULT 1e-300);
INSERT INTO float_defaults (id) VALUES (1);
