CREATE TABLE update_word_in_text (id INT PRIMARY KEY, a INT, v VARCHAR(100)) ENGINE=InnoDB; INSERT INTO update_word_in_text VALUES (1, 1, 'x'), (2, 2, 'y'), (3, 3, 'z');
-- statement
UPDATE update_word_in_text SET v = 'LIMIT 1 UUID()' WHERE id = 2;
