"""A FastAPI service that keeps its table and its business; Foothold keeps its long tasks alive.

    DATABASE_URL=postgres://… python3 service.py
"""

import json
import os
from pathlib import Path

import psycopg
import uvicorn
from fastapi import Depends, FastAPI, Header, HTTPException
from psycopg.rows import dict_row
from pydantic import BaseModel

app = FastAPI()


def database():
    # Leaving the block commits, or rolls back what an exception left half done.
    with psycopg.connect(os.environ["DATABASE_URL"], row_factory=dict_row) as connection:
        yield connection


class NewTask(BaseModel):
    client: str
    request: str


@app.post("/tasks", status_code=202)
def accept(new: NewTask, db=Depends(database)):
    """The row and its task: both are there after the commit, or neither."""
    row = db.execute(
        "insert into shop.tasks (client, request) values (%s, %s) returning id", [new.client, new.request]
    ).fetchone()
    task_input = {"row": row["id"], "client": new.client, "request": new.request}
    submitted = db.execute(
        "select task_id from foothold.submit('order', %s::json, tenant => %s, dedupe_key => %s)",
        [json.dumps(task_input), new.client, f"shop.tasks:{row['id']}"],
    ).fetchone()
    return {"id": row["id"], "task": submitted["task_id"]}


@app.get("/tasks/{row}")
def show(row: int, db=Depends(database)):
    found = db.execute("select * from shop.tasks where id = %s", [row]).fetchone()
    if found is None:
        raise HTTPException(404)
    return found


class Question(BaseModel):
    request: str


@app.post("/quote")
def quote(question: Question):
    """Changes nothing: safe to ask again."""
    return {"price": 100 * len(question.request)}


class Booking(BaseModel):
    row: int
    price: int
    request: str


@app.post("/book")
def book(booking: Booking, idempotency_key: str = Header(), db=Depends(database)):
    if "невозможно" in booking.request:
        raise HTTPException(409, "There is none left.")
    return once(db, idempotency_key, "book", booking.row, {"number": f"B-{booking.row}", "price": booking.price})


class Message(BaseModel):
    row: int
    text: str


@app.post("/notify")
def notify(message: Message, idempotency_key: str = Header(), db=Depends(database)):
    return once(db, idempotency_key, "notify", message.row, {"sent": message.text})


def once(db, key, action, task, answer):
    """What is asked again under the same key is answered as the first time, and done no second time."""
    db.execute(
        "insert into shop.ledger (idempotency_key, action, task, answer) values (%s, %s, %s, %s::json)"
        " on conflict do nothing",
        [key, action, task, json.dumps(answer)],
    )
    return db.execute("select answer from shop.ledger where idempotency_key = %s", [key]).fetchone()["answer"]


@app.on_event("startup")
def prepare():
    with psycopg.connect(os.environ["DATABASE_URL"]) as db:
        db.execute(Path(__file__).with_name("schema.sql").read_text(encoding="utf-8"))


if __name__ == "__main__":
    uvicorn.run(app, host="127.0.0.1", port=int(os.environ.get("PORT", "8000")), log_level="warning")
