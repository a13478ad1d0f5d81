"""A project of `benchloom init`: a method in one file, a stream in one folder, a run of both."""

import json

import pytest
import yaml
from aiohttp import web

from benchloom.making import init_command
from flows.settings import set_params
from tasks.artifacts.parquet import read_rows
from tasks.streambench.rows import StreamStep
from tests.benchloom.scenes import call
from tests.models.scenes import answering, say
from tests.packages import read_example

ITEMS = [
    {"key": f"q{number}", "text": f"What is the capital of land {number}?", "gold": "Oslo"}
    for number in range(6)
]


async def know_the_first_or_follow(request: web.Request) -> web.Response:
    """Know land 0, and any other land once a right answer is in the prompt."""
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
    folder = project / "data/raw/streambench/lands"
    folder.mkdir(parents=True)
    (folder / "dataset.json").write_text(json.dumps({"name": "lands", "kind": "hotpotqa"}))
    (folder / "items.jsonl").write_text("".join(f"{json.dumps(item)}\n" for item in ITEMS))
    return project


def test_a_method_in_one_file_is_run_beside_the_others(own):
    with answering(know_the_first_or_follow) as url:
        model = yaml.safe_load((own / "params.yaml").read_text())["roles"]["agent"]["model"]
        set_params(
            own,
            [
                f"run.endpoints.{model}={{kind: openai, url: '{url}', retries: 0}}",
                "streambench.streams={lands: {datasets: [lands], seeds: [42, 7]}}",
                "streambench.evaluations={lands: {stream: lands, methods: [zero_shot, last_right], k: 2}}",
            ],
        )
        checked = call(own, "graph", "--check")
        assert checked.returncode == 0, "a file of the folder is in no declaration: " + checked.stdout
        done = call(own, "run", "--plain", "streambench-steps@lands")
    assert done.returncode == 0, done.stderr
    rows = list(read_rows(own / "data/streambench/lands/lands/steps.parquet", StreamStep))
    runs: dict[str, list[StreamStep]] = {}
    for row in sorted(rows, key=lambda row: row.position):
        runs.setdefault(row.run, []).append(row)
    assert {name: len(steps) for name, steps in runs.items()} == {
        f"{method}|agent|{seed}": 6 for method in ("zero_shot", "last_right") for seed in (42, 7)
    }
    for seed in (42, 7):
        assert sum(row.bit for row in runs[f"zero_shot|agent|{seed}"]) == 1
        own_bits = [row.bit for row in runs[f"last_right|agent|{seed}"]]
        known = own_bits.index(True)
        assert own_bits == [False] * known + [True] * (6 - known), "all is right after land 0"
    again = call(own, "run", "--plain", "--replay", "streambench-steps@lands")
    assert again.returncode == 0, again.stderr
