CREATE TABLE delete_limit (id INT PRIMARY KEY, a INT, v VARCHAR(100)) ENGINE=InnoDB; INSERT INTO delete_limit VALUES (1, 1, 'x'), (2, 2, 'y'), (3, 3, 'z');
-- statement
DELETE FROM delete_limit ORDER BY id LIMIT 2;
