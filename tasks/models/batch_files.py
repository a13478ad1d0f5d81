"""The files of the Batch API: write calls, read results."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from openai.types import Batch

from tasks.models.ask import Request
from tasks.models.embeddings import INPUT
from tasks.models.entries import LedgerEntry
from tasks.models.failures import RETRIED, Failure
from tasks.models.replies import UnusableReply, build_post, make_entry, read_replies

BatchOutcome = LedgerEntry | Failure


def write_calls(calls: Mapping[str, Request], path: str, served_model: str | None) -> bytes:
    """Write requests, by ledger key, as JSON Lines."""
    lines = []
    for key, request in calls.items():
        _, body = build_post([request], served_model)
        line = {"custom_id": key, "method": "POST", "url": f"/v1{path}", "body": body}
        lines.append(json.dumps(line, ensure_ascii=False) + "\n")
    return "".join(lines).encode()


def read_results(
    texts: Iterable[str], keys: Iterable[str], requests: Mapping[str, Request], batch: Batch
) -> dict[str, BatchOutcome]:
    """Read a finished batch's files: an entry or a failure for every key.

    requests: those that are known; for an answer to another one the prompt's tokens cannot be
    estimated if the provider did not count them. Raises UnusableReply if a file is truncated.
    """
    outcomes: dict[str, BatchOutcome] = {}
    for text in texts:
        for line in text.strip().split("\n"):
            try:
                row = json.loads(line)
                key = row["custom_id"]
            except (ValueError, KeyError, TypeError) as error:
                raise UnusableReply("sent a batch's result that is no JSON Lines") from error
            outcomes[key] = _read_result(key, row, requests.get(key))
    lost = _explain(batch)
    return {key: outcomes.get(key, lost) for key in keys}


def _read_result(key: str, row: Mapping[str, Any], request: Request | None) -> BatchOutcome:
    response = row.get("response") or {}
    status, body = response.get("status_code"), response.get("body")
    if status != 200:
        said = row.get("error") or (body or {}).get("error") or {}
        retry = status is None or status in RETRIED or status >= 500
        return Failure(f"answered {status}: {said.get('message', 'no word')}"[:300], retry, paid=False)
    embeds = isinstance(body, dict) and "data" in body
    known = request or Request("", ({"role": INPUT if embeds else "user", "content": ""},))
    try:
        (reply,) = read_replies(json.dumps(body).encode(), [known])
    except UnusableReply as error:
        return Failure(str(error), retry=True, paid=True)
    return make_entry(key, reply)


def _explain(batch: Batch) -> Failure:
    """Describe why a batch has no line for a call."""
    if batch.status == "failed":
        errors = (batch.errors.data if batch.errors else None) or []
        said = "; ".join(error.message or "" for error in errors) or "no word"
        return Failure(f"refused the batch: {said}"[:300], retry=False, paid=False)
    return Failure(f"ended the batch as {batch.status} without this call", retry=True, paid=False)
