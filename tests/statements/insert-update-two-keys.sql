-- unknown: the text does not tell the table's keys
CREATE TABLE insert_update_two_keys (id INT PRIMARY KEY, a INT, v VARCHAR(100)) ENGINE=InnoDB; INSERT INTO insert_update_two_keys VALUES (1, 1, 'x'), (2, 2, 'y'), (3, 3, 'z');
ALTER TABLE insert_update_two_keys ADD UNIQUE KEY (a);
-- statement
INSERT INTO insert_update_two_keys VALUES (1, 5, 'new') ON DUPLICATE KEY UPDATE a = 7;
