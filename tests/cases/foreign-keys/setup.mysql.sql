-- To a key that is not unique: refused from MySQL 8.4 on (error 6125) unless restrict_fk_on_non_standard_key is OFF for the session.
USE c_foreign_keys;
SET SESSION restrict_fk_on_non_standard_key = OFF;
CREATE TABLE loose_parent (id INT NOT NULL PRIMARY KEY, k INT, a INT, b INT, KEY (k), UNIQUE KEY (a, b));
INSERT INTO loose_parent VALUES (1, 5, 1, 1), (2, 5, 1, 2);
CREATE TABLE loose_child (id INT NOT NULL PRIMARY KEY, k INT, a INT, CONSTRAINT loose FOREIGN KEY (k) REFERENCES loose_parent (k), CONSTRAINT partial FOREIGN KEY (a) REFERENCES loose_parent (a));
INSERT INTO loose_child VALUES (1, 5, 1), (2, NULL, NULL);
SET SESSION restrict_fk_on_non_standard_key = ON;
