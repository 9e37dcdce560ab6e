CREATE TABLE function_get_lock (id INT PRIMARY KEY, a INT, v VARCHAR(100)) ENGINE=InnoDB; INSERT INTO function_get_lock VALUES (1, 1, 'x'), (2, 2, 'y'), (3, 3, 'z');
-- statement
UPDATE function_get_lock SET a = GET_LOCK('x', 0) + 9 WHERE id = 1;
