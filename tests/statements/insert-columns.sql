CREATE TABLE insert_columns (id INT PRIMARY KEY, a INT, v VARCHAR(100)) ENGINE=InnoDB; INSERT INTO insert_columns VALUES (1, 1, 'x'), (2, 2, 'y'), (3, 3, 'z');
-- statement
INSERT INTO insert_columns (id, v) VALUES (4, UPPER('new')), (5, NOW());
