-- View attributes: SQL SECURITY, DEFINER that does not exist or has an odd name, ALGORITHM, CHECK OPTION; column names that are empty words,
-- spaces, expressions, longer than 64 characters or reserved; literals in other character sets and collations. Guards
-- against: attributes dropped, a definer replaced by the restoring account, a restore that fails for a missing definer
-- (a warning at most for an account that may set any), the session's collation used in place of the view's.
DROP DATABASE IF EXISTS c_views_options;
CREATE DATABASE c_views_options CHARACTER SET utf8mb4;
USE c_views_options;

CREATE TABLE t (id INT NOT NULL PRIMARY KEY, v VARCHAR(20), `odd ``name` INT, `select` INT);
INSERT INTO t VALUES (1, 'one', 10, 5), (2, 'two', NULL, NULL), (3, 'é', 30, 7);

CREATE DEFINER = 'c_views_options_nobody'@'localhost' VIEW no_definer AS SELECT id FROM t;
CREATE DEFINER = 'c_views_options it''s'@'%.example.com' SQL SECURITY INVOKER VIEW odd_definer AS SELECT id, v FROM t;
CREATE DEFINER = `c_views_options``q`@`10.0.0.0/255.0.0.0` SQL SECURITY DEFINER VIEW quoted_definer AS SELECT 1 AS one;
CREATE SQL SECURITY INVOKER VIEW invoker AS SELECT id FROM t;
CREATE ALGORITHM = MERGE VIEW merged AS SELECT id, v FROM t WHERE id > 0;
CREATE ALGORITHM = TEMPTABLE VIEW temptable AS SELECT DISTINCT v FROM t;
CREATE ALGORITHM = UNDEFINED VIEW checked AS SELECT id, v FROM t WHERE id < 100 WITH CHECK OPTION;
CREATE VIEW checked_local AS SELECT id, v FROM checked WHERE id > 0 WITH LOCAL CHECK OPTION;
CREATE VIEW checked_cascaded AS SELECT id, v FROM checked_local WHERE id <> 50 WITH CASCADED CHECK OPTION;

CREATE VIEW odd_columns (`a b`, `se``lect`, `VALUES`, `é日`, `1`, `%`, `it's`, `"`, `a.b`) AS SELECT 1, 2, 3, 4, 5, 6, 7, 8, 9;
CREATE VIEW expression_names AS SELECT id + 1, CONCAT(v, '''', "x"), `odd ``name`, `select`, COUNT(*) OVER (), 'it''s', NULL, 1.50, x'41' FROM t;
CREATE VIEW long_expression AS SELECT CONCAT(v, 'a literal so long that the name of this column cannot be the expression itself', 'é'), CASE WHEN id = 1 THEN 'one' WHEN id = 2 THEN 'two' ELSE 'a longer text, to be sure of it' END FROM t;
CREATE VIEW `odd ``view.name` AS SELECT `odd ``name` AS `x ``y` FROM t;
CREATE VIEW literals AS SELECT 'it''s' AS a, '\\' AS b, '\n\t%_' AS c, _latin1 x'E9' AS d, _utf8mb4 'é日' COLLATE utf8mb4_bin AS e, b'101' AS f, x'00FF5C27' AS g, DATE '2024-02-29' AS h, 1e300 AS i, 0.1 AS j, TRUE AS k, INTERVAL(3, 1, 5) AS l, '-- /* */ #' AS m, N'é' AS n;
CREATE VIEW constructs AS SELECT t.id, GROUP_CONCAT(DISTINCT v ORDER BY v DESC SEPARATOR '; ''') AS g, CAST(id AS CHAR(10) CHARACTER SET latin1) AS c, '2024-01-31' + INTERVAL 1 MONTH AS d, v LIKE '5|%' ESCAPE '|' AS l, NOT id = 1 OR id <=> NULL AS n,
  EXTRACT(YEAR_MONTH FROM '2024-02-29') AS e, TRIM(BOTH 'x' FROM v) AS tr, id DIV 2 % 3 AS m, id << 2 ^ 1 AS b FROM t GROUP BY id, v HAVING COUNT(*) > 0 ORDER BY id DESC LIMIT 10 OFFSET 1;

-- The same text under two collations of the connection: 0 and 1. And a literal that came in as latin1.
SET collation_connection = utf8mb4_bin;
CREATE VIEW compared_bin AS SELECT 'a' = 'A' AS equal, COLLATION('x') AS c;
SET collation_connection = utf8mb4_unicode_ci;
CREATE VIEW compared_ci AS SELECT 'a' = 'Á' AS equal, COLLATION('x') AS c;
SET NAMES latin1;
CREATE VIEW from_latin1 AS SELECT '�' AS l, HEX('�') AS h, v AS `gr��e` FROM t;
SET NAMES utf8mb4;

-- Made under other modes: the stored text is in canonical form.
SET sql_mode = 'ANSI_QUOTES,PIPES_AS_CONCAT,NO_BACKSLASH_ESCAPES,HIGH_NOT_PRECEDENCE,IGNORE_SPACE';
CREATE VIEW modes AS SELECT "v" || '\' || id AS "x""y", NOT id BETWEEN -5 AND 5 AS n FROM t;
SET sql_mode = DEFAULT;
