"""A complete ragcheck project: the real graph, a small question set, and an endpoint on loopback."""

import asyncio
import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from aiohttp import web

from flows.run.outcomes import StageOutcome
from flows.settings import load_params
from tests.flows.conftest import make_folder
from tests.flows.running import finish_run, open_run
from tests.judging.scripted import sign
from tests.models.scenes import answering, say

ROOT = Path(__file__).parents[2]
ROLE = {"model": "tester", "temperature": 0.0, "top_p": 1.0, "max_tokens": 200, "attempts": 1}
RAG = {"kind": "rag", "retriever": "bm25", "top_k": 2, "language": "en"}
QUESTIONS = [
    ("1", "plants", "Who leads the Orbis project?", "Marta Quill leads the Orbis project."),
    ("2", "plants", "What does the Orbis project grow?", "It grows moss for roofs in Vexham."),
    ("3", "glass", "When was the Harlow Glassworks founded?", "It was founded in 1874."),
    ("4", "glass", "What does the Harlow Glassworks make?", "It makes blue lamps and prisms."),
]
DOCUMENTS = [
    ("d1", "Orbis", "The Orbis project is led by Marta Quill. It grows moss for roofs in Vexham."),
    ("d2", "Harlow Glassworks", "The Harlow Glassworks was founded in 1874. It makes blue lamps and prisms."),
    ("d3", "Weather", "It rains in Vexham."),
]


def reply(messages: list[dict[str, str]], asked: int) -> str:
    """Reply for every role: the judge accepts the reference's words; memory helps the answerer."""
    system, user = messages[0]["content"], messages[-1]["content"]
    remembers = len(messages) > 2
    if system.startswith("You grade"):
        response = user.partition("Response to grade:")[2]
        if "broken" in response:
            return "I cannot say."
        good = any(word in response for word in ("Marta", "moss", "1874", "prisms"))
        return sign(
            f"{'Right and complete.' if good else 'It lacks the fact.'}\nScore: {5 if good else 2}", user
        )
    if system.startswith("Somebody puts"):
        # The last message, in the fence of the last turn.
        return f"Answer: {[line[2:] for line in user.splitlines() if line.startswith('> ')][-1]}"
    if system.startswith("Somebody has put"):
        return "Answer: it is said to be so"
    if system.startswith("You put questions"):
        turns = user.count("Asked:")
        return f"Query: Can you tell me more, for the {turns + 1}. time?" if turns < 3 else "Query:"
    if system.startswith("You turn the last question"):
        return "Orbis Harlow"
    question = user.rpartition("Question:")[2]
    if "Who leads" in question:
        return "Marta Quill leads it."
    return "It is moss, founded in 1874, and prisms." if remembers else "I do not know."


@dataclass
class RagProject:
    root: Path
    asked: list[str] = field(default_factory=list)
    delay_s: float = 0.0
    reply: Callable[[list[dict[str, str]], int], str] = reply
    errors: dict[str, BaseException] = field(default_factory=dict)

    def run(self, **options: Any) -> dict[str, StageOutcome]:
        run = finish_run(open_run(self.root, **options))
        self.errors = run.errors
        return run.outcomes

    def list_states(self, **options: Any) -> dict[str, str]:
        return {name: outcome.state for name, outcome in self.run(**options).items()}

    def set(self, **values: Any) -> None:
        params = load_params(self.root)
        for dotted, value in values.items():
            *parents, last = dotted.split("__")
            section = params
            for name in parents:
                section = section[name]
            section[last] = value
        (self.root / "params.yaml").write_text(yaml.safe_dump(params))

    def read_files(self) -> dict[str, bytes]:
        """Read the files that the flow wrote."""
        folders = [self.root / "data/ragcheck", self.root / "data/reports"]
        return {
            str(path.relative_to(self.root)): path.read_bytes()
            for folder in folders
            for path in sorted(folder.rglob("*"))
            if path.is_file() and path.name != ".gitignore"
        }

    def forget_artifacts(self) -> None:
        """Remove all artifacts and DVC's caches, but not the ledger."""
        for path in ("data/ragcheck", "data/reports", ".dvc/cache", ".dvc/tmp", "dvc.lock"):
            place = self.root / path
            if place.is_dir():
                shutil.rmtree(place)
            elif place.exists():
                place.unlink()

    async def answer(self, request: web.Request) -> web.Response:
        body = await request.json()
        await asyncio.sleep(self.delay_s)
        self.asked.append(json.dumps(body["messages"], ensure_ascii=False))
        text = self.reply(body["messages"], len(self.asked))
        return say(text, prompt_tokens=20, completion_tokens=5)


def write_set(folder: Path) -> None:
    """Write a set of kind `lines`, and two people's ratings of the answers of `good`."""
    folder.mkdir(parents=True)
    names = ("id", "dataset", "question", "reference")
    lines = [json.dumps(dict(zip(names, values, strict=True))) for values in QUESTIONS]
    (folder / "questions.jsonl").write_text("\n".join(lines) + "\n")
    lines = [json.dumps({"id": name, "title": title, "text": text}) for name, title, text in DOCUMENTS]
    (folder / "documents.jsonl").write_text("\n".join(lines) + "\n")
    ratings = [("1", 5, 4), ("2", 2, 1), ("3", 2, 2), ("4", 0, 3), ("none", 3, 3)]
    rows = [
        f"{item},{rater},{rating[place]}"
        for item, *rating in ratings
        for place, rater in enumerate(("ann", "bo"))
    ]
    (folder.parent / "ratings.csv").write_text("item,rater,rating\n" + "\n".join(rows) + "\n")


@contextmanager
def make_project(folder: Path) -> Iterator[RagProject]:
    """Create the project in an empty folder, and serve its endpoint."""
    root = make_folder(folder)
    (root / "tasks").symlink_to(ROOT / "tasks")  # a link, since a copy would belong to another project
    shutil.copy(ROOT / "pyproject.toml", root)
    graph = yaml.safe_load((ROOT / "dvc.yaml").read_text())
    own = {name: stage for name, stage in graph["stages"].items() if name.startswith("ragcheck-")}
    (root / "dvc.yaml").write_text(yaml.safe_dump({"stages": own}, sort_keys=False))
    write_set(root / "data/raw/trial")
    params = yaml.safe_load((ROOT / "params.yaml").read_text())
    ragcheck = {
        **params["ragcheck"],
        "sets": {"trial": {"kind": "lines", "path": "data/raw/trial"}},
        "correctness": {
            "trial": {"systems": ["good"], "judges": ["judge", "second"], "ratings": "data/raw/ratings.csv"}
        },
        "continuity": {"trial": {"systems": ["good", "single"]}},
        "correlations": {"draws": 200, "seed": 0},
        "comparison": {"draws": 200, "seed": 0},
        "rule_comparison": {"draws": 200, "seed": 0},
    }
    roles = ("judge", "second", "composer", "questioner", "answerer", "rewriter")
    project = RagProject(root)
    with answering(project.answer) as url:
        endpoints = {"tester": {"url": url, "retries": 0}}
        made = {
            "ragcheck": ragcheck,
            "judging": params["judging"],
            "systems": {"good": {**RAG, "multi_turn": True}, "single": {**RAG, "multi_turn": False}},
            "evaluation": {"as_of": ""},
            "baselines": {"as_of": ""},
            "roles": {name: {**ROLE, "seed": place} for place, name in enumerate(roles)},
            "models": {},
            "databases": {},
            "run": {"workers": 2, "endpoints": endpoints},
        }
        (root / "params.yaml").write_text(yaml.safe_dump(made))
        yield project
