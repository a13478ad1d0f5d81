"""Tests of all seven datasets from the published layouts to the page: 20 scripted steps by all eight methods.

Data beside the project are used if present; other data are generated in the same layout. Bits are compared
with `benchloom score` (ToolBench: with its published calls and the judge's verdicts), and every cell of every
table with a plain computation.
"""

import json
import sys
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from flows.commands.import_ import app
from tasks.artifacts.rows import Counts
from tasks.scoring.toolbench import WITHOUT_JUDGE
from tasks.streambench.build.items import StreamItem, items
from tasks.streambench.entries import Stream, StreamEvaluation
from tasks.streambench.environments.replies import write_text
from tasks.streambench.solve.stream_step import StreamStep
from tests.scoring.test_sandbox import needs_bwrap
from tests.shared_data import SHARED, needs
from tests.sources import published
from tests.streambench.environment_scenes import (
    assert_bits_equal_scores,
    make_environment,
    score_records,
)
from tests.streambench.made_evaluation import MadeEvaluation
from tests.streambench.plain_tables import assert_cells, assert_pairs, compute_tables
from tests.streambench.whole_stream import ScriptedModels, Whole, run_stages

STEPS = 20
METHODS = (
    "zero_shot", "few_shot", "chain", "self_refine", "grow_prompt", "mem_prompt", "self_stream_icl",
    "mam_stream_icl",
)  # fmt: skip
MODELS = ("agent", "second_agent")
HELPED = ("few_shot", "self_refine", "grow_prompt", "mem_prompt", "self_stream_icl", "mam_stream_icl")
MADE = {
    "spider": published.make_spider,
    "cosql": published.make_cosql,
    "bird": published.make_bird,
    "ds1000": published.make_ds1000,
    "toolbench": published.make_toolbench,
    "ddxplus": published.make_ddxplus,
    "hotpotqa": published.make_hotpotqa,
}
WITHOUT_SHOTS = ("ds1000", "toolbench")
"""Datasets published without examples, which a user's own file provides."""
BESIDE = {
    "spider": ["spider"],
    "cosql": ["cosql", "--databases", SHARED / "spider/database"],
    "toolbench": ["toolbench_ste"],
    "hotpotqa": ["hotpotqa/hotpot_dev_distractor_100.json"],
}
"""Dataset -> path of complete shared data, and options of the import."""
TURNED = 5
"""ToolBench's judge is wrong on one item of this number."""


def write_right(item: StreamItem) -> str:
    """Return the gold answer as a model's reply; if a rule compares arguments, in the loosest valid form."""
    if item.kind == "sql":
        return f"```sql\n{item.gold}\n```"
    if item.kind == "ds1000":
        return f"```python\n{item.gold}\n```"
    if item.kind == "hotpotqa":
        return json.dumps({"answer": item.gold})
    if item.kind == "toolbench":
        call = json.loads(item.gold)
        if call["api"] in WITHOUT_JUDGE:
            loose = {name: f" {value}\t".upper() for name, value in call["arguments"].items()}
            return json.dumps({"api": call["api"], "arguments": {**loose, "more": [1]}})
    return f"{item.gold}. x" if item.kind == "ddxplus" else item.gold


def write_wrong(item: StreamItem) -> str:
    """Return a wrong answer; for ToolBench with the correct API, if it has arguments, and wrong arguments."""
    if item.kind == "toolbench":
        gold = json.loads(item.gold)
        return json.dumps({"api": gold["api"] if gold["arguments"] else "no such", "arguments": {"no": 0}})
    return {"sql": "SELECT 'no'", "ds1000": "result = None", "ddxplus": "none of them"}.get(item.kind, "No")


def read_object(quoted: str) -> object:
    return json.loads(quoted[quoted.index("{") : quoted.rindex("}") + 1])


