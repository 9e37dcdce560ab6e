-- Rows that point to no parent, stored while foreign_key_checks was off; a child of a table that does not exist; a parent dropped
-- later. Guards against: a restore that fails on, or drops, such rows; it must bring back what was there (and may say so).
DROP DATABASE IF EXISTS c_foreign_key_orphans;
CREATE DATABASE c_foreign_key_orphans CHARACTER SET utf8mb4;
USE c_foreign_key_orphans;

CREATE TABLE parent (id INT NOT NULL PRIMARY KEY);
INSERT INTO parent VALUES (1), (2);
CREATE TABLE child (id INT NOT NULL PRIMARY KEY, p INT, v VARCHAR(10), CONSTRAINT to_parent FOREIGN KEY (p) REFERENCES parent (id) ON DELETE CASCADE);
SET foreign_key_checks = 0;
INSERT INTO child VALUES (1, 1, 'fine'), (2, 77, 'orphan'), (3, -1, 'orphan'), (4, NULL, 'none');
DELETE FROM parent WHERE id = 2;
INSERT INTO child VALUES (5, 2, 'orphaned');
CREATE TABLE of_missing (id INT NOT NULL PRIMARY KEY, p INT, CONSTRAINT to_missing FOREIGN KEY (p) REFERENCES never_created (id));
INSERT INTO of_missing VALUES (1, 5), (2, NULL);
CREATE TABLE dropped (id INT NOT NULL PRIMARY KEY);
CREATE TABLE of_dropped (id INT NOT NULL PRIMARY KEY, p INT, CONSTRAINT to_dropped FOREIGN KEY (p) REFERENCES dropped (id));
INSERT INTO dropped VALUES (1);
INSERT INTO of_dropped VALUES (1, 1), (2, 2);
DROP TABLE dropped;
SET foreign_key_checks = 1;
