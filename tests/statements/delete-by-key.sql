CREATE TABLE delete_by_key (id INT PRIMARY KEY, a INT, v VARCHAR(100)) ENGINE=InnoDB; INSERT INTO delete_by_key VALUES (1, 1, 'x'), (2, 2, 'y'), (3, 3, 'z');
-- statement
DELETE FROM delete_by_key WHERE id = 2;
