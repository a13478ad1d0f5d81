"""`benchloom import mtrag`: published answers become systems that replay them, ratings are for judges."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from flows.settings import edit_params
from tasks.errors import BadInput
from tasks.files import write_text
from tasks.judging.human_files import write_form
from tasks.sources.mtrag import read_tasks
from tasks.sources.mtrag_evaluations import Evaluations, RatedMetric, read_evaluations
from tasks.systems.replayed import name_question

FOLDER = Path("data/raw/mtrag")
NAME = re.compile(r"[a-z][a-z0-9-]*")
COLUMNS = ("item", "system", "rater", "rating")


def import_published(root: Path, file: Path, name: str, metric: str, judge: str) -> list[str]:
    """Write a file's tasks, answers and ratings below data/raw/mtrag, and name them in params.yaml.

    metric: that judges are held against, one of those that people rated; empty is the first. Returns lines
    that say what was done. Raises BadInput for a file, name or metric that is none, and changes nothing then.
    """
    if not NAME.fullmatch(name):
        raise BadInput("--name", f"{name!r} is no name: small letters, digits and hyphens")
    read = read_evaluations(file)
    rated = {rating[0] for answer in read.answers for rating in answer.ratings}
    metrics = [known for known in read.metrics.values() if known.name in rated]
    if not metrics:
        raise BadInput(file, "holds no rating by a person")
    chosen = next((known for known in metrics if known.name == (metric or metrics[0].name)), None)
    if chosen is None:
        there = ", ".join(known.name for known in metrics)
        raise BadInput("--metric", f"people rated no {metric!r} (there: {there})")
    systems = name_systems(name, read.models)
    folder = FOLDER / name
    (root / folder).mkdir(parents=True, exist_ok=True)
    tasks = "".join(json.dumps(task) + "\n" for task in read.tasks.values())
    write_text(root / folder / "reference.jsonl", tasks)
    answers = "".join(line + "\n" for line in list_answers(root / folder / "reference.jsonl", read))
    write_text(root / folder / "answers.jsonl", answers)
    for known in metrics:
        write_text(root / folder / name_ratings(known), make_ratings(read, known, systems))
    version = hashlib.sha256(answers.encode()).hexdigest()
    with edit_params(root) as data:
        for model, system in systems.items():
            path = (folder / "answers.jsonl").as_posix()
            data["systems"][system] = {"kind": "replay", "version": version, "file": path, "model": model}
        sets = data["ragcheck"]
        for section in ("sets", "correctness"):
            sets[section] = sets.get(section) or {}
        path = (folder / "reference.jsonl").as_posix()
        sets["sets"][name] = {"kind": "mtrag", "path": path, "answerability": []}
        sets["correctness"][name] = {
            "systems": list(systems.values()),
            "judges": [judge],
            "ratings": (folder / name_ratings(chosen)).as_posix(),
            "scale": {"low": chosen.low, "high": chosen.high},
        }
    count = sum(len(answer.ratings) for answer in read.answers)
    return [
        f"{len(read.answers)} answers of {len(systems)} models to {len(read.tasks)} tasks, {count} ratings "
        f"by {', '.join(known.name for known in metrics)}: {folder.as_posix()}",
        f"judges are held against {chosen.name}; now: benchloom run ragcheck",
    ]


def name_systems(name: str, models: Mapping[str, str]) -> dict[str, str]:
    """Name a system for each model: the set's name and the model's, in small letters and hyphens."""
    systems: dict[str, str] = {}
    for model in models:
        plain = make_plain(model)
        system, turn = f"{name}-{plain}", 2
        while system in systems.values():
            system, turn = f"{name}-{plain}-{turn}", turn + 1
        systems[model] = system
    return systems


def name_ratings(metric: RatedMetric) -> str:
    """Name the file of a metric's ratings."""
    return f"ratings-{make_plain(metric.name)}.csv"


def make_plain(text: str) -> str:
    """Turn a name into small letters, digits and hyphens."""
    return "-".join(re.findall(r"[a-z0-9]+", text.lower())) or "unnamed"


def list_answers(reference: Path, read: Evaluations) -> Iterator[str]:
    """List the lines of the file that systems replay. reference: the tasks, as a set reads them."""
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
    """Make the CSV of a metric's ratings, on its own scale."""
    return write_form(
        COLUMNS,
        [
            (answer.task, systems[answer.model], rater, f"{number:g}")
            for answer in read.answers
            for name, rater, number in answer.ratings
            if name == metric.name
        ],
    )
