"""All seven datasets from their published layouts to the page: 20 steps by four methods, on a script.

The data that lie beside the project are read from there, the others are made in the same layout.
"""

import json
import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from flows.commands.import_ import app
from tasks.artifacts.rows import Counts
from tasks.streambench.build.items import items
from tasks.streambench.entries import Stream, StreamEvaluation
from tasks.streambench.environments.replies import write_text
from tasks.streambench.rows import StreamItem, StreamStep
from tests.scoring.test_sandbox import needs_bwrap
from tests.shared_data import SHARED, needs
from tests.sources import published
from tests.streambench.environment_scenes import (
    assert_bits_equal_scores,
    make_environment,
    score_records,
)
from tests.streambench.whole_stream import ScriptedModels, Whole, run_stages

STEPS = 20
METHODS = ("zero_shot", "chain", "mem_prompt", "self_stream_icl")
MADE = {
    "spider": published.make_spider,
    "cosql": published.make_cosql,
    "bird": published.make_bird,
    "ds1000": published.make_ds1000,
    "toolbench": published.make_toolbench,
    "ddxplus": published.make_ddxplus,
    "hotpotqa": published.make_hotpotqa,
}
BESIDE = {
    "spider": ["spider"],
    "cosql": ["cosql", "--databases", SHARED / "spider/database"],
    "toolbench": ["toolbench_ste"],
    "hotpotqa": ["hotpotqa/hotpot_dev_distractor_100.json"],
}
"""What the shared data have whole, by dataset: the path, and options of the import."""


def write_right(item: StreamItem) -> str:
    """Write the gold answer as a model would."""
    if item.kind == "sql":
        return f"```sql\n{item.gold}\n```"
    if item.kind == "ds1000":
        return f"```python\n{item.gold}\n```"
    if item.kind == "hotpotqa":
        return json.dumps({"answer": item.gold})
    return f"{item.gold}. x" if item.kind == "ddxplus" else item.gold


def write_wrong(item: StreamItem) -> str:
    """Write another answer; of ToolBench the right API where it takes arguments, so that these decide."""
    if item.kind == "toolbench":
        gold = json.loads(item.gold)
        return json.dumps({"api": gold["api"] if gold["arguments"] else "no such", "arguments": {"no": 0}})
    return {"sql": "SELECT 'no'", "ds1000": "result = None", "ddxplus": "none of them"}.get(item.kind, "No")


class HalfKnown(ScriptedModels):
    """Knows a third of the items, a third more with an example in the prompt; on the last it is silent."""

    def __init__(self, rows: Sequence[StreamItem]) -> None:
        super().__init__()
        self.items = sorted(rows, key=lambda item: len(item.text), reverse=True)
        self.places = {item.id: place for place, item in enumerate(sorted(rows, key=lambda item: item.id))}

    def say(self, prompt: str, messages: Sequence[Mapping[str, str]], fields: Mapping[str, Any]) -> str:
        if prompt == "judge_arguments":
            return "Yes." if fields["given"] == fields["gold"] else "No."
        item = next(item for item in self.items if write_text(item.text) in fields["question"])
        if self.is_silent(item):
            return " "
        said = write_right(item) if self.knows(item, "examples" in fields) else write_wrong(item)
        reasons = "step by step" in fields["instruction"]
        return f"1. It is so.\nAnswer: {said}" if reasons else said

    def knows(self, item: StreamItem, shown: bool) -> bool:
        """Tell whether it answers rightly."""
        return self.places[item.id] % 3 == 0 or (self.places[item.id] % 3 == 1 and shown)

    def is_silent(self, item: StreamItem) -> bool:
        """Tell whether its reply is empty."""
        return self.places[item.id] == STEPS - 1


@pytest.fixture
def root(tmp_path, monkeypatch):
    root = tmp_path / "project"
    root.mkdir()
    (root / "params.yaml").write_text("databases: {}\n")
    (root / "dvc.yaml").write_text("stages: {}\n")
    monkeypatch.chdir(root)
    monkeypatch.setenv("BENCHLOOM_DS1000", sys.prefix)
    return root


