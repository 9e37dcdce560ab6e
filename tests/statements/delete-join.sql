CREATE TABLE delete_join (id INT PRIMARY KEY, a INT, v VARCHAR(100)) ENGINE=InnoDB; INSERT INTO delete_join VALUES (1, 1, 'x'), (2, 2, 'y'), (3, 3, 'z');
CREATE TABLE delete_join_other (id INT PRIMARY KEY, a INT, v VARCHAR(100)) ENGINE=InnoDB; INSERT INTO delete_join_other VALUES (11, 1, 'x'), (12, 2, 'y');
-- statement
DELETE delete_join FROM delete_join JOIN delete_join_other USING (a);
