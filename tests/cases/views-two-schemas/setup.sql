-- Views, functions, triggers and routines that reach into another schema, in both directions, so that no order of whole
-- schemas restores them. Guards against: one schema restored completely before the next; schema names missing from, or
-- wrongly kept in, view definitions.
DROP DATABASE IF EXISTS c_views_two_schemas;
DROP DATABASE IF EXISTS c_views_two_schemas_other;
CREATE DATABASE c_views_two_schemas CHARACTER SET utf8mb4;
CREATE DATABASE c_views_two_schemas_other CHARACTER SET latin1;

CREATE TABLE c_views_two_schemas.t (id INT NOT NULL PRIMARY KEY, v VARCHAR(20));
INSERT INTO c_views_two_schemas.t VALUES (1, 'one'), (2, 'é日');
CREATE TABLE c_views_two_schemas_other.t (id INT NOT NULL PRIMARY KEY, w VARCHAR(20));
INSERT INTO c_views_two_schemas_other.t VALUES (1, 'eins'), (3, 'é');

USE c_views_two_schemas;
CREATE VIEW v1 AS SELECT a.id, a.v, b.w FROM t AS a LEFT JOIN c_views_two_schemas_other.t AS b ON a.id = b.id;
CREATE VIEW c_views_two_schemas_other.v2 AS SELECT id, v FROM v1;
CREATE VIEW v3 AS SELECT id FROM c_views_two_schemas_other.v2;
CREATE VIEW c_views_two_schemas_other.v4 AS SELECT x.id FROM c_views_two_schemas.v3 AS x JOIN c_views_two_schemas_other.t AS y ON x.id = y.id;
-- The same name in both, one reading the other.
CREATE VIEW same AS SELECT id FROM c_views_two_schemas_other.t;
CREATE VIEW c_views_two_schemas_other.same AS SELECT id FROM c_views_two_schemas.same;

DELIMITER //
CREATE FUNCTION c_views_two_schemas_other.f() RETURNS INT READS SQL DATA RETURN (SELECT COUNT(*) FROM c_views_two_schemas.v3)//
CREATE VIEW uses_function AS SELECT c_views_two_schemas_other.f() AS n//
CREATE FUNCTION g() RETURNS INT READS SQL DATA RETURN (SELECT COUNT(*) FROM c_views_two_schemas_other.same)//
CREATE VIEW c_views_two_schemas_other.uses_function AS SELECT c_views_two_schemas.g() AS n//
CREATE TRIGGER copy_over AFTER INSERT ON t FOR EACH ROW INSERT INTO c_views_two_schemas_other.t VALUES (NEW.id + 100, NEW.v)//
CREATE PROCEDURE c_views_two_schemas_other.p() BEGIN SELECT * FROM c_views_two_schemas.t; SELECT * FROM t; END//
DELIMITER ;
