CREATE TABLE function_load_file (id INT PRIMARY KEY, a INT, v VARCHAR(100)) ENGINE=InnoDB; INSERT INTO function_load_file VALUES (1, 1, 'x'), (2, 2, 'y'), (3, 3, 'z');
-- statement
UPDATE function_load_file SET v = COALESCE(LOAD_FILE('/nonexistent'), 'none');
