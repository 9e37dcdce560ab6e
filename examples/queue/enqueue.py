#!/usr/bin/env python3
"""enqueue.py SOCKET SCHEMA: an order and its task in one transaction, with PyMySQL; another one that is rolled back."""
import json
import sys

import pymysql

connection = pymysql.connect(unix_socket=sys.argv[1], user="root", database=sys.argv[2])
with connection.cursor() as cursor:
    cursor.execute("CREATE TABLE IF NOT EXISTS orders (id BIGINT AUTO_INCREMENT PRIMARY KEY, total DECIMAL(10, 2))")
for total, is_paid in (12.5, True), (99, False):
    with connection.cursor() as cursor:
        cursor.execute("INSERT INTO orders (total) VALUES (%s)", (total,))
        task = (1, cursor.lastrowid, json.dumps({"mail": "confirmation"}))
        cursor.execute("INSERT INTO queue_inbox (kind, object_id, payload) VALUES (%s, %s, %s)", task)
    connection.commit() if is_paid else connection.rollback()
