-- MySQL's own: indexes over the members of an array, a check against a JSON schema, repeated keys (the last one wins), nesting
-- 90 deep. Left out, like DECIMALs: dates, times and blobs inside a document, whose text form reads back as strings.
USE c_json;
CREATE TABLE multi_valued (id INT NOT NULL PRIMARY KEY, j JSON, KEY zips ((CAST(j->'$.zip' AS UNSIGNED ARRAY))), KEY tags ((CAST(j->'$.tags' AS CHAR(20) ARRAY)), id));
INSERT INTO multi_valued VALUES (1, '{"zip": [1, 2, 3], "tags": ["a", "b''c"]}'), (2, '{"zip": 4}'), (3, NULL), (4, '{"zip": [], "tags": "é"}');
CREATE TABLE duplicate_keys (id INT NOT NULL PRIMARY KEY, j JSON);
INSERT INTO duplicate_keys VALUES (1, '{"b": 1, "a": 2, "b": 3}'), (2, '{"key10": 1, "key9": 2}');
CREATE TABLE with_schema (j JSON, CHECK (JSON_SCHEMA_VALID('{"type": "object", "required": ["a\\"b"]}', j)));
INSERT INTO with_schema VALUES ('{"a\\"b": 1}');
CREATE TABLE deep (j JSON);
INSERT INTO deep VALUES (CONCAT(REPEAT('[', 90), '1', REPEAT(']', 90))), (CONCAT(REPEAT('{"a":', 90), '{}', REPEAT('}', 90)));
