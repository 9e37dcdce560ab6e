CREATE TABLE replace_select (id INT PRIMARY KEY, a INT, v VARCHAR(100)) ENGINE=InnoDB; INSERT INTO replace_select VALUES (1, 1, 'x'), (2, 2, 'y'), (3, 3, 'z');
CREATE TABLE replace_select_other (id INT PRIMARY KEY, a INT, v VARCHAR(100)) ENGINE=InnoDB; INSERT INTO replace_select_other VALUES (11, 1, 'x'), (12, 2, 'y');
-- statement
REPLACE INTO replace_select SELECT * FROM replace_select_other;
