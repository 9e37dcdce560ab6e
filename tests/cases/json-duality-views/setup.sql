-- MySQL's JSON duality views (9.4 and later): in information_schema.TABLES and SHOW FULL TABLES they look like any view, and SHOW CREATE VIEW
-- prints CREATE … JSON RELATIONAL DUALITY VIEW with an object per row. Each row's document holds an etag, made from
-- its values. Guards against: a placeholder or rewritten CREATE VIEW that loses the kind of view, creation before the
-- tables' primary and foreign keys (which it needs). No other view can read one (error 6504).
DROP DATABASE IF EXISTS c_json_duality_views;
CREATE DATABASE c_json_duality_views CHARACTER SET utf8mb4;
USE c_json_duality_views;

CREATE TABLE z_customer (id INT NOT NULL PRIMARY KEY, name VARCHAR(50) NOT NULL, score DOUBLE);
INSERT INTO z_customer VALUES (1, 'it''s é日', 0.1), (2, 'two', NULL);
CREATE TABLE z_order (id INT NOT NULL PRIMARY KEY, customer INT NOT NULL, item VARCHAR(20), FOREIGN KEY (customer) REFERENCES z_customer (id));
INSERT INTO z_order VALUES (10, 1, 'x'), (11, 1, '"y\\'), (12, 2, NULL);
CREATE JSON RELATIONAL DUALITY VIEW a_customer AS SELECT JSON_DUALITY_OBJECT('_id': id, 'the "name"': name, 'score': score) FROM z_customer;
CREATE JSON RELATIONAL DUALITY VIEW a_orders AS SELECT JSON_DUALITY_OBJECT(WITH(INSERT, UPDATE, DELETE) '_id': id, 'name': name,
  'orders': (SELECT JSON_ARRAYAGG(JSON_DUALITY_OBJECT('order': id, 'item': item)) FROM z_order WHERE z_order.customer = z_customer.id)) FROM z_customer;
