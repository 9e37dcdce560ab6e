CREATE TABLE function_uuid (id INT PRIMARY KEY, a INT, v VARCHAR(100)) ENGINE=InnoDB; INSERT INTO function_uuid VALUES (1, 1, 'x'), (2, 2, 'y'), (3, 3, 'z');
-- statement
INSERT INTO function_uuid VALUES (4, 5, UUID());
