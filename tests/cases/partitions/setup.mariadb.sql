-- MariaDB: a DEFAULT list partition, and partitioned Aria and MyISAM tables.
USE c_partitions;
CREATE TABLE list_default (k INT, v INT) PARTITION BY LIST (k) (PARTITION a VALUES IN (1, 2), PARTITION rest DEFAULT);
INSERT INTO list_default VALUES (1, 1), (3, 2), (NULL, 3), (-5, 4);
CREATE TABLE list_columns_default (k VARCHAR(5), n INT) PARTITION BY LIST COLUMNS (k, n) (PARTITION a VALUES IN (('a', 1), ('b', NULL)), PARTITION rest DEFAULT);
INSERT INTO list_columns_default VALUES ('a', 1), ('b', NULL), (NULL, NULL), ('c', 3);
CREATE TABLE aria_hash (id INT NOT NULL PRIMARY KEY) ENGINE = Aria PARTITION BY HASH (id) PARTITIONS 3;
INSERT INTO aria_hash VALUES (1), (2), (3), (4);
CREATE TABLE myisam_range (id INT NOT NULL, KEY (id)) ENGINE = MyISAM PARTITION BY RANGE (id) (PARTITION a VALUES LESS THAN (10), PARTITION b VALUES LESS THAN (20));
INSERT INTO myisam_range VALUES (1), (1), (15);
