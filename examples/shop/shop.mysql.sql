-- What only MySQL has, beside the sample shop: run shop.sql first. Everything is in the schema shop_mysql, except the
-- account and the default roles. Wants MySQL 9.0 or newer, for VECTOR; drops what an earlier run left.

SET NAMES utf8mb4;
SET sql_mode = 'ONLY_FULL_GROUP_BY,STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION';
SET time_zone = '+00:00';
SET timestamp = 1735732800;

DROP DATABASE IF EXISTS shop_mysql;
DROP USER IF EXISTS 'shop_batch'@'localhost';

CREATE DATABASE shop_mysql CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_as_cs;
USE shop_mysql;

CREATE USER 'shop_batch'@'localhost' IDENTIFIED BY 'sample-batch'
  FAILED_LOGIN_ATTEMPTS 4 PASSWORD_LOCK_TIME 2 PASSWORD HISTORY 5 ATTRIBUTE '{"team": "Größe & Co"}';
GRANT SELECT ON shop_mysql.* TO 'shop_batch'@'localhost';
GRANT BACKUP_ADMIN ON *.* TO 'shop_batch'@'localhost';
GRANT PROXY ON 'shop_report'@'192.0.2.0/255.255.255.0' TO 'shop_batch'@'localhost';
SET DEFAULT ROLE shop_clerk TO 'shop_web'@'%.example.org';
SET DEFAULT ROLE shop_reader TO 'shop_report'@'192.0.2.0/255.255.255.0';

-- Vectors, one for each product of the catalogue's first pages; some rows have none.
CREATE TABLE embeddings (
  product_id INT UNSIGNED NOT NULL PRIMARY KEY,
  model ENUM('small','large') NOT NULL,
  embedding VECTOR(8) NULL,
  made_at DATETIME(6) NOT NULL DEFAULT (UTC_TIMESTAMP(6)),
  CONSTRAINT embedded_product FOREIGN KEY (product_id) REFERENCES shop.products (id) ON DELETE CASCADE
);
INSERT INTO embeddings
WITH RECURSIVE number (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < 1000)
SELECT n, 1 + n % 2, IF(n % 25 = 0, NULL, STRING_TO_VECTOR(CONCAT('[', n / 7e0, ',', -n, ',0,', 1e0 / n, ',', SIN(n), ',', COS(n), ',1e-30,', n * 1e30, ']'))),
  '2024-06-01' + INTERVAL n * 1234567 MICROSECOND
FROM number;

-- Documents hold only what JSON text can carry: a DATE or a DECIMAL inside one would come back from any dump as another
-- type. Keys on expressions, a key on every element of a JSON array, and a key that the optimizer does not see.
CREATE TABLE profiles (
  id BINARY(16) NOT NULL DEFAULT (UUID_TO_BIN(UUID())) PRIMARY KEY,
  email VARCHAR(80) NOT NULL,
  visits INT NOT NULL,
  likes JSON NOT NULL,
  extra JSON NULL,
  UNIQUE KEY email ((LOWER(email))),
  KEY liked ((CAST(likes -> '$[*]' AS UNSIGNED ARRAY))),
  KEY by_visits (visits DESC) INVISIBLE,
  CONSTRAINT likes_are_numbers CHECK (JSON_SCHEMA_VALID('{"type": "array", "items": {"type": "number"}}', likes)),
  CONSTRAINT few_visits CHECK (visits < 5000) NOT ENFORCED
);
INSERT INTO profiles
WITH RECURSIVE number (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < 1000)
SELECT UNHEX(LEFT(SHA2(n, 256), 32)), CONCAT('Profile.', n, '@Example.COM'), n * 7, JSON_ARRAY(n, n * 3 % 101, n * 5 % 211),
  CASE n % 4 WHEN 0 THEN JSON_OBJECT('date', '2024-02-29', 'third', n / 3e0, 'none', NULL, '', JSON_ARRAY())
    WHEN 1 THEN CAST(9223372036854775808 + n AS JSON) WHEN 2 THEN CAST('"\\u0000 naïve 😀"' AS JSON) END
FROM number;

-- No key is written here, so the server adds the invisible column my_row_id.
SET sql_generate_invisible_primary_key = ON;
CREATE TABLE notes (written_on DATE NOT NULL, body VARCHAR(200) NOT NULL);
SET sql_generate_invisible_primary_key = OFF;
INSERT INTO notes (written_on, body)
WITH RECURSIVE number (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < 500)
SELECT '2024-01-01' + INTERVAL n % 366 DAY, CONCAT(ELT(1 + n % 3, 'Zettel', 'mémo', 'メモ'), ' ', n DIV 2) FROM number;
DELETE FROM notes WHERE my_row_id % 10 = 0;

-- Shapes on the globe, where a column knows its reference system: latitude comes first.
CREATE TABLE shapes (
  id INT NOT NULL PRIMARY KEY,
  place POINT NOT NULL SRID 4326,
  shape GEOMETRY NULL,
  many GEOMETRYCOLLECTION NULL,
  SPATIAL KEY place (place)
);
INSERT INTO shapes VALUES
  (1, ST_SRID(POINT(13.4, 52.5), 4326), ST_GeomFromText('MULTIPOINT((1 2),(3 4))', 3857), NULL),
  (2, ST_GeomFromText('POINT(-33.9 151.2)', 4326), ST_GeomFromText('MULTIPOLYGON(((0 0,1 0,1 1,0 0)),((5 5,6 5,6 6,5 5)))'),
   ST_GeomFromText('GEOMETRYCOLLECTION(POINT(1 1),LINESTRING(0 0,1e-9 1e9))')),
  (3, ST_GeomFromText('POINT(89.999999 -179.999999)', 4326), ST_GeomFromText('MULTILINESTRING((0 0,1 1),(2 2,3 3))', 4326), ST_GeomFromText('GEOMETRYCOLLECTION EMPTY'));

-- Partitions below partitions, and a default that is an expression.
CREATE TABLE metrics (
  id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT,
  day DATE NOT NULL DEFAULT (CURRENT_DATE + INTERVAL 1 YEAR),
  value DOUBLE NOT NULL,
  PRIMARY KEY (id, day)
) PARTITION BY RANGE COLUMNS (day) SUBPARTITION BY HASH (id) SUBPARTITIONS 2 (
  PARTITION past VALUES LESS THAN ('2025-01-01'), PARTITION later VALUES LESS THAN (MAXVALUE));
INSERT INTO metrics (value) VALUES (1.5), (-0e0), (2.2250738585072014e-308), (1.7976931348623157e308);
INSERT INTO metrics (day, value) VALUES ('2020-02-29', 1 / 3e0);

SET timestamp = DEFAULT;
