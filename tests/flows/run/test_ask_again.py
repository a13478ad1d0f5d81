"""Tests of `run --ask-again`: a stage's recorded calls are repeated, and the new answers replace the old."""

import asyncio
import shutil
from pathlib import Path

import pytest

from flows.commands.run import run_command
from flows.run.planner import ASKED_AGAIN, find_stale, plan_stages
from flows.run.selection import order_nodes, select_again
from flows.settings import load_params
from tasks.artifacts.parquet import read_rows
from tasks.errors import BadInput
from tasks.models.recording.asked_again import AskedAgain
from tasks.models.recording.entries import UNANSWERED
from tasks.models.recording.ledger import Ledger
from tasks.models.recording.shipped import write_shipped
from tests.flows.run.test_runner import run_until
from tests.flows.trial.answers import Answer
from tests.models.scenes import make_entry, make_request

AGAIN = frozenset({"trial-answers"})


def list_texts(root: Path) -> set[str]:
    return {row.text for row in read_rows(root / "data/trial/answers.parquet", Answer)}


def forget_outputs(root: Path) -> None:
    """Remove all outputs and DVC's run cache, so that only the ledger has the answers."""
    for place in ("data", ".dvc/cache", "dvc.lock"):
        path = root / place
        shutil.rmtree(path) if path.is_dir() else path.unlink()


def test_a_stage_asks_again_once_and_the_new_answers_take_the_place_of_the_old_ones(trial):
    trial.run()
    first, before = sorted(trial.asked), list_texts(trial.root)
    trial.asked.clear()
    trial.tail = " now"

    outcomes = trial.run(again=AGAIN)
    assert [outcomes[f"trial-{name}"].state for name in ("words", "answers", "page")] == [
        "fresh",
        "ran",
        "ran",
    ]
    assert sorted(trial.asked) == first, "each call once, the attempts of the one that does not parse too"
    assert outcomes["trial-answers"].calls_live == len(first)
    after = list_texts(trial.root)
    assert after == {f"{text} now" for text in before}

    trial.asked.clear()
    assert {outcome.state for outcome in trial.run().values()} == {"fresh"}
    forget_outputs(trial.root)
    assert trial.run(replay=True)["trial-answers"].state == "ran"
    assert list_texts(trial.root) == after
    assert not trial.asked


def test_a_stopped_run_loses_nothing_and_the_next_one_asks_only_the_rest(trial):
    trial.run()
    first, before = sorted(trial.asked), list_texts(trial.root)
    trial.asked.clear()
    trial.tail, trial.delay_s = " now", 0.3
    settings = load_params(trial.root)["run"]
    settings["endpoints"]["tester"]["in_flight"] = 1
    trial.set(run=settings)
    run_until(trial.open(again=AGAIN), lambda: len(trial.asked) == 2)
    assert len(trial.asked) < len(first)

    assert trial.run()["trial-answers"].state == "restored", "without the option nothing is asked"
    assert list_texts(trial.root) == before

    trial.delay_s = 0.0
    assert trial.run(again=AGAIN)["trial-answers"].state == "ran"
    assert sorted(trial.asked) == first, "none twice"
    assert list_texts(trial.root) == {f"{text} now" for text in before}

    trial.asked.clear()
    trial.run(again=AGAIN)
    assert sorted(trial.asked) == first, "the stage has finished: all is asked another time"


def test_a_plan_counts_the_calls_as_new(trial):
    trial.run()
    run = trial.open(replay=True, again=AGAIN)
    session = run.open_session()
    try:
        stale = find_stale(run.recorder, order_nodes(run.recorder.nodes), AGAIN)
        plans = {plan.stage: plan for plan in plan_stages(run.recorder, stale, run.params, session)}
    finally:
        session.close()
        run.recorder.close()
    assert list(plans) == ["trial-answers", "trial-page"]
    plan = plans["trial-answers"]
    assert (plan.why, plan.recorded, plan.restored) == ((ASKED_AGAIN,), 0, False)
    assert plan.exact_calls == len(set(trial.asked))


def test_only_stages_of_the_run_that_ask_can_ask_again(trial):
    trial.run()
    run = trial.open()
    nodes, everything = run.recorder.nodes, order_nodes(run.recorder.nodes)
    run.recorder.close()
    assert select_again(nodes, everything, ["trial.answers"]) == AGAIN
    with pytest.raises(BadInput, match="--ask-again trial-words: calls no model"):
        select_again(nodes, everything, ["trial-words"])
    with pytest.raises(BadInput, match="trial-answers is not a stage of this run"):
        select_again(nodes, ["trial-words"], ["trial-answers"])
    with pytest.raises(BadInput, match="trial-answer: is not a flow, stage"):
        select_again(nodes, everything, ["trial-answer"])


@pytest.mark.parametrize("other", [{"replay": True}, {"limit": 1}])
def test_it_is_no_replay_and_no_preview(other):
    with pytest.raises(
        BadInput, match=f"--ask-again: cannot be combined with --{next(iter(other))}"
    ) as caught:
        run_command([], ask_again=["trial-answers"], **other)
    assert caught.value.exit_code == 2


def test_a_shipped_answer_gives_way_to_the_one_that_was_asked_again(tmp_path):
    key = make_request().key()
    old, new = make_entry(make_request(), "old"), make_entry(make_request(), "new")
    write_shipped(tmp_path / "shipped.jsonl.gz", [old])
    place = tmp_path / "ledger.sqlite", [tmp_path / "shipped.jsonl.gz"]
    with Ledger(*place) as ledger:
        again = AskedAgain(ledger, "here", ["stage"])
        again.meet("stage", [key])
        assert again.is_waiting(key)
        refused = make_entry(make_request(), "refused")
        object.__setattr__(refused, "finish_reason", UNANSWERED)
        asyncio.run(again.record([refused]))
        assert (again.is_waiting(key), ledger.get(key).text) == (True, "old"), "no answer replaces none"
        asyncio.run(again.record([new]))
        assert (again.is_waiting(key), ledger.get(key).text) == (False, "new")
    with Ledger(*place) as ledger:
        assert ledger.get(key).text == "new"
        assert AskedAgain(ledger, "here", ["stage"]).covers("stage")
        assert ledger.list_asked_again("here", "stage") == [key]
        ledger.forget_asked_again("here", "stage")
        assert ledger.list_asked_again("here", "stage") == []
        assert ledger.get(key).text == "new"
