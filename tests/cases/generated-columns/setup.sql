-- Virtual and stored generated columns: of every place in the table, used in indexes and foreign keys, built on each other, with
-- quotes and non-ASCII text in the expression, dependent on sql_mode, on collation, on JSON. Guards against: a value given
-- for a generated column (error 3105), columns shifted because generated ones were left out on one side only, stored
-- values lost or computed under another sql_mode, expressions read from information_schema, which escapes them once more.
DROP DATABASE IF EXISTS c_generated_columns;
CREATE DATABASE c_generated_columns CHARACTER SET utf8mb4;
USE c_generated_columns;

CREATE TABLE mixed (
  v_first VARCHAR(60) AS (CONCAT(name, ' #', id)) VIRTUAL, id INT NOT NULL PRIMARY KEY, price DECIMAL(10,2), s_total DECIMAL(14,4) AS (price * qty * 1.19) STORED COMMENT 'incl. VAT; it''s 19 %',
  qty INT, name VARCHAR(40), v_len INT AS (CHAR_LENGTH(name)) VIRTUAL, v_next INT AS (id + 1) VIRTUAL, note VARCHAR(20) DEFAULT 'none', v_last TINYINT AS (qty > 1) VIRTUAL,
  KEY by_total (s_total), KEY by_len (v_len, name), UNIQUE KEY by_first (v_first));
INSERT INTO mixed (id, price, qty, name) VALUES (1, 9.99, 3, 'it''s'), (2, NULL, 1, 'é日'), (3, 0.01, NULL, 'tab\there'), (4, 12345678.9, 2, ''), (5, -1, 1, NULL);

CREATE TABLE texts (id INT NOT NULL PRIMARY KEY, a VARCHAR(30), q VARCHAR(60) AS (CONCAT('''', a, '"')) STORED, b VARCHAR(60) AS (REPLACE(a, '\\', '/')) VIRTUAL, n VARCHAR(60) AS (CONCAT(a, '\n\t%')) VIRTUAL,
  u VARCHAR(60) AS (CONCAT('é日', a)) STORED, `odd ``name` INT AS (LENGTH(a)) VIRTUAL, c VARCHAR(30) COLLATE utf8mb4_bin AS (UPPER(a)) VIRTUAL);
INSERT INTO texts (id, a) VALUES (1, 'x\\y'), (2, ''), (3, NULL), (4, 'é"''');

-- On each other, and the rows of an index over a stored column.
CREATE TABLE chained (id INT NOT NULL PRIMARY KEY, a INT, b INT AS (a * 2) VIRTUAL, c INT AS (b + 1) STORED, d INT AS (b + c) VIRTUAL, e DATE, y SMALLINT AS (YEAR(e)) STORED, m TINYINT AS (MONTH(e)) VIRTUAL, KEY (y, m), KEY (d));
INSERT INTO chained (id, a, e) WITH RECURSIVE s(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM s WHERE n < 99) SELECT n, n - 50, '2023-11-15' + INTERVAL n DAY FROM s;

-- Child with a stored column as foreign key.
CREATE TABLE parent (id INT NOT NULL PRIMARY KEY);
INSERT INTO parent VALUES (0), (1), (2);
CREATE TABLE child (id INT NOT NULL PRIMARY KEY, x INT, p INT AS (x MOD 3) STORED, CONSTRAINT to_parent FOREIGN KEY (p) REFERENCES parent (id));
INSERT INTO child (id, x) VALUES (1, 3), (2, 4), (3, 5), (4, NULL);

-- All types as results.
CREATE TABLE types (id INT NOT NULL PRIMARY KEY, f FLOAT, d DOUBLE AS (f / 3) STORED, dt DATETIME(6), t DATE AS (DATE(dt)) STORED, ts BIGINT AS (TO_DAYS(dt)) VIRTUAL, b BINARY(4) AS (LEFT(SHA2(id, 256), 4)) STORED,
  e ENUM('a','b'), en INT AS (e + 0) VIRTUAL, j JSON AS (JSON_OBJECT('id', id, 'e', e)) VIRTUAL, bt BIT(8) AS (id) STORED, p BLOB AS (REPEAT('x', id)) STORED);
INSERT INTO types (id, f, dt, e) VALUES (1, 0.1, '2024-02-29 12:34:56.789012', 'a'), (2, NULL, NULL, 'b'), (92, 16777215, '1000-01-01 00:00:00', NULL);
