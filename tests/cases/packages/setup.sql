-- MariaDB's packages and other things made under sql_mode = ORACLE: a package has a specification and a body, which are two objects of
-- one name; a package may lack a body; procedures in that mode have another syntax altogether and run only if created under it
-- again. SHOW CREATE needs PACKAGE and PACKAGE BODY, and its quoting follows the object's mode, not the session's.
-- Guards against: bodies forgotten, created before their specification or under the default sql_mode, and the routines of a
-- package listed as if they stood alone.
DROP DATABASE IF EXISTS c_packages;
CREATE DATABASE c_packages CHARACTER SET utf8mb4;
USE c_packages;
CREATE TABLE t (id INT NOT NULL PRIMARY KEY, v VARCHAR(50));
INSERT INTO t VALUES (1, 'one');

SET sql_mode = ORACLE;
DELIMITER //
CREATE OR REPLACE PACKAGE tools COMMENT 'it''s é日' AS
  FUNCTION get_count RETURN INT;
  PROCEDURE add_row(p_id INT, p_v VARCHAR2(50));
END;
//
CREATE OR REPLACE PACKAGE BODY tools AS
  -- private; with a ; and // and it's
  total INT := 0;
  FUNCTION hidden(a INT) RETURN INT AS BEGIN RETURN a * 2; END;
  FUNCTION get_count RETURN INT AS c INT; BEGIN SELECT COUNT(*) INTO c FROM t; RETURN hidden(c); END;
  PROCEDURE add_row(p_id INT, p_v VARCHAR2(50)) AS BEGIN INSERT INTO t VALUES (p_id, p_v); total := total + 1; EXCEPTION WHEN DUP_VAL_ON_INDEX THEN SELECT 'twice' || '"'; END;
BEGIN
  total := 1;
END;
//
CREATE OR REPLACE PACKAGE only_specification AS FUNCTION f1 RETURN INT; END;
//
-- Sorted before the package it calls; the same name as a package for a procedure is possible, too.
CREATE OR REPLACE PACKAGE a_caller AS FUNCTION f RETURN INT; END;
//
CREATE OR REPLACE PACKAGE BODY a_caller AS FUNCTION f RETURN INT AS BEGIN RETURN tools.get_count(); END; END;
//
CREATE DEFINER = "c_packages_nobody"@"%" PACKAGE odd_definer AS FUNCTION f RETURN INT; END;
//
CREATE PACKAGE "odd ""package.name é" AS PROCEDURE p; END;
//
CREATE PACKAGE BODY "odd ""package.name é" AS PROCEDURE p AS BEGIN NULL; END; END;
//
CREATE PROCEDURE oracle_procedure(a INT, b OUT VARCHAR2) AS
  x t%ROWTYPE; y t.v%TYPE := 'it''s'; CURSOR c(n INT) IS SELECT * FROM t WHERE id < n;
BEGIN
  FOR r IN c(5) LOOP y := r.v || '-' || y; END LOOP;
  IF a = 1 THEN GOTO done; ELSIF a = 2 THEN NULL; END IF;
  <<done>> b := y;
END;
//
CREATE FUNCTION oracle_function(a INT) RETURN VARCHAR2(50) DETERMINISTIC AS BEGIN RETURN 'x' || a; END;
//
CREATE TRIGGER oracle_trigger BEFORE INSERT ON t FOR EACH ROW BEGIN :NEW.v := :NEW.v || '"'; END;
//
CREATE VIEW oracle_view AS SELECT id || '-' || v AS "x""y", NVL(v, 'none') AS n FROM t
//
DELIMITER ;
CREATE TABLE oracle_table (id NUMBER(10) NOT NULL PRIMARY KEY, v VARCHAR2(20) DEFAULT ('a' || 'b'), d DATE, c CLOB);
INSERT INTO oracle_table VALUES (1, 'x', '2024-02-29 12:34:56', 'text');
INSERT INTO oracle_table (id) VALUES (2);
SET sql_mode = DEFAULT;
CREATE VIEW uses_package AS SELECT c_packages.oracle_function(1) AS f;
