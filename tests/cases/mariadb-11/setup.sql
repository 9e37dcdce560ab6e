-- What MariaDB has since 10.11: vectors with an index (11.7), TIMESTAMP until 2106 (11.5), UUID of other versions, the default
-- collation utf8mb4_uca1400_ai_ci (11.6). An older server passes over what stands in versioned comments.
DROP DATABASE IF EXISTS c_mariadb_11;
CREATE DATABASE c_mariadb_11;
USE c_mariadb_11;
SET time_zone = '+00:00';

CREATE TABLE anyway (id INT PRIMARY KEY, name VARCHAR(20), UNIQUE KEY (name));
INSERT INTO anyway VALUES (1, 'a'), (2, 'é'), (3, 'b '), (4, NULL);

/*M!110700 CREATE TABLE vectors (id INT PRIMARY KEY, v VECTOR(3) NOT NULL, w VECTOR(2), VECTOR KEY v (v) M=6 DISTANCE=cosine) */;
/*M!110700 INSERT INTO vectors VALUES (1, VEC_FromText('[1, 2.5, -0.125]'), NULL), (2, VEC_FromText('[0, -7.75, 0.5]'), VEC_FromText('[9, 0]')) */;

/*M!110500 CREATE TABLE late (id INT PRIMARY KEY, t TIMESTAMP(3) NULL) */;
/*M!110500 INSERT INTO late VALUES (1, '2038-01-19 03:14:07.999'), (2, '2038-01-19 03:14:08'), (3, '2106-02-07 06:28:15.999') */;

/*M!110700 CREATE TABLE ids (id UUID DEFAULT UUID_v7() PRIMARY KEY, other UUID DEFAULT UUID_v4()) */;
/*M!110700 INSERT INTO ids VALUES ('018f2b1e-0000-7000-8000-000000000001', '6ccd780c-baba-4026-9564-5b8c656024db') */;
