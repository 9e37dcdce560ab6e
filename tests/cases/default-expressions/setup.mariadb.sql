-- MariaDB: a default that uses another column by name, text columns with plain defaults, NEXTVAL is in sequences.
USE c_default_expressions;
CREATE TABLE only_mariadb (a INT DEFAULT (b + 1), b INT DEFAULT 3, c TEXT DEFAULT 'it''s', d BLOB DEFAULT 0x00FF, e LONGTEXT NOT NULL DEFAULT '', f VARCHAR(200) DEFAULT USER(), g VARCHAR(10) DEFAULT DATABASE(), h INET6 DEFAULT '::1');
INSERT INTO only_mariadb (f, g) VALUES ('fixed', 'fixed');
INSERT INTO only_mariadb VALUES (1, 2, NULL, NULL, 'x', NULL, NULL, NULL);
