-- Names of schemas, tables, columns, indexes, constraints, views, routines, triggers and events with dots, slashes, quotes, backticks,
-- spaces, percent signs, newlines, other scripts, leading digits, reserved words; names that look like a dump's own files
-- (`t.triggers`, `schema`, `@.manifest`), like paths (`..`) or like an encoded name (`t@002dx`). Characters beyond the BMP
-- and trailing spaces are not allowed in names. Guards against: files that collide or leave the dump's folder, names
-- cut at a dot, missing quoting, `%` or `\_` taken for a pattern in SHOW or LIKE. The schemas' names are in `schemas`.
DROP DATABASE IF EXISTS `c_names_odd`;
DROP DATABASE IF EXISTS `c_names_odd-``x``.y z`;
DROP DATABASE IF EXISTS `c_names_odd.é日'"`;
DROP DATABASE IF EXISTS `c_names_odd%_`;
DROP DATABASE IF EXISTS `c_names_odd/../up`;
CREATE DATABASE `c_names_odd` CHARACTER SET utf8mb4;
CREATE DATABASE `c_names_odd-``x``.y z` CHARACTER SET utf8mb4;
CREATE DATABASE `c_names_odd.é日'"` CHARACTER SET utf8mb4;
CREATE DATABASE `c_names_odd%_` CHARACTER SET utf8mb4;
CREATE DATABASE `c_names_odd/../up` CHARACTER SET utf8mb4;
USE c_names_odd;

