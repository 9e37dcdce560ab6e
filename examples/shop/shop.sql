-- The sample shop: three schemas (shop, shop_crm, shop_stats) with a million rows (200 MB), made to hold what makes a
-- dump hard: every common column type, many character sets, keys of all kinds, foreign keys across schemas and in a circle,
-- views on views, triggers, routines, events, users and roles.
--
--   mariadb -u root < examples/shop/shop.sql          tried with MariaDB 10.11
--   mysql   -u root < examples/shop/shop.sql          tried with MySQL 9.7
--
-- It drops what an earlier run left and fills everything again, in 10 to 15 seconds on two cores. Every value follows
-- from a row's number, so two servers filled with this file hold the same rows. What only one vendor has is in
-- shop.mariadb.sql and shop.mysql.sql, which want to run after this file.

SET NAMES utf8mb4 COLLATE utf8mb4_unicode_ci;
SET sql_mode = 'ONLY_FULL_GROUP_BY,STRICT_TRANS_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION';
SET time_zone = '+00:00';
SET timestamp = 1735732800;           -- 2025-01-01 12:00:00 UTC is now, for every default and trigger below
SET foreign_key_checks = 0;           -- the rows are right by construction, and the tables refer to each other in a circle
SET unique_checks = 0;

-- ------------------------------------------------------------------------------------------------ accounts and schemas

DROP USER IF EXISTS 'shop_admin'@'localhost', 'shop_web'@'%.example.org', 'shop_report'@'192.0.2.0/255.255.255.0',
  'shop_former'@'localhost';
DROP ROLE IF EXISTS shop_reader, shop_clerk, shop_manager;
DROP DATABASE IF EXISTS shop_stats;
DROP DATABASE IF EXISTS shop_crm;
DROP DATABASE IF EXISTS shop;

CREATE DATABASE shop CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci;
CREATE DATABASE shop_crm CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_520_ci;
CREATE DATABASE shop_stats CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

CREATE ROLE shop_reader, shop_clerk, shop_manager;
CREATE USER 'shop_admin'@'localhost' IDENTIFIED BY 'sample-admin';
CREATE USER 'shop_web'@'%.example.org' IDENTIFIED BY 'sample-web' REQUIRE SSL WITH MAX_USER_CONNECTIONS 20;
CREATE USER 'shop_report'@'192.0.2.0/255.255.255.0' IDENTIFIED BY 'sample-report' PASSWORD EXPIRE INTERVAL 180 DAY;
CREATE USER 'shop_former'@'localhost' IDENTIFIED BY 'sample-former' ACCOUNT LOCK;
GRANT ALL PRIVILEGES ON shop.* TO 'shop_admin'@'localhost' WITH GRANT OPTION;
GRANT ALL PRIVILEGES ON `shop\_%`.* TO 'shop_admin'@'localhost';

-- --------------------------------------------------------------------------------------------------------- schema shop

USE shop;

CREATE TABLE countries (
  code CHAR(2) CHARACTER SET ascii COLLATE ascii_general_ci NOT NULL PRIMARY KEY,
  name VARCHAR(40) NOT NULL,
  native_name VARCHAR(40) NOT NULL,
  flag VARCHAR(8) NOT NULL COMMENT 'two regional indicators: 8 bytes, one picture',
  currency CHAR(3) CHARACTER SET ascii NOT NULL,
  vat_rate DECIMAL(4,2) NOT NULL,
  utc_offset TIME NOT NULL,
  UNIQUE KEY name (name)
) COMMENT = 'where we deliver: où nous livrons, wohin wir liefern';

CREATE TABLE categories (
  id SMALLINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
  parent_id SMALLINT UNSIGNED NULL,
  name VARCHAR(40) NOT NULL,
  position TINYINT NOT NULL DEFAULT -1,
  UNIQUE KEY parent_name (parent_id, name),
  CONSTRAINT category_parent FOREIGN KEY (parent_id) REFERENCES categories (id) ON DELETE CASCADE
) AUTO_INCREMENT = 1000;

CREATE TABLE suppliers (
  id MEDIUMINT UNSIGNED NOT NULL PRIMARY KEY,
  name VARCHAR(60) CHARACTER SET latin1 COLLATE latin1_german1_ci NOT NULL,
  country_code CHAR(2) CHARACTER SET ascii COLLATE ascii_general_ci NOT NULL,
  founded YEAR NOT NULL,
  payment_days TINYINT UNSIGNED NOT NULL DEFAULT 30,
  score FLOAT NULL,
  turnover DECIMAL(20,6) NOT NULL,
  delivery_days SET('mon','tue','wed','thu','fri','sat','sun') NOT NULL,
  opens TIME NOT NULL,
  contract TINYTEXT,
  certificate BLOB,
  UNIQUE KEY name (name),
  KEY founded (founded DESC),
  CONSTRAINT supplier_country FOREIGN KEY (country_code) REFERENCES countries (code) ON UPDATE CASCADE
);

CREATE TABLE products (
  id INT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
  sku CHAR(12) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  category_id SMALLINT UNSIGNED NOT NULL,
  supplier_id MEDIUMINT UNSIGNED NOT NULL,
  name VARCHAR(120) NOT NULL,
  description TEXT NOT NULL,
  price DECIMAL(10,2) NOT NULL,
  vat_rate DECIMAL(4,2) NOT NULL DEFAULT 19.00,
  gross_price DECIMAL(12,2) GENERATED ALWAYS AS (ROUND(price * (1 + vat_rate / 100), 2)) STORED,
  weight_kg FLOAT NOT NULL,
  density DOUBLE NOT NULL,
  flags BIT(10) NOT NULL DEFAULT b'1',
  status ENUM('draft','active','sold out','retired') NOT NULL DEFAULT 'draft',
  tags SET('new','sale','eco','gift','très chic','größer','fragile') NOT NULL DEFAULT '',
  attributes JSON NULL,
  colour VARCHAR(20) GENERATED ALWAYS AS (JSON_UNQUOTE(JSON_EXTRACT(attributes, '$.colour'))) VIRTUAL,
  image_hash BINARY(16) NOT NULL,
  thumbnail VARBINARY(255) NULL,
  launched DATE NOT NULL,
  model_year YEAR NULL,
  created_at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP,
  updated_at DATETIME(6) NULL ON UPDATE CURRENT_TIMESTAMP(6),
  internal_note VARCHAR(40) INVISIBLE DEFAULT 'only for us',
  UNIQUE KEY sku (sku),
  KEY category (category_id, status, price),
  KEY supplier (supplier_id),
  KEY colour (colour),
  FULLTEXT KEY words (name),
  CONSTRAINT product_category FOREIGN KEY (category_id) REFERENCES categories (id),
  CONSTRAINT product_supplier FOREIGN KEY (supplier_id) REFERENCES suppliers (id),
  CONSTRAINT product_weight CHECK (weight_kg >= 0)
) ROW_FORMAT = DYNAMIC;

CREATE TABLE price_history (          -- no key that is unique: its rows can only be told apart by all their values
  sku CHAR(12) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  price DECIMAL(10,2) NOT NULL,
  valid_from DATE NOT NULL,
  reason VARCHAR(60) NULL,
  KEY sku_from (sku, valid_from),
  CONSTRAINT history_product FOREIGN KEY (sku) REFERENCES products (sku) ON DELETE CASCADE
);

CREATE TABLE warehouses (
  id TINYINT UNSIGNED NOT NULL PRIMARY KEY,
  name VARCHAR(40) NOT NULL,
  country_code CHAR(2) CHARACTER SET ascii COLLATE ascii_general_ci NOT NULL,
  location POINT NOT NULL,
  area POLYGON NULL,
  road LINESTRING NULL,
  opens TIME NOT NULL,
  night_shift TIME(6) NULL,
  SPATIAL KEY location (location),
  CONSTRAINT warehouse_country FOREIGN KEY (country_code) REFERENCES countries (code)
);

