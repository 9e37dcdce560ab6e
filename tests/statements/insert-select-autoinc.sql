-- unknown: the text does not tell the table's keys
CREATE TABLE insert_select_autoinc (id INT PRIMARY KEY AUTO_INCREMENT, a INT, v VARCHAR(100)) ENGINE=InnoDB;
CREATE TABLE insert_select_autoinc_other (id INT PRIMARY KEY, a INT, v VARCHAR(100)) ENGINE=InnoDB; INSERT INTO insert_select_autoinc_other VALUES (11, 1, 'x'), (12, 2, 'y');
-- statement
INSERT INTO insert_select_autoinc (a, v) SELECT a, v FROM insert_select_autoinc_other;
