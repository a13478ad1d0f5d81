"""The server process of an embedding model: `POST /v1/embeddings` on loopback, using onnxruntime.

To run the server, use `python -m tasks.models.serving.onnx_server --state FILE --model MODEL.onnx
TOKENIZER.json ...`. Texts are embedded separately: with int8 weights, a text's vector depends on the other
texts in the batch.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import signal
import threading
from pathlib import Path

import numpy as np
from aiohttp import web

from tasks.models.serving.embedded_server import make_path, read_options, wait_until_idle, write_state
from tasks.models.serving.local_only import make_runner, refuse_foreign

DIGITS = 6
"""Number of decimal places of the rounded vectors."""
MAX_BODY_BYTES = 64 << 20
"""Maximum size of a request's body in bytes."""


class Embedder:
    """A sentence embedder that averages the model's last layer over all tokens; vectors have unit length."""

    def __init__(self, model: Path, tokenizer: Path, context: int, threads: int) -> None:
        import onnxruntime
        from tokenizers import Tokenizer

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        self._session = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
        self._inputs = {model_input.name for model_input in self._session.get_inputs()}
        self._tokenizer = Tokenizer.from_file(str(tokenizer))
        # A tokenizer file may enable padding, and `embed` would include the padding in the mean.
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(context)

    def embed(self, text: str) -> tuple[list[float], int]:
        """Embed one text; return its rounded vector and its number of tokens."""
        tokens = self._tokenizer.encode(text)
        columns = {
            "input_ids": tokens.ids,
            "attention_mask": tokens.attention_mask,
            "token_type_ids": tokens.type_ids,
        }
        feed = {name: np.array([columns[name]], np.int64) for name in self._inputs}
        layer = np.asarray(self._session.run(None, feed)[0], dtype=np.float64)
        vector = layer[0].mean(axis=0) if layer.ndim == 3 else layer[0]
        length = float(np.linalg.norm(vector))
        # + 0.0 turns -0.0 into 0.0, because JSON writes the two differently.
        unit = np.round(vector / length if length else vector, DIGITS) + 0.0
        return [float(value) for value in unit], len(tokens.ids)


def build_application(embedder: Embedder, name: str, path: str = "") -> web.Application:
    """Return an aiohttp application that embeds texts, one request at a time; `path` prefixes its routes."""
    turn = asyncio.Lock()

    async def answer(request: web.Request) -> web.Response:
        try:
            body = await request.json()
            texts = [body["input"]] if isinstance(body["input"], str) else list(body["input"])
            if not texts or not all(isinstance(text, str) for text in texts):
                raise TypeError  # noqa: TRY301
        except (ValueError, KeyError, TypeError):
            message = {"message": "the body must contain `input`, a text or a list of texts"}
            return web.json_response({"error": message}, status=400)
        async with turn:
            found = await asyncio.to_thread(lambda: [embedder.embed(text) for text in texts])
        rows = [
            {"object": "embedding", "index": number, "embedding": vector}
            for number, (vector, _) in enumerate(found)
        ]
        total = sum(tokens for _, tokens in found)
        usage = {"prompt_tokens": total, "total_tokens": total}
        return web.json_response({"object": "list", "data": rows, "model": name, "usage": usage})

    async def list_models(_: web.Request) -> web.Response:
        return web.json_response({"object": "list", "data": [{"id": name, "object": "model"}]})

    app = web.Application(client_max_size=MAX_BODY_BYTES, middlewares=[refuse_foreign])
    app.add_routes([web.post(f"{path}/v1/embeddings", answer), web.get(f"{path}/v1/models", list_models)])
    return app


async def serve(options: argparse.Namespace, stopping: threading.Event) -> None:
    """Serve the model until the process is stopped or idle."""
    model, tokenizer = options.model
    embedder = Embedder(model, tokenizer, options.context, options.threads)
    path = make_path()
    runner = make_runner(build_application(embedder, options.name, path))
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", options.port).start()
        write_state(options, f"http://127.0.0.1:{runner.addresses[0][1]}{path}")
        await asyncio.to_thread(wait_until_idle, options.state, options.idle, stopping)
    finally:
        await runner.cleanup()


def main() -> None:
    """Serve an embedding model on loopback until the process is stopped or idle."""
    options = read_options(__doc__)
    stopping = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopping.set())
    asyncio.run(serve(options, stopping))
    with contextlib.suppress(FileNotFoundError):
        options.state.unlink()
    os._exit(0)


if __name__ == "__main__":
    main()
