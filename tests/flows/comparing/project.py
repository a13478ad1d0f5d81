"""Create a project with finished evaluations, without a model: few rows, `dvc.lock`, git, DVC's cache."""

import hashlib
import json
import shutil
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, fields, replace
from pathlib import Path
from typing import Any, get_origin, get_type_hints

import yaml

from flows.run.record.lock_file import LockFile
from tasks.artifacts.parquet import write_rows
from tasks.grammar.assess.answers import AssessedAnswer
from tasks.grammar.assess.judgements import Judgement
from tasks.grammar.corpus.questions import AskedQuestion
from tasks.longform.build.items import LongformItem
from tasks.longform.judge.reference_verdicts import ReferenceVerdict
from tasks.longform.labels import CONCLUSIVE
from tasks.longform.solve.interaction import Interaction
from tasks.ragcheck.answers import SystemAnswer
from tasks.ragcheck.conversations import Conversation, ConversationTurn
from tasks.ragcheck.questions import ReferenceQuestion
from tasks.ragcheck.scores import JudgeScore
from tasks.streambench.build.items import StreamItem
from tasks.streambench.solve.stream_step import StreamStep
from tasks.tanq.build.tanq_item import TanqItem
from tasks.tanq.score.scores import PredictionScore
from tasks.tanq.solve.prediction import Prediction

Rows = Mapping[str, tuple[type, Sequence[Any]]]
"""Path of an artifact -> its rows."""
PLAIN = {str: "", int: 0, float: 0.0, bool: False}


def fill(row: type, **given: Any) -> Any:
    """Return a row; fields that are not given are empty."""
    hints = get_type_hints(row)
    rest = {
        field_.name: () if get_origin(hints[field_.name]) is tuple else PLAIN.get(hints[field_.name])
        for field_ in fields(row)
        if field_.name not in given and field_.default is MISSING
    }
    return row(**rest, **given)


def fill_all(row: type, given: Iterable[Mapping[str, Any]]) -> tuple[type, list[Any]]:
    return row, [fill(row, **fields) for fields in given]


def name_items(n: int) -> list[str]:
    return [f"q{number:02}" for number in range(n)]


def ask_items(row: type, items: Sequence[str], answer: str, asked: str = "question") -> Any:
    """Return one item per name. answer, asked: names of the fields for the true answer and the question."""
    return fill_all(row, ({"id": item, asked: f"What of {item}?", answer: f"true {item}"} for item in items))


def make_grammar(entry: str, right: Sequence[bool | None], say: str = "said") -> Rows:
    """Return an assessment. right: per question, None if unscored; every two questions form a group."""
    items = name_items(len(right))
    marks = [*zip(items, right, strict=True)]
    folder = f"data/grammar/films/{entry}"
    return {
        "data/grammar/films/questions.parquet": ask_items(AskedQuestion, items, "answer"),
        f"{folder}/answers.parquet": fill_all(
            AssessedAnswer,
            (
                {"id": f"a-{item}", "question": item, "response": f"{entry} {say} {item} {mark}"}
                for item, mark in marks
            ),
        ),
        f"{folder}/judgements.parquet": fill_all(
            Judgement,
            (
                {
                    "id": f"a-{item}",
                    "question": item,
                    "group": f"g{number // 2}",
                    "judgement": None if mark is None else "Correct" if mark else "Incorrect",
                }
                for number, (item, mark) in enumerate(marks)
            ),
        ),
    }


