"""MT-RAG's evaluation files: published answers of models to tasks, with what people thought of them.

One JSON object: `models`, `metrics`, `documents`, `tasks` and `evaluations`; the last hold each answer and,
by metric and rater, its annotations. Raters called `system` and `composite` are algorithms, and not read.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from tasks.errors import BadInput

ALGORITHMS = frozenset({"system", "composite"})
HINT = "an evaluation file as MT-RAG publishes it, such as mtrag-human.json"
Row = TypeVar("Row")


@dataclass(frozen=True)
class RatedMetric:
    """A metric that people rate by. values: what an annotation says -> its number; low and high: its ends."""

    name: str
    values: Mapping[str, float]

    @property
    def low(self) -> float:
        """The least number of the scale."""
        return min(self.values.values())

    @property
    def high(self) -> float:
        """The greatest number of the scale."""
        return max(self.values.values())


@dataclass(frozen=True)
class PublishedAnswer:
    """A model's answer to a task. ratings: (metric, rater, number) of people."""

    task: str
    model: str
    text: str
    ratings: tuple[tuple[str, str, float], ...]


@dataclass(frozen=True)
class Evaluations:
    """What an evaluation file holds. models: id -> name. tasks: in the layout of the published references."""

    models: Mapping[str, str]
    metrics: Mapping[str, RatedMetric]
    tasks: Mapping[str, Mapping[str, Any]]
    answers: Sequence[PublishedAnswer]


def read_evaluations(path: Path) -> Evaluations:
    """Read an evaluation file. Raises BadInput that names the part and place of what is not in the layout."""
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise BadInput(path, (error.strerror or "cannot be read").lower(), hint=HINT) from error
    except ValueError as error:  # neither UTF-8 nor JSON
        raise BadInput(path, f"is no JSON: {error}", hint=HINT) from error
    if not isinstance(record, dict):
        raise BadInput(path, "is no JSON object", hint=HINT)
    models = dict(_read_part(path, record, "models", lambda row: (_text(row, "model_id"), row)))
    documents = dict(_read_part(path, record, "documents", lambda row: (_text(row, "document_id"), row)))
    metrics = {
        metric.name: metric for metric in _read_part(path, record, "metrics", _read_metric) if metric.values
    }
    tasks = dict(_read_part(path, record, "tasks", lambda row: _read_task(row, documents)))
    answers = _read_part(path, record, "evaluations", lambda row: _read_answer(row, models, tasks, metrics))
    pairs = [(answer.task, answer.model) for answer in answers]
    if len(set(pairs)) < len(pairs):
        task, model = next(pair for pair in pairs if pairs.count(pair) > 1)
        raise BadInput(path, f"evaluations: {model} answers the task {task} twice")
    if not answers:
        raise BadInput(path, "holds no evaluations", hint=HINT)
    names = {key: str(row.get("name") or key) for key, row in models.items()}
    return Evaluations(names, metrics, tasks, answers)


def _read_part(
    path: Path, record: Mapping[str, Any], part: str, read: Callable[[Mapping[str, Any]], Row]
) -> list[Row]:
    rows = record.get(part)
    if not isinstance(rows, list):
        raise BadInput(path, f"has no list `{part}`", hint=HINT)
    found = []
    for place, row in enumerate(rows, 1):
        try:
            found.append(read(row))
        except KeyError as error:
            raise BadInput(path, f"{part}, entry {place}: has no {error}", hint=HINT) from error
        except (AttributeError, TypeError, ValueError, IndexError) as error:
            raise BadInput(path, f"{part}, entry {place}: {error}", hint=HINT) from error
    return found


def _read_metric(row: Mapping[str, Any]) -> RatedMetric:
    """Read a metric; one without named values is an algorithm's, and has none."""
    values = {str(value["value"]): float(value["numeric_value"]) for value in row.get("values") or ()}
    return RatedMetric(_text(row, "name"), values)


def _read_task(
    row: Mapping[str, Any], documents: Mapping[str, Mapping[str, Any]]
) -> tuple[str, Mapping[str, Any]]:
    task = _text(row, "task_id")
    turns = [{"speaker": _text(turn, "speaker"), "text": _text(turn, "text")} for turn in row["input"]]
    kind = row.get("Answerability") or row.get("answerability") or ""
    contexts = []
    for context in row["contexts"]:
        document = _text(context, "document_id")
        if document not in documents:
            raise ValueError(f"its context {document!r} is not among `documents`")
        known = documents[document]
        contexts.append(
            {"document_id": document, "title": known.get("title") or "", "text": _text(known, "text")}
        )
    return task, {
        "task_id": task,
        "Collection": row.get("Collection") or "mtrag",
        "turn": (len(turns) + 1) // 2,
        "answerability": kind if isinstance(kind, list) else [kind],
        "input": turns,
        "targets": [{"text": _text(target, "text")} for target in row["targets"]] or [{"text": ""}],
        "contexts": contexts,
    }


def _read_answer(
    row: Mapping[str, Any],
    models: Mapping[str, object],
    tasks: Mapping[str, object],
    metrics: Mapping[str, RatedMetric],
) -> PublishedAnswer:
    task, model = _text(row, "task_id"), _text(row, "model_id")
    for name, known, part in ((task, tasks, "tasks"), (model, models, "models")):
        if name not in known:
            raise ValueError(f"{name!r} is not among `{part}`")
    ratings = []
    for name, by_rater in row["annotations"].items():
        for rater, annotation in by_rater.items():
            if name not in metrics or rater in ALGORITHMS:
                continue
            value = str(annotation["value"])
            if value not in metrics[name].values:
                raise ValueError(f"{name} by {rater} is {value!r}, which is no value of the metric")
            ratings.append((name, rater, metrics[name].values[value]))
    return PublishedAnswer(task, model, _text(row, "model_response"), tuple(sorted(ratings)))


def _text(row: Mapping[str, Any], key: str) -> str:
    value = row[key]
    if not isinstance(value, str):
        raise TypeError(f"{key} is {value!r:.40}, not a text")
    return value
