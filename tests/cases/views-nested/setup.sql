-- Views on views on views whose alphabetical order is wrong for creation; views that call functions which read views; a view that is
-- found only inside a subquery or a CTE of another; a diamond. Guards against: creation by name, which fails (or leaves
-- behind the placeholder tables of mysqldump and mydumper), and functions created after the views that call them.
DROP DATABASE IF EXISTS c_views_nested;
CREATE DATABASE c_views_nested CHARACTER SET utf8mb4;
USE c_views_nested;

CREATE TABLE t (id INT NOT NULL PRIMARY KEY, v VARCHAR(20), n DECIMAL(10,2));
INSERT INTO t VALUES (1, 'one', 1.5), (2, 'two', NULL), (3, 'it''s', 3);

CREATE VIEW z_base AS SELECT id, v, n FROM t WHERE id < 100;
CREATE VIEW m_middle AS SELECT id, UPPER(v) AS v, n * 2 AS n FROM z_base;
CREATE VIEW a_top AS SELECT m.id, m.v, b.n FROM m_middle AS m JOIN z_base AS b USING (id);
CREATE VIEW b_diamond AS SELECT a.id, (SELECT COUNT(*) FROM m_middle) AS c FROM a_top AS a WHERE a.id IN (SELECT id FROM z_base) UNION ALL SELECT 0, 0;
CREATE VIEW c_cte AS WITH x AS (SELECT * FROM b_diamond), y AS (SELECT MAX(c) AS m FROM x) SELECT x.id, y.m FROM x, y;

-- A view calls a function that reads a view that calls a function.
DELIMITER //
CREATE FUNCTION y_function(i INT) RETURNS INT DETERMINISTIC NO SQL RETURN i * 10//
CREATE VIEW x_view AS SELECT id, y_function(id) AS tenfold FROM t//
CREATE FUNCTION a_function() RETURNS INT READS SQL DATA RETURN (SELECT SUM(tenfold) FROM x_view)//
CREATE VIEW a_calls AS SELECT id, a_function() AS total FROM z_base//
CREATE PROCEDURE a_procedure() READS SQL DATA SELECT * FROM a_calls//
-- Trigger and event that use views; neither fires.
CREATE TRIGGER uses_view BEFORE UPDATE ON t FOR EACH ROW SET NEW.n = (SELECT COUNT(*) FROM c_cte)//
CREATE EVENT uses_view ON SCHEDULE AT '2037-01-01 00:00:00' DISABLE DO INSERT INTO t (id) SELECT MAX(id) + 1 FROM a_top//
DELIMITER ;

-- A chain of twelve, last name first.
CREATE VIEW chain_l AS SELECT 1 AS n;
CREATE VIEW chain_k AS SELECT n + 1 AS n FROM chain_l;
CREATE VIEW chain_j AS SELECT n + 1 AS n FROM chain_k;
CREATE VIEW chain_i AS SELECT n + 1 AS n FROM chain_j;
CREATE VIEW chain_h AS SELECT n + 1 AS n FROM chain_i;
CREATE VIEW chain_g AS SELECT n + 1 AS n FROM chain_h;
CREATE VIEW chain_f AS SELECT n + 1 AS n FROM chain_g;
CREATE VIEW chain_e AS SELECT n + 1 AS n FROM chain_f;
CREATE VIEW chain_d AS SELECT n + 1 AS n FROM chain_e;
CREATE VIEW chain_c AS SELECT n + 1 AS n FROM chain_d;
CREATE VIEW chain_b AS SELECT n + 1 AS n FROM chain_c;
CREATE VIEW chain_a AS SELECT n + 1 AS n FROM chain_b;

-- A view whose base table was widened and renamed after it was made.
CREATE TABLE wide (a INT);
CREATE VIEW frozen AS SELECT * FROM wide;
ALTER TABLE wide ADD b INT DEFAULT 7;
INSERT INTO wide VALUES (1, 2);
