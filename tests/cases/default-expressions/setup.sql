-- Defaults of every form: literals with quotes, backslashes, newlines and other character sets; expressions, which
-- information_schema also marks DEFAULT_GENERATED; CURRENT_TIMESTAMP; bit and hex literals; NULL against none; '' for
-- numbers. The rows hold other values than a fresh evaluation would give. Guards against: expression columns taken for generated
-- ones and left out of the data, literals re-quoted wrongly, defaults evaluated anew on restore.
DROP DATABASE IF EXISTS c_default_expressions;
CREATE DATABASE c_default_expressions CHARACTER SET utf8mb4;
USE c_default_expressions;
SET time_zone = '+00:00';

CREATE TABLE literals (id INT NOT NULL PRIMARY KEY, a VARCHAR(30) DEFAULT 'it''s', b VARCHAR(30) DEFAULT '\\', c VARCHAR(30) DEFAULT 'line\nfeed\ttab', d VARCHAR(30) DEFAULT '', e VARCHAR(30) DEFAULT 'NULL',
  f VARCHAR(30) DEFAULT NULL, g VARCHAR(30) NOT NULL, h CHAR(5) DEFAULT 'x  ', i VARCHAR(30) CHARACTER SET latin1 DEFAULT 'é€', j VARCHAR(30) DEFAULT '日本', k INT DEFAULT -5, l DECIMAL(30,10) DEFAULT 12345678901234567890.0123456789,
  m BIT(10) DEFAULT b'1000000001', n BINARY(3) DEFAULT 'a', o VARBINARY(10) DEFAULT 0x5C27, p DATE DEFAULT '2024-02-29', q TIME(3) DEFAULT '-12:34:56.789', r YEAR DEFAULT 1999, s ENUM('a','b''c') DEFAULT 'b''c',
  t SET('x','y','z') DEFAULT 'x,z', u DATETIME(6) DEFAULT '2000-01-01 00:00:00.000001', v BOOLEAN DEFAULT TRUE, w BIGINT UNSIGNED DEFAULT 18446744073709551615, x VARCHAR(30) DEFAULT '%s `"? -- /* */', y VARCHAR(40) DEFAULT 'current_timestamp()');
INSERT INTO literals (id, g) VALUES (1, 'all defaults');
INSERT INTO literals (id, g, a, f, m, s) VALUES (2, '', NULL, 'x', NULL, 'a');

CREATE TABLE expressions (id INT NOT NULL PRIMARY KEY, a INT DEFAULT (1 + 2), b VARCHAR(64) DEFAULT (CONCAT('a', 'b''c', '\\')), c VARCHAR(36) DEFAULT (UUID()), d DOUBLE DEFAULT (RAND()), e DATE DEFAULT (CURRENT_DATE),
  f INT DEFAULT (id * 2), g TEXT DEFAULT ('text'), h BLOB DEFAULT (x'00FF5C'), i JSON DEFAULT (JSON_OBJECT('k', 'é')), j DATETIME DEFAULT (CURRENT_TIMESTAMP + INTERVAL 1 DAY), k VARCHAR(20) DEFAULT (UPPER('é日')), l POINT DEFAULT (POINT(1, 2)), m BIGINT DEFAULT (1 << 40));
INSERT INTO expressions (id, c, d, e, j) VALUES (1, 'fixed', 0.5, '2000-01-01', '2000-01-01 00:00:00');
INSERT INTO expressions VALUES (2, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL), (3, 0, '', '', 0, '1999-01-01', 0, '', '', '{}', '1999-01-01 00:00:00', '', POINT(0, 0), 0);

CREATE TABLE times (id INT NOT NULL PRIMARY KEY, a TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP, b TIMESTAMP(6) NULL DEFAULT CURRENT_TIMESTAMP(6), c DATETIME DEFAULT CURRENT_TIMESTAMP, d DATETIME(3) DEFAULT NOW(3), e TIMESTAMP NULL DEFAULT NULL, f TIMESTAMP NOT NULL DEFAULT '2001-02-03 04:05:06', g DATETIME DEFAULT LOCALTIME);
INSERT INTO times VALUES (1, '2000-01-01 00:00:00', '2000-01-01 00:00:00.123456', '2000-01-01 00:00:00', '2000-01-01 00:00:00.123', NULL, DEFAULT, NULL), (2, '1999-12-31 23:59:59', NULL, NULL, NULL, '1999-12-31 23:59:59', '1999-12-31 23:59:59', '1999-12-31 23:59:59');
