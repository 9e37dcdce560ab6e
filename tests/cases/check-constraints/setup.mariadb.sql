-- check_constraint_checks = 0 lets rows in that break the constraints; the restoring session must set it, too.
USE c_check_constraints;
CREATE TABLE violated (id INT NOT NULL PRIMARY KEY, a INT CHECK (a > 0), b VARCHAR(10), CONSTRAINT no_x CHECK (b <> 'x'));
SET check_constraint_checks = 0;
INSERT INTO violated VALUES (1, -1, 'x'), (2, 5, 'x'), (3, 0, 'ok'), (4, NULL, NULL);
-- Rows that never fitted a constraint added later.
CREATE TABLE added_later (id INT NOT NULL PRIMARY KEY, v INT);
INSERT INTO added_later VALUES (1, 1), (2, -2);
ALTER TABLE added_later ADD CONSTRAINT positive CHECK (v > 0);
SET check_constraint_checks = 1;
