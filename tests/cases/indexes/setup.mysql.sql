-- MySQL: on expressions, invisible, ngram parser, with an engine attribute.
USE c_indexes;
CREATE TABLE only_mysql (id INT NOT NULL PRIMARY KEY, a VARCHAR(50), b INT, j JSON, KEY on_expression ((LOWER(a)), b DESC), UNIQUE KEY on_two ((b * 2), (CONCAT(a, '''\\é'))), KEY hidden (a) INVISIBLE, FULLTEXT KEY words (a) WITH PARSER ngram,
  KEY array_of ((CAST(j->'$[*]' AS UNSIGNED ARRAY))), KEY (b) VISIBLE, KEY ((IFNULL(b, 0)) DESC) INVISIBLE COMMENT 'it''s');
INSERT INTO only_mysql VALUES (1, '日本語テキスト', 1, '[1, 2]'), (2, 'Abc', NULL, NULL), (3, NULL, 3, '[]');
CREATE TABLE hidden_columns (id INT NOT NULL PRIMARY KEY, v INT, KEY ((v + 1)), KEY ((v + 1), (v + 2)));
INSERT INTO hidden_columns VALUES (1, 1), (2, NULL);
