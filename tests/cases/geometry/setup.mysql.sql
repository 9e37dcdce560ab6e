-- MySQL: columns bound to an SRID (inside a version comment in SHOW CREATE TABLE), a table with no other key.
USE c_geometry;
CREATE TABLE bound (id INT NOT NULL PRIMARY KEY, g POINT NOT NULL SRID 4326, flat GEOMETRY NOT NULL SRID 0, merc LINESTRING SRID 3857, SPATIAL KEY (g), SPATIAL KEY (flat));
INSERT INTO bound VALUES (1, ST_GeomFromText('POINT(-89.5 179.25)', 4326), POINT(1, 2), NULL), (2, ST_GeomFromText('POINT(52.5 13.4)', 4326), ST_GeomFromText('GEOMETRYCOLLECTION EMPTY'), ST_GeomFromText('LINESTRING(1 2,3 4)', 3857));
CREATE TABLE bound_generated (lat DOUBLE NOT NULL, lon DOUBLE NOT NULL, p POINT AS (ST_SRID(POINT(lon, lat), 4326)) STORED SRID 4326 NOT NULL, SPATIAL KEY (p));
INSERT INTO bound_generated (lat, lon) VALUES (52.5, 13.4), (-33.9, 151.2), (0.1, -0.1);
