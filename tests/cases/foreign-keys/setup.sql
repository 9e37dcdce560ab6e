-- Foreign keys: to a unique key that is not primary, of two columns, to the table itself with rows before their parents, in a cycle of two and
-- of three tables, with each action, named like others' names, on columns of other names; parents that sort after their
-- children. Guards against: creation or load in an order that cannot work, actions that fire on restore (REPLACE, TRUNCATE
-- or delete-and-insert cascade), constraint names lost or made anew, the index of a key dropped while it is needed.
DROP DATABASE IF EXISTS c_foreign_keys;
CREATE DATABASE c_foreign_keys CHARACTER SET utf8mb4;
USE c_foreign_keys;

CREATE TABLE z_parent (id INT NOT NULL PRIMARY KEY, code VARCHAR(10) COLLATE utf8mb4_general_ci NOT NULL, a INT NOT NULL, b INT NOT NULL, UNIQUE KEY by_code (code), UNIQUE KEY by_ab (a, b));
INSERT INTO z_parent VALUES (1, 'one', 1, 1), (2, 'Two', 1, 2), (3, 'it''s', 2, 1);
CREATE TABLE a_child (id INT NOT NULL PRIMARY KEY, p INT, code VARCHAR(10) COLLATE utf8mb4_general_ci, x INT, y INT,
  CONSTRAINT by_id FOREIGN KEY (p) REFERENCES z_parent (id) ON DELETE CASCADE ON UPDATE CASCADE,
  CONSTRAINT `by ``code é` FOREIGN KEY (code) REFERENCES z_parent (code) ON DELETE SET NULL ON UPDATE NO ACTION,
  CONSTRAINT by_two FOREIGN KEY (x, y) REFERENCES z_parent (a, b) ON DELETE RESTRICT);
-- 'two' refers to 'Two': equal to the collation, other bytes.
INSERT INTO a_child VALUES (1, 1, 'one', 1, 1), (2, 1, 'two', 1, 2), (3, NULL, NULL, NULL, NULL), (4, 3, 'IT''S', NULL, 9);
CREATE TABLE unnamed (id INT NOT NULL PRIMARY KEY, p INT, q INT, FOREIGN KEY (p) REFERENCES z_parent (id), FOREIGN KEY own_index_name (q) REFERENCES z_parent (id) ON UPDATE SET NULL);
INSERT INTO unnamed VALUES (1, 1, 2), (2, NULL, 3);

-- To itself: rows in primary key order come before their parents.
SET foreign_key_checks = 0;
CREATE TABLE tree (id INT NOT NULL PRIMARY KEY, parent INT, name VARCHAR(20), CONSTRAINT up FOREIGN KEY (parent) REFERENCES tree (id) ON DELETE CASCADE);
INSERT INTO tree VALUES (1, 100, 'leaf'), (2, 1, 'leaf of leaf'), (50, 50, 'own parent'), (100, NULL, 'root'), (101, 102, 'one of two'), (102, 101, 'the other');
-- Two and three that refer to each other.
CREATE TABLE egg (id INT NOT NULL PRIMARY KEY, hen INT NOT NULL, CONSTRAINT egg_of FOREIGN KEY (hen) REFERENCES hen (id));
CREATE TABLE hen (id INT NOT NULL PRIMARY KEY, egg INT NOT NULL, CONSTRAINT hen_of FOREIGN KEY (egg) REFERENCES egg (id) ON DELETE CASCADE);
INSERT INTO egg VALUES (1, 1), (2, 1);
INSERT INTO hen VALUES (1, 2);
CREATE TABLE ring_a (id INT NOT NULL PRIMARY KEY, next INT, FOREIGN KEY (next) REFERENCES ring_b (id));
CREATE TABLE ring_b (id INT NOT NULL PRIMARY KEY, next INT, FOREIGN KEY (next) REFERENCES ring_c (id));
CREATE TABLE ring_c (id INT NOT NULL PRIMARY KEY, next INT, FOREIGN KEY (next) REFERENCES ring_a (id));
INSERT INTO ring_a VALUES (1, 1);
INSERT INTO ring_b VALUES (1, 1);
INSERT INTO ring_c VALUES (1, 1);
SET foreign_key_checks = 1;

-- A key with more columns than the index it uses, one that is a prefix of the primary key, and a parent without rows.
CREATE TABLE line (doc INT NOT NULL, n INT NOT NULL, t VARCHAR(10), PRIMARY KEY (doc, n), CONSTRAINT prefix_of_primary FOREIGN KEY (doc) REFERENCES z_parent (id));
INSERT INTO line VALUES (1, 1, 'x'), (1, 2, 'y'), (2, 1, NULL);
CREATE TABLE empty_parent (id INT NOT NULL PRIMARY KEY);
CREATE TABLE of_empty (id INT NOT NULL PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES empty_parent (id));
INSERT INTO of_empty VALUES (1, NULL);
-- From a generated column's base and to a table with triggers.
CREATE TRIGGER on_parent BEFORE DELETE ON z_parent FOR EACH ROW SIGNAL SQLSTATE '45000';
CREATE TABLE types (id INT NOT NULL PRIMARY KEY, e DATETIME(3) NOT NULL, b BINARY(3) NOT NULL, d DECIMAL(20,5) NOT NULL, UNIQUE KEY (e), UNIQUE KEY (b), UNIQUE KEY (d));
INSERT INTO types VALUES (1, '2024-01-01 00:00:00.5', x'00FF5C', 1.5);
CREATE TABLE of_types (e DATETIME(3), b BINARY(3), d DECIMAL(20,5), FOREIGN KEY (e) REFERENCES types (e), FOREIGN KEY (b) REFERENCES types (b), FOREIGN KEY (d) REFERENCES types (d));
INSERT INTO of_types VALUES ('2024-01-01 00:00:00.5', x'00FF5C', 1.5), (NULL, NULL, NULL);

-- Rows that point to no parent, stored while foreign_key_checks was off; a child of a table that does not exist; a parent dropped
-- later. Guards against: a restore that fails on, or drops, such rows; it must bring back what was there (and may say so).
CREATE TABLE orphans_parent (id INT NOT NULL PRIMARY KEY);
INSERT INTO orphans_parent VALUES (1), (2);
CREATE TABLE orphans (id INT NOT NULL PRIMARY KEY, p INT, v VARCHAR(10), CONSTRAINT to_parent FOREIGN KEY (p) REFERENCES orphans_parent (id) ON DELETE CASCADE);
SET foreign_key_checks = 0;
INSERT INTO orphans VALUES (1, 1, 'fine'), (2, 77, 'orphan'), (3, -1, 'orphan'), (4, NULL, 'none');
DELETE FROM orphans_parent WHERE id = 2;
INSERT INTO orphans VALUES (5, 2, 'orphaned');
CREATE TABLE of_missing (id INT NOT NULL PRIMARY KEY, p INT, CONSTRAINT to_missing FOREIGN KEY (p) REFERENCES never_created (id));
INSERT INTO of_missing VALUES (1, 5), (2, NULL);
CREATE TABLE dropped (id INT NOT NULL PRIMARY KEY);
CREATE TABLE of_dropped (id INT NOT NULL PRIMARY KEY, p INT, CONSTRAINT to_dropped FOREIGN KEY (p) REFERENCES dropped (id));
INSERT INTO dropped VALUES (1);
INSERT INTO of_dropped VALUES (1, 1), (2, 2);
DROP TABLE dropped;
SET foreign_key_checks = 1;
