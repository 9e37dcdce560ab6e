-- Rows larger than the largest protocol packet (2^24 - 1 bytes), though each value fits MariaDB's default
-- max_allowed_packet of 16 MiB: two of 9 MiB in one row, one of nearly 16 MiB, one that doubles when its bytes are
-- escaped, and a row whose packet is exactly 2^24 - 1 bytes in `SELECT *`, so that an empty packet must follow. HEX() of such a
-- value is larger than max_allowed_packet and gives NULL (with a warning), so compare with SHA2. Guards against: split
-- packets put together wrongly, a row cut at a buffer's size, INSERTs that the target refuses as too large.
DROP DATABASE IF EXISTS c_blob_large;
CREATE DATABASE c_blob_large CHARACTER SET utf8mb4;
USE c_blob_large;

CREATE TABLE large (id INT NOT NULL PRIMARY KEY, a LONGBLOB, b LONGBLOB);
INSERT INTO large VALUES (1, 'small', NULL);
INSERT INTO large VALUES (2, REPEAT(x'00010203040506070809', 943718), REPEAT(x'27', 9437184));
INSERT INTO large VALUES (3, REPEAT(x'0A095C00', 2097152), REPEAT('b', 8388608));
-- Payload: '3' or '4' with its length takes 2 bytes; lengths below 2^16 take 3, below 2^24 take 4: 2 + 4 + 8388608 + 4 + 8388597 = 2^24 - 1.
INSERT INTO large VALUES (4, REPEAT(x'FF', 8388608), REPEAT(x'5C', 8388597));
INSERT INTO large VALUES (5, REPEAT(x'FF', 8388608), REPEAT(x'5C', 8388598));
INSERT INTO large VALUES (6, REPEAT(x'FF', 8388608), REPEAT(x'5C', 8388596));
INSERT INTO large VALUES (7, NULL, REPEAT('z', 16000000));
INSERT INTO large VALUES (8, '', 'last');

CREATE TABLE large_text (t LONGTEXT, id INT NOT NULL PRIMARY KEY);
INSERT INTO large_text VALUES (REPEAT('日本\t', 1300000), 1), ('', 2), (NULL, 3), (REPEAT('\\''', 3000000), 4);
-- Many rows of 100 kB.
CREATE TABLE medium (id INT NOT NULL PRIMARY KEY, t MEDIUMTEXT CHARACTER SET latin1, b MEDIUMBLOB);
INSERT INTO medium WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < 60) SELECT n, REPEAT(SHA2(n, 256), 1000), REPEAT(UNHEX(SHA2(n, 256)), 2000) FROM s;
