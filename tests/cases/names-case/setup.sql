-- Names that differ only in case (with lower_case_table_names = 0, the default on Linux, these are different schemas, tables and
-- views; columns, indexes, routines and events do not tell case apart, triggers do on MariaDB only). Guards against: dump files
-- that collide on a file system or in a map that ignores case, names brought to lower case, a CREATE OR REPLACE or DROP
-- of the wrong one.
DROP DATABASE IF EXISTS c_names_case;
DROP DATABASE IF EXISTS c_names_case_Upper;
DROP DATABASE IF EXISTS c_names_case_upper;
CREATE DATABASE c_names_case CHARACTER SET utf8mb4;
CREATE DATABASE c_names_case_Upper CHARACTER SET latin1;
CREATE DATABASE c_names_case_upper CHARACTER SET utf8mb4;
USE c_names_case;

CREATE TABLE orders (id INT NOT NULL PRIMARY KEY, Amount INT);
CREATE TABLE Orders (id INT NOT NULL PRIMARY KEY, AMOUNT VARCHAR(10));
CREATE TABLE ORDERS (ID INT NOT NULL PRIMARY KEY, p INT, CONSTRAINT Fk FOREIGN KEY (p) REFERENCES orders (id));
INSERT INTO orders VALUES (1, 10);
INSERT INTO Orders VALUES (1, 'ten'), (2, NULL);
INSERT INTO ORDERS VALUES (3, 1);
CREATE TABLE `É` (id INT NOT NULL PRIMARY KEY);
CREATE TABLE `é` (id INT NOT NULL PRIMARY KEY);
INSERT INTO `É` VALUES (1);
INSERT INTO `é` VALUES (2), (3);
CREATE VIEW totals AS SELECT SUM(Amount) AS Total FROM orders;
CREATE VIEW Totals AS SELECT COUNT(*) AS total FROM Orders;
-- Not named TOTALS: MariaDB creates that, but cannot read it, as it takes the three names for one (error 1462, view recursion).
CREATE VIEW a_sum AS SELECT a.Total, b.total AS total2 FROM totals AS a, Totals AS b;
CREATE PROCEDURE MixedCase() SELECT 1;
CREATE FUNCTION mixedCASE() RETURNS INT DETERMINISTIC RETURN 1;
CREATE TRIGGER MixedTrigger BEFORE UPDATE ON orders FOR EACH ROW SET @x = 1;
CREATE TRIGGER other_trigger BEFORE UPDATE ON Orders FOR EACH ROW SET @x = 2;
CREATE EVENT MixedEvent ON SCHEDULE AT '2036-01-01 00:00:00' DISABLE DO SET @x = 1;

CREATE TABLE c_names_case_Upper.T (id INT NOT NULL PRIMARY KEY);
CREATE TABLE c_names_case_upper.t (id INT NOT NULL PRIMARY KEY);
INSERT INTO c_names_case_Upper.T VALUES (1);
INSERT INTO c_names_case_upper.t VALUES (2);
CREATE VIEW c_names_case_Upper.v AS SELECT a.id FROM c_names_case_upper.t AS a;