def run_imported(root: Path, name: str, path: Path, *words: object) -> tuple[Whole, HalfKnown]:
    """Import a dataset by the command and run all stages over it."""
    named = ["--streambench", name] if name == "spider" else []
    done = CliRunner().invoke(app, [name, str(path), *named, *map(str, words)])
    raw, stream = root / "data/raw/streambench", Stream(datasets=(name,), take=STEPS, shots=0)
    assert (raw / name / "items.jsonl").is_file(), done.output
    models = HalfKnown(list(items(raw, stream).rows))
    return run_stages(root, raw, stream, StreamEvaluation(stream=name, methods=METHODS), models), models


def check_whole(root: Path, whole: Whole) -> None:
    """Hold bits to `benchloom score`, and what the report says to the bits."""
    raw, rows = root / "data/raw/streambench", list(whole.items.values())
    by_method: defaultdict[str, list[StreamStep]] = defaultdict(list)
    for step in sorted(whole.steps, key=lambda step: step.position):
        by_method[step.method].append(step)
    assert {method: len(own) for method, own in by_method.items()} == dict.fromkeys(METHODS, STEPS)
    environment = make_environment(rows[0].kind, raw, rows, whole.models)
    folder = {"databases": raw / rows[0].dataset / "files"} if rows[0].kind == "sql" else {}
    judged = {(s.item, s.answer): s for s in whole.steps if s.answer is not None}
    pairs = [(whole.items[item], answer) for item, answer in judged]
    found = dict(zip(judged, assert_bits_equal_scores(root, environment, pairs, **folder), strict=True))
    for step in whole.steps:
        if step.answer is None:
            lines = score_records(root, environment, [(whole.items[step.item], None, None)], **folder)
            assert (step.bit, step.outcome) == (False, "failed")
            assert lines[0].get(environment.primary) is None
            continue
        own = found[step.item, step.answer]
        assert (step.bit, step.outcome, step.words) == (own.bit, own.outcome, own.words)
        told = {name: value for name, value in json.loads(step.values).items() if "prompt." not in name}
        assert told == dict(own.values)
    assert {score.id: score.score for score in whole.scores} == {s.id: float(s.bit) for s in whole.steps}
    shares = {method: sum(step.bit for step in own) / STEPS for method, own in by_method.items()}
    cells = whole.figures["tables"]["means"]["lines"]
    assert sorted(line["cells"][0]["value"] for line in cells) == pytest.approx(sorted(shares.values()))
    for point in whole.curves:
        own_bits = [step.bit for step in by_method[point.method][: point.position]]
        best = max(by_method.values(), key=lambda own: sum(step.bit for step in own))
        assert point.accuracy == pytest.approx(sum(own_bits) / point.position)
        if point.position == STEPS:
            assert point.regret == sum(step.bit for step in best) - sum(own_bits)
    assert whole.counts == Counts(len(whole.steps), len(whole.steps), {})
    assert "Self-StreamICL" in (whole.page / "index.html").read_text()


@needs_bwrap
@pytest.mark.parametrize("name", MADE)
def test_a_published_layout_becomes_a_page_whose_bits_are_what_score_says(name, root, tmp_path):
    whole, models = run_imported(root, name, MADE[name](tmp_path / "given"))
    check_whole(root, whole)
    for step in whole.steps:
        item = whole.items[step.item]
        assert (step.answer is None) is models.is_silent(item)
        assert step.bit is (step.answer is not None and models.knows(item, bool(step.shown))), step.run
    judges = [call for step in whole.steps for call in step.judge_calls]
    assert bool(judges) is (name == "toolbench")
    right = {method: sum(s.bit for s in whole.steps if s.method == method) for method in METHODS}
    assert right["self_stream_icl"] > right["zero_shot"] == right["chain"] > 0
    assert right["mem_prompt"] > right["zero_shot"]


@needs("toolbench_ste")
@pytest.mark.parametrize("name", BESIDE)
def test_so_does_what_is_published_itself(name, root):
    path, *words = BESIDE[name]
    whole, models = run_imported(root, name, SHARED / str(path), "--take", 24, *words)
    check_whole(root, whole)
    # A gold query that gives no row is never right by the stream's rule.
    known = [models.knows(whole.items[step.item], bool(step.shown)) for step in whole.steps]
    assert all(knows or not step.bit for step, knows in zip(whole.steps, known, strict=True))
    assert sum(step.bit for step in whole.steps) > 0.8 * sum(known)
