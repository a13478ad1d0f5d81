"""Tests of the flow `qa` in a project: run, page, compare, lineage, publish and a nightly run."""

import json
import subprocess
from pathlib import Path

import pytest

from flows.settings import set_params
from tests.flows.sample import Sample, make_sample

STRANGER = """
def know_half(question, history):
    if "down" in question:
        raise ValueError("no answer here")
    return "Oslo" if int(question.split()[-1].strip("?")) % 2 else "Rome"

def know_all(question, history):
    return "Oslo"
"""
ROWS = [
    *(
        {"prompt": f"Which city is {n}?", "answer": "Oslo", "group": f"g{n}",
         "tags": "even" if n % 2 else "odd"}
        for n in range(24)
    ),
    {"prompt": "Which city is down?", "answer": "Oslo"},
    {"prompt": "", "answer": "Oslo"},
]  # fmt: skip


@pytest.fixture(scope="module")
def project(tmp_path_factory) -> Sample:
    """The project with a set of questions, and two systems that are functions."""
    sample = make_sample(tmp_path_factory.mktemp("qa"))
    (sample.root / "stranger_of_qa.py").write_text(STRANGER)
    (sample.root / "mine.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in ROWS))
    functions = [
        f"systems.{name}={{kind: callable, version: '1', function: 'stranger_of_qa:{name}'}}"
        for name in ("know_half", "know_all")
    ]
    entries = [
        "qa.sets.mine={file: mine.jsonl, columns: {question: prompt}}",
        "qa.systems.half={set: mine, system: know_half}",
        "qa.systems.whole={set: mine, system: know_all}",
        "nightly.assessments=[half]",
    ]
    set_params(sample.root, [*functions, *entries])
    return sample


def succeed(project: Sample, *words: str) -> subprocess.CompletedProcess[str]:
    done = project.benchloom(*words)
    assert done.returncode == 0, done.stdout + done.stderr
    return done


def read_page(root: Path) -> dict:
    return json.loads((root / "data/reports/qa/half/report.json").read_text())


def test_a_set_is_run_paged_compared_and_traced(project):
    succeed(project, "graph")
    succeed(project, "run", "qa", "--plain")
    tables = {table["title"]: table for table in read_page(project.root)["tables"]}
    em, f1 = tables["Means"]["lines"][0]["cells"]
    assert (em["step"], em["value"], em["n"], em["failed"]) == ("em", 0.5, 24, 1)
    assert (f1["step"], f1["value"], f1["n"], f1["failed"]) == ("f1", 0.5, 24, 1)
    lines = tables["Means by tag"]["lines"]
    assert [
        (line["label"].split()[0].strip(","), line["cells"][0]["value"], line["cells"][0]["n"])
        for line in lines
    ] == [
        ("even", 1.0, 12),
        ("odd", 0.0, 12),
    ]
    page = (project.root / "data/reports/qa/half/index.html").read_text()
    assert "1 of 25 answers could not be scored. The means leave out these answers." in page
    assert "Scores by tag" in page

    compared = succeed(project, "compare", "entry:half", "entry:whole", "--json")
    (scored_system,) = json.loads(compared.stdout)["strands"]
    assert {
        (metric["metric"], metric["n_pairs"], metric["difference"]) for metric in scored_system["metrics"]
    } == {
        ("em", 24, 0.5),
        ("f1", 24, 0.5),
    }
    figure = "data/reports/qa/half/report.json#/tables/0/lines/0/cells/0"
    traced = project.call("flows.cli", "lineage", figure)
    assert (traced.returncode, "mine.jsonl" in traced.stdout) == (0, True), traced.stderr


def test_its_answers_and_its_questions_are_published(project):
    succeed(project, "publish", "qa.systems.half", "published", "--private-sources")
    assert (
        "25 rows of `scores`, from the entry `qa.systems.half`"
        in (project.root / "published/README.md").read_text()
    )
    succeed(project, "publish", "qa.sets.mine", "questions", "--private-sources")
    assert list((project.root / "questions").rglob("*.parquet"))


def test_evaluate_in_a_project_takes_its_systems_and_leaves_the_lock(project):
    before = (project.root / "dvc.lock").read_bytes()
    done = project.benchloom("evaluate", "qa", "mine.jsonl", "--system", "know_half", "--system", "know_all")
    assert done.returncode == 1
    assert "mine.jsonl, line 26: question is empty" in done.stderr
    assert "the column 'prompt' is read as question" in done.stderr
    assert "+0.500" in done.stdout
    assert (project.root / "dvc.lock").read_bytes() == before
    refused = project.benchloom("evaluate", "qa", "mine.jsonl", "--system", "weak")
    assert (
        refused.returncode,
        "retrieves from documents, but the flow qa has no documents" in refused.stderr,
    ) == (
        2,
        True,
    )


def test_a_night_asks_the_system_again_and_compares_its_scores(project):
    git = ["git", "-C", str(project.root), "-c", "user.name=A", "-c", "user.email=a@example.org"]
    for words in (["add", "-A"], ["commit", "-qm", "Add the questions"]):
        subprocess.run([*git, *words], check=True)
    for night in ("one", "two"):
        succeed(project, "nightly", "once", "--plain", "--as-of", night)
    record = json.loads((project.root / "data/nightly/two/night.json").read_text())
    assert (record["state"], record["against"], record["alarms"]) == ("accepted", "one", [])
    assert [(series["n_pairs"], series["difference"]) for series in record["series"]] == [(24, 0.0)] * 2
