"""Test data: a project's params.yaml, a small shop database, and a loopback model with given abilities."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

from aiohttp import web

PARAMS = """\
# what I keep
databases: {} # none yet
systems: {}
roles:
  generator: {model: small, constrain: grammar} # writes
  judge: {model: small, logprobs: true}
  agent: {model: small}
  embedder: {model: tiny}
models: {}
run:
  workers: 4 # stages at once
  endpoints:
    # a hosted one:
    small: {url: "http://127.0.0.1:9/v1"}
  prices: {}
  systems: {}
"""


def make_project(root: Path, params: str = PARAMS) -> Path:
    """Create a project without code; return its folder."""
    root.mkdir(parents=True, exist_ok=True)
    (root / "params.yaml").write_text(params)
    (root / "dvc.yaml").write_text("stages: {}\n")
    return root


def make_shop(path: Path, rows: int = 12) -> Path:
    """Create a SQLite shop database with two tables."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(path)) as shop, shop:
        shop.execute("CREATE TABLE products (id INTEGER PRIMARY KEY, name TEXT, price REAL)")
        shop.execute(
            'CREATE TABLE "odd orders" (id INTEGER PRIMARY KEY, product INTEGER REFERENCES products)'
        )
        shop.executemany("INSERT INTO products VALUES (?, ?, ?)", [(n, f"lamp {n}", n) for n in range(rows)])
    return path


class Model:
    """Answers chat completions. able: its abilities. refuses: parameters that cause status 400."""

    def __init__(self, *able: str, refuses: tuple[str, ...] = (), text: str = "It is red.") -> None:
        self.able, self.refuses, self.text = able, refuses, text
        self.bodies: list[dict[str, object]] = []

    async def answer(self, request: web.Request) -> web.Response:
        body = await request.json()
        self.bodies.append(body)
        if refused := next((name for name in self.refuses if name in body), None):
            instead = " Use 'max_completion_tokens' instead." if refused == "max_tokens" else ""
            said = f"Unsupported parameter: '{refused}'.{instead}"
            error = {"message": said, "code": "unsupported_parameter"}
            return web.json_response({"error": error}, status=400)
        message: dict[str, object] = {"role": "assistant", "content": self.text}
        choice: dict[str, object] = {"index": 0, "finish_reason": "stop", "message": message}
        if "response_format" in body and "json_schema" in self.able:
            message["content"] = json.dumps({"wood": "cedar"})
        if "grammar" in body and "grammar" in self.able:
            message["content"] = "walnut"
        if "tools" in body and "tools" in self.able:
            called = {"name": "look_up", "arguments": json.dumps({"words": "tomato"})}
            message |= {"content": None, "tool_calls": [{"id": "1", "type": "function", "function": called}]}
        if "logprobs" in body and "logprobs" in self.able:
            likely = [{"token": "It", "logprob": -0.1}, {"token": "A", "logprob": -3.0}]
            choice["logprobs"] = {"content": [{**likely[0], "top_logprobs": likely}]}
        usage = {"prompt_tokens": 9, "completion_tokens": 4, "total_tokens": 13}
        return web.json_response({"model": body["model"], "choices": [choice], "usage": usage})
