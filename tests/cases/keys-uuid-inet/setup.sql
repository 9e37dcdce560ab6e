-- MariaDB's UUID, INET4 and INET6, as keys and as values. UUID sorts by its last bytes first, INET6 by its 16 bytes,
-- not by text; a client sees all of them as strings. Guards against: borders ordered by the client as text, and a
-- binary read (HEX, or a cast to BINARY) that yields the bytes in another order than the type takes back.
DROP DATABASE IF EXISTS c_keys_uuid_inet;
CREATE DATABASE c_keys_uuid_inet CHARACTER SET utf8mb4;
USE c_keys_uuid_inet;

CREATE TABLE uuid_key (k UUID NOT NULL PRIMARY KEY, n INT);
INSERT INTO uuid_key VALUES
  ('00000000-0000-0000-0000-000000000000', 1), ('ffffffff-ffff-ffff-ffff-ffffffffffff', 2),
  ('ffffffff-0000-1000-8000-000000000001', 3), ('00000000-ffff-1fff-8000-000000000001', 4),
  ('123e4567-e89b-12d3-a456-426655440000', 5), ('123e4567-e89b-12d3-a456-426655440001', 6),
  ('123E4568-E89B-12D3-A456-426655440000', 7), ('6ccd780c-baba-1026-9564-5b8c656024db', 8),
  ('0190b5a0-2c3d-7e4f-8a5b-6c7d8e9fa0b1', 9), ('27275c5c-2725-5f0a-8d00-1a00225c2700', 10);
INSERT INTO uuid_key
  SELECT CONCAT_WS('-', LEFT(h, 8), MID(h, 9, 4), CONCAT('4', MID(h, 13, 3)), CONCAT('8', MID(h, 16, 3)), MID(h, 20, 12)), 100 + seq
  FROM (SELECT seq, SHA2(seq, 256) AS h FROM seq_0_to_399) AS x;

CREATE TABLE inet6_key (k INET6 NOT NULL PRIMARY KEY, n INT);
INSERT INTO inet6_key VALUES ('::', 1), ('::1', 2), ('ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff', 3), ('2001:db8::ff00:42:8329', 4),
  ('::ffff:192.0.2.128', 5), ('::192.0.2.128', 6), ('fe80::1', 7), ('1::', 8), ('9::', 9), ('a::', 10), ('10::', 11);

CREATE TABLE inet4_key (k INET4 NOT NULL PRIMARY KEY, n INT);
INSERT INTO inet4_key VALUES ('0.0.0.0', 1), ('255.255.255.255', 2), ('9.9.9.9', 3), ('10.0.0.1', 4), ('127.0.0.1', 5), ('39.92.10.0', 6);

CREATE TABLE as_values (id INT PRIMARY KEY, u UUID NULL, a INET4 NULL, b INET6 DEFAULT '::1', KEY (u), UNIQUE KEY (a, b));
INSERT INTO as_values VALUES (1, NULL, NULL, NULL), (2, '123e4567-e89b-12d3-a456-426655440000', '1.2.3.4', '::'), (3, '00000000-0000-0000-0000-000000000000', '0.0.0.0', DEFAULT);
CREATE TABLE composite (u UUID NOT NULL, a INET6 NOT NULL, PRIMARY KEY (u, a));
INSERT INTO composite VALUES ('ffffffff-0000-1000-8000-000000000001', '::2'), ('ffffffff-0000-1000-8000-000000000001', '::1'), ('00000000-ffff-1fff-8000-000000000001', 'ff::');
