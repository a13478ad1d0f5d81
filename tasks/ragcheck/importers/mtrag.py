"""Import MT-RAG's evaluation files: published answers of models to tasks, with people's ratings.

A file is one JSON object with `models`, `metrics`, `documents`, `tasks` and `evaluations`. Each evaluation is
an answer, with annotations by metric and rater. The raters `system` and `composite` are algorithms, so their
annotations are skipped.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar, get_args

from tasks.errors import BadInput
from tasks.judging.human_files import write_form
from tasks.ragcheck.question_sets import DOCUMENTS
from tasks.sources.base_importer import BaseImporter, Imported, Project, argument, check_name, option
from tasks.sources.mtrag import read_tasks
from tasks.sources.whole_json import read_json_object
from tasks.systems.entries import RetrieverKind
from tasks.systems.replayed import name_question

FOLDER = Path("data/raw/mtrag")
COLUMNS = ("item", "system", "rater", "rating")
ALGORITHMS = frozenset({"system", "composite"})
HINT = "give an evaluation file as MT-RAG publishes it, such as mtrag-human.json"
Row = TypeVar("Row")


class Mtrag(BaseImporter):
    """Import published model answers with human ratings (docs/ragcheck.md).

    Each model becomes a system that replays its answers. Judges are compared with the ratings.

    Example: benchloom import mtrag mtrag-human.json --metric completeness
    """

    name = "mtrag"

    file: Path = argument("An evaluation file in the published format of MT-RAG.", "FILE")
    called: str = option("Name of the new question set in params.yaml.", "NAME", "--name", default="mtrag")
    metric: str = option("The metric that people rated. Default: the first rated metric.", "NAME", default="")
    judge: str = option("The role that also judges the answers.", "ROLE", default="judge")
    retriever: str = option(
        "Retriever of passages for judges: keyword, bm25, dense or hybrid. none: use the task's own passages "
        "(rule E2 only).",
        "KIND",
        default="bm25",
    )
    top_k: int = option("Number of passages to retrieve.", "N", "--top-k", default=5, least=1)

    def bring_in(self, project: Project) -> Imported:
        """Convert an evaluation file to project files (tasks, answers, ratings) and entries of params.yaml.

        Raises BadInput for an invalid file, name or metric, before any file is written.
        """
        check_name(self.called)
        search = self._describe_search()
        read = read_evaluations(self.file)
        metrics = self._list_rated(read)
        chosen = self._choose(metrics)
        systems = name_systems(self.called, read.models)
        folder = FOLDER / self.called
        reference = project.place(folder / "reference.jsonl")
        reference.write_text("".join(json.dumps(task) + "\n" for task in read.tasks.values()))
        answers = "".join(line + "\n" for line in list_answers(reference, read))
        documents = "".join(json.dumps(document) + "\n" for document in read.documents)
        texts = {folder / "answers.jsonl": answers, folder / DOCUMENTS: documents}
        texts |= {folder / name_ratings(metric): make_ratings(read, metric, systems) for metric in metrics}
        replayed = {
            "kind": "replay",
            "version": hashlib.sha256(answers.encode()).hexdigest(),
            "file": (folder / "answers.jsonl").as_posix(),
            **search,
        }
        settings: dict[tuple[str, ...], object] = {
            ("systems", system): {**replayed, "model": model} for model, system in systems.items()
        }
        settings["ragcheck", "sets", self.called] = {
            "kind": "mtrag",
            "path": folder.as_posix(),
            "answerability": [],
        }
        settings["ragcheck", "correctness", self.called] = {
            "systems": list(systems.values()),
            "judges": [self.judge],
            "ratings": (folder / name_ratings(chosen)).as_posix(),
            "scale": {"low": chosen.low, "high": chosen.high},
        }
        count = sum(len(answer.ratings) for answer in read.answers)
        asked = f"{len(read.answers)} answers of {len(systems)} models to {len(read.tasks)} tasks"
        named = ", ".join(metric.name for metric in metrics)
        found = (
            f"by {self.retriever} from {len(read.documents)} passages" if search else "the tasks' passages"
        )
        lines = [
            f"{asked}, {count} ratings by {named}: {folder.as_posix()}",
            f"contexts of judges: {found}",
            f"judges are compared with {chosen.name}; now: benchloom run ragcheck",
        ]
        return Imported(lines, texts, settings)

    def _describe_search(self) -> dict[str, object]:
        """Return a system's `search` section, which describes its retrieval; empty if `retriever` is `none`.

        Raises BadInput for an unknown retriever.
        """
        if self.retriever not in (kinds := get_args(RetrieverKind)):
            what = f"{self.retriever!r} is not a retriever (known: {', '.join(kinds)})"
            raise BadInput("--retriever", what)
        if self.retriever == "none":
            return {}
        return {"search": {"kind": "rag", "retriever": self.retriever, "top_k": self.top_k}}

    def _list_rated(self, read: Evaluations) -> list[RatedMetric]:
        """List the metrics that have human ratings. Raises BadInput if there are none."""
        rated = {rating[0] for answer in read.answers for rating in answer.ratings}
        metrics = [metric for metric in read.metrics.values() if metric.name in rated]
        if not metrics:
            raise BadInput(self.file, "contains no human ratings")
        return metrics

    def _choose(self, metrics: Sequence[RatedMetric]) -> RatedMetric:
        """Return the metric whose human ratings are compared with the judges' grades.

        Raises BadInput if the metric named by the user has no human ratings.
        """
        wanted = self.metric or metrics[0].name
        chosen = next((metric for metric in metrics if metric.name == wanted), None)
        if chosen is None:
            there = ", ".join(metric.name for metric in metrics)
            raise BadInput("--metric", f"the file has no human ratings for {wanted!r} (known: {there})")
        return chosen


def name_systems(name: str, models: Mapping[str, str]) -> dict[str, str]:
    """Map each model to a unique system name: the set's name, a hyphen, the model's name (`make_plain`)."""
    systems: dict[str, str] = {}
    for model in models:
        plain = make_plain(model)
        system, turn = f"{name}-{plain}", 2
        while system in systems.values():
            system, turn = f"{name}-{plain}-{turn}", turn + 1
        systems[model] = system
    return systems


def name_ratings(metric: RatedMetric) -> str:
    """Return the file name for a metric's ratings."""
    return f"ratings-{make_plain(metric.name)}.csv"


