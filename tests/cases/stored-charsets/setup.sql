-- Triggers, routines, events and views made over connections of several character sets (the file holds raw latin1 and
-- sjis bytes: read it as bytes), and while the schema had another default than now. Each keeps character_set_client,
-- collation_connection and the schema's collation of its creation, and these decide what its literals mean and how its
-- variables compare. Guards against: all created under utf8mb4, or under the schema's present collation.
DROP DATABASE IF EXISTS c_stored_charsets;
CREATE DATABASE c_stored_charsets CHARACTER SET latin2 COLLATE latin2_czech_cs;
USE c_stored_charsets;
CREATE TABLE t (id INT NOT NULL PRIMARY KEY, v VARCHAR(50)) DEFAULT CHARSET = utf8mb4;
INSERT INTO t VALUES (1, '√©Êó•');

-- The schema's default at this moment is the character set of p and of the result.
CREATE FUNCTION db_latin2(p VARCHAR(10)) RETURNS VARCHAR(10) DETERMINISTIC RETURN CONCAT(p, '≈Ç');
CREATE TRIGGER db_latin2 BEFORE UPDATE ON t FOR EACH ROW SET @x = '≈Ç';
CREATE EVENT db_latin2 ON SCHEDULE AT '2036-01-01 00:00:00' DISABLE DO SET @x = '≈Ç';
ALTER DATABASE c_stored_charsets CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
CREATE FUNCTION db_bin(p VARCHAR(10)) RETURNS VARCHAR(10) DETERMINISTIC RETURN CONCAT(p, '≈Ç');
ALTER DATABASE c_stored_charsets CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci;

SET NAMES latin1;
CREATE TRIGGER from_latin1 BEFORE INSERT ON t FOR EACH ROW SET NEW.v = 'ÈÄ', @`grˆﬂe` = HEX('ÈÄ');
CREATE PROCEDURE from_latin1(IN `grˆﬂe` VARCHAR(10)) SELECT 'ÈÄ' AS `grˆﬂe`, HEX('ÈÄ');
CREATE FUNCTION `grˆﬂe`(a INT) RETURNS VARCHAR(20) DETERMINISTIC RETURN 'ÈÄ';
CREATE EVENT `ev_grˆﬂe` ON SCHEDULE AT '2036-01-01 00:00:00' DISABLE DO SET @x = 'ÈÄ';
CREATE TRIGGER `tr_grˆﬂe` AFTER INSERT ON t FOR EACH ROW SET @x = 'ÈÄ';
CREATE VIEW `v_grˆﬂe` AS SELECT 'ÈÄ' AS `grˆﬂe`, HEX('ÈÄ') AS h;
CREATE TABLE `t_grˆﬂe` (`grˆﬂe` VARCHAR(10) DEFAULT 'ÈÄ', CHECK (`grˆﬂe` <> 'xÈÄ')) DEFAULT CHARSET = latin1 COMMENT 'ÈÄ';
INSERT INTO `t_grˆﬂe` VALUES ('ÈÄ'), (DEFAULT);
SET NAMES latin1 COLLATE latin1_general_cs;
CREATE PROCEDURE latin1_cs() SELECT 'a' = 'A', 'ÈÄ';
-- 0x95 0x5C, whose second byte is a backslash to whoever does not know sjis. The space after it is for the vendor's client.
SET NAMES sjis;
CREATE PROCEDURE from_sjis() SELECT 'ï\ ', HEX('ï\ ');
CREATE VIEW v_sjis AS SELECT 'ï\ ' AS x;
SET NAMES utf8mb4 COLLATE utf8mb4_bin;
CREATE FUNCTION compare_bin() RETURNS INT DETERMINISTIC RETURN 'a' = 'A';
CREATE TRIGGER compare_bin BEFORE DELETE ON t FOR EACH ROW SET @x = 'a' = 'A';
CREATE EVENT compare_bin ON SCHEDULE AT '2036-01-01 00:00:00' DISABLE DO SET @x = 'a' = 'A';
SET NAMES utf8mb4 COLLATE utf8mb4_unicode_ci;
CREATE FUNCTION compare_ci() RETURNS INT DETERMINISTIC RETURN 'a' = '√Å';
-- The character set of results and connection differ from the client's.
SET character_set_connection = latin1;
CREATE FUNCTION connection_latin1() RETURNS VARCHAR(50) CHARSET utf8mb4 DETERMINISTIC RETURN CONCAT(CHARSET('x'), HEX('√©'));
CREATE VIEW connection_latin1 AS SELECT CHARSET('x') AS c, HEX('√©') AS h;
SET NAMES binary;
CREATE PROCEDURE from_binary() SELECT '√©' AS x, HEX('√©');
CREATE VIEW from_binary AS SELECT '√©' AS x;
SET NAMES utf8mb4;
CREATE VIEW results AS SELECT compare_bin() AS b, compare_ci() AS ci, connection_latin1() AS c, db_latin2('x') AS d, CHARSET(db_latin2('x')) AS dc, COLLATION(db_bin('x')) AS bc;
