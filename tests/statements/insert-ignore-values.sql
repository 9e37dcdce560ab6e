CREATE TABLE insert_ignore_values (id INT PRIMARY KEY, a INT, v VARCHAR(100)) ENGINE=InnoDB; INSERT INTO insert_ignore_values VALUES (1, 1, 'x'), (2, 2, 'y'), (3, 3, 'z');
-- statement
INSERT IGNORE INTO insert_ignore_values VALUES (4, 5, 'new');
