CREATE TABLE json_set (id INT PRIMARY KEY, a INT, v VARCHAR(100)) ENGINE=InnoDB; INSERT INTO json_set VALUES (1, 1, 'x'), (2, 2, 'y'), (3, 3, 'z');
-- statement
UPDATE json_set SET v = JSON_SET('{"a": 1}', '$.a', 2) WHERE id = 1;
