CREATE TABLE variable_timestamp (id INT PRIMARY KEY, a INT, v VARCHAR(100)) ENGINE=InnoDB; INSERT INTO variable_timestamp VALUES (1, 1, 'x'), (2, 2, 'y'), (3, 3, 'z');
-- statement
UPDATE variable_timestamp SET v = @@timestamp;
