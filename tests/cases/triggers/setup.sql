-- Several triggers for one event, put in order with FOLLOWS and PRECEDES and against their names; each with its own sql_mode;
-- bodies with delimiters, comments and nested blocks; triggers that would fire on the restored rows and change, copy or
-- refuse them. SHOW CREATE TRIGGER prints FOLLOWS on neither server: only the order of creation (or ACTION_ORDER) tells.
-- Guards against: order by name, triggers that fire during the load, bodies cut at `;`, the wrong sql_mode.
DROP DATABASE IF EXISTS c_triggers;
CREATE DATABASE c_triggers CHARACTER SET utf8mb4;
USE c_triggers;

CREATE TABLE t (id INT NOT NULL PRIMARY KEY, v VARCHAR(100), n INT DEFAULT 0);
INSERT INTO t VALUES (1, 'one', 1), (2, 'two', NULL), (3, 'it''s', -1);
CREATE TABLE audit (id INT NOT NULL AUTO_INCREMENT PRIMARY KEY, what VARCHAR(50), row_id INT);
INSERT INTO audit VALUES (1, 'stored before', 1), (7, 'stored before', 3);

DELIMITER //
CREATE TRIGGER z_first BEFORE INSERT ON t FOR EACH ROW SET NEW.v = CONCAT(NEW.v, ' z')//
CREATE TRIGGER a_third BEFORE INSERT ON t FOR EACH ROW SET NEW.v = CONCAT(NEW.v, ' a')//
CREATE TRIGGER k_second BEFORE INSERT ON t FOR EACH ROW FOLLOWS z_first SET NEW.v = CONCAT(NEW.v, ' k')//
CREATE TRIGGER x_zeroth BEFORE INSERT ON t FOR EACH ROW PRECEDES z_first SET NEW.v = CONCAT(NEW.v, ' x')//
CREATE TRIGGER b_after AFTER INSERT ON t FOR EACH ROW INSERT INTO audit (what, row_id) VALUES ('insert', NEW.id)//
CREATE TRIGGER a_after AFTER INSERT ON t FOR EACH ROW INSERT INTO audit (what, row_id) VALUES ('insert again', NEW.id)//
CREATE TRIGGER upd_before BEFORE UPDATE ON t FOR EACH ROW SET NEW.n = OLD.n + 1//
CREATE TRIGGER upd_after AFTER UPDATE ON t FOR EACH ROW BEGIN END//
CREATE TRIGGER del_before BEFORE DELETE ON t FOR EACH ROW INSERT INTO audit (what, row_id) VALUES ('delete', OLD.id)//
CREATE TRIGGER del_after AFTER DELETE ON t FOR EACH ROW DELETE FROM audit WHERE row_id = OLD.id//

-- Refuses the very rows that are there.
CREATE TABLE guarded (id INT NOT NULL PRIMARY KEY)//
INSERT INTO guarded VALUES (1), (2)//
CREATE TRIGGER refuse BEFORE INSERT ON guarded FOR EACH ROW SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'no more rows; it''s \\ full'//
CREATE TRIGGER refuse_delete BEFORE DELETE ON guarded FOR EACH ROW SIGNAL SQLSTATE '45000'//

CREATE TABLE bodies (id INT NOT NULL PRIMARY KEY, v VARCHAR(100))//
INSERT INTO bodies VALUES (1, 'a')//
CREATE TRIGGER `body; DELIMITER $$` BEFORE INSERT ON bodies FOR EACH ROW
BEGIN
  -- DELIMITER ;;
  /* END // ;; */ # it's
  DECLARE x VARCHAR(50) DEFAULT ';;'; DECLARE CONTINUE HANDLER FOR SQLEXCEPTION BEGIN SET x = 'DELIMITER $$'; END;
  IF NEW.v = '
DELIMITER ;
' THEN SET x = "'"; ELSE SET x = '"'; END IF;
  lbl: LOOP SET x = CONCAT(x, '\\', '\'', '/*!50000 */'); LEAVE lbl; END LOOP lbl;
  SET NEW.v = x;
END//
CREATE TRIGGER `odd ``trigger.name é` AFTER INSERT ON bodies FOR EACH ROW SET @x = 1//
DELIMITER ;

-- Each under its own sql_mode.
CREATE TABLE modes (id INT NOT NULL PRIMARY KEY, v VARCHAR(50), d DATE);
INSERT INTO modes VALUES (1, 'x', NULL);
SET sql_mode = 'ANSI_QUOTES';
CREATE TRIGGER m_ansi BEFORE INSERT ON modes FOR EACH ROW SET NEW."v" = 'quoted "identifier"', @y = NEW."id";
SET sql_mode = 'NO_BACKSLASH_ESCAPES';
CREATE TRIGGER m_backslash BEFORE INSERT ON modes FOR EACH ROW SET NEW.v = CONCAT('\', NEW.v, 'it''s \n');
SET sql_mode = 'PIPES_AS_CONCAT,STRICT_ALL_TABLES';
CREATE TRIGGER m_pipes BEFORE INSERT ON modes FOR EACH ROW SET NEW.v = NEW.v || '|' || 1;
SET sql_mode = '';
CREATE TRIGGER m_empty BEFORE INSERT ON modes FOR EACH ROW SET NEW.d = '2023-02-31';
SET sql_mode = 'ALLOW_INVALID_DATES,NO_UNSIGNED_SUBTRACTION,HIGH_NOT_PRECEDENCE';
CREATE TRIGGER m_dates BEFORE INSERT ON modes FOR EACH ROW SET NEW.d = '2023-02-31', @n = NOT 1 BETWEEN -5 AND 5;
SET sql_mode = 'IGNORE_SPACE,REAL_AS_FLOAT,PAD_CHAR_TO_FULL_LENGTH,ONLY_FULL_GROUP_BY';
CREATE TRIGGER m_space BEFORE UPDATE ON modes FOR EACH ROW SET @n = (SELECT COUNT (*) FROM t);
SET sql_mode = 'ANSI';
CREATE TRIGGER "m_""ansi" AFTER DELETE ON modes FOR EACH ROW SET @x = "OLD"."v" || 'é';
SET sql_mode = DEFAULT;

CREATE DEFINER = 'c_triggers_nobody'@'%' TRIGGER no_definer AFTER UPDATE ON modes FOR EACH ROW SET @x = 2;
-- On a table whose name sorts before its parent's, with a foreign key.
CREATE TABLE a_child (id INT NOT NULL PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES t (id));
INSERT INTO a_child VALUES (1, 1);
CREATE TRIGGER child_insert BEFORE INSERT ON a_child FOR EACH ROW SET NEW.p = 99;
