"""Parse the JSON reply of a user's system strictly: the answer and the retrieved passages."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass

import jmespath
from jmespath.exceptions import JMESPathError

from tasks.models.ask import Answer, Unparsed
from tasks.systems.contract import Passage, Response

DIGITS = 6
"""Number of decimal places to which scores are rounded."""
MAX_PASSAGES = 10_000
"""Maximum length of the `passages` list, because each member requires several JMESPath searches."""


@dataclass(frozen=True)
class ReplyPaths:
    """JMESPath expressions for the values in a reply; see `entries.HttpCall`."""

    text: str | None
    passages: str | None = None
    contexts: str | None = None
    ids: str | None = None
    titles: str | None = None
    scores: str | None = None

    def columns(self) -> dict[str, str]:
        """Return the path of each passage field, keyed by field; fields without a path are omitted."""
        paths = {"ids": self.ids, "titles": self.titles, "contexts": self.contexts, "scores": self.scores}
        return {name: path for name, path in paths.items() if path is not None}


@dataclass(frozen=True)
class Reply:
    """A parsed reply. `text`: empty if no answer was expected. `passages`: None if the reply lists none."""

    text: str
    passages: tuple[Passage, ...] | None


def read_reply(raw: str, paths: ReplyPaths, *, needs_text: bool) -> Reply:
    """Parse a reply. `needs_text`: whether the reply must have an answer; otherwise it must have passages.

    Raises Unparsed if the required part is missing or the reply is not valid.
    """
    try:
        body = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise Unparsed(f"the reply is not valid JSON ({type(error).__name__})") from None
    if isinstance(body, str):
        body = {"answer": body}
    text = _find(body, paths.text, "the answer")
    if needs_text and (not isinstance(text, str) or not text.strip()):
        raise Unparsed(f"the reply has no text at {paths.text!r}")
    passages = _read_passages(body, paths)
    if not needs_text and passages is None:
        raise Unparsed("the reply contains no passages")
    return Reply(clean(text) if isinstance(text, str) else "", passages)


def make_response(answer: Answer[Reply]) -> Response:
    """Convert the parsed answer of a call to a `Response`."""
    if answer.value is None:
        return Response(None, None, (answer.call,), answer.problem)
    return Response(answer.value.text, answer.value.passages, (answer.call,))


def clean(text: str) -> str:
    """Strip white space, and replace lone surrogates, which are valid in JSON but not in UTF-8, by `?`."""
    return text.encode("utf-8", "replace").decode().strip()


def _read_passages(body: object, paths: ReplyPaths) -> tuple[Passage, ...] | None:
    columns = paths.columns()
    if paths.passages is not None:
        members = _find_list(body, paths.passages, "passages")
        if members is None:
            return None
        if len(members) > MAX_PASSAGES:
            raise Unparsed(f"the reply contains more than {MAX_PASSAGES:,} passages")
        rows = [{name: _find(member, path, name) for name, path in columns.items()} for member in members]
        return tuple(_make_passage(row) for row in rows)
    lists = {name: _find_list(body, path, name) for name, path in columns.items()}
    found = {name: values for name, values in lists.items() if values is not None}
    lengths = {name: len(values) for name, values in found.items()}
    if len(set(lengths.values())) > 1:
        raise Unparsed(
            "the reply's lists have different lengths: "
            + ", ".join(f"{name} {count}" for name, count in lengths.items())
        )
    if not found.keys() & {"contexts", "ids"}:
        return None
    return tuple(
        _make_passage(dict(zip(found, row, strict=True))) for row in zip(*found.values(), strict=True)
    )


def _make_passage(row: Mapping[str, object]) -> Passage:
    return Passage(
        _write(row.get("ids")), _write(row.get("titles")), _write(row.get("contexts")),
        _read_score(row.get("scores", 0.0)),
    )  # fmt: skip


def _find(body: object, path: str | None, what: str) -> object:
    if path is None:
        return None
    try:
        found: object = jmespath.search(path, body)
    except (JMESPathError, RecursionError) as error:
        raise Unparsed(f"{what} cannot be read at {path!r} ({type(error).__name__})") from None
    return found


def _find_list(body: object, path: str | None, what: str) -> list[object] | None:
    found = _find(body, path, what)
    if found is None:
        return None
    if not isinstance(found, list):
        raise Unparsed(f"the reply's {what} at {path!r} are not a list")
    return found


def _write(value: object) -> str:
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if value is None:
        return ""
    raise Unparsed("the reply's contexts, ids and titles must be strings or numbers")


def _read_score(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise Unparsed("the reply's scores must be numbers")
    try:
        score = round(float(value), DIGITS)
    # An integer in JSON has no size limit, and float() raises OverflowError for a large integer.
    except (OverflowError, ValueError):
        score = math.inf
    if not math.isfinite(score):
        raise Unparsed("the reply's scores must be finite numbers")
    return score
