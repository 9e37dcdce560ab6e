CREATE TABLE function_sleep (id INT PRIMARY KEY, a INT, v VARCHAR(100)) ENGINE=InnoDB; INSERT INTO function_sleep VALUES (1, 1, 'x'), (2, 2, 'y'), (3, 3, 'z');
-- statement
UPDATE function_sleep SET a = SLEEP(0) + 9 WHERE id = 1;
