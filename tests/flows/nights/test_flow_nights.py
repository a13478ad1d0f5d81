"""Tests of nightly runs of longform, streambench and tanq, with the sample's questions and replies."""

import json
from collections.abc import Callable, Iterator

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tasks.artifacts.parquet import write_table
from tests.flows.nights.night_project import commit, list_branches, run_git, run_night, set_param
from tests.flows.nights.recorded_model import RecordedModel
from tests.flows.sample import NOWHERE, Sample, make_sample
from tests.models.scenes import serving

pytestmark = [pytest.mark.drill, pytest.mark.timeout(3000)]
ENTRIES = ("longform.evaluations.sample", "streambench.evaluations.sample", "tanq.evaluations.sample")
OWN = {"longform": "set", "streambench": "stream", "tanq": "set"}
"""Flow with entries for users' own systems -> the field that names the dataset."""
MINE = """
def answer(question, history):
    return {"answer": "Who can say.", "contexts": ["Count.", "SELECT 1"], "titles": ["plan", "query"]}
"""
GROUND = [
    f"{flow}-{stage}@sample"
    for flow in ("longform", "streambench", "tanq")
    for stage in ("evaluation-figures", "contracts")
]


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> Sample:
    sample = make_sample(tmp_path_factory.mktemp("flows"))
    sample.run(*GROUND, "--set", NOWHERE)
    (sample.root / "mine.py").write_text(MINE)
    set_param(sample, "systems.mine={kind: callable, version: '1', function: 'mine:answer'}")
    for flow, field in OWN.items():
        set_param(sample, f"{flow}.systems={{mine: {{{field}: sample, system: mine}}}}")
    names = [*ENTRIES, *(f"{flow}.systems.mine" for flow in OWN)]
    set_param(sample, f"nightly.assessments=[{', '.join(names)}]")
    commit(sample, "Begin")
    return sample


@pytest.fixture
def recorded(whole) -> Iterator[RecordedModel]:
    model = RecordedModel()
    model.learn(whole.root / "data")
    with serving(model.make_app()) as url:
        for name in ("qwen25-coder-1b5", "qwen25-coder-0b5", "minilm"):
            set_param(whole, f"run.endpoints.{name}={{kind: openai, url: '{url}', in_flight: 16}}")
        yield model


def plant(
    sample: Sample,
    path: str,
    stage: str,
    downstream: tuple[str, ...],
    change: Callable[[list[dict]], list[dict]],
) -> None:
    """Change an artifact and commit it, as if a faulty stage had written it.

    downstream: stages that a nightly run also depends on.
    """
    file = sample.root / path
    table = pq.read_table(file)
    write_table(file, pa.Table.from_pylist(change(table.to_pylist()), schema=table.schema))
    sample.dvc("commit", "-f", stage)
    sample.run(*downstream)
    commit(sample, f"Break {stage}")


def test_a_judges_drift_and_a_broken_contract_are_told_from_a_regression(whole, recorded):
    first = run_night(whole, "--as-of", "one", "--json")
    assert first.returncode == 0, first.stderr
    night = json.loads(first.stdout)
    sections = {f"{flow}.{kind}" for flow in OWN for kind in ("evaluations", "systems")}
    assert {metric["section"] for metric in night["series"]} == sections
    assert all(metric["n_scored"] for metric in night["series"])
    assert night["gold"] > 0

    second = run_night(whole, "--as-of", "two", "--json")
    assert second.returncode == 0, second.stderr
    night = json.loads(second.stdout)
    judges = {(judge["section"], judge["judge"]): judge for judge in night["judges"]}
    assert {judge for section, judge in judges if section == "longform.evaluations"} == {"", "reviewer"}

    recorded.drifted = True
    third = run_night(whole, "--as-of", "three", "--json")
    assert third.returncode == 5, third.stderr
    night = json.loads(third.stdout)
    assert {alarm["kind"] for alarm in night["alarms"]} == {"judge drift"}
    entries = {
        alarm["what"].partition(": the judge drifted: right on 6 of 12")[0] for alarm in night["alarms"]
    }
    assert entries == {"longform.evaluations.sample", "longform.systems.mine"}
    assert not any(judge["drifted"] for judge in night["judges"] if judge["judge"] == "reviewer")
    recorded.drifted = False

    recorded.broken = True
    fourth = run_night(whole, "--as-of", "four", "--json")
    assert fourth.returncode == 5, fourth.stderr
    fallen = [alarm["what"] for alarm in json.loads(fourth.stdout)["alarms"] if alarm["kind"] == "regression"]
    assert any(what.startswith("streambench.evaluations.sample/") for what in fallen)
    recorded.broken = False

    asked = recorded.asked
    plant(
        whole,
        "data/longform/sample/items.parquet",
        "longform-items@sample",
        ("longform-statistics@sample",),
        lambda rows: [{**rows[0], "question": ""}, *rows[1:]],
    )
    fifth = run_night(whole, "--json")
    assert fifth.returncode == 5, fifth.stderr
    night = json.loads(fifth.stdout)
    assert night["state"] == "unfinished"
    assert [alarm["kind"] for alarm in night["alarms"]] == ["contract"]
    assert night["alarms"][0]["what"].startswith("longform-contracts@sample: ")
    again = run_night(whole, "--json")
    assert json.loads(again.stdout)["label"] == night["label"], "the data are what they were"
    run_git(whole, "checkout", "HEAD~1", "--", "dvc.lock")  # not the endpoint in the commit
    whole.dvc("checkout", "--force", "longform-items@sample", "longform-statistics@sample")
    commit(whole, "Mend longform-items@sample")
    mended = run_night(whole, "--as-of", "six", "--json")
    assert mended.returncode == 0, mended.stderr
    assert recorded.asked > asked
    assert set(list_branches(whole)) >= {"nightly/one", "nightly/three", "nightly/six"}
