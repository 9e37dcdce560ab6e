-- ENUM and SET: accents in latin1, members that are empty, look like numbers, hold quotes, backslashes or newlines, differ only in
-- case, and the error value of an ENUM (index 0, which reads as '' like a member '' does). Guards against: '3' restored as
-- the member with index 3, index 0 restored as the member '' or refused, members of SHOW CREATE TABLE in the wrong
-- character set, SET values split wrongly, ENUM('') against NULL.
DROP DATABASE IF EXISTS c_enum_set;
CREATE DATABASE c_enum_set CHARACTER SET utf8mb4;
USE c_enum_set;

CREATE TABLE latin1_members (id INT NOT NULL PRIMARY KEY, e ENUM('é','Ärger','ñ','€','plain') CHARACTER SET latin1 DEFAULT 'é', s SET('ü','ö','ß','a') CHARACTER SET latin1 DEFAULT 'ü,ß') DEFAULT CHARSET = latin1;
INSERT INTO latin1_members VALUES (1, 'é', 'ü'), (2, 'Ärger', 'ü,ö'), (3, 'ñ', 'ß,a'), (4, '€', ''), (5, 'plain', 'ü,ö,ß,a'), (6, NULL, NULL), (7, DEFAULT, DEFAULT);

CREATE TABLE numbers (id INT NOT NULL PRIMARY KEY, e ENUM('0','1','3','2') NOT NULL, f ENUM('3','2','1') DEFAULT '2', s SET('8','4','2','1'));
INSERT INTO numbers VALUES (1, '0', '3', '8'), (2, '1', '2', '4'), (3, '3', '1', '2'), (4, '2', NULL, '1'), (5, 3, 1, 1), (6, 4, 3, 9), (7, '2', '3', '8,4,2,1'), (8, '0', '1', '');

CREATE TABLE empty_member (id INT NOT NULL PRIMARY KEY, e ENUM('','a','b'), f ENUM('a','') NOT NULL DEFAULT '', s SET('','x','y'));
INSERT INTO empty_member VALUES (1, '', '', 1), (2, 'a', 'a', 3), (3, NULL, '', 0), (4, 'b', DEFAULT, 7), (5, '', 'a', 6), (6, 1, 2, NULL);

SET sql_mode = '';
CREATE TABLE error_value (id INT NOT NULL PRIMARY KEY, e ENUM('a','b'), f ENUM('x','','y') NOT NULL, g ENUM('0','1') CHARACTER SET latin1);
INSERT INTO error_value VALUES (1, 'a', 'x', '0'), (2, 'none', 'none', 'none'), (3, 0, 0, 0), (4, 'b', '', '1'), (5, NULL, 'y', NULL), (6, 99, 99, 99);
SET sql_mode = DEFAULT;

CREATE TABLE awkward (id INT NOT NULL PRIMARY KEY, e ENUM('it''s','"q"','back\\slash','line\nfeed','tab\t','a b','%','\\N','NULL','日本','✓'), s SET('it''s','"q"','back\\slash','line\nfeed','NULL','日本','✓'));
INSERT INTO awkward WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < 11) SELECT n, n, (n * 37) % 128 FROM s;
INSERT INTO awkward VALUES (50, 'back\\slash', 'back\\slash,it''s'), (51, 'line\nfeed', 'line\nfeed'), (52, '\\N', 'NULL'), (53, 'NULL', '日本,✓');

CREATE TABLE case_members (e ENUM('a','A','á') CHARACTER SET utf8mb4 COLLATE utf8mb4_bin, b ENUM('x','X') CHARACTER SET binary, s SET('a','A') CHARACTER SET latin1 COLLATE latin1_bin);
INSERT INTO case_members VALUES ('a', 'x', 'a'), ('A', 'X', 'A'), ('á', 'x', 'a,A');

-- 64 members of a SET, 300 of an ENUM (two bytes).
CREATE TABLE many (id INT NOT NULL PRIMARY KEY, s SET('b00','b01','b02','b03','b04','b05','b06','b07','b08','b09','b10','b11','b12','b13','b14','b15','b16','b17','b18','b19','b20','b21',
  'b22','b23','b24','b25','b26','b27','b28','b29','b30','b31','b32','b33','b34','b35','b36','b37','b38','b39','b40','b41','b42','b43','b44','b45','b46','b47','b48','b49','b50','b51','b52',
  'b53','b54','b55','b56','b57','b58','b59','b60','b61','b62','b63'));
INSERT INTO many VALUES (1, 0), (2, 1), (3, 9223372036854775808), (4, 18446744073709551615), (5, 6148914691236517205), (6, NULL), (7, 'b63,b00');
