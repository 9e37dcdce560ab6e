-- MariaDB's sequences: fresh, used, exhausted, cycled, descending, without cache, of several engines; as defaults of columns; read by a
-- view and a function. A sequence is a table of one row whose `next_not_cached_value` is ahead of the last value handed
-- out by the rest of the cache. Its type in information_schema.TABLES is SEQUENCE. Guards against: sequences left out
-- (they are no BASE TABLE), restarted, or created after the table whose DEFAULT needs them. What has a cache is drawn by one statement only: a
-- dump of another case flushes the server's tables, which loses the rest of the cache.
DROP DATABASE IF EXISTS c_sequences;
CREATE DATABASE c_sequences CHARACTER SET utf8mb4;
USE c_sequences;

CREATE SEQUENCE fresh;
CREATE SEQUENCE used START WITH 100 INCREMENT BY 10 CACHE 5;
SELECT NEXTVAL(used), NEXTVAL(used), NEXTVAL(used);
CREATE SEQUENCE no_cache START WITH 5 MINVALUE 1 MAXVALUE 1000 NOCACHE NOCYCLE;
SELECT NEXTVAL(no_cache), NEXTVAL(no_cache);
CREATE SEQUENCE cycled START WITH 1 MINVALUE 1 MAXVALUE 3 CYCLE CACHE 2;
SELECT NEXTVAL(cycled), NEXTVAL(cycled), NEXTVAL(cycled), NEXTVAL(cycled), NEXTVAL(cycled);
CREATE SEQUENCE exhausted START WITH 1 MINVALUE 1 MAXVALUE 2 NOCACHE NOCYCLE;
SELECT NEXTVAL(exhausted), NEXTVAL(exhausted);
CREATE SEQUENCE downwards START WITH -1 INCREMENT BY -7 MINVALUE -9223372036854775807 MAXVALUE -1 CACHE 10;
SELECT NEXTVAL(downwards), NEXTVAL(downwards);
CREATE SEQUENCE high START WITH 9223372036854775000 MINVALUE -9223372036854775807 MAXVALUE 9223372036854775806;
SELECT NEXTVAL(high);
CREATE SEQUENCE set_ahead;
SELECT SETVAL(set_ahead, 50000), SETVAL(set_ahead, 70000, 0);
CREATE SEQUENCE round_set MINVALUE 1 MAXVALUE 10 CYCLE NOCACHE;
SELECT SETVAL(round_set, 4, TRUE, 3);
CREATE SEQUENCE server_increment START WITH 3 INCREMENT BY 0 NOCACHE;
CREATE SEQUENCE in_myisam START WITH 7 ENGINE = MyISAM;
SELECT NEXTVAL(in_myisam);
CREATE SEQUENCE in_aria START WITH 8 COMMENT = 'it''s é日 \\' ENGINE = Aria;
SELECT NEXTVAL(in_aria);
CREATE SEQUENCE `odd ``sequence.name é` START WITH 2;

-- The table's name sorts before its sequence's; the second takes one of another name twice.
CREATE SEQUENCE z_for_default START WITH 1000 INCREMENT BY 2 NOCACHE;
CREATE TABLE a_uses_it (id BIGINT NOT NULL DEFAULT NEXTVAL(z_for_default) PRIMARY KEY, v VARCHAR(10));
INSERT INTO a_uses_it (v) VALUES ('a'), ('b');
INSERT INTO a_uses_it VALUES (1, 'c');
CREATE TABLE two_uses (a BIGINT DEFAULT (NEXT VALUE FOR z_for_default + 5), b VARCHAR(20) DEFAULT CONCAT('n', NEXTVAL(`odd ``sequence.name é`)));
INSERT INTO two_uses VALUES (DEFAULT, DEFAULT), (NULL, NULL);
CREATE VIEW reads_sequence AS SELECT LASTVAL(fresh) AS l, next_not_cached_value AS n FROM no_cache;
CREATE FUNCTION draws() RETURNS BIGINT DETERMINISTIC MODIFIES SQL DATA RETURN NEXTVAL(fresh);
