-- To a key that is not unique, as MariaDB always allowed.
USE c_foreign_keys;
CREATE TABLE loose_parent (id INT NOT NULL PRIMARY KEY, k INT, a INT, b INT, KEY (k), UNIQUE KEY (a, b));
INSERT INTO loose_parent VALUES (1, 5, 1, 1), (2, 5, 1, 2);
CREATE TABLE loose_child (id INT NOT NULL PRIMARY KEY, k INT, a INT, CONSTRAINT loose FOREIGN KEY (k) REFERENCES loose_parent (k), CONSTRAINT partial FOREIGN KEY (a) REFERENCES loose_parent (a));
INSERT INTO loose_child VALUES (1, 5, 1), (2, NULL, NULL);
