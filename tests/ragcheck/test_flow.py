"""Tests of the whole flow on a real DVC project: both parts, replay, stop and resume, another night."""

import json
import threading
import time

import pytest

from flows.commands.lineage import open_lineage
from flows.lineage.lock import read_graph
from tasks.artifacts.parquet import read_rows
from tasks.artifacts.rows import Dropped
from tasks.judging.canaries import CanaryRow, read_canaries
from tasks.lineage.figures import list_figures
from tasks.lineage.nodes import walk_nodes
from tasks.lineage.walk import Lineage
from tasks.ragcheck.answers import SystemAnswer
from tasks.ragcheck.comparison import ConversationFigure
from tasks.ragcheck.conversations import Conversation
from tasks.ragcheck.correlations import MeasureCorrelation
from tasks.ragcheck.guards import Guard
from tasks.reports.record import RECORD
from tests.flows.running import finish_run, open_run
from tests.ragcheck.scenes import make_project

STAGES = 16


@pytest.fixture
def project(tmp_path, monkeypatch):
    monkeypatch.setenv("BENCHLOOM_LEDGER", str(tmp_path / "ledger.sqlite"))
    with make_project(tmp_path / "project") as made:
        monkeypatch.chdir(made.root)
        yield made


def test_both_parts_run_are_fresh_then_and_replay_to_the_same_bytes(project):
    states = project.list_states()
    assert not project.errors
    assert list(states.values()) == ["ran"] * STAGES
    assert set(project.list_states().values()) == {"fresh"}

    folder = project.root / "data/ragcheck/trial"
    lines = {
        (row.measure, row.judge): row
        for row in read_rows(folder / "correlations.parquet", MeasureCorrelation)
        if not row.dataset
    }
    # Only the question about the project's leader has an answer, so the grades are 5 2 2 2.
    assert lines["E3", "judge"].mean.value == 2.75
    assert lines["E3", "second"].scored == 4
    # People: (5+4)/2, 1.5, 2, and one item with a "not sure".
    assert (lines["E1", ""].scored, lines["E1", ""].unsure) == (3, 1)
    assert lines["E3", "judge"].pairs == 3
    assert lines["E3", "judge"].pearson.value > 0.9
    dropped = read_rows(folder / "ratings.dropped.parquet", Dropped)
    assert [row.reason for row in dropped] == ["unknown_item"] * 2
    page = (project.root / "data/reports/ragcheck/trial-correctness/index.html").read_text()
    # People and judge differ by one on the correct answer, and by less on other answers.
    assert f">{lines['E3', 'judge'].alpha.value:.3f}</strong>" in page
    assert "2 lines of the ratings file could not be used" in page
    assert 'href="to_rate.csv"' in page

    conversations = read_rows(folder / "conversations.parquet", Conversation)
    assert len(conversations) == 8
    by_system = {
        name: sorted(conversation.scores for conversation in conversations if conversation.system == name)
        for name in ("good", "single")
    }
    # With memory, the second answer contains the fact of the reference; without memory, no turn does.
    assert by_system["good"] == [(2, 5), (2, 5), (2, 5), (5,)]
    assert by_system["single"] == [(2, 2, 2), (2, 2, 2), (2, 2, 2), (5,)]
    figures = {
        (row.kind, row.dataset, row.system, row.measure): row
        for row in read_rows(folder / "comparison.parquet", ConversationFigure)
    }
    assert figures["sign", "", "good", "wscore"].n == 2
    assert figures["difference", "", "good", "lscore"].estimate.value == -0.75
    assert {row.task for row in read_rows(folder / "guards.parquet", Guard)} == {"T2", "T5", "T6"}

    before = project.read_files()
    asked = len(project.asked)
    assert "data/reports/ragcheck/trial-correctness/index.html" in before
    assert "data/reports/ragcheck/trial-continuity/rows.js" in before
    project.forget_artifacts()
    assert set(project.list_states(replay=True).values()) == {"ran"}
    assert project.read_files() == before
    assert len(project.asked) == asked


def test_a_figure_is_traced_to_its_conversation_and_its_calls(project):
    project.run()
    assert not project.errors
    folder = project.root / "data/ragcheck/trial"
    figure = next(
        row
        for row in read_rows(folder / "comparison.parquet", ConversationFigure)
        if row.kind == "difference"
    )
    lineage = Lineage(project.root)
    nodes = list(walk_nodes(lineage.trace_row("data/ragcheck/trial/comparison.parquet", figure.id)))
    assert not lineage.gaps
    prompts = " ".join(node.reference for node in nodes if node.kind == "prompt")
    assert all(name in prompts for name in ("compose", "grade", "ask_further", "answer"))
    rows = " ".join(node.reference for node in nodes if node.kind == "row")
    assert all(f"trial/{name}.parquet#" in rows for name in ("comparison", "conversations", "questions"))


