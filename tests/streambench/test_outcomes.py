"""Tests that an unknown outcome of a step is an error, in an environment and in an artifact."""

import pytest

from tasks.errors import StageFailed
from tasks.streambench.environment import Feedback
from tests.scoring.labelled_file import assert_unknown_word_is_named
from tests.streambench.scripted import Scripted, StreamAsk, know_all, make_items, run_steps


def test_an_unknown_outcome_in_steps_names_artifact_row_and_word(tmp_path):
    (rows,) = run_steps(StreamAsk(know_all), make_items(1), "zero_shot").values()
    assert_unknown_word_is_named(tmp_path, "steps", rows[0], "outcome")


def test_an_unknown_outcome_of_an_environment_names_the_step_and_the_word(monkeypatch):
    async def say_almost(environment, item, answer, *, row):
        return Feedback(False, "almost", environment.say(False))

    monkeypatch.setattr(Scripted, "feedback", say_almost)
    with pytest.raises(StageFailed, match=r"step \w{16}: .*'almost' is not a Outcome label: expected one of"):
        run_steps(StreamAsk(know_all), make_items(2), "zero_shot")