CREATE TABLE stock (
  product_id INT UNSIGNED NOT NULL,
  warehouse_id TINYINT UNSIGNED NOT NULL,
  quantity INT NOT NULL,
  reserved SMALLINT NOT NULL DEFAULT 0,
  shelf CHAR(6) CHARACTER SET latin1 COLLATE latin1_bin NOT NULL,
  available INT GENERATED ALWAYS AS (quantity - reserved) VIRTUAL,
  PRIMARY KEY (product_id, warehouse_id),
  KEY warehouse (warehouse_id),
  CONSTRAINT stock_product FOREIGN KEY (product_id) REFERENCES products (id) ON DELETE CASCADE,
  CONSTRAINT stock_warehouse FOREIGN KEY (warehouse_id) REFERENCES warehouses (id)
);

CREATE TABLE stock_movements (        -- written by triggers only
  id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  product_id INT UNSIGNED NOT NULL,
  change_by INT NOT NULL,
  cause VARCHAR(80) NOT NULL,
  moved_at DATETIME(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
  KEY product (product_id)
);

CREATE TABLE vouchers (               -- codes that differ in case only; NULLs in a unique key
  code VARCHAR(16) COLLATE utf8mb4_bin NOT NULL PRIMARY KEY,
  campaign VARCHAR(20) NULL,
  customer_id INT UNSIGNED NULL,
  percent DOUBLE NOT NULL,
  expires DATE NULL,
  terms JSON NOT NULL DEFAULT (JSON_ARRAY()),
  UNIQUE KEY once (campaign, customer_id),
  CONSTRAINT voucher_customer FOREIGN KEY (customer_id) REFERENCES shop_crm.customers (id) ON DELETE SET NULL
);

CREATE TABLE orders (
  id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
  customer_id INT UNSIGNED NOT NULL,
  voucher_code VARCHAR(16) COLLATE utf8mb4_bin NULL,
  status ENUM('new','paid','packed','shipped','delivered','returned','cancelled') NOT NULL DEFAULT 'new',
  placed_at DATETIME(6) NOT NULL,
  shipped_at TIMESTAMP NULL DEFAULT NULL,
  packing_time TIME(3) NULL,
  total DECIMAL(12,2) NOT NULL DEFAULT 0,
  currency CHAR(3) CHARACTER SET ascii NOT NULL DEFAULT 'EUR',
  is_gift BIT(1) NOT NULL DEFAULT b'0',
  client_address VARBINARY(16) NOT NULL COMMENT '4 or 16 bytes',
  note VARCHAR(200) NULL,
  month INT UNSIGNED GENERATED ALWAYS AS (YEAR(placed_at) * 100 + MONTH(placed_at)) STORED,
  CONSTRAINT order_total CHECK (total >= 0)
);

CREATE TABLE order_items (
  order_id BIGINT UNSIGNED NOT NULL,
  line TINYINT UNSIGNED NOT NULL,
  product_id INT UNSIGNED NOT NULL,
  quantity SMALLINT NOT NULL,
  unit_price DECIMAL(10,2) NOT NULL DEFAULT 0,
  discount DECIMAL(3,2) NOT NULL DEFAULT 0,
  amount DECIMAL(12,2) GENERATED ALWAYS AS (ROUND(quantity * unit_price * (1 - discount), 2)) STORED,
  engraving VARCHAR(60) NULL,
  PRIMARY KEY (order_id, line)
);

CREATE TABLE payments (
  id BIGINT UNSIGNED NOT NULL PRIMARY KEY,
  order_id BIGINT UNSIGNED NOT NULL,
  method ENUM('card','transfer','wallet','cash','œuvre sociale') NOT NULL,
  amount DECIMAL(12,2) NOT NULL,
  paid_at TIMESTAMP(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3),
  reference BINARY(16) NOT NULL,
  response JSON NULL
);

CREATE TABLE reviews (
  id INT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  product_id INT UNSIGNED NOT NULL,
  customer_id INT UNSIGNED NOT NULL,
  stars TINYINT NOT NULL,
  title VARCHAR(80) NOT NULL,
  body TEXT NULL,
  written_on DATE NOT NULL,
  UNIQUE KEY once (product_id, customer_id),
  KEY customer (customer_id),
  FULLTEXT KEY body (body),
  CONSTRAINT review_product FOREIGN KEY (product_id) REFERENCES products (id) ON DELETE CASCADE,
  CONSTRAINT review_customer FOREIGN KEY (customer_id) REFERENCES shop_crm.customers (id) ON DELETE CASCADE,
  CONSTRAINT review_stars CHECK (stars BETWEEN 1 AND 5)
);

-- ----------------------------------------------------------------------------------------------------- schema shop_crm

USE shop_crm;

CREATE TABLE departments (            -- departments have heads, heads belong to departments
  id TINYINT NOT NULL PRIMARY KEY,
  name VARCHAR(40) NOT NULL UNIQUE,
  head_id SMALLINT NULL,
  CONSTRAINT department_head FOREIGN KEY (head_id) REFERENCES employees (id) ON DELETE SET NULL
);

CREATE TABLE employees (
  id SMALLINT NOT NULL PRIMARY KEY,
  department_id TINYINT NOT NULL,
  manager_id SMALLINT NULL,
  name VARCHAR(60) NOT NULL,
  salary DECIMAL(9,2) NOT NULL,
  hired DATE NOT NULL,
  badge BINARY(4) NOT NULL,
  UNIQUE KEY badge (badge),
  CONSTRAINT employee_department FOREIGN KEY (department_id) REFERENCES departments (id),
  CONSTRAINT employee_manager FOREIGN KEY (manager_id) REFERENCES employees (id)
);

CREATE TABLE customers (
  id INT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
  uuid BINARY(16) NOT NULL,
  country_code CHAR(2) CHARACTER SET ascii COLLATE ascii_general_ci NOT NULL,
  salutation VARCHAR(20) CHARACTER SET latin1 COLLATE latin1_swedish_ci NULL,
  first_name VARCHAR(40) NOT NULL,
  last_name VARCHAR(40) NOT NULL,
  email VARCHAR(80) CHARACTER SET ascii NOT NULL,
  vat_id VARCHAR(16) CHARACTER SET ascii NULL,
  birthday DATE NULL,
  points INT NOT NULL DEFAULT 0,
  balance DECIMAL(12,2) NOT NULL DEFAULT 0.00,
  newsletter BOOLEAN NOT NULL DEFAULT TRUE,
  settings JSON NULL,
  password_hash CHAR(64) CHARACTER SET latin1 COLLATE latin1_bin NOT NULL,
  referrer_id INT UNSIGNED NULL,
  registered_at DATETIME NOT NULL,
  last_seen TIMESTAMP(3) NULL DEFAULT NULL
);

CREATE TABLE addresses (              -- an ENUM in the key, whose order is not the alphabet's
  customer_id INT UNSIGNED NOT NULL,
  kind ENUM('delivery','billing','company') NOT NULL,
  street VARCHAR(80) NOT NULL,
  city VARCHAR(40) NOT NULL,
  postcode VARCHAR(10) CHARACTER SET ascii NOT NULL,
  country_code CHAR(2) CHARACTER SET ascii COLLATE ascii_general_ci NOT NULL,
  position POINT NULL,
  PRIMARY KEY (customer_id, kind)
);

CREATE TABLE tickets (
  id INT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  customer_id INT UNSIGNED NOT NULL,
  order_id BIGINT UNSIGNED NULL,
  employee_id SMALLINT NULL,
  subject VARCHAR(100) NOT NULL,
  state ENUM('open','waiting','solved','') NOT NULL DEFAULT 'open',
  opened_at DATETIME(6) NOT NULL,
  answer_within TIME NOT NULL,
  CONSTRAINT ticket_customer FOREIGN KEY (customer_id) REFERENCES customers (id),
  CONSTRAINT ticket_order FOREIGN KEY (order_id) REFERENCES shop.orders (id) ON DELETE SET NULL,
  CONSTRAINT ticket_employee FOREIGN KEY (employee_id) REFERENCES employees (id)
);

CREATE TABLE ticket_messages (
  ticket_id INT NOT NULL,
  position SMALLINT NOT NULL,
  from_us BOOLEAN NOT NULL,
  body MEDIUMTEXT NOT NULL,
  sent_at TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
  PRIMARY KEY (ticket_id, position),
  CONSTRAINT message_ticket FOREIGN KEY (ticket_id) REFERENCES tickets (id) ON DELETE CASCADE
);

CREATE TABLE attachments (
  id INT UNSIGNED NOT NULL PRIMARY KEY,
  ticket_id INT NOT NULL,
  position SMALLINT NOT NULL,
  file_name VARCHAR(80) NOT NULL,
  content LONGBLOB NOT NULL,
  transcript LONGTEXT NULL,
  KEY message (ticket_id, position),
  CONSTRAINT attachment_message FOREIGN KEY (ticket_id, position) REFERENCES ticket_messages (ticket_id, position)
);

CREATE TABLE legacy_contacts (        -- what three older systems left: their character sets, a zero date, bytes of no charset
  id INT NOT NULL PRIMARY KEY,
  western VARCHAR(40) CHARACTER SET latin1 NULL,
  central VARCHAR(40) CHARACTER SET latin2 NULL,
  cyrillic VARCHAR(40) CHARACTER SET cp1251 NULL,
  greek VARCHAR(40) CHARACTER SET greek NULL,
  japanese VARCHAR(40) CHARACTER SET sjis NULL,
  korean VARCHAR(40) CHARACTER SET euckr NULL,
  chinese VARCHAR(40) CHARACTER SET gbk NULL,
  wide VARCHAR(40) CHARACTER SET utf16 NULL,
  raw VARBINARY(40) NULL,
  imported DATE NOT NULL DEFAULT '0000-00-00'
);

-- --------------------------------------------------------------------------------------------------- schema shop_stats

USE shop_stats;

CREATE TABLE page_views (             -- partitioned by time; such a table can have no foreign keys
  id BIGINT UNSIGNED NOT NULL,
  seen_at DATETIME(3) NOT NULL,
  customer_id INT UNSIGNED NULL,
  product_id INT UNSIGNED NULL,
  path VARCHAR(120) CHARACTER SET ascii NOT NULL,
  agent VARCHAR(80) NOT NULL,
  client_address VARBINARY(16) NOT NULL,
  duration_ms MEDIUMINT UNSIGNED NOT NULL,
  scroll FLOAT NULL,
  PRIMARY KEY (id, seen_at)
) PARTITION BY RANGE (TO_DAYS(seen_at)) (
  PARTITION y2022 VALUES LESS THAN (TO_DAYS('2023-01-01')),
  PARTITION y2023 VALUES LESS THAN (TO_DAYS('2024-01-01')),
  PARTITION y2024 VALUES LESS THAN (TO_DAYS('2025-01-01')),
  PARTITION later VALUES LESS THAN MAXVALUE
);

CREATE TABLE sessions (               -- keys spread over the whole range of a signed BIGINT
  id BIGINT NOT NULL PRIMARY KEY,
  token BINARY(16) NOT NULL,
  started_at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP,
  data BLOB NULL
);

CREATE TABLE readings (               -- every quarter of an hour, across the clock change of March 2024
  warehouse_id TINYINT UNSIGNED NOT NULL,
  taken_at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP,
  celsius FLOAT NULL,
  humidity DOUBLE NULL,
  raw_value DOUBLE NOT NULL COMMENT 'from 1e-300 to 1e300, both signs',
  errors SMALLINT NOT NULL,
  PRIMARY KEY (warehouse_id, taken_at)
) PARTITION BY HASH (warehouse_id) PARTITIONS 4;

CREATE TABLE daily_sales (
  day DATE NOT NULL,
  country_code CHAR(2) CHARACTER SET ascii NOT NULL,
  orders MEDIUMINT NOT NULL,
  revenue DECIMAL(14,2) NOT NULL,
  PRIMARY KEY (day, country_code)
);

CREATE TABLE search_terms (           -- quotes, %, _ and accents in the key
  term VARCHAR(60) NOT NULL PRIMARY KEY,
  hits INT UNSIGNED NOT NULL,
  share DOUBLE NOT NULL
);

CREATE TABLE `monthly report: "Größe"` (
  `year.month` CHAR(7) NOT NULL,
  `rank` SMALLINT UNSIGNED NOT NULL,
  `values` DECIMAL(16,4) NULL,
  `a``b` VARCHAR(20) NULL,
  `größe` ENUM('klein','größer','très grand') NULL,
  PRIMARY KEY (`year.month`, `rank`),
  KEY `by values` (`values`)
);

CREATE TABLE archive (                -- stays empty
  id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
  row_data JSON NULL
) AUTO_INCREMENT = 5000000000;

-- ------------------------------------------------------------------------------------------------ where rows come from

USE shop;

-- For each number a hash and four values of 32 bits. The tables below take their "random" choices from these. It is
-- SHA2 because MySQL 9.7 has no MD5 and no SHA1 unless a component is loaded. Divisors are written 7e0: divided as
-- DECIMAL, the vendors keep different numbers of digits.
CREATE TEMPORARY TABLE seed (
  n INT NOT NULL PRIMARY KEY, a BIGINT NOT NULL, b BIGINT NOT NULL, c BIGINT NOT NULL, d BIGINT NOT NULL, h BINARY(16) NOT NULL
);
INSERT INTO seed
WITH digit (i) AS (SELECT 0 UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT 4
                   UNION ALL SELECT 5 UNION ALL SELECT 6 UNION ALL SELECT 7 UNION ALL SELECT 8 UNION ALL SELECT 9),
  number (n) AS (SELECT 1 + p.i + 10 * q.i + 100 * r.i + 1000 * s.i + 10000 * t.i + 100000 * u.i
                 FROM digit p, digit q, digit r, digit s, digit t, digit u WHERE u.i < 2),
  hashed (n, h) AS (SELECT n, SHA2(n, 256) FROM number WHERE n <= 130000 LIMIT 130000)
SELECT n, CRC32(SUBSTR(h, 1, 16)), CRC32(SUBSTR(h, 17, 16)), CRC32(SUBSTR(h, 33, 16)), CRC32(SUBSTR(h, 49, 16)), UNHEX(RIGHT(h, 32))
FROM hashed ORDER BY n;

-- Joins below say FORCE INDEX: the statistics of a table filled a moment ago may still say that it is empty, and MariaDB
-- then reads the whole of it for each row.

CREATE TEMPORARY TABLE line_numbers (line INT NOT NULL PRIMARY KEY);
INSERT INTO line_numbers VALUES (1), (2), (3), (4);

-- ----------------------------------------------------------------------------------------------------------- fill: shop

INSERT INTO countries VALUES
  ('GB', 'United Kingdom', 'United Kingdom', '🇬🇧', 'GBP', 20.00, '00:00:00'),
  ('DE', 'Germany', 'Deutschland', '🇩🇪', 'EUR', 19.00, '01:00:00'),
  ('FR', 'France', 'France métropolitaine', '🇫🇷', 'EUR', 20.00, '01:00:00'),
  ('ES', 'Spain', 'España', '🇪🇸', 'EUR', 21.00, '01:00:00'),
  ('PL', 'Poland', 'Polska', '🇵🇱', 'PLN', 23.00, '01:00:00'),
  ('SE', 'Sweden', 'Sverige', '🇸🇪', 'SEK', 25.00, '01:00:00'),
  ('GR', 'Greece', 'Ελλάδα', '🇬🇷', 'EUR', 24.00, '02:00:00'),
  ('UA', 'Ukraine', 'Україна', '🇺🇦', 'UAH', 20.00, '02:00:00'),
  ('BR', 'Brazil', 'Brasil', '🇧🇷', 'BRL', 17.00, '-03:00:00'),
  ('EG', 'Egypt', 'مصر', '🇪🇬', 'EGP', 14.00, '02:00:00'),
  ('IN', 'India', 'भारत', '🇮🇳', 'INR', 18.00, '05:30:00'),
  ('JP', 'Japan', '日本', '🇯🇵', 'JPY', 10.00, '09:00:00'),
  ('CN', 'China', '中国', '🇨🇳', 'CNY', 13.00, '08:00:00'),
  ('KR', 'South Korea', '대한민국', '🇰🇷', 'KRW', 10.00, '09:00:00');

INSERT INTO categories (id, parent_id, name, position) VALUES
  (1, NULL, 'Kitchen', 1), (2, NULL, 'Garden', 2), (3, NULL, 'Bücher', 3), (4, NULL, 'Café & Thé', 4),
  (5, NULL, 'おもちゃ', 5), (6, NULL, 'Спорт', 6), (7, NULL, '🎁 Gifts', -128), (8, NULL, 'Lighting', 127);
INSERT INTO categories (id, parent_id, name, position)
SELECT n + 8, 1 + (n - 1) % 8, CONCAT(ELT(1 + (n - 1) DIV 8, 'New', 'Classic', 'Küche', 'Été', 'Small', 'Large', 'Kids''', 'Outlet'),
  ' ', n), n % 100
FROM seed WHERE n <= 64;

INSERT INTO suppliers
SELECT n,
  CONCAT(ELT(1 + n % 10, 'Müller & Söhne', 'Café Crème', 'Ångström', 'Hermanos Muñoz', 'O''Brien', 'Façade', 'Smørrebrød',
    'Português Irmãos', 'Weiß', 'Straßburger'), ' ', ELT(1 + a % 4, 'GmbH', 'SARL', 'Ltd.', 'AB'), ' ', n),
  ELT(1 + b % 6, 'GB', 'DE', 'FR', 'ES', 'SE', 'BR'), 1901 + c % 120, ELT(1 + d % 4, 14, 30, 60, 255),
  IF(a % 7 = 0, NULL, (a % 100000) / 997e0), (b - 2000000000) * 0.000001, 1 + c % 127, SEC_TO_TIME(d % 86400),
  IF(n % 3 = 0, 'terms:\tnet\nno returns \\ "as is"', NULL), IF(n % 5 = 0, CONCAT(h, '\0', h), NULL)
FROM seed WHERE n <= 500;

INSERT INTO products (id, sku, category_id, supplier_id, name, description, price, vat_rate, weight_kg, density, flags, status, tags,
  attributes, image_hash, thumbnail, launched, model_year, created_at, updated_at)
SELECT n, CONCAT(ELT(1 + a % 4, 'KI', 'GA', 'BU', 'XX'), '-', LPAD(n, 9, '0')), 9 + b % 64, 1 + c % 500,
  CONCAT(ELT(1 + a % 12, 'Blue', 'Großer', 'Petit', 'Hand-made', 'Vintage', '小さな', 'Новый', 'Rústico', 'Folding', 'Łódzki', 'Cosy', '🎉'),
    ' ', ELT(1 + b % 12, 'wooden', 'Emaille-', 'en céramique', 'steel', 'linen', '木製', 'стеклянный', 'de vidrio', 'copper',
    'bawełniany', 'bamboo', '✨'), ' ', ELT(1 + c % 16, 'teapot', 'Gießkanne', 'théière', 'lamp', 'chair', '茶碗', 'чайник', 'sartén',
    'bicycle bell', 'kubek', 'notebook', 'kite', 'Brotkasten', 'bougie', 'tent', 'puzzle'), ' ', n % 1000),
  CONCAT_WS(' ',
    ELT(1 + d % 8, 'Made by hand in a small workshop that has not changed its tools for three generations.',
      'Hergestellt aus heimischem Holz; geölt, nicht lackiert – für drinnen und draußen.',
      'Fabriqué à la main, léger et très résistant, idéal pour la forêt, la plage ou l''été à la campagne.',
      'Сделано вручную из переработанных материалов, очень прочное и лёгкое.',
      '職人が一つ一つ丁寧に作りました。長くお使いいただけます。',
      'Hecho a mano con materiales reciclados; ningún envase de plástico.',
      'A quiet classic: the same shape since 1957, now with a better handle.',
      'Zaprojektowane w Gdańsku, wykonane z miłością i odrobiną szaleństwa.'),
    ELT(1 + a % 8, 'Machine-washable, but it prefers your hands.', 'Passt in jede Küche und in fast jede Tasche.',
      'Garantie 2 ans, pièces et main-d''œuvre.', '保証期間は二年です。', 'Looks best in the evening sun 🌅.',
      'Spare parts are available for ten years.', 'Обмен в течение 30 дней.', 'Do not use near open fire 🔥 or small dragons 🐉.'),
    CONCAT('Measures ', 5 + b % 90, ' × ', 5 + c % 90, ' × ', 1 + d % 40, ' cm, weighs ', 10 + a % 9000, ' g; batch ', HEX(SUBSTR(h, 1, 6)), '.'),
    IF(n % 4 = 0, CONCAT('Customers say: "', ELT(1 + c % 4, 'exactly what I wanted', 'besser als erwartet', 'trop mignon 😍', '最高です'), '".'), NULL)),
  (99 + n * 7919 % 40000) / 100, ELT(1 + c % 3, 19.00, 7.00, 20.00), (a % 30000) / 997e0, 1e0 / (1 + b % 99991), a % 1024, ELT(1 + d % 8, 'active',
    'active', 'active', 'active', 'active', 'draft', 'sold out', 'retired'), b % 128,
  IF(n % 50 = 0, NULL, JSON_OBJECT('colour', ELT(1 + a % 9, 'red', 'blue', 'green', 'schwarz', 'crème', '藍', 'белый', 'oro', 'pink'),
    'size', JSON_ARRAY(5 + b % 90, 5 + c % 90, 1 + d % 40), 'care', JSON_OBJECT('wash', 30 + 10 * (a % 4), 'iron', NULL),
    'label', CONCAT('№ ', n, ' "', ELT(1 + b % 3, 'a', 'é', '😀'), '" \\ ', c % 10))),
  h, IF(n % 3 = 0, NULL, REPEAT(SUBSTR(h, 1, 11), 1 + d % 20)), '2015-01-01' + INTERVAL a % 3600 DAY, 2015 + b % 11,
  FROM_UNIXTIME(1420070400 + c % 300000000), IF(n % 2 = 0, NULL, '2024-01-01' + INTERVAL d * 7000 MICROSECOND)
FROM seed WHERE n <= 20000 ORDER BY n;

INSERT INTO price_history
SELECT p.sku, ROUND(p.price * (0.70 + 0.05 * line), 2), '2021-06-01' + INTERVAL line * 400 + p.id % 300 DAY,
  IF(p.id % 3 = 0, NULL, ELT(line, 'introduction', 'Preiserhöhung wegen Fracht – 5 %'))
FROM products p JOIN line_numbers ON line <= 2 ORDER BY p.id, line;

INSERT INTO warehouses VALUES
  (1, 'Rotterdam', 'DE', POINT(4.4777, 51.9244), ST_GeomFromText('POLYGON((4.4 51.9,4.5 51.9,4.5 52,4.4 52,4.4 51.9),(4.44 51.94,4.46 51.94,4.46 51.96,4.44 51.94))'),
   ST_GeomFromText('LINESTRING(4.4 51.9,4.45 51.93,4.4777 51.9244)'), '06:00:00', '22:30:00.000001'),
  (2, 'Köln', 'DE', POINT(6.9603, 50.9375), NULL, NULL, '07:00:00', NULL),
  (3, 'Łódź', 'PL', POINT(19.456, 51.7592), NULL, NULL, '05:30:00', '-00:30:00.5'),
  (4, 'Göteborg', 'SE', POINT(11.9746, 57.7089), NULL, NULL, '08:00:00', NULL),
  (5, 'Málaga', 'ES', POINT(-4.4214, 36.7213), NULL, NULL, '09:00:00', '838:59:58.999999'),
  (6, 'Θεσσαλονίκη', 'GR', POINT(22.9444, 40.6401), NULL, NULL, '07:30:00', NULL),
  (7, 'Одеса', 'UA', POINT(30.7233, 46.4825), NULL, NULL, '08:00:00', NULL),
  (8, 'São Paulo', 'BR', POINT(-46.6333, -23.5505), NULL, NULL, '06:00:00', '23:59:59.999999'),
  (9, 'القاهرة', 'EG', POINT(31.2357, 30.0444), NULL, NULL, '10:00:00', NULL),
  (10, 'मुंबई', 'IN', POINT(72.8777, 19.076), NULL, NULL, '09:30:00', NULL),
  (11, '大阪', 'JP', POINT(135.5023, 34.6937), NULL, NULL, '08:30:00', '00:00:00'),
  (12, '부산', 'KR', POINT(129.0756, 35.1796), NULL, NULL, '08:30:00', NULL);

INSERT INTO stock (product_id, warehouse_id, quantity, reserved, shelf)
SELECT n, 1 + (a + 4 * line) % 12, (b * line) % 5000, (c + line) % 40, CONCAT(CHAR(65 + d % 26), '-', LPAD((a + line) % 999, 3, '0'))
FROM seed JOIN line_numbers ON line <= 3 WHERE n <= 20000 ORDER BY 1, 2;

INSERT INTO vouchers (code, campaign, customer_id, percent, expires, terms)
SELECT CONCAT(IF(n % 2 = 0, 'summer', 'SUMMER'), '-', (n + 1) DIV 2, ELT(1 + n % 20 DIV 2, '', '%', '_', '''', 'é', '"', '\\', '☀', '', '')),
  IF(n % 3 = 0, NULL, ELT(1 + a % 3, 'spring', 'été', '夏')), IF(n % 4 = 0, NULL, n * 30), (1 + b % 50) / 3e0,
  IF(n % 6 = 0, NULL, '2025-01-01' + INTERVAL c % 2000 DAY), IF(n % 2 = 0, '[]', '{"min": 10.5, "only": ["tea", "thé"], "deep": [[[]]]}')
FROM seed WHERE n <= 2000 ORDER BY 1;

INSERT INTO order_items (order_id, line, product_id, quantity, unit_price, discount, engraving)
SELECT n, line, product, 1 + (b DIV line) % 3, (99 + product * 7919 % 40000) / 100 /* as above */, IF((c + line) % 5 = 0, 0.15, 0.00),
  IF((d + line) % 16 = 0, CONCAT(ELT(1 + c % 6, 'Für Oma ❤', 'À bientôt', 'お誕生日おめでとう', 'С днём рождения', 'Happy birthday 🎂', 'Łukasz'), ' ', n), NULL)
FROM (SELECT n, line, b, c, d, 1 + ((a % 20000) * (b % 20000) DIV 20000 + line * 7919) % 20000 AS product
      FROM seed JOIN line_numbers ON line <= 1 + (a % 8 > 2) + (a % 8 > 5) + (a % 8 > 6)) item
ORDER BY n, line;

INSERT INTO orders (id, customer_id, voucher_code, status, placed_at, shipped_at, packing_time, total, currency, is_gift, client_address, note)
SELECT n, 1 + (b % 60000) * (c % 60000) DIV 60000, IF(d % 20 = 0, CONCAT('SUMMER-', 1 + 10 * (a % 100)), NULL),
  CASE WHEN n > 129000 THEN 'new' WHEN n > 128000 THEN 'paid' ELSE ELT(1 + a % 16, 'returned', 'cancelled', 'shipped', 'delivered',
    'delivered', 'delivered', 'delivered', 'delivered', 'delivered', 'delivered', 'delivered', 'delivered', 'delivered', 'delivered',
    'delivered', 'delivered') END,
  '2022-01-01' + INTERVAL n * 727000000 + b % 600000000 MICROSECOND,
  IF(n > 128000, NULL, FROM_UNIXTIME(1640995200 + n * 727 + 3600 + c % 200000)), SEC_TO_TIME((d % 7200000) * 0.001),
  items.total, ELT(1 + c % 6, 'EUR', 'EUR', 'EUR', 'GBP', 'PLN', 'JPY'), d % 9 = 0, IF(a % 3 = 0, h, SUBSTR(h, 1, 4)),
  IF(b % 8 = 0, ELT(1 + c % 8, 'Please leave it at the door', 'Bitte klingeln – Hund beißt nicht', 'Sonner chez le voisin, 2e étage',
    '玄関前に置いてください', 'Позвоните за час', 'Nie dzwonić, dziecko śpi 😴', '', 'Rua São João, "casa azul"\nfundos'), NULL)
FROM (SELECT order_id, SUM(amount) AS total FROM order_items GROUP BY order_id) items
  STRAIGHT_JOIN seed FORCE INDEX (PRIMARY) ON n = order_id;

INSERT INTO payments
SELECT 10000000000 + o.id, o.id, 1 + b % 5, o.total, FROM_UNIXTIME(1640995200 + n * 727 + (c % 900000) * 0.001), h,
  IF(d % 4 = 0, JSON_OBJECT('code', a % 100, 'bank', ELT(1 + c % 3, 'Sparkasse Köln', 'Crédit Mutuel', 'みずほ'), 'risk', (b % 1000) * 1e-3), NULL)
FROM orders o STRAIGHT_JOIN seed FORCE INDEX (PRIMARY) ON n = o.id WHERE a % 16 NOT IN (1, 15) AND n <= 129000;

INSERT INTO reviews
SELECT n, 1 + (n * 7919) % 20000, 1 + (n * 7919 + (n DIV 20000) * 20011) % 60000, 1 + (a DIV 7) % 5,
  ELT(1 + b % 8, 'Great', 'Na ja …', 'Très bien', '最高', 'Не очень', 'Świetne', 'Ótimo', '👍👍👍'),
  IF(n % 10 = 0, NULL, CONCAT_WS(' ',
    ELT(1 + a % 10, 'I bought this for my sister and she uses it every day.', 'Ich hätte es gern etwas größer gehabt.',
      'Livraison rapide, emballage soigné, rien à redire.', '思ったより小さいけれど、とても気に入りました。', 'Качество хорошее, но цвет другой.',
      'Kupiłem już trzeci raz i na pewno wrócę.', 'Chegou antes do prazo e funciona muito bem.', 'Πολύ καλή ποιότητα, το συνιστώ.',
      'منتج جيد وسعر مناسب.', '배송이 빠르고 품질도 좋아요.'),
    ELT(1 + b % 6, 'The handle is a little loose, though.', 'Would buy again!', 'Nie wieder.', 'À recommander ⭐⭐⭐⭐', '買ってよかった。', 'It''s 100% "ok".'),
    CONCAT('Order ', 1 + c % 130000, ', day ', d % 365, '.'))),
  '2022-02-01' + INTERVAL d % 1060 DAY
FROM seed WHERE n <= 30000 ORDER BY n;

-- ------------------------------------------------------------------------------------------------------- fill: shop_crm

USE shop_crm;

INSERT INTO departments VALUES (1, 'Vertrieb', 1), (2, 'Service après-vente', 2), (3, '物流', 3), (4, 'People & "Culture"', NULL);
INSERT INTO employees
SELECT n, IF(n <= 3, n, 1 + a % 4), IF(n <= 3, NULL, 1 + b % 3), CONCAT(ELT(1 + c % 8, 'Anna', 'Jürgen', 'Hélène', 'Íñigo', 'Łukasz', 'Åsa',
  'Νίκος', '花子'), ' ', ELT(1 + d % 8, 'Groß', 'O''Neill', 'Lefèvre', 'Peña', 'Żak', 'Ström', 'Αλεξίου', '鈴木'), ' ', n),
  28000 + (b % 6000000) / 100, '2005-01-01' + INTERVAL c % 7000 DAY, SUBSTR(h, 1, 4)
FROM shop.seed WHERE n <= 200;

INSERT INTO customers
SELECT n, h, ELT(1 + a % 14, 'GB', 'DE', 'FR', 'ES', 'PL', 'SE', 'GR', 'UA', 'BR', 'EG', 'IN', 'JP', 'CN', 'KR'),
  ELT(1 + c % 7, 'Frau', 'Monsieur', 'Señora', 'Fröken', 'Dr. Dr.', 'Mr', NULL),
  ELT(1 + 4 * (a % 14) + b % 4, 'Emily', 'Oliver', 'Zoë', 'Seán', 'Jürgen', 'Käthe', 'Anna', 'Björn', 'François', 'Hélène', 'Loïc',
    'Anaïs', 'José', 'Begoña', 'Íñigo', 'Lucía', 'Łukasz', 'Małgorzata', 'Paweł', 'Agnieszka', 'Åsa', 'Göran', 'Märta', 'Erik',
    'Γιώργος', 'Ελένη', 'Νίκος', 'Σοφία', 'Олена', 'Тарас', 'Андрій', 'Юлія', 'João', 'Conceição', 'Luís', 'Júlia', 'محمد', 'فاطمة',
    'يوسف', 'مريم', 'राहुल', 'प्रिया', 'अर्जुन', 'दीपिका', '太郎', '花子', '健一', 'さくら', '伟', '秀英', '静', '强', '민준', '서연', '지훈', '하은'),
  ELT(1 + 4 * (a % 14) + c % 4, 'Smith', 'O''Connor', 'Brontë', 'Jones', 'Müller', 'Weiß', 'Schäfer', 'Groß', 'Lefèvre', 'Noël',
    'D''Aubigné', 'Béranger', 'Muñoz', 'Ibáñez', 'García', 'Peña', 'Wiśniewski', 'Dąbrowska', 'Żak', 'Król', 'Ström', 'Åkesson',
    'Sjöberg', 'Lindqvist', 'Παπαδόπουλος', 'Αλεξίου', 'Γεωργίου', 'Νικολάου', 'Шевченко', 'Коваленко', 'Бондаренко', 'Ткачук',
    'Gonçalves', 'Araújo', 'Antunes', 'Simões', 'حسن', 'إبراهيم', 'علي', 'السيد', 'शर्मा', 'पटेल', 'सिंह', 'गुप्ता', '佐藤', '鈴木', '高橋', '田中',
    '王', '李', '张', '刘', '김', '이', '박', '최'),
  CONCAT('customer.', n, '@example.', ELT(1 + d % 3, 'com', 'org', 'net')), IF(d % 10 = 0, CONCAT('EU', LPAD(n, 9, '0')), NULL),
  IF(b % 5 = 0, NULL, '1935-01-01' + INTERVAL b % 26000 DAY), d % 5000 - 500, (c % 2000000 - 300000) / 100, a % 3 > 0,
  IF(c % 4 = 0, NULL, JSON_OBJECT('language', ELT(1 + a % 4, 'en', 'de', 'fr', 'ja'), 'theme', ELT(1 + b % 2, 'dark', 'light'),
    'seen', JSON_ARRAY(a % 100, b % 100), 'motto', ELT(1 + d % 4, 'naïve', '☕ first', 'c:\\new', ''))),
  LOWER(CONCAT(HEX(h), HEX(REVERSE(h)))), IF(n > 10 AND d % 6 = 0, 1 + a % (n - 1), NULL),
  '2018-01-01' + INTERVAL b % 200000000 SECOND, IF(a % 11 = 0, NULL, FROM_UNIXTIME(1704067200 + (c % 31000000) + (d % 1000) * 0.001))
FROM shop.seed WHERE n <= 60000 ORDER BY n;

INSERT INTO addresses
SELECT n, 3 - line, CONCAT(ELT(1 + a % 14, 'High Street', 'Große Straße', 'rue de l''Église', 'Calle Mayor', 'ul. Świętokrzyska',
    'Storgatan', 'Οδός Ερμού', 'вул. Хрещатик', 'Rua São João', 'شارع التحرير', 'महात्मा गांधी मार्ग', '銀座', '南京路', '세종대로'), ' ', 1 + b % 200),
  ELT(1 + a % 14, 'Leeds', 'Düsseldorf', 'Orléans', 'A Coruña', 'Kraków', 'Malmö', 'Πάτρα', 'Львів', 'Brasília', 'الإسكندرية', 'दिल्ली', '東京',
    '上海', '서울'),
  LPAD(c % 100000, 5, '0'), ELT(1 + a % 14, 'GB', 'DE', 'FR', 'ES', 'PL', 'SE', 'GR', 'UA', 'BR', 'EG', 'IN', 'JP', 'CN', 'KR'),
  IF(d % 4 = 0, POINT((b % 3600000) / 10000e0 - 180, (c % 1800000) / 10000e0 - 90), NULL)
FROM shop.seed JOIN shop.line_numbers ON line = 1 OR (line = 2 AND n % 5 = 0) WHERE n <= 60000 ORDER BY n, line DESC;

INSERT INTO tickets
SELECT n, o.customer_id, IF(a % 5 = 0, NULL, o.id), IF(b % 6 = 0, NULL, 1 + b % 200),
  CONCAT(ELT(1 + c % 6, 'Where is my parcel?', 'Rücksendung', 'Remboursement demandé', '色が違います', 'Сломано', 'Wrong "size"'), ' #', o.id),
  1 + d % 4, o.placed_at + INTERVAL 3 DAY, SEC_TO_TIME(3600 * (1 + a % 72))
FROM shop.seed STRAIGHT_JOIN shop.orders o FORCE INDEX (PRIMARY) ON o.id = n * 16 WHERE n <= 8000 ORDER BY n;

INSERT INTO ticket_messages
SELECT n, line, line % 2 = 0,
  CONCAT(ELT(1 + (a + line) % 6, 'Dear customer,\n\nthank you for your patience.', 'Sehr geehrte Damen und Herren,\r\n\r\nleider ist das Paket beschädigt.',
    'Bonjour,\n\tle colis n''est jamais arrivé à l''adresse indiquée.', 'お世話になっております。\n商品がまだ届きません。', 'Добрый день!\nКогда будет доставка?',
    'Hi 👋\nC:\\photos\\parcel.jpg shows the "damage".'),
    REPEAT(CONCAT('\n> ', ELT(1 + (b + line) % 4, 'earlier you wrote that it would be here on Monday', 'wie schon am Telefon besprochen, fehlt ein Teil',
      'nous avons bien reçu votre message', 'ご連絡ありがとうございます')), (c + line) % 9), '\n-- \nNo. ', n, '.', line),
  FROM_UNIXTIME(1650000000 + n * 9000 + line * 600 + (d % 1000000) * 0.000001)
FROM shop.seed JOIN shop.line_numbers ON line <= 1 + n % 4 WHERE n <= 8000 ORDER BY n, line;

INSERT INTO attachments              -- 40 of a quarter of a megabyte, one of 4 MiB, one empty
SELECT n, n, 1, CONCAT(ELT(1 + a % 3, 'photo', 'Rechnung Größe', '写真'), '-', n, '.bin'),
  CASE n WHEN 41 THEN REPEAT(CONCAT(h, 0x00090A0D5C27221A), 174763) WHEN 42 THEN '' ELSE REPEAT(CONCAT(h, UNHEX(SHA2(n, 256)), REVERSE(h)), 4096) END,
  IF(n % 8 = 0, REPEAT(CONCAT('Grüße aus ', ELT(1 + b % 3, 'Köln', '大阪', 'Łódź'), ' 📦\n'), 2000), NULL)
FROM shop.seed WHERE n <= 42;

INSERT INTO legacy_contacts
SELECT n, ELT(1 + a % 4, 'Müller', 'Café', 'Señor Ñ', 'Ångström'), ELT(1 + b % 4, 'Wałęsa', 'Dvořák', 'Gyöngyösi', 'Žižka'),
  ELT(1 + c % 3, 'Иванов', 'Шевченко', 'Ёлкина'), ELT(1 + d % 3, 'Παπαδόπουλος', 'Έλενα', 'Νίκος'), ELT(1 + a % 3, '表示', 'ソフト', '能力'),
  ELT(1 + b % 2, '김치', '서울'), ELT(1 + c % 3, '中文', '運動', '誠'), ELT(1 + d % 3, '😀 wide', 'é', '日本'),
  CASE n % 4 WHEN 0 THEN h WHEN 1 THEN 0xC328 WHEN 2 THEN 0x00FF0A095C WHEN 3 THEN NULL END,
  IF(n % 7 = 0, '0000-00-00', '1999-12-31' + INTERVAL n DAY)
FROM shop.seed WHERE n <= 2000;

-- ----------------------------------------------------------------------------------------------------- fill: shop_stats

USE shop_stats;

INSERT INTO page_views
SELECT n, '2022-06-01' + INTERVAL (n * 660000 + b % 600000) * 1000 MICROSECOND, IF(a % 3 = 0, NULL, 1 + b % 60000), IF(c % 4 = 0, NULL, 1 + c % 20000),
  CONCAT('/', ELT(1 + d % 5, 'product', 'search?q=th%C3%A9', 'cart', 'c/kitchen', ''), '/', 1 + c % 20000, '?ref=', HEX(SUBSTR(h, 1, 4))),
  CONCAT('Mozilla/5.0 (', ELT(1 + a % 4, 'X11; Linux x86_64', 'Macintosh', 'iPhone; 日本語', 'Windows NT 10.0'), ') ', 80 + b % 50, '.0'),
  IF(d % 2 = 0, h, SUBSTR(h, 5, 4)), b % 600000, IF(c % 5 = 0, NULL, (d % 1000) / 999e0)
FROM shop.seed WHERE n <= 120000 ORDER BY n;

INSERT INTO sessions
SELECT (a - 2147483648) * 4294967296 + b, h, FROM_UNIXTIME(1700000000 + c % 30000000), IF(d % 2 = 0, NULL, REPEAT(h, 1 + d % 12))
FROM shop.seed WHERE n <= 20000 ORDER BY 1;
INSERT INTO sessions VALUES (-9223372036854775808, REPEAT('\0', 16), '1970-01-01 00:00:01', ''), (9223372036854775807, REPEAT('\Z', 16),
  '2038-01-19 03:14:07', '\0');

INSERT INTO readings
SELECT 1 + n % 12, FROM_UNIXTIME(1709251200 + 900 * (n DIV 12)), IF(a % 50 = 0, NULL, (a % 60000) / 1000e0 - 20), (b % 1000003) / 10000.3e0,
  (IF(c % 2 = 0, 1, -1)) * (1 + d / 4294967296e0) * POW(10, a % 601 - 300), c % 65536 - 32768
FROM shop.seed WHERE n <= 60000 ORDER BY 1, 2;

INSERT INTO daily_sales
SELECT DATE(o.placed_at), c.country_code, COUNT(*), SUM(o.total)
FROM shop.orders o STRAIGHT_JOIN shop_crm.customers c FORCE INDEX (PRIMARY) ON c.id = o.customer_id GROUP BY 1, 2 ORDER BY 1, 2;

INSERT INTO search_terms
SELECT CONCAT(ELT(1 + n % 12, 'tea', 'Tea', 'thé', 'the', '100%', 'under_score', 'o''clock', '"quoted"', 'back\\slash', 'größe', 'grosse', '茶'), ' ',
  n DIV 12), a % 100000, b / 4294967296e0
FROM shop.seed WHERE n <= 6000 ORDER BY 1;

INSERT INTO `monthly report: "Größe"`
SELECT CONCAT(2020 + n DIV 60, '-', LPAD(1 + (n DIV 5) % 12, 2, '0')), 1 + n % 5, IF(a % 9 = 0, NULL, b * 0.0001), ELT(1 + c % 3, 'x', '`', NULL), 1 + d % 3
FROM shop.seed WHERE n < 300;

-- ------------------------------------------------------------------------------------ keys that come after the rows

-- Secondary keys and foreign keys of the large tables: built at once they cost half of what keeping them row by row does.

ALTER TABLE shop.orders
  ADD KEY customer (customer_id, placed_at), ADD KEY month_status (month, status), ADD KEY voucher (voucher_code),
  ADD CONSTRAINT order_customer FOREIGN KEY (customer_id) REFERENCES shop_crm.customers (id),
  ADD CONSTRAINT order_voucher FOREIGN KEY (voucher_code) REFERENCES shop.vouchers (code) ON UPDATE CASCADE ON DELETE SET NULL;
ALTER TABLE shop.order_items
  ADD KEY product (product_id),
  ADD CONSTRAINT item_order FOREIGN KEY (order_id) REFERENCES shop.orders (id) ON DELETE CASCADE,
  ADD CONSTRAINT item_product FOREIGN KEY (product_id) REFERENCES shop.products (id);
ALTER TABLE shop.payments
  ADD UNIQUE KEY order_id (order_id),
  ADD CONSTRAINT payment_order FOREIGN KEY (order_id) REFERENCES shop.orders (id) ON DELETE CASCADE;
ALTER TABLE shop_crm.customers
  ADD UNIQUE KEY email (email), ADD UNIQUE KEY uuid (uuid), ADD UNIQUE KEY vat_id (vat_id),
  ADD KEY name (last_name(8), first_name(4)), ADD KEY country (country_code), ADD KEY referrer (referrer_id),
  ADD CONSTRAINT customer_country FOREIGN KEY (country_code) REFERENCES shop.countries (code) ON UPDATE CASCADE,
  ADD CONSTRAINT customer_referrer FOREIGN KEY (referrer_id) REFERENCES shop_crm.customers (id) ON DELETE SET NULL;
ALTER TABLE shop_crm.addresses
  ADD KEY country (country_code, postcode),
  ADD CONSTRAINT address_customer FOREIGN KEY (customer_id) REFERENCES shop_crm.customers (id) ON DELETE CASCADE,
  ADD CONSTRAINT address_country FOREIGN KEY (country_code) REFERENCES shop.countries (code) ON UPDATE CASCADE;
ALTER TABLE shop_stats.page_views ADD KEY product (product_id);

-- ------------------------------------------------------------------------------------------------------------- routines

USE shop;
DELIMITER //

CREATE DEFINER = 'shop_admin'@'localhost' FUNCTION vat_part(gross DECIMAL(12,2), rate DECIMAL(4,2)) RETURNS DECIMAL(12,2)
  DETERMINISTIC NO SQL COMMENT 'the tax within a gross amount'
  RETURN ROUND(gross - gross / (1 + rate / 100), 2)//

CREATE DEFINER = 'shop_admin'@'localhost' PROCEDURE place_order(IN for_customer INT UNSIGNED, IN wanted_product INT UNSIGNED, IN wanted_quantity SMALLINT,
  OUT new_order BIGINT UNSIGNED)
  MODIFIES SQL DATA
BEGIN
  DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
  START TRANSACTION;
  INSERT INTO orders (customer_id, placed_at, client_address) VALUES (for_customer, NOW(6), UNHEX('7F000001'));
  SET new_order = LAST_INSERT_ID();
  INSERT INTO order_items (order_id, line, product_id, quantity) VALUES (new_order, 1, wanted_product, wanted_quantity);
  UPDATE orders SET total = (SELECT SUM(amount) FROM order_items WHERE order_id = new_order) WHERE id = new_order;
  COMMIT;
END//

CREATE DEFINER = 'shop_admin'@'localhost' PROCEDURE restock(IN below INT, IN up_to INT)
  SQL SECURITY INVOKER MODIFIES SQL DATA COMMENT 'füllt auf: "alles", was knapp ist'
BEGIN
  DECLARE done BOOLEAN DEFAULT FALSE;
  DECLARE short_product INT UNSIGNED;
  DECLARE shortage CURSOR FOR SELECT product_id FROM stock GROUP BY product_id HAVING SUM(quantity) < below;
  DECLARE CONTINUE HANDLER FOR NOT FOUND SET done = TRUE;
  OPEN shortage;
  each_product: LOOP
    FETCH shortage INTO short_product;
    IF done THEN LEAVE each_product; END IF;
    UPDATE stock SET quantity = up_to WHERE product_id = short_product LIMIT 1;
  END LOOP;
  CLOSE shortage;
END//

USE shop_crm//

CREATE DEFINER = 'shop_admin'@'localhost' FUNCTION full_name(first_name VARCHAR(40), last_name VARCHAR(40), country CHAR(2)) RETURNS VARCHAR(90)
  DETERMINISTIC NO SQL
BEGIN
  -- In these countries the family name comes first: 佐藤 太郎
  IF country IN ('JP', 'CN', 'KR') THEN
    RETURN CONCAT(last_name, ' ', first_name);
  END IF;
  RETURN CONCAT(first_name, ' ', last_name);
END//

-- A body that only parses with the sql_mode it was created with.
SET @sql_mode_before = @@sql_mode//
SET sql_mode = 'ANSI_QUOTES,PIPES_AS_CONCAT'//
CREATE DEFINER = 'shop_admin'@'localhost' FUNCTION "ticket no"("id" INT) RETURNS VARCHAR(20) DETERMINISTIC NO SQL
  RETURN '№ ' || LPAD("id", 8, '0')//
SET sql_mode = @sql_mode_before//

-- ---------------------------------------------------------------------------------------------------------------- views

USE shop//

CREATE DEFINER = 'shop_admin'@'localhost' VIEW order_lines AS
  SELECT i.order_id, o.customer_id, o.placed_at, i.line, p.sku, p.name AS product, i.quantity, i.amount, p.vat_rate
  FROM order_items i JOIN orders o ON o.id = i.order_id JOIN products p ON p.id = i.product_id//

CREATE DEFINER = 'shop_admin'@'localhost' VIEW order_summary AS
  SELECT order_id, customer_id, placed_at, COUNT(*) AS items, SUM(amount) AS total, SUM(vat_part(amount, vat_rate)) AS vat
  FROM order_lines GROUP BY order_id, customer_id, placed_at//

CREATE ALGORITHM = MERGE DEFINER = 'shop_admin'@'localhost' VIEW active_products (id, sku, `the name`, price) AS
  SELECT id, sku, name, price FROM products WHERE status = 'active' WITH CASCADED CHECK OPTION//

CREATE DEFINER = 'shop_admin'@'localhost' VIEW shop_crm.directory AS
  SELECT c.id, shop_crm.full_name(c.first_name, c.last_name, c.country_code) AS name, c.email, k.name AS country, k.flag
  FROM shop_crm.customers c JOIN countries k ON k.code = c.country_code//

-- Its name sorts before the views that it stands on.
CREATE DEFINER = 'shop_admin'@'localhost' SQL SECURITY INVOKER VIEW big_orders AS
  SELECT s.*, d.name AS customer, d.country FROM order_summary s JOIN shop_crm.directory d ON d.id = s.customer_id WHERE s.total > 1000//

CREATE DEFINER = 'shop_admin'@'localhost' VIEW shop_stats.sales_by_month AS
  SELECT YEAR(day) * 100 + MONTH(day) AS month, SUM(orders) AS orders, SUM(revenue) AS revenue FROM shop_stats.daily_sales GROUP BY 1//

-- ------------------------------------------------------------------------------------------------------------- triggers

-- Two for each event: stock is kept, and every movement is written down. They come after the fill, which they would slow.

CREATE DEFINER = 'shop_admin'@'localhost' TRIGGER items_price BEFORE INSERT ON order_items FOR EACH ROW
  IF NEW.unit_price = 0 THEN
    SET NEW.unit_price = (SELECT price FROM products WHERE id = NEW.product_id);
  END IF//
CREATE DEFINER = 'shop_admin'@'localhost' TRIGGER items_check BEFORE INSERT ON order_items FOR EACH ROW FOLLOWS items_price
  IF NEW.quantity < 1 THEN
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'quantity: mindestens 1, s''il vous plaît';
  END IF//

CREATE DEFINER = 'shop_admin'@'localhost' TRIGGER items_take AFTER INSERT ON order_items FOR EACH ROW
  UPDATE stock SET quantity = quantity - NEW.quantity WHERE product_id = NEW.product_id ORDER BY warehouse_id LIMIT 1//
CREATE DEFINER = 'shop_admin'@'localhost' TRIGGER a_items_log AFTER INSERT ON order_items FOR EACH ROW FOLLOWS items_take
  INSERT INTO stock_movements (product_id, change_by, cause)
  VALUES (NEW.product_id, -NEW.quantity, CONCAT('order ', NEW.order_id))//

CREATE DEFINER = 'shop_admin'@'localhost' TRIGGER items_retake AFTER UPDATE ON order_items FOR EACH ROW
BEGIN
  UPDATE stock SET quantity = quantity + OLD.quantity WHERE product_id = OLD.product_id ORDER BY warehouse_id LIMIT 1;
  UPDATE stock SET quantity = quantity - NEW.quantity WHERE product_id = NEW.product_id ORDER BY warehouse_id LIMIT 1;
END//
CREATE DEFINER = 'shop_admin'@'localhost' TRIGGER items_relog AFTER UPDATE ON order_items FOR EACH ROW FOLLOWS items_retake
  INSERT INTO stock_movements (product_id, change_by, cause) VALUES
    (OLD.product_id, OLD.quantity, CONCAT('order ', OLD.order_id, ' changed: zurück')),
    (NEW.product_id, -NEW.quantity, CONCAT('order ', NEW.order_id, ' changed'))//

CREATE DEFINER = 'shop_admin'@'localhost' TRIGGER items_return AFTER DELETE ON order_items FOR EACH ROW
  UPDATE stock SET quantity = quantity + OLD.quantity WHERE product_id = OLD.product_id ORDER BY warehouse_id LIMIT 1//
CREATE DEFINER = 'shop_admin'@'localhost' TRIGGER items_unlog AFTER DELETE ON order_items FOR EACH ROW FOLLOWS items_return
  INSERT INTO stock_movements (product_id, change_by, cause) VALUES (OLD.product_id, OLD.quantity, CONCAT('order ', OLD.order_id, ' gone'))//

-- --------------------------------------------------------------------------------------------------------------- events

SET time_zone = '+02:00'//
CREATE DEFINER = 'shop_admin'@'localhost' EVENT expire_vouchers ON SCHEDULE EVERY 1 DAY STARTS '2037-01-01 03:30:00'
  ON COMPLETION PRESERVE DISABLE COMMENT 'läuft nachts, très tard'
  DO DELETE FROM vouchers WHERE expires < CURRENT_DATE//
SET time_zone = '+00:00'//
CREATE DEFINER = 'shop_admin'@'localhost' EVENT shop_stats.close_year ON SCHEDULE AT '2037-12-31 23:00:00' ON COMPLETION PRESERVE
  DO BEGIN
    INSERT INTO shop_stats.archive (row_data) SELECT JSON_OBJECT('day', day, 'revenue', revenue) FROM shop_stats.daily_sales;
    DELETE FROM shop_stats.daily_sales;
  END//

DELIMITER ;

-- --------------------------------------------------------------------------------------------------------------- grants

GRANT SELECT ON shop.* TO shop_reader;
GRANT SELECT ON shop_stats.* TO shop_reader;
GRANT SELECT (id, first_name, last_name, country_code), UPDATE (points, newsletter) ON shop_crm.customers TO shop_clerk;
GRANT SELECT, INSERT, UPDATE ON shop_crm.tickets TO shop_clerk;
GRANT EXECUTE ON PROCEDURE shop.place_order TO shop_clerk;
GRANT EXECUTE ON FUNCTION shop_crm.full_name TO shop_clerk;
GRANT ALL PRIVILEGES ON shop.* TO shop_manager;
GRANT shop_reader TO shop_clerk;
GRANT shop_clerk TO shop_manager;
GRANT shop_reader TO 'shop_report'@'192.0.2.0/255.255.255.0';
GRANT shop_clerk TO 'shop_web'@'%.example.org';
GRANT shop_manager TO 'shop_admin'@'localhost' WITH ADMIN OPTION;
GRANT SELECT ON shop.active_products TO 'shop_web'@'%.example.org';

-- ------------------------------------------------------------------------------------ a few orders through the triggers

SET foreign_key_checks = 1;
SET unique_checks = 1;

CALL place_order(7, 42, 3, @placed);
CALL place_order(59999, 20000, 1, @placed);
UPDATE order_items SET quantity = 2 WHERE order_id = @placed;
CALL place_order(1, 1, 9, @placed);
DELETE FROM orders WHERE id = @placed;      -- a cascade, so the triggers on its items stay silent
CALL place_order(12, 777, 5, @placed);
DELETE FROM order_items WHERE order_id = @placed;

DROP TEMPORARY TABLE seed, line_numbers;
SET timestamp = DEFAULT;
