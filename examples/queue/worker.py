#!/usr/bin/env python3
"""drover queue work --json-lines examples/queue/worker.py: a line of JSON for each task in, one for each result out."""
import json
import sys


def work(task):
    if task["payload"] and "fail" in task["payload"]:
        raise ValueError(task["payload"]["fail"])


for line in sys.stdin:
    task = json.loads(line)
    answer = {"lease": task["lease"]}
    try:
        work(task)
    except Exception as error:
        answer["error"] = str(error)
    print(json.dumps(answer), flush=True)
