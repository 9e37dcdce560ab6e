-- Aria, with and without crash safety.
USE c_engines;
CREATE TABLE in_aria (id INT NOT NULL AUTO_INCREMENT PRIMARY KEY, v VARCHAR(20), KEY (v)) ENGINE = Aria TRANSACTIONAL = 1;
INSERT INTO in_aria VALUES (1, 'a'), (7, NULL);
CREATE TABLE in_aria_plain (v TEXT, b BLOB) ENGINE = Aria TRANSACTIONAL = 0;
INSERT INTO in_aria_plain VALUES ('a', x'5C'), ('a', x'5C'), (NULL, NULL);
