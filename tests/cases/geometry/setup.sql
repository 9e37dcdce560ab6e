-- Every geometry type, empty collections, SRIDs, NULLs, spatial indexes. The server hands out a 4-byte SRID and WKB; read as
-- text through ST_AsText digits and SRID are lost, and 4326 swaps its axes on MySQL only. Guards against: values
-- re-encoded as text, the SRID dropped, raw WKB bytes (quotes, backslashes, NULs) escaped wrongly, axis order swapped.
DROP DATABASE IF EXISTS c_geometry;
CREATE DATABASE c_geometry CHARACTER SET utf8mb4;
USE c_geometry;

CREATE TABLE shapes (id INT NOT NULL PRIMARY KEY, g GEOMETRY);
INSERT INTO shapes VALUES
  (1, NULL), (2, ST_GeomFromText('POINT(1 2)')), (3, ST_GeomFromText('POINT(0.1 -0.30000000000000004)')),
  (4, ST_GeomFromText('POINT(1.7976931348623157e308 5e-324)')), (5, ST_GeomFromText('LINESTRING(0 0,1 1,2 0.5)')),
  (6, ST_GeomFromText('POLYGON((0 0,10 0,10 10,0 10,0 0),(2 2,4 2,4 4,2 4,2 2))')), (7, ST_GeomFromText('MULTIPOINT(1 1,2 2,3 3)')),
  (8, ST_GeomFromText('MULTILINESTRING((0 0,1 1),(2 2,3 3,4 4))')), (9, ST_GeomFromText('MULTIPOLYGON(((0 0,1 0,1 1,0 0)),((5 5,7 5,7 7,5 5)))')),
  (10, ST_GeomFromText('GEOMETRYCOLLECTION(POINT(1 1),LINESTRING(0 0,1 1),POLYGON((0 0,1 0,1 1,0 0)))')), (11, ST_GeomFromText('GEOMETRYCOLLECTION EMPTY')),
  (12, ST_GeomFromText('GEOMETRYCOLLECTION(GEOMETRYCOLLECTION EMPTY,POINT(9 9))'));
-- Coordinates whose bytes are 0x27, 0x5C, 0x0A, 0x00 and 0x22.
INSERT INTO shapes VALUES (20, ST_GeomFromWKB(x'0101000000275C0A0D002227275C5C4E5C30093F1A')), (21, ST_GeomFromText('POINT(10.5 92)'));

CREATE TABLE typed (id INT NOT NULL PRIMARY KEY, p POINT, l LINESTRING, y POLYGON, mp MULTIPOINT, ml MULTILINESTRING, my MULTIPOLYGON, c GEOMETRYCOLLECTION);
INSERT INTO typed VALUES
  (1, ST_GeomFromText('POINT(-1.5 1e-9)'), ST_GeomFromText('LINESTRING(0 0,1 1)'), ST_GeomFromText('POLYGON((0 0,4 0,4 4,0 0))'), ST_GeomFromText('MULTIPOINT(1 1,2 2)'),
    ST_GeomFromText('MULTILINESTRING((0 0,1 1))'), ST_GeomFromText('MULTIPOLYGON(((0 0,1 0,1 1,0 0)))'), ST_GeomFromText('GEOMETRYCOLLECTION(POINT(1 1))')),
  (2, NULL, NULL, NULL, NULL, NULL, NULL, NULL), (3, ST_GeomFromText('POINT(0 0)'), NULL, NULL, NULL, NULL, NULL, ST_GeomFromText('GEOMETRYCOLLECTION EMPTY'));

-- The same point with several SRIDs in one column.
CREATE TABLE srids (id INT NOT NULL PRIMARY KEY, g GEOMETRY NOT NULL);
INSERT INTO srids VALUES (1, ST_GeomFromText('POINT(10 20)', 0)), (2, ST_GeomFromText('POINT(10 20)', 4326)), (3, ST_GeomFromText('POINT(10 20)', 3857)),
  (4, ST_GeomFromText('LINESTRING(10 20,30 40)', 4326)), (5, ST_GeomFromText('POLYGON((1 2,3 2,3 4,1 2))', 4326)), (6, ST_GeomFromText('GEOMETRYCOLLECTION(POINT(1 2))', 4326));

CREATE TABLE indexed (id INT NOT NULL PRIMARY KEY, g POINT NOT NULL, SPATIAL KEY position (g)) ENGINE = InnoDB;
INSERT INTO indexed WITH RECURSIVE s(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM s WHERE n < 199) SELECT n, POINT(n / 7e0, -n / 3e0) FROM s;
CREATE TABLE indexed_myisam (id INT NOT NULL PRIMARY KEY, g GEOMETRY NOT NULL, SPATIAL KEY (g)) ENGINE = MyISAM;
INSERT INTO indexed_myisam VALUES (1, POINT(1, 2)), (2, ST_GeomFromText('POLYGON((0 0,4 0,4 4,0 0))'));
