CREATE TABLE function_last_insert_id (id INT PRIMARY KEY, a INT, v VARCHAR(100)) ENGINE=InnoDB; INSERT INTO function_last_insert_id VALUES (1, 1, 'x'), (2, 2, 'y'), (3, 3, 'z');
-- statement
UPDATE function_last_insert_id SET a = LAST_INSERT_ID() + 9;
