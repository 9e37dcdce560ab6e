-- What only MariaDB has, beside the sample shop: run shop.sql first. Everything is in the schema shop_mariadb, except the
-- account and the default roles. Wants MariaDB 10.11 or newer; drops what an earlier run left.

SET NAMES utf8mb4 COLLATE utf8mb4_unicode_ci;
SET sql_mode = 'STRICT_TRANS_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION';
SET time_zone = '+00:00';
SET timestamp = 1735732800;

DROP DATABASE IF EXISTS shop_mariadb;
DROP USER IF EXISTS 'shop_batch'@'localhost';

CREATE DATABASE shop_mariadb CHARACTER SET utf8mb4 COLLATE utf8mb4_uca1400_ai_ci COMMENT 'MariaDB only: größer als MySQL';
USE shop_mariadb;

CREATE USER 'shop_batch'@'localhost' IDENTIFIED VIA unix_socket OR mysql_native_password USING PASSWORD('sample-batch');
GRANT SELECT, DELETE HISTORY ON shop_mariadb.* TO 'shop_batch'@'localhost';
SET DEFAULT ROLE shop_clerk FOR 'shop_web'@'%.example.org';
SET DEFAULT ROLE shop_reader FOR 'shop_report'@'192.0.2.0/255.255.255.0';

-- Sequences: one that has given out numbers, one that counts down and starts again.
CREATE SEQUENCE invoice_numbers START WITH 100000 INCREMENT BY 10 CACHE 20;
CREATE SEQUENCE countdown START WITH 5 MINVALUE 1 MAXVALUE 5 INCREMENT BY -1 CYCLE NOCACHE;
DO NEXTVAL(invoice_numbers), NEXTVAL(invoice_numbers), NEXTVAL(invoice_numbers), NEXTVAL(countdown);

CREATE TABLE devices (
  id UUID NOT NULL DEFAULT UUID() PRIMARY KEY,
  address4 INET4 NULL,
  address6 INET6 NULL,
  label VARCHAR(60) NOT NULL,
  log TEXT COMPRESSED NULL,
  KEY address6 (address6),
  KEY label (label) IGNORED
) PAGE_COMPRESSED = 1;

INSERT INTO devices
WITH RECURSIVE number (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < 1000),
  hashed (n, h) AS (SELECT 1000 * (p.n - 1) + q.n, SHA2(1000 * (p.n - 1) + q.n, 256) FROM number p JOIN number q WHERE p.n <= 5 LIMIT 5000)
SELECT CONCAT(SUBSTR(h, 1, 12), '4', SUBSTR(h, 14, 3), 'a', SUBSTR(h, 18, 15)), INET_NTOA(CONV(SUBSTR(h, 33, 8), 16, 10)),
  IF(n % 3 = 0, NULL, IF(n % 3 = 1, INET6_NTOA(UNHEX(SUBSTR(h, 33, 32))), CONCAT('::ffff:192.0.2.', n % 256))),
  CONCAT(ELT(1 + n % 4, 'Kasse', 'Лагер', '倉庫', 'Étage 🏬'), ' ', n), IF(n % 2 = 0, REPEAT(CONCAT(h, '\n'), n % 30), NULL)
FROM hashed ORDER BY n;

-- System versions: each UPDATE and DELETE below leaves a row of history, at a time that SET timestamp gives.
CREATE TABLE contracts (
  id INT NOT NULL PRIMARY KEY,
  customer VARCHAR(40) NOT NULL,
  fee DECIMAL(8,2) NOT NULL,
  note VARCHAR(40) WITHOUT SYSTEM VERSIONING
) WITH SYSTEM VERSIONING;
SET timestamp = 1672531200;           -- 2023-01-01
INSERT INTO contracts
WITH RECURSIVE number (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < 500)
SELECT n, CONCAT('Kundin № ', n), 10 + n % 90, NULL FROM number;
SET timestamp = 1688169600.25;        -- 2023-07-01
UPDATE contracts SET fee = fee + 1.50 WHERE id % 2 = 0;
SET timestamp = 1704067200;           -- 2024-01-01
UPDATE contracts SET fee = fee * 1.10 WHERE id % 3 = 0;
DELETE FROM contracts WHERE id % 50 = 0;
SET timestamp = 1735732800;

-- The same with columns that are seen, and a partition for the history.
CREATE TABLE rates (
  currency CHAR(3) NOT NULL PRIMARY KEY,
  rate DOUBLE NOT NULL,
  valid_from TIMESTAMP(6) GENERATED ALWAYS AS ROW START,
  valid_to TIMESTAMP(6) GENERATED ALWAYS AS ROW END,
  PERIOD FOR SYSTEM_TIME (valid_from, valid_to)
) WITH SYSTEM VERSIONING PARTITION BY SYSTEM_TIME (PARTITION history HISTORY, PARTITION present CURRENT);
INSERT INTO rates (currency, rate) VALUES ('EUR', 1), ('SEK', 11.4), ('JPY', 163.06), ('GBP', 0.83);
SET timestamp = 1735819200;
UPDATE rates SET rate = rate * 1.001 WHERE currency <> 'EUR';
SET timestamp = 1735732800;

-- Application time: a room has one guest a night.
CREATE TABLE bookings (
  room SMALLINT NOT NULL,
  guest VARCHAR(40) NOT NULL,
  arrives DATE NOT NULL,
  leaves DATE NOT NULL,
  PERIOD FOR stay (arrives, leaves),
  PRIMARY KEY (room, stay WITHOUT OVERLAPS)
);
INSERT INTO bookings VALUES (1, 'Zoë', '2024-05-01', '2024-05-08'), (1, 'Łukasz', '2024-05-08', '2024-05-09'), (2, '花子', '2024-05-03', '2024-06-01');

CREATE TABLE log_lines (at DATETIME(6) NOT NULL, line TEXT NOT NULL) ENGINE = Aria TRANSACTIONAL = 1;
INSERT INTO log_lines VALUES ('2024-01-01 00:00:00.000001', 'started\n'), ('2024-01-01 00:00:01', 'größer als 1 MiB: ✓');

-- A package, which exists in the sql_mode ORACLE only.
SET sql_mode = 'ORACLE';
DELIMITER //
CREATE PACKAGE money AS
  FUNCTION to_cents(amount DECIMAL(12,2)) RETURN BIGINT;
  PROCEDURE next_invoice(number OUT BIGINT);
END//
CREATE PACKAGE BODY money AS
  factor INT := 100;
  FUNCTION to_cents(amount DECIMAL(12,2)) RETURN BIGINT AS
  BEGIN
    RETURN amount * factor;
  END;
  PROCEDURE next_invoice(number OUT BIGINT) AS
  BEGIN
    number := NEXTVAL(invoice_numbers);
  END;
END//
DELIMITER ;
SET sql_mode = DEFAULT;

-- Functions that count or add up over groups can be written in SQL.
DELIMITER //
CREATE AGGREGATE FUNCTION longest(word VARCHAR(60)) RETURNS VARCHAR(60) DETERMINISTIC NO SQL
BEGIN
  DECLARE best VARCHAR(60) DEFAULT '';
  DECLARE CONTINUE HANDLER FOR NOT FOUND RETURN best;
  LOOP
    FETCH GROUP NEXT ROW;
    IF CHAR_LENGTH(word) > CHAR_LENGTH(best) THEN SET best = word; END IF;
  END LOOP;
END//
DELIMITER ;

SET timestamp = DEFAULT;
