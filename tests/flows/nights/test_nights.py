"""Tests of the night's label: with a new label, evaluation repeats its calls, and construction does not."""

from tasks.artifacts.parquet import read_rows
from tasks.models.calls import Call
from tests.flows.conftest import TRIAL_YAML

EVALUATED = TRIAL_YAML.replace("params: [roles.generator]", "params: [roles.generator, evaluation]")


def read_calls(trial):
    return {call.id: call for call in read_rows(trial.root / "data/trial/answers.calls.parquet", Call)}


def test_construction_keeps_its_keys_and_is_not_asked_again(trial):
    trial.set(evaluation={"as_of": ""})
    trial.run()
    before, asked = read_calls(trial), len(trial.asked)
    trial.set(evaluation={"as_of": "2031-07-09"})
    assert trial.run()["trial-answers"].state == "fresh"
    (trial.root / "data/trial/answers.parquet").unlink()
    trial.run()
    assert read_calls(trial) == before
    assert len(trial.asked) == asked
    assert {call.epoch for call in before.values()} == {""}


def test_a_new_night_asks_all_anew_and_an_old_one_is_found_again(trial):
    trial.write("dvc.yaml", EVALUATED)
    trial.set(evaluation={"as_of": "monday"})
    assert trial.run()["trial-answers"].calls_live == 5
    monday = read_calls(trial)
    trial.set(evaluation={"as_of": "tuesday"})
    outcomes = trial.run()
    assert (outcomes["trial-words"].state, outcomes["trial-answers"].calls_live) == ("fresh", 5)
    tuesday = read_calls(trial)
    assert not monday.keys() & tuesday.keys()
    assert {call.epoch for call in tuesday.values()} == {"tuesday"}
    assert sorted(call.messages for call in tuesday.values()) == sorted(
        call.messages for call in monday.values()
    )
    assert len(trial.asked) == 10
    trial.set(evaluation={"as_of": "monday"})
    trial.run(replay=True)
    assert not trial.errors
    assert read_calls(trial) == monday
    assert len(trial.asked) == 10


def test_a_night_that_was_never_asked_is_missing_under_replay(trial):
    trial.write("dvc.yaml", EVALUATED)
    trial.set(evaluation={"as_of": "monday"})
    trial.run()
    trial.set(evaluation={"as_of": "wednesday"})
    trial.run(replay=True)
    assert "no recorded answer" in str(trial.errors["trial-answers"])
    assert len(trial.asked) == 5
