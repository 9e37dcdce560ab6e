-- NOT ENFORCED, shown inside a version comment; and rows that a strict sql_mode would refuse to check.
USE c_check_constraints;
CREATE TABLE violated (id INT NOT NULL PRIMARY KEY, a INT CHECK (a > 0) NOT ENFORCED, b VARCHAR(10), CONSTRAINT no_x CHECK (b <> 'x') NOT ENFORCED, CONSTRAINT enforced CHECK (id < 100));
INSERT INTO violated VALUES (1, -1, 'x'), (2, 5, 'x'), (3, 0, 'ok'), (4, NULL, NULL);
CREATE TABLE added_later (id INT NOT NULL PRIMARY KEY, v INT);
INSERT INTO added_later VALUES (1, 1), (2, -2);
ALTER TABLE added_later ADD CONSTRAINT positive CHECK (v > 0) NOT ENFORCED;
-- Enforced, and yet violated by a row: the expression gave NULL or true under another sql_mode.
SET sql_mode = '';
CREATE TABLE by_mode (id INT NOT NULL PRIMARY KEY, d DATE CHECK (d = '2023-00-00' OR d > '2000-01-01'));
INSERT INTO by_mode VALUES (1, '2023-00-00'), (2, '2024-01-01');
SET sql_mode = DEFAULT;
