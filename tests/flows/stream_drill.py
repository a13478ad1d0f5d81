"""A stream of towns, and its model, for the kill drill."""

import hashlib
import json

from aiohttp import web

from flows.settings import set_params
from tests.flows.sample import Sample
from tests.models.scenes import say

STREAM = "streambench-steps@drill"
STREAM_GROUND = ("streambench-sequence@drill", "streambench-shots@drill")
STREAM_STEPS = 200
TOWNS = ("Oslo", "Rome", "Bern", "Riga")


def write_stream(sample: Sample) -> None:
    """Write a dataset, and add it to params.yaml."""
    folder = sample.root / "data/raw/streambench/drill"
    folder.mkdir(parents=True)
    (folder / "dataset.json").write_text(json.dumps({"name": "drill", "kind": "hotpotqa"}))
    items = [
        {"key": str(number), "text": f"Which town is number {number}?", "gold": TOWNS[number % len(TOWNS)]}
        for number in range(STREAM_STEPS)
    ]
    (folder / "items.jsonl").write_text("".join(f"{json.dumps(item)}\n" for item in items))
    set_params(
        sample.root,
        [
            "roles.embedder.model=drill-embedder",
            "streambench.databases={}",
            "streambench.streams={drill: {datasets: [drill]}}",
            "streambench.evaluations={drill: {stream: drill, methods: [self_stream_icl, mem_prompt], k: 4}}",
        ],
    )


def make_stream_model() -> web.Application:
    """Return a model that chooses a town by its prompt's digest, and embeds a text by the text's digest."""

    async def answer(request: web.Request) -> web.Response:
        digest = hashlib.sha256((await request.json())["messages"][-1]["content"].encode()).digest()
        return say(json.dumps({"answer": TOWNS[digest[0] % len(TOWNS)]}))

    async def embed(request: web.Request) -> web.Response:
        digests = [hashlib.sha256(text.encode()).digest() for text in (await request.json())["input"]]
        rows = [
            {"index": number, "embedding": [byte / 255 for byte in digest]}
            for number, digest in enumerate(digests)
        ]
        return web.json_response({"data": rows})

    app = web.Application()
    app.router.add_post("/v1/chat/completions", answer)
    app.router.add_post("/v1/embeddings", embed)
    return app
