-- Comments on columns, tables, indexes, partitions and routines with quotes, backslashes, newlines, tabs, NUL, other scripts, comment
-- and statement marks, of full length; some written over a latin1 connection (raw latin1 bytes in this file, so read it
-- as bytes). Guards against: comments shown in the session's character set and replayed in another, quotes doubled once too
-- often, a comment that ends the enclosing version comment of a dump (*/), and the mixed text of SHOW CREATE PROCEDURE and
-- EVENT: the body comes in the character set of its creation, the COMMENT clause in UTF-8 whatever that is, so that
-- replaying the whole under SET NAMES latin1 (or reading it as utf8mb4) garbles the comment. Both vendors do so.
DROP DATABASE IF EXISTS c_comments;
CREATE DATABASE c_comments CHARACTER SET utf8mb4;
USE c_comments;

CREATE TABLE quotes (
  a INT NOT NULL PRIMARY KEY COMMENT 'it''s "quoted" `here`', b INT COMMENT 'back\\slash \\', c INT COMMENT 'line\nfeed\r\nand\ttab', d INT COMMENT '*/ DROP TABLE x; /*', e INT COMMENT '-- not; a # comment', f INT COMMENT '', g INT COMMENT ' ',
  h INT COMMENT '√© √ü ‚Ç¨ √±', i INT COMMENT 'Êó•Êú¨Ë™û –ñ ◊©◊ú◊ï◊ù', j INT COMMENT '/*!50000 x */ /*M! y */', k INT COMMENT '%s $1 ? {}', l INT COMMENT '\\N NULL', m INT COMMENT 'ends with \\''', n VARCHAR(5) DEFAULT 'x' COMMENT 'DEFAULT ''y''',
  KEY by_b (b) COMMENT 'index: it''s \\ √©Êó•', UNIQUE KEY by_c (c) COMMENT '*/', FULLTEXT KEY by_n (n) COMMENT 'full "text"'
) COMMENT = 'table: it''s "x" `y` \\ \n √©Êó• */ -- #';
INSERT INTO quotes (a, b) VALUES (1, 1), (2, NULL);

CREATE TABLE parted (id INT NOT NULL COMMENT 'PARTITION BY x') COMMENT = 'ENGINE=x' PARTITION BY RANGE (id) (PARTITION p0 VALUES LESS THAN (5) COMMENT = 'it''s \\ √©Êó• */', PARTITION p1 VALUES LESS THAN MAXVALUE COMMENT = '"');
INSERT INTO parted VALUES (1), (10);

-- 1024 characters for a column and an index, 2048 for a table.
SET @sql = CONCAT('CREATE TABLE longest (a INT COMMENT ''', REPEAT('√©Êó•''''', 341), ''', KEY (a) COMMENT ''', REPEAT('\\\\x', 500), ''') COMMENT = ''', REPEAT('Êó•', 2048), '''');
PREPARE s FROM @sql;
EXECUTE s;
DEALLOCATE PREPARE s;
INSERT INTO longest VALUES (1);

DELIMITER //
CREATE PROCEDURE commented() COMMENT 'it''s \\ √©Êó• */ -- "x"
second line' BEGIN /* kept */ -- kept
  # kept, too
  SELECT 1; /*! SELECT 2; */ /* it's ; // */
END//
CREATE EVENT planned ON SCHEDULE EVERY 1 DAY STARTS '2037-01-01 00:00:00' DISABLE COMMENT 'it''s \\ √©Êó• */' DO SELECT 1//
DELIMITER ;

SET NAMES latin1;
CREATE TABLE from_latin1 (a INT COMMENT 'È ﬂ Ä Ò', `grˆﬂe` INT COMMENT 'x') COMMENT = 'ƒrger ß' DEFAULT CHARSET = latin1;
INSERT INTO from_latin1 VALUES (1, 2);
DELIMITER //
CREATE PROCEDURE commented_latin1() COMMENT 'È ﬂ Ä Ò' BEGIN SELECT 'È ﬂ Ä Ò' AS `grˆﬂe`; END//
CREATE EVENT planned_latin1 ON SCHEDULE EVERY 1 DAY STARTS '2037-01-01 00:00:00' DISABLE COMMENT 'È ﬂ Ä Ò' DO SELECT 'È ﬂ Ä Ò'//
DELIMITER ;
SET NAMES utf8mb4;
