CREATE TABLE update_ignore (id INT PRIMARY KEY, a INT, v VARCHAR(100)) ENGINE=InnoDB; INSERT INTO update_ignore VALUES (1, 1, 'x'), (2, 2, 'y'), (3, 3, 'z');
-- statement
UPDATE IGNORE update_ignore SET a = 7 WHERE id = 1;