CREATE TABLE `a.b` (id INT NOT NULL PRIMARY KEY, name VARCHAR(30));
INSERT INTO `a.b` VALUES (1, 'a.b');
CREATE TABLE `..x` (id INT NOT NULL PRIMARY KEY, name VARCHAR(30));
INSERT INTO `..x` VALUES (2, '..x');
CREATE TABLE `.` (id INT NOT NULL PRIMARY KEY, name VARCHAR(30));
INSERT INTO `.` VALUES (3, '.');
CREATE TABLE `..` (id INT NOT NULL PRIMARY KEY, name VARCHAR(30));
INSERT INTO `..` VALUES (4, '..');
CREATE TABLE `t.triggers` (id INT NOT NULL PRIMARY KEY, name VARCHAR(30));
INSERT INTO `t.triggers` VALUES (5, 't.triggers');
CREATE TABLE `t.sql` (id INT NOT NULL PRIMARY KEY, name VARCHAR(30));
INSERT INTO `t.sql` VALUES (6, 't.sql');
CREATE TABLE `t.tsv.zst` (id INT NOT NULL PRIMARY KEY, name VARCHAR(30));
INSERT INTO `t.tsv.zst` VALUES (7, 't.tsv.zst');
CREATE TABLE `@.manifest` (id INT NOT NULL PRIMARY KEY, name VARCHAR(30));
INSERT INTO `@.manifest` VALUES (8, '@.manifest');
CREATE TABLE `schema` (id INT NOT NULL PRIMARY KEY, name VARCHAR(30));
INSERT INTO `schema` VALUES (9, 'schema');
CREATE TABLE `a/b` (id INT NOT NULL PRIMARY KEY, name VARCHAR(30));
INSERT INTO `a/b` VALUES (10, 'a/b');
CREATE TABLE `a\b` (id INT NOT NULL PRIMARY KEY, name VARCHAR(30));
INSERT INTO `a\b` VALUES (11, 'a\\b');
CREATE TABLE `%` (id INT NOT NULL PRIMARY KEY, name VARCHAR(30));
INSERT INTO `%` VALUES (12, '%');
CREATE TABLE `100%s` (id INT NOT NULL PRIMARY KEY, name VARCHAR(30));
INSERT INTO `100%s` VALUES (13, '100%s');
CREATE TABLE `it's` (id INT NOT NULL PRIMARY KEY, name VARCHAR(30));
INSERT INTO `it's` VALUES (14, 'it''s');
CREATE TABLE `"quoted"` (id INT NOT NULL PRIMARY KEY, name VARCHAR(30));
INSERT INTO `"quoted"` VALUES (15, '"quoted"');
CREATE TABLE `back``tick` (id INT NOT NULL PRIMARY KEY, name VARCHAR(30));
INSERT INTO `back``tick` VALUES (16, 'back`tick');
CREATE TABLE `a b` (id INT NOT NULL PRIMARY KEY, name VARCHAR(30));
INSERT INTO `a b` VALUES (17, 'a b');
CREATE TABLE `  lead` (id INT NOT NULL PRIMARY KEY, name VARCHAR(30));
INSERT INTO `  lead` VALUES (18, '  lead');
CREATE TABLE `-dash` (id INT NOT NULL PRIMARY KEY, name VARCHAR(30));
INSERT INTO `-dash` VALUES (19, '-dash');
CREATE TABLE `--` (id INT NOT NULL PRIMARY KEY, name VARCHAR(30));
INSERT INTO `--` VALUES (20, '--');
CREATE TABLE `#hash` (id INT NOT NULL PRIMARY KEY, name VARCHAR(30));
INSERT INTO `#hash` VALUES (21, '#hash');
CREATE TABLE `$dollar` (id INT NOT NULL PRIMARY KEY, name VARCHAR(30));
INSERT INTO `$dollar` VALUES (22, '$dollar');
CREATE TABLE `ünï日` (id INT NOT NULL PRIMARY KEY, name VARCHAR(30));
INSERT INTO `ünï日` VALUES (23, 'ünï日');
CREATE TABLE `9lives` (id INT NOT NULL PRIMARY KEY, name VARCHAR(30));
INSERT INTO `9lives` VALUES (24, '9lives');
CREATE TABLE `1e5` (id INT NOT NULL PRIMARY KEY, name VARCHAR(30));
INSERT INTO `1e5` VALUES (25, '1e5');
CREATE TABLE `SELECT` (id INT NOT NULL PRIMARY KEY, name VARCHAR(30));
INSERT INTO `SELECT` VALUES (26, 'SELECT');
CREATE TABLE `VALUES` (id INT NOT NULL PRIMARY KEY, name VARCHAR(30));
INSERT INTO `VALUES` VALUES (27, 'VALUES');
CREATE TABLE `rank` (id INT NOT NULL PRIMARY KEY, name VARCHAR(30));
INSERT INTO `rank` VALUES (28, 'rank');
CREATE TABLE `NULL` (id INT NOT NULL PRIMARY KEY, name VARCHAR(30));
INSERT INTO `NULL` VALUES (29, 'NULL');
CREATE TABLE `a:b*?<>|` (id INT NOT NULL PRIMARY KEY, name VARCHAR(30));
INSERT INTO `a:b*?<>|` VALUES (30, 'a:b*?<>|');
CREATE TABLE `x;y` (id INT NOT NULL PRIMARY KEY, name VARCHAR(30));
INSERT INTO `x;y` VALUES (31, 'x;y');
CREATE TABLE `{a}` (id INT NOT NULL PRIMARY KEY, name VARCHAR(30));
INSERT INTO `{a}` VALUES (32, '{a}');
CREATE TABLE `~` (id INT NOT NULL PRIMARY KEY, name VARCHAR(30));
INSERT INTO `~` VALUES (33, '~');
CREATE TABLE `a
b` (id INT NOT NULL PRIMARY KEY, name VARCHAR(30));
INSERT INTO `a
b` VALUES (34, 'a\nb');
CREATE TABLE `tab	here` (id INT NOT NULL PRIMARY KEY, name VARCHAR(30));
INSERT INTO `tab	here` VALUES (35, 'tab\there');
CREATE TABLE `con` (id INT NOT NULL PRIMARY KEY, name VARCHAR(30));
INSERT INTO `con` VALUES (36, 'con');
CREATE TABLE `t@002dx` (id INT NOT NULL PRIMARY KEY, name VARCHAR(30));
INSERT INTO `t@002dx` VALUES (37, 't@002dx');
CREATE TABLE `é` (id INT NOT NULL PRIMARY KEY, name VARCHAR(30));
INSERT INTO `é` VALUES (38, 'é');
CREATE TABLE `é` (id INT NOT NULL PRIMARY KEY, name VARCHAR(30));
INSERT INTO `é` VALUES (39, 'é');
CREATE TABLE `metadata.json` (id INT NOT NULL PRIMARY KEY, name VARCHAR(30));
INSERT INTO `metadata.json` VALUES (40, 'metadata.json');
CREATE TABLE `t#p#p0` (id INT NOT NULL PRIMARY KEY, name VARCHAR(30));
INSERT INTO `t#p#p0` VALUES (41, 't#p#p0');

-- Odd columns, in keys, in a generated column and in a CHECK.
CREATE TABLE columns_ (`select` INT, `VALUES` INT, `rank` INT, `a.b` INT NOT NULL, `a b` INT, `back``tick` INT NOT NULL, `it's` INT, `"q"` INT, `%s` INT, `%` INT, `1` INT, `1e5` INT, `é日` INT, `back\slash` INT, `a,b` INT, `(x)` INT, `NULL` INT, `@x` INT, `#` INT, `--` INT, `/*` INT, `a
b` INT, `*` INT, `?` INT, `$` INT, `ID` INT, `key` INT,
  PRIMARY KEY (`back``tick`, `a.b`), KEY `in``dex.% é` (`select`, `a b`), UNIQUE KEY `1` (`it's`), `gen``erated` INT AS (`back``tick` + `a.b`) VIRTUAL, CONSTRAINT `che``ck` CHECK (`%` <> 5 AND `rank` > -1));
