-- utf8mb4 and utf8mb3 columns of an InnoDB table that hold bytes which are no UTF-8, as old upgrades and crashed imports leave
-- behind. The way in: a MERGE table that declares as text what its MyISAM table stores as bytes. LOAD DATA and INSERT check
-- each value, also with CHARACTER SET binary: MariaDB puts '?' for each bad byte and MySQL cuts the value off at the first,
-- both with warning 1366 only; so the way back is the same as the way in. Guards against: the loss without an error, and a
-- dump that stops at such a value or mends it.
DROP DATABASE IF EXISTS c_invalid_bytes_in_utf8;
CREATE DATABASE c_invalid_bytes_in_utf8 CHARACTER SET utf8mb4;
USE c_invalid_bytes_in_utf8;

CREATE TABLE bytes (id INT NOT NULL, a VARBINARY(200), b VARBINARY(150), t BLOB, KEY (id)) ENGINE = MyISAM;
INSERT INTO bytes VALUES (1, 0xFFFE, 0x80, 0xFF5C27), (2, 0xC3, 0xC0AF, 0xE9), (3, 0x5CC3, 0xF09F98, 0xF09F98), (4, 0xE9207465787465, 0xC3A9, 'fine'), (5, NULL, '', 0xC3A9C3);
CREATE TABLE merged (id INT NOT NULL, a VARCHAR(50) CHARACTER SET utf8mb4, b VARCHAR(50) CHARACTER SET utf8mb3, t TEXT CHARACTER SET utf8mb4, KEY (id)) ENGINE = MERGE UNION = (bytes);
CREATE TABLE invalid (id INT NOT NULL PRIMARY KEY, a VARCHAR(50) CHARACTER SET utf8mb4, b VARCHAR(50) CHARACTER SET utf8mb3, t TEXT CHARACTER SET utf8mb4);
INSERT INTO invalid SELECT * FROM merged;
DROP TABLE merged, bytes;
