-- Tables of 60 columns of mixed types, of 500 columns, of 200 columns with 60-letter names and comments, and one whose key is its last columns.
-- Guards against: fixed buffers for column lists and NULL bitmaps (more than 64 and 256 columns), statements that grow
-- with the square of the columns, CREATE TABLE texts cut at 64 KiB.
DROP DATABASE IF EXISTS c_wide_tables;
CREATE DATABASE c_wide_tables CHARACTER SET utf8mb4;
USE c_wide_tables;
SET SESSION group_concat_max_len = 1000000;

SET @sql = (WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < 59)
  SELECT CONCAT('CREATE TABLE sixty (id INT NOT NULL PRIMARY KEY, ', GROUP_CONCAT('c', n, ' ', ELT(n % 10 + 1, 'INT', 'VARCHAR(50)', 'DATETIME(3)', 'DECIMAL(12,4)', 'TEXT', 'DOUBLE', 'VARBINARY(20)', 'BIGINT UNSIGNED', 'DATE', 'BIT(9)') ORDER BY n), ')') FROM s);
PREPARE s FROM @sql;
EXECUTE s;
SET @sql = (WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < 59)
  SELECT CONCAT('INSERT INTO sixty WITH RECURSIVE r(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM r WHERE i < 300) SELECT i, ',
    GROUP_CONCAT(ELT(n % 10 + 1, CONCAT('i * ', n), CONCAT('IF(i % 7 = ', n % 7, ', NULL, CONCAT(''t\\t'', i))'), '''2024-01-01'' + INTERVAL i HOUR', 'i / 16', 'CONCAT(''it''''s '', i)', 'i / 3e0', 'CHAR(i % 256, 92, 39)', '18446744073709551615 - i', 'NULLIF(''2024-02-29'' + INTERVAL i DAY, ''2024-03-05'')', 'i') ORDER BY n), ' FROM r') FROM s);
PREPARE s FROM @sql;
EXECUTE s;

SET @sql = (WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < 499) SELECT CONCAT('CREATE TABLE five_hundred (id INT NOT NULL PRIMARY KEY, ', GROUP_CONCAT('c', n, IF(n % 5, ' INT', ' TINYTEXT') ORDER BY n), ') ROW_FORMAT = DYNAMIC') FROM s);
PREPARE s FROM @sql;
EXECUTE s;
SET @sql = (WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < 499) SELECT CONCAT('INSERT INTO five_hundred VALUES (1, ', GROUP_CONCAT(n ORDER BY n), '), (2, ', GROUP_CONCAT('NULL'), '), (3, ', GROUP_CONCAT(IF(n % 8 = 0, 'NULL', '''0''')), ')') FROM s);
PREPARE s FROM @sql;
EXECUTE s;

SET @sql = (WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < 200) SELECT CONCAT('CREATE TABLE long_names (', GROUP_CONCAT('`', LPAD(n, 60, 'é'), '` INT COMMENT ''', REPEAT('x', 100), '''' ORDER BY n), ', PRIMARY KEY (`', LPAD(200, 60, 'é'), '`, `', LPAD(199, 60, 'é'), '`))') FROM s);
PREPARE s FROM @sql;
EXECUTE s;
SET @sql = (WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < 200) SELECT CONCAT('INSERT INTO long_names VALUES (', GROUP_CONCAT(n ORDER BY n), '), (', GROUP_CONCAT(-n ORDER BY n), ')') FROM s);
PREPARE s FROM @sql;
EXECUTE s;
DEALLOCATE PREPARE s;
