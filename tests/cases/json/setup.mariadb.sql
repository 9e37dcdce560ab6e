-- MariaDB's JSON is text: spacing, order and repeated keys stay, and so do DECIMALs and any other spelling of a number.
USE c_json;
CREATE TABLE as_text (id INT NOT NULL PRIMARY KEY, j JSON, t LONGTEXT CHECK (JSON_VALID(t)), l VARCHAR(200) CHARACTER SET latin1 CHECK (JSON_VALID(l)));
INSERT INTO as_text VALUES (1, '{"b": 1, "a": 2, "b": 3}', '[1.10, 1e2, 100000000000000000000.5]', '"é"'), (2, '\t[ 1 ]\n', ' 1 ', '{}');
-- A document that is not valid, put there while checks were off.
SET check_constraint_checks = 0;
INSERT INTO as_text VALUES (3, '{"unclosed": ', 'not json \\ at all', '');
SET check_constraint_checks = 1;
