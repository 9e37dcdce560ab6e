-- MySQL's VECTOR: an array of 4-byte floats that a client sees as raw bytes and that LOAD DATA takes only as bytes or through
-- an expression. Guards against: values sent as the text of STRING_TO_VECTOR (digits lost), bytes converted from a
-- character set, lengths that differ from the declared one, denormals (STRING_TO_VECTOR refuses
-- them, bytes may hold them; NaN and infinity are refused in any form).
DROP DATABASE IF EXISTS c_vector;
CREATE DATABASE c_vector CHARACTER SET utf8mb4;
USE c_vector;

CREATE TABLE vectors (id INT NOT NULL PRIMARY KEY, v VECTOR(8), w VECTOR NOT NULL);
INSERT INTO vectors VALUES
  (1, NULL, TO_VECTOR('[1]')), (2, TO_VECTOR('[1,2,3,4,5,6,7,8]'), TO_VECTOR('[0.1,-0.2]')), (3, TO_VECTOR('[0.1]'), TO_VECTOR('[3.4028234e38,-3.4028234e38,1.17549435e-38,-0.0]')),
  (4, TO_VECTOR('[-0.0,0]'), TO_VECTOR('[16777215,16777216,0.33333334]')), (5, x'0000275C0A0D5C27', x'5C4E5C30091A0042'), (6, x'27272727', x'22222222'), (7, x'01000000FFFF7F00', x'01000080');
CREATE TABLE wide_vector (id INT NOT NULL PRIMARY KEY, v VECTOR(16383));
INSERT INTO wide_vector VALUES (1, UNHEX(REPEAT('0000803F', 16383))), (2, UNHEX(REPEAT('CDCCCC3D', 4096)));
CREATE TABLE no_key (v VECTOR(2));
INSERT INTO no_key VALUES (TO_VECTOR('[1,2]')), (TO_VECTOR('[1,2]')), (NULL);
