-- unknown: the text does not tell the table's keys
CREATE TABLE insert_select (id INT PRIMARY KEY, a INT, v VARCHAR(100)) ENGINE=InnoDB; INSERT INTO insert_select VALUES (1, 1, 'x'), (2, 2, 'y'), (3, 3, 'z');
CREATE TABLE insert_select_other (id INT PRIMARY KEY, a INT, v VARCHAR(100)) ENGINE=InnoDB; INSERT INTO insert_select_other VALUES (11, 1, 'x'), (12, 2, 'y');
-- statement
INSERT INTO insert_select SELECT * FROM insert_select_other;
