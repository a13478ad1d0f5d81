"""Write request files for the Batch API, and read its result files."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from openai.types import Batch

from tasks.models.ask import Request
from tasks.models.incoming import plain
from tasks.models.recording.entries import LedgerEntry
from tasks.models.request_builder import INPUT
from tasks.models.sending.failures import Failure, classify_failure, judge_code, read_error
from tasks.models.sending.replies import (
    ErrorReply,
    UnusableReply,
    build_post,
    make_entry,
    read_body,
    read_replies,
)
from tasks.models.settings import Endpoint

BatchOutcome = LedgerEntry | Failure


def write_calls(calls: Mapping[str, Request], path: str, endpoint: Endpoint) -> bytes:
    """Return requests (ledger key -> request) as the JSON Lines of a batch."""
    lines = []
    for key, request in calls.items():
        _, body = build_post([request], endpoint)
        line = {"custom_id": key, "method": "POST", "url": f"/v1{path}", "body": body}
        lines.append(json.dumps(line, ensure_ascii=False) + "\n")
    return "".join(lines).encode()


def read_results(
    files: Iterable[bytes],
    keys: Iterable[str],
    requests: Mapping[str, Request],
    batch: Batch,
    *,
    strips_reasoning: bool = True,
    skips_broken: bool = False,
) -> dict[str, BatchOutcome]:
    """Parse a finished batch's files; return an entry or a failure for every key.

    `requests`: key -> request, for the requests that this process knows. For other requests, prompt tokens
    cannot be estimated if the provider does not state them. If a call has several lines, the first answer is
    used.

    Raises UnusableReply if a line is unreadable, for example because a file is truncated. `skips_broken`:
    skip unreadable lines instead. If a line was skipped, every call without a readable line counts as
    possibly billed.
    """
    known: dict[str, BatchOutcome | None] = dict.fromkeys(keys)
    broken = False
    for line in (line for file in files for line in io.BytesIO(file) if line.strip()):
        try:
            key, row = _read_line(line)
        except UnusableReply:
            if not skips_broken:
                raise
            broken = True
            continue
        if key in known and not isinstance(known[key], LedgerEntry):
            known[key] = _read_result(key, row, requests.get(key), strips_reasoning)
    lost = Failure("sent a batch result that cannot be read", retry=True, paid=True)
    missing = lost if broken else _explain(batch)
    return {key: outcome or missing for key, outcome in known.items()}


def _read_line(line: bytes) -> tuple[str, Mapping[str, Any]]:
    """Parse a line of results; return the call's ledger key and the whole object. Raises UnusableReply."""
    row = read_body(line)
    if not isinstance(row, dict) or not isinstance(key := row.get("custom_id"), str):
        raise UnusableReply("sent a batch result that is not JSON Lines")
    return key, row


def _read_result(
    key: str, row: Mapping[str, Any], request: Request | None, strips_reasoning: bool
) -> BatchOutcome:
    response = _read_object(row, "response")
    status, body = response.get("status_code"), response.get("body")
    if status != 200:
        said = _read_object(row, "error") or _read_object(_read_object(response, "body"), "error")
        if not isinstance(status, int) or isinstance(status, bool):
            problem = f"answered {plain(str(status), 20)}: {read_error(said).message}"
            return Failure(problem, retry=True, paid=False)
        return replace(judge_code(status, read_error(said), {}), paid=False)
    if request is None and _has_calls(body):
        # The text depends on the tools that were offered, which are unknown without the request.
        return Failure("answered by a tool call that can no longer be read", retry=True, paid=True)
    embeds = isinstance(body, dict) and "data" in body
    known = request or Request("", ({"role": INPUT if embeds else "user", "content": ""},))
    try:
        (reply,) = read_replies(body, [known], strips_reasoning=strips_reasoning)
    except (UnusableReply, ErrorReply) as error:
        return classify_failure(error)
    return make_entry(key, reply)


def _has_calls(body: object) -> bool:
    try:
        return bool(body["choices"][0]["message"]["tool_calls"])  # type: ignore[index]
    except (KeyError, IndexError, TypeError):
        return False


def _read_object(row: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """Return the object in a field of another object, or {} if there is none."""
    found = row.get(name)
    return found if isinstance(found, dict) else {}


def _explain(batch: Batch) -> Failure:
    """Return the failure for a call that has no line in a batch's results."""
    if batch.status == "failed":
        errors = (batch.errors.data if batch.errors else None) or []
        said = "; ".join(error.message or "" for error in errors) or "no message"
        return Failure(f"refused the batch: {plain(said)}", retry=False, paid=False)
    return Failure(f"ended the batch as {batch.status} without this call", retry=True, paid=False)