class HalfKnown(ScriptedModels):
    """Knows a third of the items, and another third with an example or a critique of its answer.

    For the last third, the reply is empty.
    """

    def __init__(self, rows: Sequence[StreamItem]) -> None:
        super().__init__()
        self.items = sorted(rows, key=lambda item: len(item.text), reverse=True)
        self.places = {item.id: place for place, item in enumerate(sorted(rows, key=lambda item: item.id))}

    def say(self, prompt: str, messages: Sequence[Mapping[str, str]], fields: Mapping[str, Any]) -> str:
        asked = fields["query" if prompt == "judge_arguments" else "question"]
        item = next(item for item in self.items if write_text(item.text) in asked)
        if prompt == "judge_arguments":
            same = read_object(fields["given"]) == read_object(fields["gold"])
            return "Yes." if same is not self.is_turned(item) else "No."
        if self.is_silent(item):
            return " "
        if prompt == "critique":
            return f"It is good: {fields['marker']}" if self.knows(item, helped=False) else "It is not so."
        helped = "examples" in fields or prompt == "refine"
        said = write_right(item) if self.knows(item, helped=helped) else write_wrong(item)
        reasons = "step by step" in fields["instruction"]
        return f"1. It is so.\nAnswer: {said}" if reasons else said

    def knows(self, item: StreamItem, *, helped: bool) -> bool:
        """Return whether the answer to an item is correct."""
        return self.places[item.id] % 3 == 0 or (self.places[item.id] % 3 == 1 and helped)

    def is_silent(self, item: StreamItem) -> bool:
        """Return whether the reply to an item is empty."""
        return self.places[item.id] == STEPS - 1

    def is_turned(self, item: StreamItem) -> bool:
        """Return whether the judge's verdict on an item is inverted."""
        return self.places[item.id] % TURNED == 0

    def is_right(self, step: StreamStep, item: StreamItem) -> bool:
        """Return whether a step is correct, from the calls in it."""
        if step.answer is None:
            return False
        known = self.knows(item, helped=bool(step.shown) or step.method == "self_refine")
        call = json.loads(item.gold) if item.kind == "toolbench" else {"api": None}
        if call["api"] is None or call["api"] in WITHOUT_JUDGE or not (known or call["arguments"]):
            return known
        return known is not self.is_turned(item)


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
    """Import a dataset with the command, and run all stages on it."""
    named = ["--streambench", name] if name == "spider" else []
    if name in WITHOUT_SHOTS:
        lines = [json.dumps({"text": f"Old {number}?", "answer": "No"}) for number in range(3)]
        (root / "shots.jsonl").write_text("\n".join(lines))
        named = ["--shots", str(root / "shots.jsonl")]
    done = CliRunner().invoke(app, [name, str(path), *named, *map(str, words)])
    raw, stream = root / "data/raw/streambench", Stream(datasets=(name,), take=STEPS)
    assert (raw / name / "items.jsonl").is_file(), done.output
    models = HalfKnown(list(items(raw, stream).rows))
    shown = [method for method in METHODS if method != "few_shot" or has_shots(raw / name)]
    entry = StreamEvaluation(
        stream=name, methods=shown, models=MODELS[:1], method_models={"mam_stream_icl": MODELS}
    )
    return run_stages(root, raw, stream, entry, models), models


def has_shots(folder: Path) -> bool:
    return bool((folder / "shots.jsonl").read_text(encoding="utf-8"))


def check_whole(root: Path, whole: Whole) -> None:
    """Compare bits with `benchloom score`, and every cell of the report with a plain computation."""
    counted = Counter(step.method for step in whole.steps)
    shown = has_shots(root / "data/raw/streambench" / whole.entry.stream)
    assert counted == dict.fromkeys([m for m in METHODS if m != "few_shot" or shown], STEPS)
    check_bits(root, whole)
    assert {score.id: score.score for score in whole.scores} == {s.id: float(s.bit) for s in whole.steps}
    found, wanted = whole.figures["tables"], compute_tables(make_evaluated(whole))
    assert sorted(found) == sorted(wanted)
    for key, table in found.items():
        (assert_pairs if key.startswith("pairs-") else assert_cells)(table, wanted[key])
    by_method: defaultdict[str, list[StreamStep]] = defaultdict(list)
    for step in sorted(whole.steps, key=lambda step: step.position):
        by_method[step.method].append(step)
    best = max(sum(step.bit for step in method_steps) for method_steps in by_method.values())
    for point in whole.curves:
        own_bits = [step.bit for step in by_method[point.method][: point.position]]
        assert point.accuracy == pytest.approx(sum(own_bits) / point.position)
        if point.position == STEPS:
            assert point.regret == best - sum(own_bits)
    assert whole.counts == Counts(len(whole.steps), len(whole.steps), {})
    assert "Self-StreamICL" in (whole.page / "index.html").read_text()


def make_evaluated(whole: Whole) -> MadeEvaluation:
    """Return the artifacts in the format of the plain computation."""
    rows, calls = list(whole.items.values()), list(whole.calls.values())
    return MadeEvaluation(whole.entry, rows, whole.steps, calls, whole.scores, whole.curves)


