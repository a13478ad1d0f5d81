"""An endpoint that replays the sample's recorded replies, and whose judges can be made to drift."""

import hashlib
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

from aiohttp import web

from tasks.artifacts.parquet import read_rows
from tasks.longform.judge.peer_canaries import read_peer_canaries
from tasks.models.ask import CANONICAL
from tasks.models.calls import Call
from tests.judging.scripted import sign
from tests.models.scenes import say

WORST = {"compare an answer": "Verdict: Not Match", "score how much": "Score: 1"}
"""Beginning of a prompt of longform's judge -> its worse verdict."""


@dataclass
class RecordedModel:
    """The endpoint. drifted: longform's judge gives worse verdicts. broken: agents' replies are useless."""

    told: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    drifted: bool = False
    broken: bool = False
    asked: int = 0
    unknown: int = 0

    def learn(self, folder: Path) -> None:
        """Read the calls below a folder."""
        for path in sorted(folder.rglob("*.calls.parquet")):
            for call in read_rows(path, Call):
                self.told[call.messages].append(call.text)

    def make_app(self) -> web.Application:
        app = web.Application()
        app.router.add_post("/v1/chat/completions", self.answer)
        app.router.add_post("/v1/embeddings", self.embed)
        return app

    async def answer(self, request: web.Request) -> web.Response:
        messages = (await request.json())["messages"]
        prompt = "\n".join(message["content"] for message in messages)
        self.asked += 1
        return say(self._reply(prompt, CANONICAL.encode(messages)))

    def _reply(self, prompt: str, key: str) -> str:
        worst = next((verdict for words, verdict in WORST.items() if f"You {words}" in prompt), "")
        if worst and self.drifted:
            return sign(worst, prompt)
        shown = [
            canary
            for canary in read_peer_canaries()
            if worst and canary.answer and canary.answer in prompt and canary.question in prompt
        ]
        if shown:  # the reference of one question may be the answer to another
            right = max(shown, key=lambda canary: (canary.answer != canary.reference, len(canary.answer)))
            return sign(f"{worst.partition(':')[0]}: {right.accepted[0]}", prompt)
        if self.broken and "SQL" in prompt:
            return "SELECT 1"
        texts = self.told.get(key)
        if texts is None:
            self.unknown += 1
            return sign(worst, prompt) if worst else "SELECT 1"
        return texts[0]

    async def embed(self, request: web.Request) -> web.Response:
        given = (await request.json())["input"]
        digests = [hashlib.sha256(text.encode()).digest() for text in given]
        rows = [
            {"index": number, "embedding": [byte / 255 for byte in digest]}
            for number, digest in enumerate(digests)
        ]
        return web.json_response({"data": rows})
