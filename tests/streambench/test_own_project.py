"""Tests of a user's own method and stream in a project of `benchloom init`, up to the report."""

import json
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
import yaml
from aiohttp import web

from benchloom.making import init_command
from flows.settings import set_params
from tasks.artifacts.parquet import read_rows
from tasks.streambench.solve.stream_step import StreamStep
from tests.benchloom.scenes import call
from tests.models.scenes import answering, say
from tests.packages import read_example

ITEMS = [
    {"key": f"q{number}", "text": f"What is the capital of land {number}?", "gold": "Oslo"}
    for number in range(6)
]
Answering = Callable[[web.Request], Awaitable[web.Response]]


async def know_the_first_or_follow(request: web.Request) -> web.Response:
    """Answer correctly for country 0, and for other countries if the prompt contains a correct answer."""
    user = (await request.json())["messages"][-1]["content"]
    asked = user.rpartition("Question: ")[2]
    known = "land 0?" in asked or "earlier tasks" in user
    return say('{"answer": "Oslo"}' if known else '{"answer": "Rome"}', prompt_tokens=20, completion_tokens=5)


@pytest.fixture
def own(tmp_path, monkeypatch):
    monkeypatch.setenv("BENCHLOOM_LEDGER", str(tmp_path / "ledger.sqlite"))
    project = tmp_path / "mine"
    assert init_command(project) == 0
    (project / "tasks/streambench/methods/last_right.py").write_text(read_example("A method"))
    return project


def run_stream(own: Path, model: Answering, *settings: str) -> dict[str, list[StreamStep]]:
    """Configure a stream, run the flow, and again without a model; return the steps of each run, in order."""
    with answering(model) as url:
        name = yaml.safe_load((own / "params.yaml").read_text())["roles"]["agent"]["model"]
        set_params(own, [f"run.endpoints.{name}={{kind: openai, url: '{url}', retries: 0}}", *settings])
        checked = call(own, "graph", "--check")
        assert checked.returncode == 0, "a file of the folder is in no declaration: " + checked.stdout
        done = call(own, "run", "--plain", "streambench")
    assert done.returncode == 0, done.stderr
    again = call(own, "run", "--plain", "--replay", "streambench")
    assert again.returncode == 0, again.stderr
    runs: dict[str, list[StreamStep]] = {}
    for row in sorted(read_rows(own / "data/streambench/mine/mine/steps.parquet", StreamStep), key=position):
        runs.setdefault(row.run, []).append(row)
    return runs


def position(step: StreamStep) -> int:
    return step.position


def read_means(own: Path, page: str) -> dict[str, float]:
    """Read table 2 of a page's record: a line's label -> the line's first value."""
    record = json.loads((own / "data/reports" / page / "report.json").read_text(encoding="utf-8"))
    (table,) = [table for table in record["tables"] if table["key"] == "means"]
    return {line["label"]: line["cells"][0]["value"] for line in table["lines"]}


@pytest.mark.drill
def test_a_method_in_one_file_goes_beside_the_others_into_the_report(own):
    folder = own / "data/raw/streambench/lands"
    folder.mkdir(parents=True)
    (folder / "dataset.json").write_text(json.dumps({"name": "lands", "kind": "hotpotqa"}))
    (folder / "items.jsonl").write_text("".join(f"{json.dumps(item)}\n" for item in ITEMS))
    runs = run_stream(
        own,
        know_the_first_or_follow,
        "streambench.streams={mine: {datasets: [lands], seeds: [42, 7]}}",
        "streambench.evaluations={mine: {stream: mine, methods: [zero_shot, last_right], k: 2}}",
        "streambench.overviews={all: {}}",
    )
    assert {name: len(steps) for name, steps in runs.items()} == {
        f"{method}|agent|{seed}": 6 for method in ("zero_shot", "last_right") for seed in (42, 7)
    }
    right = 0
    for seed in (42, 7):
        assert sum(row.bit for row in runs[f"zero_shot|agent|{seed}"]) == 1
        own_bits = [row.bit for row in runs[f"last_right|agent|{seed}"]]
        known = own_bits.index(True)
        assert own_bits == [False] * known + [True] * (6 - known), "all is right after land 0"
        right += 6 - known
    means = {"Non-streaming · Zero-Shot": 2 / 12, "Streaming · last_right": right / 12}
    assert read_means(own, "streambench/mine") == pytest.approx(means)
    assert read_means(own, "streambench-overviews/all") == pytest.approx(means)
    assert "last_right" in (own / "data/reports/streambench/mine/index.html").read_text(encoding="utf-8")
    figure = "data/reports/streambench-overviews/all/report.json#/tables/0/lines/1/cells/0"
    traced = call(own, "lineage", figure)
    assert traced.returncode == 0, traced.stderr
    assert "last_right|agent|" in traced.stdout
