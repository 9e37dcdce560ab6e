-- Comments in latin1 inside a body. MySQL refuses these (error 4089 for routines, 3507 for triggers and events), as it converts
-- literals and names of a body to UTF-8, but not comments; so on MySQL none exist that were made by version 8 or later.
USE c_comments;
SET NAMES latin1;
DELIMITER //
CREATE PROCEDURE inside_latin1(IN größe INT) BEGIN -- é ß € ñ
  SELECT größe /* ä */; # ü
END//
CREATE TRIGGER trigger_latin1 BEFORE INSERT ON from_latin1 FOR EACH ROW BEGIN /* äöü */ SET @x = 'é'; END//
CREATE EVENT event_latin1 ON SCHEDULE EVERY 1 DAY STARTS '2037-01-01 00:00:00' DISABLE DO SELECT 1 /* äöü */ //
DELIMITER ;
SET NAMES utf8mb4;
