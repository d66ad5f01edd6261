"""A producer in plain psycopg: its own row and a task, in one transaction. Prints what came of it as JSON.

    python3 producer.py postgres://…
"""

import json
import sys

import psycopg

told = {}

with psycopg.connect(sys.argv[1], autocommit=True) as db:
    db.execute("create table if not exists orders (id bigint generated always as identity primary key, text text)")

    def order(text, key):
        row = db.execute("insert into orders (text) values (%s) returning id", [text]).fetchone()[0]
        task, created = db.execute(
            "select task_id, created from foothold.submit('order', %s::json, dedupe_key => %s)",
            [json.dumps({"client": "Анна", "row": row, "request": text, "weight": 0.1 + 0.2}), key],
        ).fetchone()
        return {"row": row, "task": str(task), "created": created}

    with db.transaction():
        told["committed"] = order("стол у окна", "committed")

    try:
        with db.transaction():
            told["rolled_back"] = order("стол у двери", "rolled back")
            raise InterruptedError
    except InterruptedError:
        pass

    # A refusal inside a savepoint costs the savepoint alone.
    with db.transaction():
        try:
            with db.transaction():
                order("другой стол", "committed")
        except psycopg.Error as refused:
            told["refused"] = {
                "sqlstate": refused.sqlstate,
                "message": refused.diag.message_primary,
                "details": json.loads(refused.diag.message_detail),
            }
        told["after_refusal"] = order("стул", "after refusal")

    told["rows"] = [text for (text,) in db.execute("select text from orders order by id")]
    told["tasks"] = [
        str(task) for (task,) in db.execute("select id from foothold.task_view where agent = 'order' order by created_at")
    ]

print(json.dumps(told))
