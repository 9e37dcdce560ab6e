CREATE TABLE update_by_key (id INT PRIMARY KEY, a INT, v VARCHAR(100)) ENGINE=InnoDB; INSERT INTO update_by_key VALUES (1, 1, 'x'), (2, 2, 'y'), (3, 3, 'z');
-- statement
UPDATE update_by_key SET a = a + 1 WHERE id = 2;
