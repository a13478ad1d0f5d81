"""Tests that every figure of a night traces to its branch's record, or to the earlier night's record."""

import json
from pathlib import Path

import pytest

from flows.commands.lineage import lineage_command, trace_target
from flows.discovery import list_evaluating
from flows.night_settings import EvaluatedEntry
from flows.nights.history import accept_night, write_night
from flows.nights.night_rows import derive_gold, find_rows
from flows.nights.outcome import compare_night, read_before
from flows.run.record.lock_file import LockFile
from tasks.artifacts.parquet import write_rows
from tasks.errors import BadInput
from tasks.judging.canaries import CanaryRow
from tasks.judging.nights import AlarmRule
from tests.flows.comparing.project import (
    STAGES,
    Project,
    fill,
    make_grammar,
    make_longform,
    make_ragcheck,
    make_stream,
    make_tanq,
)
from tests.flows.lineage.walked import assert_figures_lead_to

N = 12
RAW = "data/raw/given.csv"
RULE = AlarmRule(draws=100)
ENTRIES = {
    "assessments": "films-weak",
    "longform.evaluations": "sample",
    "streambench.evaluations": "sample",
    "tanq.evaluations": "sample",
    "ragcheck.correctness": "trial",
    "ragcheck.continuity": "trial",
}
EVALUATED = [
    EvaluatedEntry(ENTRIES[scope.over], scope, ENTRIES[scope.over])
    for scope in list_evaluating()
    if scope.over in ENTRIES
]


def make_rows(right):
    """Return the artifacts of each flow. right: correctness per item; one item of grammar is unscored."""
    canaries = [
        fill(CanaryRow, id=f"c{number}", expected="Correct", given="Correct" if mark else "Incorrect")
        for number, mark in enumerate(right)
    ]
    grammar = make_grammar("films-weak", [None, *right[1:]])
    return [
        grammar | {"data/grammar/films/films-weak/canaries.parquet": (CanaryRow, canaries)},
        make_longform({"agent": right}),
        make_stream({"chain": right}),
        make_tanq({"closed/agent": [float(mark) for mark in right]}),
        make_ragcheck({"plain": [5 if mark else 1 for mark in right]}),
    ]


def record(project: Project, label: str, right: list[bool]) -> None:
    """Record a night, with artifacts derived from one raw file, on its branch, which stays checked out."""
    project.git("checkout", "-q", "-b", f"nightly/{label}", "main")
    flows = make_rows(right)
    for flow in flows:
        project.record(flow, "weak")
    rows = [path for flow in flows for path in flow]
    entries = {
        f"make-{number}": {
            "cmd": f"benchloom stage make.{Path(path).stem}",
            "deps": [project.describe(RAW)],
            "outs": [project.describe(path)],
        }
        for number, path in enumerate(rows)
        if Path(path).stem not in (*STAGES, "canaries")
    }
    canaries = next(path for path in rows if path.endswith("canaries.parquet"))
    entries["grammar-canaries@films-weak"] = {
        "cmd": "benchloom stage grammar.canaries films-weak",
        "deps": [project.describe(RAW)],
        "outs": [project.describe(canaries)],
    }
    LockFile(project.root / "dvc.lock").update(entries)
    project.commit(f"Night {label}")


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    made = Project(tmp_path_factory.mktemp("recorded"))
    (made.root / RAW).parent.mkdir(parents=True)
    (made.root / RAW).write_text("a,b\n")
    made.commit("Begin")
    against = None
    for label, right in (("one", [True] * N), ("two", [False] * 3 + [True] * (N - 3))):
        record(made, label, right)
        before = read_before(made.root, EVALUATED, against)
        night, comparison, bases = compare_night(made.root, EVALUATED, label, against, before, RULE)
        write_night(made.root, night, comparison, bases | derive_gold(night, ()))
        against = label
    made.git("checkout", "-q", "main")
    for path in (
        path for row in make_rows([True] * N) for path in row
    ):  # the working tree may have other content
        (made.root / path).unlink()
    return made


def test_every_figure_of_all_flows_leads_to_the_raw_file(project):
    folder = project.root / "data/nightly/two"
    night = json.loads((folder / "night.json").read_text())
    assert {(metric["section"]) for metric in night["series"]} == set(ENTRIES)
    assert all(metric["n_pairs"] for metric in night["series"])
    assert [judge["lost"] for judge in night["judges"]] == [3]

    again = assert_figures_lead_to(RAW, folder, project.root, "night.json")

    # The numbers of evaluated and scored items per metric, and no gold query.
    assert again == 2 * len(night["series"])
    assert project.git("worktree", "list").count("\n") == 0, "the night's worktree went with the walk"
    assert not list((project.root / ".benchloom/lineage").iterdir())


def test_a_pair_names_the_rows_of_both_nights(project, capsys):
    night = json.loads((project.root / "data/nightly/two/night.json").read_text())
    place = next(n for n, metric in enumerate(night["series"]) if metric["section"] == "assessments")
    target = str(project.root / f"data/nightly/two/night.json#/series/{place}")

    (node,) = trace_target(f"{target}/before", None, project.root).roots
    (rows,) = node.summary["rows"]
    earlier = "data/nightly/one/tree/data/grammar/films/films-weak/judgements.parquet"
    assert (rows["artifact"], rows["count"]) == (earlier, N - 1)
    lineage = trace_target(f"{target}/difference", None, project.root, every=True)
    judged = {up.reference: up.summary["judgement"] for up in lineage.list_kind("row")}
    later = earlier.removeprefix("data/nightly/one/tree/")
    assert (judged[f"{earlier}#a-q01"], judged[f"{later}#a-q01"]) == ("Correct", "Incorrect")
    assert lineage.graph.commit == project.git("rev-parse", "nightly/two")

    assert lineage_command(f"{target}/mean", root=project.root) == 0
    assert "from 11 rows of data/grammar/films/films-weak/judgements.parquet" in capsys.readouterr().out


def test_accepting_a_night_keeps_the_rows_of_its_figures(project):
    record = project.root / "data/nightly/two/night.json"
    before = json.loads(record.read_text())["bases"]
    accept_night(project.root, "two")
    assert json.loads(record.read_text())["bases"] == before != {}


def test_a_night_whose_branch_is_gone_is_one_line(project):
    project.git("branch", "-m", "nightly/one", "kept")
    with pytest.raises(BadInput, match="nightly/one: the branch does not exist, but"):
        trace_target(str(project.root / "data/nightly/two/night.json#/gold"), None, project.root)
    project.git("branch", "-m", "kept", "nightly/one")


def test_rows_are_found_by_the_column_that_has_them_all(tmp_path):
    rows = make_grammar("films-weak", [True] * 3)
    path = tmp_path / "judgements.parquet"
    write_rows(path, *rows["data/grammar/films/films-weak/judgements.parquet"])
    found = find_rows(path, "judgements", ["q01", "q02"])
    assert (found.column, dict(found.select(["q02"]).where)) == ("question", {"question": ("q02",)})
    assert dict(found.select(["q00", "q01", "q02"]).where) == {}, "all of them"
    assert find_rows(path, "judgements", ["nobody"]) is None