def check_bits(root: Path, whole: Whole) -> None:
    """Compare each bit, its text and figures with the output of the metric's command for the same line."""
    raw, rows = root / "data/raw/streambench", list(whole.items.values())
    environment = make_environment(rows[0].kind, raw, rows, whole.models)
    folder = {"databases": raw / rows[0].dataset / "files"} if rows[0].kind == "sql" else {}
    judged = {(s.item, s.answer): s for s in whole.steps if s.answer is not None}
    pairs = [(whole.items[item], answer) for item, answer in judged]
    found = dict(zip(judged, assert_bits_equal_scores(root, environment, pairs, **folder), strict=True))
    failed = {step.item for step in whole.steps if step.answer is None}
    missing = [(whole.items[item], None, None) for item in failed]
    scored = score_records(root, environment, missing, **folder) if missing else []
    assert [line.get(environment.primary) for line in scored] == [None] * len(failed)
    for step in whole.steps:
        if step.answer is None:
            assert (step.bit, step.outcome) == (False, "failed")
            continue
        own = found[step.item, step.answer]
        assert (step.bit, step.outcome, step.words) == (own.bit, own.outcome, own.words)
        values = json.loads(step.values).items()
        told = {name: value for name, value in values if not name.startswith(("prompt.", "reading."))}
        assert told == dict(own.values)


def check_calls(whole: Whole, folder: Path) -> None:
    """Compare ToolBench's bits with published calls, by an independent rule, and with the judge's replies."""
    published = json.loads((folder / "tool_test.json").read_text(encoding="utf-8"))
    told = Counter[tuple[bool, bool]]()
    for step in (step for step in whole.steps if step.answer is not None):
        api, _, number = whole.items[step.item].key.rpartition("#")
        gold, said = published[api][int(number)], json.loads(step.answer or "")
        arguments = json.loads(gold["action_input"])
        wanted = {name: str(value).strip().lower() for name, value in arguments.items()}
        given = {name: str(value).strip().lower() for name, value in said["arguments"].items()}
        asked = said["api"] == gold["action"] and gold["action"] not in WITHOUT_JUDGE
        assert len(step.judge_calls) == int(asked), step.run
        if asked:
            verdict = whole.calls[step.judge_calls[0]].text == "Yes."
            told[verdict, said["arguments"] == arguments] += 1
            assert step.bit is verdict
        else:
            assert step.bit is (said["api"] == gold["action"] and wanted.items() <= given.items())
    assert told[True, False] + told[False, True] > 0, "the judge decides, not the equality of arguments"


@needs_bwrap
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.drill) if name == "ds1000" else name for name in MADE]
)
def test_a_published_layout_becomes_a_page_whose_bits_are_what_score_says(name, root, tmp_path):
    whole, models = run_imported(root, name, MADE[name](tmp_path / "given"))
    check_whole(root, whole)
    for step in whole.steps:
        item = whole.items[step.item]
        assert (step.answer is None) is models.is_silent(item)
        assert step.bit is models.is_right(step, item), step.run
    if name == "toolbench":
        check_calls(whole, tmp_path / "given")
    assert any(step.judge_calls for step in whole.steps) is (name == "toolbench")
    right = Counter(step.method for step in whole.steps if step.bit)
    assert right["zero_shot"] == right["chain"] > 0
    for method in {*HELPED} & {choice.label for choice in whole.entry.methods}:
        assert right[method] > right["zero_shot"], method
    prompts = Counter(whole.calls[key].prompt for step in whole.steps for key in step.calls)
    assert min(prompts["critique"], prompts["refine"]) > 0, "an answer was refined, too"


@needs("toolbench_ste")
@pytest.mark.parametrize("name", BESIDE)
def test_so_does_what_is_published_itself(name, root):
    path, *words = BESIDE[name]
    whole, models = run_imported(root, name, SHARED / str(path), "--take", 24, *words)
    check_whole(root, whole)
    if name == "toolbench":
        check_calls(whole, SHARED / str(path))
    # A gold query without result rows is never correct by the stream's rule.
    known = [models.is_right(step, whole.items[step.item]) for step in whole.steps]
    assert all(knows or not step.bit for step, knows in zip(whole.steps, known, strict=True))
    assert sum(step.bit for step in whole.steps) > 0.8 * sum(known)


@needs("ddxplus")
def test_so_do_patients_with_the_published_evidences_and_conditions(root, tmp_path):
    given = published.make_ddxplus(tmp_path / "given", vocabulary=SHARED / "ddxplus")
    whole, models = run_imported(root, "ddxplus", given)
    check_whole(root, whole)
    assert all(step.bit is models.is_right(step, whole.items[step.item]) for step in whole.steps)
