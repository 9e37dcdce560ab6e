-- mysql SCHEMA < examples/queue/enqueue.sql: tasks are in the queue if the transaction is committed, and never were if it is not.
CREATE TABLE IF NOT EXISTS orders (id BIGINT AUTO_INCREMENT PRIMARY KEY, total DECIMAL(10, 2));
START TRANSACTION;
INSERT INTO orders (total) VALUES (12.50);
INSERT INTO queue_inbox (kind, object_id, payload) VALUES (1, LAST_INSERT_ID(), '{"mail": "confirmation"}');
COMMIT;
START TRANSACTION;
INSERT INTO orders (total) VALUES (99.00);
INSERT INTO queue_inbox (kind, object_id, priority, not_before) VALUES (1, LAST_INSERT_ID(), 5, NOW(3) + INTERVAL 1 DAY);
ROLLBACK;
