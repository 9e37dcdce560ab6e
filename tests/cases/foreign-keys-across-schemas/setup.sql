-- Foreign keys from one schema to another and back, also between tables of one name. SHOW CREATE TABLE writes the other schema's name
-- into the REFERENCES clause, which a restore under another schema name must change. Guards against: schemas restored one
-- after the other with checks on, constraints that point into the schema of the original.
SET foreign_key_checks = 0;
DROP DATABASE IF EXISTS c_foreign_keys_across_schemas;
DROP DATABASE IF EXISTS c_foreign_keys_across_schemas_b;
CREATE DATABASE c_foreign_keys_across_schemas CHARACTER SET utf8mb4;
CREATE DATABASE c_foreign_keys_across_schemas_b CHARACTER SET utf8mb4;
CREATE TABLE c_foreign_keys_across_schemas.t (id INT NOT NULL PRIMARY KEY, other INT, CONSTRAINT to_b FOREIGN KEY (other) REFERENCES c_foreign_keys_across_schemas_b.t (id) ON DELETE CASCADE);
CREATE TABLE c_foreign_keys_across_schemas_b.t (id INT NOT NULL PRIMARY KEY, other INT, CONSTRAINT to_a FOREIGN KEY (other) REFERENCES c_foreign_keys_across_schemas.t (id) ON UPDATE CASCADE);
INSERT INTO c_foreign_keys_across_schemas.t VALUES (1, 2), (2, NULL), (3, 1);
INSERT INTO c_foreign_keys_across_schemas_b.t VALUES (1, 1), (2, 3);
SET foreign_key_checks = 1;
CREATE TABLE c_foreign_keys_across_schemas.child (id INT NOT NULL PRIMARY KEY, a INT, b INT, FOREIGN KEY (a) REFERENCES c_foreign_keys_across_schemas_b.t (id), FOREIGN KEY (b) REFERENCES c_foreign_keys_across_schemas.t (id));
INSERT INTO c_foreign_keys_across_schemas.child VALUES (1, 1, 3), (2, NULL, NULL);
