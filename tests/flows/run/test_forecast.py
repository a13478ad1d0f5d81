"""Tests of the forecast of remaining calls: from last outcomes, similar stages, or flows' declarations."""

from types import SimpleNamespace

import pytest

from flows.discovery import find_flow_of
from flows.run.forecast import Forecast, expect_calls
from flows.run.node import Node
from flows.run.outcomes import StageOutcome, load_outcome, save_outcome
from flows.run.runner import run_plain
from flows.run.selection import order_nodes
from tasks.models.sending.progress import Progress


class Ask:
    def __init__(self, answered):
        self.answered = answered


@pytest.fixture
def opened(trial):
    """A run of the trial, whose source was edited after an earlier run."""
    trial.run()
    trial.write("source.txt", trial.read("source.txt") + "marzipan\n")
    run = trial.open()
    yield run, order_nodes(run.recorder.nodes)
    run.recorder.close()


def test_stages_that_have_not_begun_are_counted_by_their_last_calls(opened):
    run, names = opened
    calls = load_outcome(run.root, "trial-answers").calls
    assert calls == 5
    forecast = Forecast(run, names)
    assert forecast.count_to_come(0) == calls, "it stands on a stage that is stale"
    run.asks["trial-answers"] = Ask(answered=2)
    assert forecast.count_to_come(0) == 3
    assert forecast.count_to_come(2) == 1, "two of the three are begun"
    run.asks["trial-answers"] = Ask(answered=9)
    assert forecast.count_to_come(1) == 0, "more than last time"
    run.outcomes["trial-answers"] = StageOutcome("trial-answers", "ran")
    assert forecast.count_to_come(0) == 0


def test_what_is_up_to_date_has_nothing_to_come_and_what_never_ran_is_not_known(trial):
    run = trial.open()
    names = order_nodes(run.recorder.nodes)
    assert Forecast(run, names).count_to_come(0) is None
    run.recorder.close()
    trial.run()
    run = trial.open()
    assert Forecast(run, names).count_to_come(0) == 0
    run.recorder.close()


def test_a_run_tells_its_reporter(opened):
    run, names = opened
    run.count_to_come = Forecast(run, names).count_to_come
    seen = []

    make_noted = run.make_noted_ask

    def make_and_look(*given):
        ask = make_noted(*given)
        run.session.dispatcher.read_progress = lambda: Progress(1, 0, 1, 0.5, 0.0, 0)
        seen.append(run.session.read_progress())
        return ask

    run.make_noted_ask = make_and_look
    try:
        run_plain(run, names, 4)
    finally:
        run.finish()
    (progress,) = seen
    assert progress.to_come == 4, "five last time; one is begun"
    assert progress.left_s == 10
    assert progress.describe().endswith("time left about 0:10 with 4 to come")


def test_another_entry_s_last_run_tells_else_the_flow_does(tmp_path):
    films, flights = (
        Node(f"grammar-text-templates@{key}", "grammar.text_templates", key, (), (), ())
        for key in ("films", "flights")
    )
    recorder = SimpleNamespace(root=tmp_path, nodes={node.name: node for node in (films, flights)})
    low, high = find_flow_of("grammar.text_templates").usual["grammar.text_templates"].calls
    assert expect_calls(recorder, films) == round((low + high) / 2) > 0
    save_outcome(tmp_path, StageOutcome(flights.name, "ran", calls=70))
    assert expect_calls(recorder, films) == 70
    save_outcome(tmp_path, StageOutcome(films.name, "ran", calls=12))
    assert expect_calls(recorder, films) == 12
    own = Node("own", "", "", (), (), ())
    assert expect_calls(recorder, own) is None
