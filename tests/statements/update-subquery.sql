CREATE TABLE update_subquery (id INT PRIMARY KEY, a INT, v VARCHAR(100)) ENGINE=InnoDB; INSERT INTO update_subquery VALUES (1, 1, 'x'), (2, 2, 'y'), (3, 3, 'z');
CREATE TABLE update_subquery_other (id INT PRIMARY KEY, a INT, v VARCHAR(100)) ENGINE=InnoDB; INSERT INTO update_subquery_other VALUES (11, 1, 'x'), (12, 2, 'y');
-- statement
UPDATE update_subquery SET a = (SELECT MAX(a) + 5 FROM update_subquery_other) WHERE id = 1;
