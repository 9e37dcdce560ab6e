-- MariaDB: REF_SYSTEM_ID of a column, and a point as default.
USE c_geometry;
CREATE TABLE ref_system (id INT NOT NULL PRIMARY KEY, g GEOMETRY REF_SYSTEM_ID = 101, p POINT NOT NULL DEFAULT (POINT(1, 2)), SPATIAL KEY (p));
INSERT INTO ref_system (id, g) VALUES (1, ST_GeomFromText('POINT(1 1)', 101)), (2, NULL);