def make_plain(text: str) -> str:
    """Convert a name to lower-case letters, digits and hyphens."""
    return "-".join(re.findall(r"[a-z0-9]+", text.lower())) or "unnamed"


def list_answers(reference: Path, read: Evaluations) -> Iterator[str]:
    """Yield the JSON lines of the answers file that systems replay. reference: the file with the tasks."""
    tasks = {task.id: task for task in read_tasks(reference)}
    for answer in sorted(read.answers, key=lambda answer: (answer.model, answer.task)):
        task = tasks[answer.task]
        passages = [
            {"document": source.id, "title": source.title, "text": source.text} for source in task.contexts
        ]
        record: dict[str, Any] = {
            "task": answer.task,
            "model": answer.model,
            "question": name_question(task.question, task.history),
            "text": answer.text,
            "passages": passages,
        }
        yield json.dumps(record)


def make_ratings(read: Evaluations, metric: RatedMetric, systems: Mapping[str, str]) -> str:
    """Write the CSV of a metric's ratings, on the metric's own scale."""
    return write_form(
        COLUMNS,
        [
            (answer.task, systems[answer.model], rater, f"{number:g}")
            for answer in read.answers
            for name, rater, number in answer.ratings
            if name == metric.name
        ],
    )


@dataclass(frozen=True)
class RatedMetric:
    """A metric by which people rate answers.

    values: annotation -> number. low, high: the bounds of the scale.
    """

    name: str
    values: Mapping[str, float]

    @property
    def low(self) -> float:
        """The smallest number of the scale."""
        return min(self.values.values())

    @property
    def high(self) -> float:
        """The largest number of the scale."""
        return max(self.values.values())


@dataclass(frozen=True)
class PublishedAnswer:
    """A model's answer to a task. ratings: people's ratings as (metric, rater, number)."""

    task: str
    model: str
    text: str
    ratings: tuple[tuple[str, str, float], ...]


@dataclass(frozen=True)
class Evaluations:
    """The content of an evaluation file. models: id -> name. tasks: id -> published task."""

    models: Mapping[str, str]
    metrics: Mapping[str, RatedMetric]
    tasks: Mapping[str, Mapping[str, Any]]
    answers: Sequence[PublishedAnswer]
    documents: Sequence[Mapping[str, str]]
    """All passages that have a text, in the format of a question set's `documents.jsonl`."""


def read_evaluations(path: Path) -> Evaluations:
    """Read an evaluation file. Raises BadInput with the section and position of an invalid entry."""
    record: Mapping[str, Any] = read_json_object(path)
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
        raise BadInput(path, "contains no evaluations", hint=HINT)
    names = {key: str(row.get("name") or key) for key, row in models.items()}
    passages = [
        {"id": name, "title": str(row.get("title") or ""), "text": row["text"]}
        for name, row in sorted(documents.items())
        if isinstance(row.get("text"), str) and row["text"].strip()
    ]
    return Evaluations(names, metrics, tasks, answers, passages)


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
    """Read a metric. A metric without named values comes from an algorithm, and its `values` are empty."""
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
                raise ValueError(f"{name} by {rater} is {value!r}, which is not a value of the metric")
            ratings.append((name, rater, metrics[name].values[value]))
    return PublishedAnswer(task, model, _text(row, "model_response"), tuple(sorted(ratings)))


def _text(row: Mapping[str, Any], key: str) -> str:
    value = row[key]
    if not isinstance(value, str):
        raise TypeError(f"{key} is {value!r:.40}; expected a string")
    return value
