-- MySQL: the older KEY algorithm, which SHOW CREATE TABLE writes inside a version comment.
USE c_partitions;
CREATE TABLE key_algorithm_1 (id INT NOT NULL PRIMARY KEY, v INT) PARTITION BY KEY ALGORITHM = 1 (id) PARTITIONS 3;
INSERT INTO key_algorithm_1 VALUES (1, 1), (2, 2), (3, 3), (10, 4), (-1, 5);
