-- JSON documents: nested 30 deep (MariaDB's check allows 32, MySQL 100), every kind of scalar, empty object, array and string, numbers at and beyond 64 bits, doubles
-- with all their digits, keys with quotes and dots, escapes, characters outside the BMP, a 300 kB document, SQL NULL
-- against JSON null. MySQL stores a binary form (keys sorted by length, then bytes) and refuses JSON sent in the binary
-- character set; MariaDB stores LONGTEXT with a check, and so keeps spacing, key order and duplicate keys byte for byte.
-- DECIMALs inside MySQL's JSON are left out: their text form reads back as a double. Guards against: error 3144 on
-- restore, backslashes of the JSON text unescaped once too often, 1.0 turned into 1, -0.0 into 0.
DROP DATABASE IF EXISTS c_json;
CREATE DATABASE c_json CHARACTER SET utf8mb4;
USE c_json;

CREATE TABLE documents (id INT NOT NULL PRIMARY KEY, j JSON);
INSERT INTO documents VALUES
  (1, NULL), (2, 'null'), (3, 'true'), (4, 'false'), (5, '0'), (6, '-1'), (7, '""'), (8, '{}'), (9, '[]'), (10, '[[]]'), (11, '[{}]'),
  (12, '9223372036854775807'), (13, '-9223372036854775808'), (14, '18446744073709551615'), (15, '9223372036854775808'),
  (16, '1.0'), (17, '-0.0'), (18, '0.1'), (19, '0.30000000000000004'), (20, '1.7976931348623157e308'), (21, '5e-324'), (22, '1e16'),
  (23, '"text"'), (24, '"it''s"'), (25, '"quote \\" backslash \\\\ slash \\/ tab \\t newline \\n"'), (26, '"\\u0000\\u001f\\u007f"'),
  (27, '"é 日本 😀 \\ud83d\\ude00 \\u00e9"'), (28, '"\\\\N"'), (29, '"NULL"'), (30, '"%_"'),
  (31, '{"a": 1, "b": [1, 2, {"c": null}], "": "empty key", "with \\"quote\\"": 1, "a.b": 2, "$": 3, "😀": 4, "日": 5}'),
  (32, '{"zz": 1, "a": 2, "bb": 3, "aaa": 4}'), (33, '[1, -1, 1.5, "x", true, false, null, {"k": "v"}, [1]]'),
  (34, '{"html": "<a href=\\"x\\">&amp;</a>", "sql": "''; DROP TABLE x; --", "crlf": "\\r\\n"}'),
  (35, '"2024-02-29 12:34:56.000000"'), (36, '[1e0, 1E+2, 100000000000000000000]'),
  (37, CONCAT(REPEAT('[', 30), '1', REPEAT(']', 30))), (38, CONCAT(REPEAT('{"a":', 29), '{}', REPEAT('}', 29))),
  (39, CONCAT('["', REPEAT('0123456789', 30000), '"]')), (40, CONCAT('[', REPEAT('1,', 20000), '2]')), (41, ' { "spaced" : [ 1 , 2 ] } ');
INSERT INTO documents
  WITH RECURSIVE s(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM s WHERE n < 199) SELECT 1000 + n, JSON_OBJECT('n', n, 'list', JSON_ARRAY(n, -n, CONCAT('v', n)), 'big', n * 46116860184273879) FROM s;

-- Values made by functions: they have types that no JSON text has.
CREATE TABLE made (id INT NOT NULL PRIMARY KEY, j JSON NOT NULL DEFAULT (JSON_ARRAY()));
INSERT INTO made (id) VALUES (1);
INSERT INTO made VALUES (2, JSON_OBJECT('k', NULL)), (3, JSON_ARRAY(1 = 1, 18446744073709551615, -1)), (4, JSON_QUOTE('a"b\\c')), (5, JSON_ARRAY('', 'NULL'));

-- Columns computed from a document, with an index, and one document per row checked.
CREATE TABLE computed (id INT NOT NULL PRIMARY KEY, j JSON, name VARCHAR(50) AS (JSON_UNQUOTE(JSON_EXTRACT(j, '$.name'))) VIRTUAL, qty INT AS (JSON_EXTRACT(j, '$."the qty"')) STORED,
  KEY (name), CONSTRAINT has_name CHECK (JSON_CONTAINS_PATH(j, 'one', '$.name')));
INSERT INTO computed (id, j) VALUES (1, '{"name": "it''s \\"é\\"", "the qty": 7}'), (2, '{"name": null}'), (3, '{"name": "", "the qty": -1}'), (4, NULL);