def make_longform(right: Mapping[str, Sequence[bool]]) -> Rows:
    """Return an evaluation. right: agent -> correctness per item; every second item is interpretive."""
    items = name_items(len(next(iter(right.values()))))
    kinds = [CONCLUSIVE if number % 2 == 0 else "interpretive" for number in range(len(items))]
    folder = "data/longform/sample"
    runs = [(agent, number, mark) for agent, marks in right.items() for number, mark in enumerate(marks)]
    row, asked = ask_items(LongformItem, items, "reference")
    kept = [replace(item, kind=kind) for item, kind in zip(asked, kinds, strict=True)]
    return {
        f"{folder}/items.parquet": (row, kept),
        f"{folder}/sample/interactions.parquet": fill_all(
            Interaction,
            (
                {
                    "id": f"{agent}-{number}",
                    "item": items[number],
                    "agent": agent,
                    "model": "agent",
                    "answer": f"{agent} says {mark}",
                }
                for agent, number, mark in runs
            ),
        ),
        f"{folder}/sample/reference_verdicts.parquet": fill_all(
            ReferenceVerdict,
            (
                {
                    "id": f"v-{agent}-{number}",
                    "interaction": f"{agent}-{number}",
                    "item": items[number],
                    "kind": kinds[number],
                    "label": ("Match" if mark else "Not Match") if kinds[number] == CONCLUSIVE else None,
                    "score": None if kinds[number] == CONCLUSIVE else 5 if mark else 1,
                }
                for agent, number, mark in runs
            ),
        ),
    }


def make_tanq(f1: Mapping[str, Sequence[float | None]]) -> Rows:
    """Return an evaluation. f1: system -> F1 per item."""
    items = name_items(len(next(iter(f1.values()))))
    folder = "data/tanq/sample"
    runs = [
        ({"id": f"{system}-{item}", "item": item, "system": system}, value)
        for system, values in f1.items()
        for item, value in zip(items, values, strict=True)
    ]
    return {
        f"{folder}/items.parquet": fill_all(
            TanqItem,
            (
                {"id": item, "question": f"What of {item}?", "answer_table": f"entity\ntrue {item}"}
                for item in items
            ),
        ),
        f"{folder}/sample/predictions.parquet": fill_all(
            Prediction, ({**run, "reply": f"{run['system']} says {value}"} for run, value in runs)
        ),
        f"{folder}/sample/scores.parquet": fill_all(
            PredictionScore,
            (
                {**run, "released_f1": value, "paper_f1": None if value is None else value / 2}
                for run, value in runs
            ),
        ),
    }


def make_stream(right: Mapping[str, Sequence[bool]]) -> Rows:
    """Return an evaluation with two seeds. right: method -> correctness per item."""
    items = name_items(len(next(iter(right.values()))))
    folder = "data/streambench/sample"
    steps = (
        {
            "id": f"{method}-{seed}-{item}",
            "method": method,
            "agents": ("agent",),
            "seed": seed,
            "item": item,
            "answer": f"{method} says {mark}",
            "bit": mark,
            "outcome": "correct" if mark else "wrong",
        }
        for method, marks in right.items()
        for seed in (7, 42)
        for item, mark in zip(items, marks, strict=True)
    )
    return {
        f"{folder}/items.parquet": ask_items(StreamItem, items, "gold", "text"),
        f"{folder}/sample/steps.parquet": fill_all(StreamStep, steps),
    }


def make_ragcheck(scores: Mapping[str, Sequence[int | None]]) -> Rows:
    """Return both parts. scores: system -> score per question, used for two rules and for conversations."""
    items = name_items(len(next(iter(scores.values()))))
    runs = [
        ({"question": item, "system": system}, f"{system}-{item}", f"{system} says {score}", score)
        for system, values in scores.items()
        for item, score in zip(items, values, strict=True)
    ]
    folder = "data/ragcheck/trial"
    return {
        f"{folder}/questions.parquet": ask_items(ReferenceQuestion, items, "reference"),
        f"{folder}/answers.parquet": fill_all(
            SystemAnswer, ({**run, "id": name, "text": said} for run, name, said, _ in runs)
        ),
        f"{folder}/scores.parquet": fill_all(
            JudgeScore,
            (
                {
                    **run,
                    "id": f"{name}-{rule}",
                    "answer": name,
                    "rule": rule,
                    "judge": "judge",
                    "score": score,
                }
                for run, name, _, score in runs
                for rule in ("E2", "E3")
            ),
        ),
        f"{folder}/conversations.parquet": fill_all(
            Conversation,
            (
                {
                    **run,
                    "id": name,
                    "ended": "failed",
                    "turns": (ConversationTurn(f"What of {run['question']}?", said, "", None, None, None),),
                    "scores": () if score is None else (score,),
                    **dict.fromkeys(("wscore", "lscore", "mscore"), score),
                }
                for run, name, said, score in runs
            ),
        ),
    }


