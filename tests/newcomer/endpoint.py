"""A scripted model with the OpenAI protocol: it chooses a text that a grammar allows, and matches words.

It must not be used to measure model quality. Replies depend only on requests.

    python -m tests.newcomer.endpoint 8123
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from tasks.databases.rendering import write_said
from tests.judging.scripted import sign

STRING = re.compile(r'"(?:\\.|[^"\\])*"')
CHOICE = re.compile(r"^([A-Z]): (SELECT .*)$", re.MULTILINE)
MEANING = re.compile(r"^(\S.*\..*) = (.*)$", re.MULTILINE)
COLUMN = re.compile(r"""(?:"[^"]+"|\w+)\.(?:"[^"]+"|\w+)""")


@dataclass
class ScriptedEndpoint:
    """Counts requests by kind. failing: whether every reply is an unusable text."""

    failing: bool = False
    asked: Counter[str] = field(default_factory=Counter)

    def make_app(self) -> web.Application:
        """Return the server's application."""
        app = web.Application(client_max_size=64 << 20)
        app.add_routes([web.post("/v1/chat/completions", self.answer)])
        return app

    async def answer(self, request: web.Request) -> web.Response:
        """Answer one request for a completion."""
        body = await request.json()
        text = "?" if self.failing else self._reply(body)
        usage = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}
        choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
        head = {"id": "x", "object": "chat.completion", "created": 0, "model": body["model"]}
        return web.json_response({**head, "choices": [choice], "usage": usage})

    def _reply(self, body: dict[str, Any]) -> str:
        system, user = body["messages"][0]["content"], body["messages"][-1]["content"]
        if "strict grader" in system:
            self.asked["judge"] += 1
            return sign(f"Verdict: {'Correct' if judge_by_words(user) else 'Incorrect'}", user)
        if CHOICE.search(user):
            self.asked["reader"] += 1
            return read_by_words(user)
        self.asked["generator"] += 1
        allowed = [json.loads(text) for text in STRING.findall(body["grammar"])]
        return allowed[int(hashlib.sha256(json.dumps(body).encode()).hexdigest(), 16) % len(allowed)]


def judge_by_words(prompt: str) -> bool:
    """Return whether the response contains all parts of the true answer, including dates in words."""
    answer = prompt.partition("True answer:\n")[2].partition("\n\nResponse:")[0]
    response = fold(" ".join(line[2:] for line in prompt.splitlines() if line.startswith("> ")))
    items = [(fold(item), fold(write_said(item))) for item in answer.strip().split("; ")]
    return all(any(f" {form} " in f" {response} " for form in forms) for forms in items)


def fold(text: str) -> str:
    """Return a text's words and numbers in lower case."""
    return " ".join(re.findall(r"\w+(?:[.-]\w+)*", text.lower()))


def read_by_words(prompt: str) -> str:
    """Return the query whose columns best match the words of a question."""
    words_of = dict(MEANING.findall(prompt.partition("Question:")[0]))
    question = prompt.partition("Question: ")[2].partition("\n")[0].lower()
    scores = {}
    for letter, sql in CHOICE.findall(prompt):
        selected, _, rest = sql.partition(" FROM ")
        names = [name.replace('"', "") for name in COLUMN.findall(selected)]
        words = " ".join(words_of.get(name, name.rpartition(".")[2]) for name in names).lower().split()
        said = sum(word[:4] in question for word in words) / max(len(words), 1)
        given = all(place in question for place in re.findall(r"\[[^\]]+\]", rest.lower()))
        measured = any(word in question for word in ("how many", "number of", "average")) == ("(" in selected)
        scores[letter] = (given, measured, said)
    return max(scores, key=lambda letter: (scores[letter], letter))


if __name__ == "__main__":
    web.run_app(ScriptedEndpoint().make_app(), host="127.0.0.1", port=int(sys.argv[1]), print=None)
