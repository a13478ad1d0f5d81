"""A loopback Batch API server for fault tests, which answers the lines of uploaded files after a delay."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

AnswerLine = Callable[[str, Mapping[str, object]], tuple[int, dict[str, object]]]
"""Function that maps a call's custom id and body to the status and body of its answer."""


@dataclass
class ServedBatch:
    """A batch, which is answered at the first poll after the delay."""

    id: str
    input: str
    endpoint: str
    metadata: dict[str, str]
    created: float
    output: str = ""

    def report(self, *, done: bool) -> dict[str, object]:
        """Return the batch as a JSON object in the OpenAI protocol."""
        return {
            "id": self.id,
            "object": "batch",
            "endpoint": self.endpoint,
            "input_file_id": self.input,
            "completion_window": "24h",
            "status": "completed" if done else "in_progress",
            "output_file_id": self.output or None,
            "metadata": self.metadata,
            "created_at": int(self.created),
        }


@dataclass
class BatchApi:
    """Stores files and batches in memory; `takes_s` is the duration of a batch in seconds."""

    answer_line: AnswerLine
    takes_s: float = 0.0
    files: dict[str, bytes] = field(default_factory=dict)
    batches: dict[str, ServedBatch] = field(default_factory=dict)

    def routes(self) -> list[web.RouteDef]:
        """Return the protocol's routes that this server implements."""
        return [
            web.post("/v1/files", self._upload),
            web.get("/v1/files/{id}/content", self._download),
            web.post("/v1/batches", self._create),
            web.get("/v1/batches", self._list),
            web.get("/v1/batches/{id}", self._show),
        ]

    async def _upload(self, request: web.Request) -> web.Response:
        form = await request.post()
        file = form.get("file")
        if form.get("purpose") != "batch" or not isinstance(file, web.FileField):
            return make_error(400, "needs a file for the purpose 'batch'")
        name = self._keep(file.file.read())
        return web.json_response(
            {
                "id": name,
                "object": "file",
                "bytes": len(self.files[name]),
                "created_at": int(time.time()),
                "filename": file.filename,
                "purpose": "batch",
                "status": "processed",
            }
        )

    async def _download(self, request: web.Request) -> web.Response:
        content = self.files.get(request.match_info["id"])
        return make_error(404, "no such file") if content is None else web.Response(body=content)

    async def _create(self, request: web.Request) -> web.Response:
        body = await request.json()
        if body.get("input_file_id") not in self.files:
            return make_error(400, "no such input file")
        name = f"batch-{len(self.batches)}"
        batch = ServedBatch(
            name, body["input_file_id"], body["endpoint"], body.get("metadata") or {}, time.time()
        )
        self.batches[name] = batch
        return web.json_response(batch.report(done=False))

    async def _list(self, _: web.Request) -> web.Response:
        newest = [self._look(batch) for batch in reversed(self.batches.values())]
        return web.json_response({"object": "list", "data": newest, "has_more": False})

    async def _show(self, request: web.Request) -> web.Response:
        batch = self.batches.get(request.match_info["id"])
        return make_error(404, "no such batch") if batch is None else web.json_response(self._look(batch))

    def _look(self, batch: ServedBatch) -> dict[str, object]:
        done = time.time() >= batch.created + self.takes_s
        if done and not batch.output:
            batch.output = self._keep("".join(map(self._answer, self._read_calls(batch))).encode())
        return batch.report(done=done)

    def _read_calls(self, batch: ServedBatch) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.files[batch.input].split(b"\n") if line]

    def _answer(self, call: Mapping[str, Any]) -> str:
        status, body = self.answer_line(call["custom_id"], call["body"])
        row = {
            "custom_id": call["custom_id"],
            "response": {"status_code": status, "body": body},
            "error": None,
        }
        return json.dumps(row, ensure_ascii=False) + "\n"

    def _keep(self, content: bytes) -> str:
        name = f"file-{len(self.files)}"
        self.files[name] = content
        return name


def make_error(status: int, message: str) -> web.Response:
    """Return an error response in the protocol's format."""
    return web.json_response({"error": {"message": message, "type": "batch"}}, status=status)
