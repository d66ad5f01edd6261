"""The example's service, a little slow, and losing the first answer or the first request of many calls.

    DATABASE_URL=… PORT=… SEED=… python3 faulty_service.py
"""

import asyncio
import os
import random
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[3] / "examples" / "fastapi"))

import uvicorn
from fastapi.responses import JSONResponse
from service import app

chance = random.Random(int(os.environ["SEED"]))
calls = {"/quote": 0, "/book": 0, "/notify": 0}
keys = set()


@app.get("/calls")
def show_calls():
    return calls


@app.middleware("http")
async def misbehave(request, call_next):
    path = request.url.path
    if path not in calls:
        return await call_next(request)
    calls[path] += 1
    key = request.headers.get("idempotency-key")
    fault = None
    if key is not None and key not in keys:
        keys.add(key)
        fault = chance.choice(["before", "after", None, None, None, None])
    await asyncio.sleep(0.02 + chance.random() * 0.1)
    if fault == "before":
        return JSONResponse({"detail": "lost before it was done"}, 503)
    answer = await call_next(request)
    if fault == "after":
        return JSONResponse({"detail": "done, and the answer lost"}, 500)
    return answer


uvicorn.run(app, host="127.0.0.1", port=int(os.environ["PORT"]), log_level="warning")
