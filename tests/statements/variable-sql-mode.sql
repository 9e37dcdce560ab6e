CREATE TABLE variable_sql_mode (id INT PRIMARY KEY, a INT, v VARCHAR(100)) ENGINE=InnoDB; INSERT INTO variable_sql_mode VALUES (1, 1, 'x'), (2, 2, 'y'), (3, 3, 'z');
-- statement
UPDATE variable_sql_mode SET v = LEFT(@@sql_mode, 10);
