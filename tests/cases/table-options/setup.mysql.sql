-- MySQL: page compression by algorithm, autoextend size, engine attributes, tablespaces by name, encryption set to N.
USE c_table_options;
CREATE TABLE punched (id INT NOT NULL PRIMARY KEY, v TEXT) COMPRESSION = 'zlib';
INSERT INTO punched VALUES (1, REPEAT('x', 9000)), (2, '');
CREATE TABLE extended (id INT NOT NULL PRIMARY KEY) AUTOEXTEND_SIZE = 4M;
INSERT INTO extended VALUES (1);
CREATE TABLE in_system (id INT NOT NULL PRIMARY KEY, v INT) TABLESPACE = innodb_system;
INSERT INTO in_system VALUES (1, 1);
CREATE TABLE per_file (id INT NOT NULL PRIMARY KEY, v INT) TABLESPACE = innodb_file_per_table ENCRYPTION = 'N';
INSERT INTO per_file VALUES (1, 1);
-- No index may be added later: DDL on a table with a secondary engine is error 3890.
CREATE TABLE secondary (id INT NOT NULL PRIMARY KEY, a INT NOT SECONDARY, KEY (a)) SECONDARY_ENGINE = rapid;
INSERT INTO secondary VALUES (1, 2);
