CREATE TABLE insert_select_update (id INT PRIMARY KEY, a INT, v VARCHAR(100)) ENGINE=InnoDB; INSERT INTO insert_select_update VALUES (1, 1, 'x'), (2, 2, 'y'), (3, 3, 'z');
CREATE TABLE insert_select_update_other (id INT PRIMARY KEY, a INT, v VARCHAR(100)) ENGINE=InnoDB; INSERT INTO insert_select_update_other VALUES (11, 1, 'x'), (12, 2, 'y');
-- statement
INSERT INTO insert_select_update SELECT * FROM insert_select_update_other ON DUPLICATE KEY UPDATE a = 7;
