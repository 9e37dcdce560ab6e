CREATE TABLE replace_values (id INT PRIMARY KEY, a INT, v VARCHAR(100)) ENGINE=InnoDB; INSERT INTO replace_values VALUES (1, 1, 'x'), (2, 2, 'y'), (3, 3, 'z');
-- statement
REPLACE INTO replace_values VALUES (1, 5, 'new');