STAGES = {
    "judgements": ("grammar.judgements", "assessments", ("questions", "answers")),
    "reference_verdicts": ("longform.reference_verdicts", "longform.evaluations", ("items", "interactions")),
    "steps": ("streambench.steps", "streambench.evaluations", ("items",)),
    "scores": ("tanq.scores", "tanq.evaluations", ("items", "predictions")),
    "conversations": ("ragcheck.conversations", "ragcheck.continuity", ("questions",)),
}
"""Artifact -> stage, section, and input artifacts."""
CORRECTNESS = ("ragcheck.scores", "ragcheck.correctness", ("questions", "answers"))


class Project:
    """A project in a folder. `record` simulates a run of its stages, and `commit` commits the result."""

    def __init__(self, root: Path) -> None:
        self.root = root
        for name, text in {
            "dvc.yaml": "stages: {}\n",
            "params.yaml": "{}\n",
            ".gitignore": "/data\n/.dvc/cache\n/.benchloom\n",
            ".dvc/config": "[core]\n    analytics = false\n",
        }.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)
        self.git("init", "-q", "-b", "main")

    def git(self, *words: str) -> str:
        own = ("-c", "user.name=T", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false")
        done = subprocess.run(
            ["git", "-C", str(self.root), *own, *words], capture_output=True, text=True, check=True
        )
        return done.stdout.strip()

    def commit(self, message: str, tag: str = "") -> None:
        self.git("add", "-A")
        self.git("commit", "-q", "-m", message)
        if tag:
            self.git("tag", tag)

    def record(self, rows: Rows, system: str = "") -> None:
        """Write artifacts to their paths and into the cache, and record their stages, like a run."""
        for path, (row, written) in rows.items():
            write_rows(self.root / path, row, written)
            self.keep(path)
        entries = {}
        params = yaml.safe_load((self.root / "params.yaml").read_text())
        for path in rows:
            name, key = Path(path).stem, Path(path).parent.name
            if name not in STAGES and not (name == "scores" and "ragcheck" in path):
                continue
            stage, section, needs = (
                CORRECTNESS if (name, "ragcheck" in path) == ("scores", True) else STAGES[name]
            )
            deps = [other for need in needs for other in rows if Path(other).stem == need]
            block = f"{stage.replace('.', '-').replace('_', '-')}@{key}"
            entries[block] = {
                "cmd": f"benchloom stage {stage} {key}",
                "deps": [self.describe(path) for path in deps],
                "params": {},
                "outs": [self.describe(path)],
            }
            if system:  # as in the sample, where no parameter of the stage names the system
                params.setdefault(section, {})[key] = {"system": system}
        (self.root / "params.yaml").write_text(yaml.safe_dump(params))
        LockFile(self.root / "dvc.lock").update(entries)

    def describe(self, path: str) -> dict[str, object]:
        content = (self.root / path).read_bytes()
        return {"path": path, "hash": "md5", "md5": hashlib.md5(content).hexdigest(), "size": len(content)}

    def place_cached(self, path: str) -> Path:
        md5 = str(self.describe(path)["md5"])
        return self.root / ".dvc/cache/files/md5" / md5[:2] / md5[2:]

    def keep(self, path: str) -> None:
        place = self.place_cached(path)
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(self.root / path, place)

    def write_night(self, label: str, rows: Rows, system: str = "") -> None:
        """Record the artifacts of a nightly run on its branch; the working tree does not change."""
        self.git("checkout", "-q", "-b", f"nightly/{label}")
        before = {path: (self.root / path).read_bytes() for path in rows if (self.root / path).is_file()}
        self.record(rows, system)
        self.commit(f"Record the night {label}")
        self.git("checkout", "-q", "-")
        for path, content in before.items():
            (self.root / path).write_bytes(content)

    def write_evaluation(self, folder: str, flow: str, system: str, rows: Rows) -> None:
        """Write an evaluation's folder, like `benchloom evaluate`."""
        for path, (row, written) in rows.items():
            write_rows(self.root / folder / Path(path).name, row, written)
        about = {"flow": flow, "system": system, "dataset": "mine.jsonl", "evaluation": "k"}
        (self.root / folder / "figures.json").write_text(json.dumps(about))
