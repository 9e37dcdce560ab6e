-- No primary key; the only unique keys allow NULL, and several rows have it. `WHERE k BETWEEN …` never finds those rows.
-- Guards against: taking such a key for chunks and losing the NULL rows, or reading them once per chunk.
DROP DATABASE IF EXISTS c_keys_nullable_unique;
CREATE DATABASE c_keys_nullable_unique CHARACTER SET utf8mb4;
USE c_keys_nullable_unique;

CREATE TABLE numbers (k INT NULL, v VARCHAR(20), UNIQUE KEY (k));
INSERT INTO numbers WITH RECURSIVE s(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM s WHERE n < 699) SELECT n * 3, CONCAT('v', n) FROM s;
INSERT INTO numbers VALUES (NULL, 'first'), (NULL, 'second'), (NULL, 'second'), (NULL, NULL), (NULL, NULL), (-5, NULL), (0 - 2147483648, 'min');

CREATE TABLE all_null (k BIGINT NULL, v VARCHAR(20), UNIQUE KEY (k));
INSERT INTO all_null VALUES (NULL, 'a'), (NULL, 'a'), (NULL, 'b'), (NULL, NULL);

CREATE TABLE composite (a INT NULL, b VARCHAR(10) NULL, v INT, UNIQUE KEY (a, b));
INSERT INTO composite VALUES (1, 'x', 1), (1, NULL, 2), (1, NULL, 2), (NULL, 'x', 3), (NULL, 'x', 4), (NULL, NULL, 5), (NULL, NULL, 5), (2, '', 6), (2, 'y', 7);

CREATE TABLE half_nullable (a INT NOT NULL, b INT NULL, v INT, UNIQUE KEY (a, b));
INSERT INTO half_nullable WITH RECURSIVE s(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM s WHERE n < 499) SELECT n DIV 10, NULLIF(n % 4, 0), n FROM s WHERE n % 10 < 4;
INSERT INTO half_nullable VALUES (3, NULL, 1), (3, NULL, 1), (7, NULL, 2);

-- A nullable unique key stands before one that can be used.
CREATE TABLE second_is_better (a INT NULL, b INT NOT NULL, c CHAR(3) NOT NULL, UNIQUE KEY first_nullable (a), UNIQUE KEY usable (b, c));
INSERT INTO second_is_better VALUES (NULL, 1, 'a'), (NULL, 1, 'b'), (5, 2, 'a'), (NULL, 2, 'b'), (4, 3, 'a');

-- Text, and a key with a prefix of the column only.
CREATE TABLE text_key (k VARCHAR(20) NULL, v INT, UNIQUE KEY (k));
INSERT INTO text_key VALUES (NULL, 1), (NULL, 2), ('', 3), ('NULL', 4), ('nil', 5), ('a', 6), (NULL, 1);
CREATE TABLE prefix_key (k TEXT NULL, v INT, UNIQUE KEY (k(5)));
INSERT INTO prefix_key VALUES (NULL, 1), (NULL, 1), ('abcdefg', 2), ('abcd', 3), ('', 4);