INSERT INTO columns_ (`select`, `VALUES`, `rank`, `a.b`, `a b`, `back``tick`, `it's`, `"q"`, `%s`, `%`, `1`, `1e5`, `é日`, `back\slash`, `a,b`, `(x)`, `NULL`, `@x`, `#`, `--`, `/*`, `a
b`, `*`, `?`, `$`, `ID`, `key`) VALUES (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26), (100, 101, 102, 103, 104, 105, 106, 107, 108, 109, 110, 111, 112, 113, 114, 115, 116, 117, 118, 119, 120, 121, 122, 123, 124, 125, 126);
CREATE TABLE `par``ent.x` (`i d` INT NOT NULL PRIMARY KEY) PARTITION BY HASH (`i d`) PARTITIONS 2;
INSERT INTO `par``ent.x` VALUES (1), (2), (3);
CREATE TABLE `fk``child.x` (`i d` INT NOT NULL PRIMARY KEY, `p``q` INT, CONSTRAINT `f``k.%` FOREIGN KEY (`p``q`) REFERENCES `a b` (id));
INSERT INTO `fk``child.x` VALUES (1, 17), (2, NULL);
CREATE VIEW `vi``ew.x%` AS SELECT `back``tick` AS `y``z.%`, `select` FROM columns_;
CREATE VIEW `t.views` AS SELECT * FROM `a.b`;
DELIMITER //
CREATE TRIGGER `tri``gger.x%` BEFORE UPDATE ON `a.b` FOR EACH ROW SET NEW.name = 'x'//
CREATE TRIGGER `;` AFTER UPDATE ON `back``tick` FOR EACH ROW SET @x = 1//
CREATE PROCEDURE `pro``cedure.x%`(`in``put.x` INT) SELECT `in``put.x`//
CREATE FUNCTION `..`() RETURNS INT DETERMINISTIC RETURN 1//
CREATE FUNCTION `select`() RETURNS INT DETERMINISTIC RETURN 2//
CREATE EVENT `ev``ent.x%` ON SCHEDULE AT '2036-01-01 00:00:00' DISABLE DO SET @x = 1//
DELIMITER ;
CREATE VIEW uses_odd_functions AS SELECT c_names_odd.`..`() AS a, c_names_odd.`select`() AS b;
USE `c_names_odd-``x``.y z`;
CREATE TABLE `x.y``z` (`i``d` INT NOT NULL PRIMARY KEY);
INSERT INTO `x.y``z` VALUES (1);
CREATE TABLE t (id INT NOT NULL PRIMARY KEY, c INT, FOREIGN KEY (c) REFERENCES `x.y``z` (`i``d`));
INSERT INTO t VALUES (1, 1);
CREATE VIEW v AS SELECT t.id, o.id AS other FROM t JOIN c_names_odd.`a.b` AS o;
CREATE TRIGGER tr BEFORE DELETE ON t FOR EACH ROW SET @x = 1;
CREATE PROCEDURE p() SELECT 1;
USE `c_names_odd.é日'"`;
CREATE TABLE `x.y``z` (`i``d` INT NOT NULL PRIMARY KEY);
INSERT INTO `x.y``z` VALUES (1);
CREATE TABLE t (id INT NOT NULL PRIMARY KEY, c INT, FOREIGN KEY (c) REFERENCES `x.y``z` (`i``d`));
INSERT INTO t VALUES (1, 1);
CREATE VIEW v AS SELECT t.id, o.id AS other FROM t JOIN c_names_odd.`a.b` AS o;
CREATE TRIGGER tr BEFORE DELETE ON t FOR EACH ROW SET @x = 1;
CREATE PROCEDURE p() SELECT 1;
USE `c_names_odd%_`;
CREATE TABLE `x.y``z` (`i``d` INT NOT NULL PRIMARY KEY);
INSERT INTO `x.y``z` VALUES (1);
CREATE TABLE t (id INT NOT NULL PRIMARY KEY, c INT, FOREIGN KEY (c) REFERENCES `x.y``z` (`i``d`));
INSERT INTO t VALUES (1, 1);
CREATE VIEW v AS SELECT t.id, o.id AS other FROM t JOIN c_names_odd.`a.b` AS o;
CREATE TRIGGER tr BEFORE DELETE ON t FOR EACH ROW SET @x = 1;
CREATE PROCEDURE p() SELECT 1;
USE `c_names_odd/../up`;
CREATE TABLE `x.y``z` (`i``d` INT NOT NULL PRIMARY KEY);
INSERT INTO `x.y``z` VALUES (1);
CREATE TABLE t (id INT NOT NULL PRIMARY KEY, c INT, FOREIGN KEY (c) REFERENCES `x.y``z` (`i``d`));
INSERT INTO t VALUES (1, 1);
CREATE VIEW v AS SELECT t.id, o.id AS other FROM t JOIN c_names_odd.`a.b` AS o;
CREATE TRIGGER tr BEFORE DELETE ON t FOR EACH ROW SET @x = 1;
CREATE PROCEDURE p() SELECT 1;
