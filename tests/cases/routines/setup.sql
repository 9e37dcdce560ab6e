-- Procedures and functions: every characteristic, sql_mode, parameter and return type; bodies with delimiters, handlers, cursors and quotes; a
-- procedure and a function of one name; definers who do not exist; calls in a circle. With the binary log on, both servers
-- refuse a function that is neither DETERMINISTIC nor NO SQL nor READS SQL DATA (error 1418), root's too, so
-- there is none of these here. Guards against: wrong sql_mode, characteristics lost, bodies cut, parameters rewritten.
DROP DATABASE IF EXISTS c_routines;
CREATE DATABASE c_routines CHARACTER SET utf8mb4;
USE c_routines;
CREATE TABLE t (id INT NOT NULL PRIMARY KEY, v VARCHAR(50));
INSERT INTO t VALUES (1, 'one'), (2, 'it''s');

DELIMITER //
CREATE PROCEDURE same() SELECT 'procedure'//
CREATE FUNCTION same() RETURNS INT DETERMINISTIC RETURN 1//
CREATE FUNCTION no_sql(a INT) RETURNS INT DETERMINISTIC NO SQL SQL SECURITY INVOKER COMMENT 'it''s \\ "x"
é日' RETURN a + 1//
CREATE FUNCTION reads_sql() RETURNS INT NOT DETERMINISTIC READS SQL DATA RETURN (SELECT COUNT(*) FROM t)//
CREATE FUNCTION modifies_sql() RETURNS INT DETERMINISTIC MODIFIES SQL DATA BEGIN DELETE FROM t WHERE id < 0; RETURN ROW_COUNT(); END//
CREATE FUNCTION contains_sql() RETURNS VARCHAR(50) DETERMINISTIC CONTAINS SQL LANGUAGE SQL BEGIN RETURN CONCAT(no_sql(1), reads_sql()); END//
CREATE PROCEDURE parameters(IN a INT UNSIGNED, OUT b VARCHAR(10) CHARACTER SET latin1, INOUT c DECIMAL(65,30), d ENUM('x','it''s','é'), e SET('a','b'), f DATETIME(6), g BIT(5), h JSON, i GEOMETRY, `odd ``p` TEXT, k CHAR(3) CHARACTER SET binary, l BOOLEAN, m DOUBLE(10,3), n YEAR)
  MODIFIES SQL DATA SET b = d//
CREATE FUNCTION returns_enum(a INT) RETURNS ENUM('x','it''s','é') CHARSET latin1 DETERMINISTIC RETURN a//
CREATE FUNCTION returns_text() RETURNS LONGTEXT CHARSET utf8mb4 DETERMINISTIC RETURN 'x'//
CREATE FUNCTION returns_time(a TIME(3)) RETURNS TIME(3) DETERMINISTIC RETURN a//
CREATE FUNCTION returns_point() RETURNS POINT DETERMINISTIC RETURN POINT(1, 2)//
CREATE FUNCTION returns_json(a JSON) RETURNS JSON DETERMINISTIC RETURN a//
CREATE FUNCTION z_calls(n INT) RETURNS INT DETERMINISTIC RETURN IF(n = 0, 0, a_called(n - 1))//
CREATE FUNCTION a_called(n INT) RETURNS INT DETERMINISTIC RETURN IF(n = 0, 1, z_calls(n - 1))//
CREATE FUNCTION missing() RETURNS INT DETERMINISTIC RETURN no_such_schema.no_such_function()//
CREATE PROCEDURE reads_missing() SELECT * FROM no_such_table//
CREATE DEFINER = 'c_routines_nobody'@'%' PROCEDURE no_definer() SELECT 1//
CREATE DEFINER = 'c_routines it''s'@'localhost' FUNCTION odd_definer() RETURNS INT DETERMINISTIC RETURN 1//
CREATE PROCEDURE empty_body() BEGIN END//
CREATE PROCEDURE `odd ``routine.name é;`() SELECT 1//
CREATE PROCEDURE body(IN p INT)
whole: BEGIN
  -- DELIMITER ;;   it's a comment
  DECLARE done INT DEFAULT FALSE;
  DECLARE a VARCHAR(50) DEFAULT '//;;';  DECLARE b TEXT;
  DECLARE not_there CONDITION FOR SQLSTATE '42S02';
  DECLARE cur CURSOR FOR SELECT v FROM t WHERE id <= p;
  DECLARE CONTINUE HANDLER FOR NOT FOUND SET done = TRUE;
  DECLARE EXIT HANDLER FOR not_there, 1146 BEGIN GET DIAGNOSTICS CONDITION 1 @msg = MESSAGE_TEXT; RESIGNAL; END;
  OPEN cur;
  rows_: LOOP
    FETCH cur INTO a;
    IF done THEN LEAVE rows_; END IF;
    CASE a WHEN 'one' THEN SET b = "double ""quoted"" 'x'"; ELSE SET b = 'it''s \'x\' \\ \n'; END CASE;
    SET @sql = CONCAT('SELECT ', QUOTE(b), ' AS `x`;'); PREPARE s FROM @sql; EXECUTE s; DEALLOCATE PREPARE s;
  END LOOP;
  CLOSE cur;
	/* tab-indented, 	with tabs; trailing spaces:   
	   and an empty line:

	*/
  WHILE p > 0 DO SET p = p - 1; ITERATE_: BEGIN END; END WHILE;
  REPEAT SET p = p + 1; UNTIL p > 3 END REPEAT;
  IF p = 1 THEN LEAVE whole; ELSEIF p = 2 THEN SELECT 1; ELSE SELECT 2; END IF;
END whole//
DELIMITER ;

-- Under other modes.
SET sql_mode = 'ANSI_QUOTES,NO_BACKSLASH_ESCAPES,PIPES_AS_CONCAT';
CREATE FUNCTION "mode ""ansi"("p ""x" INT) RETURNS VARCHAR(50) DETERMINISTIC COMMENT 'back\slash' RETURN '\' || "p ""x" || 'it''s';
SET sql_mode = '';
CREATE PROCEDURE mode_empty() SELECT "double", 'a' || 'b', CAST('2023-02-31' AS DATE), 1 / 0;
SET sql_mode = 'IGNORE_SPACE,HIGH_NOT_PRECEDENCE,REAL_AS_FLOAT,NO_UNSIGNED_SUBTRACTION,PAD_CHAR_TO_FULL_LENGTH';
CREATE FUNCTION mode_space (a REAL) RETURNS REAL DETERMINISTIC RETURN ABS (a) + (NOT 1 BETWEEN -5 AND 5);
SET sql_mode = 'STRICT_ALL_TABLES,NO_ZERO_DATE,NO_ZERO_IN_DATE,NO_ENGINE_SUBSTITUTION,NO_DIR_IN_CREATE,NO_AUTO_VALUE_ON_ZERO,ONLY_FULL_GROUP_BY,ERROR_FOR_DIVISION_BY_ZERO';
CREATE PROCEDURE mode_strict() SELECT 1;
SET sql_mode = 'TRADITIONAL';
CREATE PROCEDURE mode_traditional() SELECT 1;
SET sql_mode = DEFAULT;
