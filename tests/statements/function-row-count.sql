CREATE TABLE function_row_count (id INT PRIMARY KEY, a INT, v VARCHAR(100)) ENGINE=InnoDB; INSERT INTO function_row_count VALUES (1, 1, 'x'), (2, 2, 'y'), (3, 3, 'z');
-- statement
UPDATE function_row_count SET a = ROW_COUNT() + 9;