def test_every_figure_of_both_pages_is_traced_to_a_raw_file_without_a_gap(project):
    project.run()
    assert not project.errors
    graph = read_graph(project.root)
    with open_lineage(project.root, graph) as lineage:
        for page in ("trial-correctness", "trial-continuity"):
            path = f"data/reports/ragcheck/{page}/report.json"
            figures = list(list_figures(json.loads((project.root / path).read_text())))
            assert len(figures) > 20
            assert all(figure.derivation for figure in figures)
            for figure in figures:
                node = lineage.trace_figure(path, figure.pointer)
                assert node.summary["again"] in (None, figure.value)
            raw = {up.reference for up in walk_nodes(node) if up.kind == "file" and not up.parents}
            assert any("documents" in name or "trial" in name for name in raw), raw
        assert [gap for gap in lineage.gaps if "nor in a commit" not in gap.what] == []
        folder = project.root / "data/ragcheck/trial"
        answer = read_rows(folder / "answers.parquet", SystemAnswer)[0]
        (first, *_) = answer.passages
        assert f"corpus#{first.document}" in {origin.reference for origin in answer.origin}


def test_conversations_that_are_stopped_go_on_and_pay_for_nothing_twice(project):
    project.set(ragcheck__correctness={})
    project.delay_s = 0.15
    run = open_run(project.root)

    def watch():
        while len(project.asked) < 9:
            time.sleep(0.02)
        run.stopping.set()

    threading.Thread(target=watch, daemon=True).start()
    finish_run(run, workers=1)
    assert run.outcomes["ragcheck-conversations@trial"].state == "skipped"
    assert not (project.root / "data/ragcheck/trial/conversations.parquet").exists()

    project.delay_s = 0.0
    assert project.run()["ragcheck-conversations@trial"].state == "ran"
    assert len(project.asked) == len(set(project.asked))
    resumed = project.read_files()

    project.forget_artifacts()
    project.run(replay=True)
    assert project.read_files() == resumed


def test_another_night_asks_systems_and_judges_anew(project):
    project.set(ragcheck__continuity={})
    project.run()
    asked = len(project.asked)
    project.set(evaluation__as_of="2031-01-01")
    states = project.list_states()
    assert states["ragcheck-answers@trial"] == states["ragcheck-scores@trial"] == "ran"
    assert states["ragcheck-questions@trial"] == states["ragcheck-corpus@trial"] == "fresh"
    assert len(project.asked) == 2 * asked


def test_a_judge_that_people_contradict_warns_at_the_pages_head(project):
    project.set(ragcheck__continuity={})
    (project.root / "data/raw/ratings.csv").write_text(
        "item,rater,rating\n" + "".join(f"{n},ann,{rating}\n" for n, rating in enumerate((1, 5, 4, 5), 1))
    )
    project.run()
    assert not project.errors
    page = (project.root / "data/reports/ragcheck/trial-correctness/index.html").read_text()
    warning = "s agreement with people on 4 answers is -"
    assert warning in page
    assert page.index(warning) < page.index("<h1>")


def test_the_judge_of_conversations_is_tried_on_canaries_without_part_one(project):
    project.set(ragcheck__correctness={})
    project.run()
    assert not project.errors
    rows = read_rows(project.root / "data/ragcheck/trial/conversation_canaries.parquet", CanaryRow)
    assert len(rows) == len(read_canaries("score"))
    page = (project.root / "data/reports/ragcheck/trial-continuity/index.html").read_text()
    warning = "judge: The judge got "  # this judge grades at random
    assert page.index(warning) < page.index("<h1>")
    assert page.index('id="judges"') > page.index("<h1>")


def test_what_a_judge_leaves_unscored_warns_at_the_pages_head(project):
    path = project.root / "data/raw/trial/documents.jsonl"
    path.write_text(path.read_text().replace("Weather", "<script>alert(1)</script>"))
    project.run()
    assert not project.errors
    folder = project.root / "data/reports/ragcheck/trial-correctness"
    page = (folder / "index.html").read_text()
    assert "Read these figures with care" in page  # the canaries are graded at random here
    assert "<script>alert" not in page + (folder / "rows.js").read_text()
    record = json.loads((folder / RECORD).read_text())
    assert record["flow"] == "ragcheck"
    assert {figure["label"]: figure["value"] for figure in record["figures"]}["questions"] == 4
