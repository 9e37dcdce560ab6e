CREATE TABLE insert_autoinc (id INT PRIMARY KEY AUTO_INCREMENT, a INT, v VARCHAR(100)) ENGINE=InnoDB;
-- statement
INSERT INTO insert_autoinc (a, v) VALUES (1, 'x');
