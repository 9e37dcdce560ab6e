CREATE TABLE variable_of_user (id INT PRIMARY KEY, a INT, v VARCHAR(100)) ENGINE=InnoDB; INSERT INTO variable_of_user VALUES (1, 1, 'x'), (2, 2, 'y'), (3, 3, 'z');
SET @x = 5;
-- statement
UPDATE variable_of_user SET a = @x;
