"""Tests of nights that evaluate a subset of items: calls, nights with all items, and comparisons."""

import json
from collections import Counter

import pytest
import yaml
from aiohttp import web

from flows.settings import set_params
from tests.flows.nights.night_project import commit, run_git, run_night
from tests.flows.sample import Sample, make_sample
from tests.models.scenes import answering, say

pytestmark = [pytest.mark.drill, pytest.mark.timeout(3000)]
N, PART = 60, 6
MODEL = "qwen25-coder-1b5"
ENTRIES = [
    "systems.asked={kind: openai, role: answerer}",
    "qa.sets.mine={file: mine.jsonl}",
    "qa.systems.mine={set: mine, system: asked}",
    "nightly.assessments=[qa.systems.mine]",
    "nightly.subset={every: 3, share: 0.1, nights: 3}",
]


class CountingModel:
    """Answers two of three questions correctly, and none if `broken`. asked: question -> number of calls."""

    def __init__(self) -> None:
        self.asked: Counter[str] = Counter()
        self.broken = False

    async def answer(self, request: web.Request) -> web.Response:
        question = (await request.json())["messages"][-1]["content"]
        self.asked[question] += 1
        right = int(question.split()[-1].strip("?")) % 3 and not self.broken
        return say("Oslo" if right else "Rome")


@pytest.fixture(scope="module")
def model():
    return CountingModel()


@pytest.fixture(scope="module")
def project(tmp_path_factory, model) -> Sample:
    sample = make_sample(tmp_path_factory.mktemp("subset"))
    rows = [{"question": f"Which city is {n}?", "answer": "Oslo", "group": f"g{n // 2}"} for n in range(N)]
    (sample.root / "mine.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    with answering(model.answer) as url:
        set_params(
            sample.root,
            [*ENTRIES, f"run.endpoints.{MODEL}={{kind: openai, url: '{url}', in_flight: 16}}"],
        )
        assert sample.benchloom("graph").returncode == 0
        done = sample.benchloom("run", "qa-items", "qa-scores", "--plain")
        assert done.returncode == 0, done.stderr
        commit(sample, "Begin")
        yield sample


def run_labelled(project: Sample, model: CountingModel, label: str, code: int = 0) -> tuple[dict, str]:
    """Run a night; return its record and its output. `model.asked` counts only this night's calls."""
    model.asked.clear()
    done = run_night(project, "--as-of", label, "--json")
    assert done.returncode == code, done.stderr
    return json.loads(done.stdout), done.stderr


def read_items(project: Sample, label: str) -> dict | None:
    params = yaml.safe_load(run_git(project, "show", f"nightly/{label}:params.yaml"))
    return params["evaluation"].get("items")


def test_the_first_nights_are_whole(project, model):
    for label in ("w1", "w2", "w3"):
        night, said = run_labelled(project, model, label)
        assert len(model.asked) == N
        assert "all items: one of the first 3 whole nights" in said
        assert (night["part"], read_items(project, label)) == (None, None)


def test_nights_ask_a_part_and_the_whole_every_third_night_and_near_an_alarm(project, model):
    asked = []
    for label in ("p1", "p2"):
        night, said = run_labelled(project, model, label)
        assert set(model.asked.values()) == {1}
        assert (len(model.asked), night["part"]["n"], night["part"]["of"]) == (PART, PART, N)
        assert (night["part"]["calls"], night["part"]["whole_calls"]) == (PART, N)
        assert f"subset of {PART} of {N} items; 90% fewer calls; a drop of 0." in said
        assert (night["against"], night["state"]) == ("w3", "accepted")
        assert [series["n_pairs"] for series in night["series"]] == [PART, PART]
        assert len(read_items(project, label)["qa.systems.mine"]) == PART
        asked.append(set(model.asked))
    assert not asked[0] & asked[1], "the next night asks other items"

    night, said = run_labelled(project, model, "p2")
    assert not model.asked, "the same history gives the same part, which the ledger has"
    assert night["part"]["n"] == PART

    night, said = run_labelled(project, model, "w4")
    assert (len(model.asked), night["part"], night["against"]) == (N, None, "w3")
    assert "all items: one in 3 nights asks all items" in said

    model.broken = True
    night, said = run_labelled(project, model, "bad", 5)
    assert (len(model.asked), set(model.asked.values())) == (N, {1}), "what was asked is not asked again"
    assert "the run continues with 3 subsets of the items" in said
    assert "the run continues with all items" in said
    assert [alarm["kind"] for alarm in night["alarms"]] == ["regression", "regression"]
    assert (night["part"], night["series"][0]["n_pairs"]) == (None, N)
    assert "on a subset of the items, the mean fell by" in night["whole"]
    model.broken = False


def test_a_part_is_compared_with_the_whole_over_the_items_of_both(project):
    done = project.call("flows.cli", "compare", "night:w3", "night:p1", "--only", "mine", "--json")
    (scored_system,) = json.loads(done.stdout)["strands"]
    assert (scored_system["n_cases"], len(scored_system["only_a"]), scored_system["only_b"]) == (
        PART,
        N - PART,
        [],
    )
    assert {metric["n_pairs"] for metric in scored_system["metrics"]} == {PART}
    shown = project.call("flows.cli", "compare", "night:w3", "night:p1", "--only", "mine").stdout
    assert f"items only in A: {N - PART} (" in shown


@pytest.mark.parametrize(
    ("pointer", "told"),
    [
        ("/part/calls", "systems/mine/answers.calls.parquet"),
        ("/part/whole_calls", "data/nightly/w3/tree/data/qa/mine/systems/mine/answers.calls.parquet"),
        ("/part/forecasts/0/mean", "mean estimated by 3 whole nights"),
        ("/series/0/difference", "data/nightly/w3/tree/data/qa/mine/systems/mine/scores.parquet"),
    ],
)
def test_the_figures_of_a_part_lead_to_its_rows(project, pointer, told):
    walked = project.call("flows.cli", "lineage", f"data/nightly/p1/night.json#{pointer}")
    assert (walked.returncode, walked.stderr) == (0, "")
    assert told in walked.stdout


def test_the_page_tells_of_parts(project):
    page = (project.root / "data/nightly/index.html").read_text()
    assert f"{PART} of {N} items, 90% fewer calls" in page
    assert "all items: one in 3 nights asks all items" in page


def test_other_items_are_asked_whole(project, model):
    with (project.root / "mine.jsonl").open("a") as rows:
        rows.write(f"{json.dumps({'question': f'Which city is {N}?', 'answer': 'Oslo'})}\n")
    assert project.benchloom("run", "qa-items", "--plain").returncode == 0
    commit(project, "Add a question")
    night, said = run_labelled(project, model, "more")
    assert "the items of qa.systems.mine differ from the items of the last whole night" in said
    assert (len(model.asked), night["part"]) == (N + 1, None)
    assert night["against"] == "w4", "neither an alarmed night nor a part is a baseline"
