-- Every form of index: descending, prefixes, several over the same columns, on expressions (setup.mysql.sql), full text, spatial, hash,
-- long names and comments, the order in which they are listed, 64 in one table, unique ones that the collation decides.
-- Guards against: indexes built after the load that lose DESC, a prefix length, a parser, visibility, a comment or
-- their place; a secondary index that the auto-increment or a foreign key needs from the start.
DROP DATABASE IF EXISTS c_indexes;
CREATE DATABASE c_indexes CHARACTER SET utf8mb4;
USE c_indexes;

CREATE TABLE forms (id INT NOT NULL, a INT, b VARCHAR(200), c TEXT, d BLOB, e DATETIME, f DECIMAL(10,2),
  PRIMARY KEY (id DESC), KEY z_first (a), KEY a_second (a, b), KEY `odd ``name` (a DESC, b, e DESC), UNIQUE KEY prefixed (b(10)), KEY on_text (c(20)), KEY on_blob (d(767)), KEY mixed (c(5), a DESC, d(3)),
  KEY same_as_first (a), KEY using_btree (e) USING BTREE, KEY block (f) KEY_BLOCK_SIZE = 4 COMMENT 'sized', UNIQUE KEY uniq (e, f), FULLTEXT KEY ft (b, c), FULLTEXT KEY ft_c (c));
INSERT INTO forms VALUES (1, 3, 'one two', 'three four five', x'00FF', '2024-01-01 00:00:00', 1.5), (2, NULL, NULL, NULL, NULL, NULL, NULL), (3, 3, 'other', 'full text search', 'x', NULL, NULL), (4, 2, '', '', '', '2024-01-01 00:00:00', 2);

CREATE TABLE by_collation (a VARCHAR(20) COLLATE utf8mb4_bin, b VARCHAR(20) COLLATE utf8mb4_general_ci, UNIQUE KEY (a), KEY (b));
INSERT INTO by_collation VALUES ('a', 'x'), ('A', 'X'), ('á', 'x'), (NULL, NULL), (NULL, NULL);

CREATE TABLE hashed (id INT NOT NULL, v VARCHAR(10), PRIMARY KEY (id) USING HASH, KEY (v) USING BTREE) ENGINE = MEMORY;
INSERT INTO hashed VALUES (2, 'b'), (1, 'a'), (3, NULL);
CREATE TABLE myisam_ft (id INT NOT NULL PRIMARY KEY, t TEXT, g POINT NOT NULL, FULLTEXT KEY words (t), SPATIAL KEY (g)) ENGINE = MyISAM;
INSERT INTO myisam_ft VALUES (1, 'some words here', POINT(1, 2)), (2, NULL, POINT(0, 0)), (3, 'é日 words', POINT(-1, 1));

-- No primary key; the first unique key over NOT NULL columns is the clustered one and comes third here.
CREATE TABLE no_primary (a INT, b INT NOT NULL, c VARCHAR(5) NOT NULL, KEY k1 (c), UNIQUE KEY k2 (a), UNIQUE KEY k3 (b, c), UNIQUE KEY k4 (c, b));
INSERT INTO no_primary VALUES (NULL, 1, 'x'), (NULL, 1, 'y'), (2, 2, 'x');

-- 64 indexes (the most there can be), one of them over 16 columns.
SET SESSION group_concat_max_len = 100000;
SET @sql = (WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < 62)
  SELECT CONCAT('CREATE TABLE many (id INT NOT NULL PRIMARY KEY, ', GROUP_CONCAT('c', n, ' INT' ORDER BY n), ', ', GROUP_CONCAT('KEY k', 63 - n, ' (c', n, IF(n % 2, '', ' DESC'), ')' ORDER BY n),
    ', UNIQUE KEY sixteen (c1, c2, c3, c4, c5, c6, c7, c8, c9, c10, c11, c12, c13, c14, c15, c16))') FROM s);
PREPARE s FROM @sql;
EXECUTE s;
DEALLOCATE PREPARE s;
INSERT INTO many (id, c1, c16, c62) VALUES (1, 1, 2, 3), (2, NULL, 5, 6), (3, 1, 3, 3);

-- An auto-increment column, and a foreign key, that need an index other than the primary.
CREATE TABLE parent (id INT NOT NULL PRIMARY KEY, code CHAR(3) NOT NULL, n INT NOT NULL AUTO_INCREMENT, UNIQUE KEY by_code (code), KEY by_n (n));
INSERT INTO parent VALUES (1, 'abc', 5), (2, 'xyz', 9);
CREATE TABLE child (id INT NOT NULL PRIMARY KEY, code CHAR(3), x INT, KEY wide (code, x), CONSTRAINT needs_both FOREIGN KEY (code) REFERENCES parent (code));
INSERT INTO child VALUES (1, 'abc', 1), (2, NULL, 2), (3, 'xyz', 3);
