"""Tests of `run --limit N`: a preview of the first items; record and artifacts do not change."""

import pytest

from flows.commands.run import PREVIEW, run_preview
from flows.run.selection import order_nodes
from tasks.artifacts.parquet import read_rows
from tasks.errors import BadInput
from tests.flows.trial.answers import Answer
from tests.flows.trial.words import Word


def preview(trial, limit):
    run = trial.open()
    said = []
    run.say = said.append
    try:
        code = run_preview(run, order_nodes(run.recorder.nodes), limit)
    finally:
        run.recorder.close()
    return code, said


def test_a_first_preview_makes_every_stage_from_the_first_items(trial):
    code, said = preview(trial, 2)
    assert code == 0
    assert [line.partition(":")[0] for line in said] == ["trial-words", "trial-answers", "trial-page"]
    preview_answers = trial.root / PREVIEW / "trial/answers.parquet"
    words = read_rows(trial.root / PREVIEW / "trial/words.parquet", Word)
    assert len(words) == 4
    assert len(set(trial.asked)) == 2
    answered = {row.origin[0].reference for row in read_rows(preview_answers, Answer)}
    assert answered <= {f"words#{word.id}" for word in words[:2]}


def test_artifacts_and_the_record_stay_as_they_were(trial):
    trial.run()
    kept = {name: (trial.root / name).read_bytes() for name in ("dvc.lock", "data/trial/words.parquet")}
    trial.write("source.txt", "quince olive")
    preview(trial, 1)
    assert {name: (trial.root / name).read_bytes() for name in kept} == kept
    assert trial.states()["trial-words"] == "ran"


def test_a_fresh_stage_is_not_previewed_and_its_artifact_is_the_next_ones_input(trial):
    trial.run()
    trial.asked.clear()
    trial.set(roles={"generator": {"model": "tester", "temperature": 0.5, "top_p": 1.0, "max_tokens": 10}})
    _, said = preview(trial, 1)
    assert [line.partition(":")[0] for line in said] == ["trial-answers", "trial-page"]
    assert len(set(trial.asked)) == 1
    whole, copy = (trial.root / folder / "trial/words.parquet" for folder in ("data", PREVIEW))
    assert copy.read_bytes() == whole.read_bytes()


def test_what_a_preview_paid_for_the_run_need_not_pay_again(trial):
    preview(trial, 2)
    trial.asked.clear()
    trial.run()
    assert len(set(trial.asked)) == 2


def test_where_nothing_is_stale_it_says_so(trial):
    trial.run()
    code, said = preview(trial, 1)
    assert (code, said) == (0, ["no stage is stale, so there is nothing to preview (see `benchloom status`)"])


def test_a_command_of_the_users_own_is_refused_by_name(trial):
    trial.write("dvc.yaml", "stages:\n  mine:\n    cmd: touch mine.txt\n    outs: [mine.txt]\n")
    with pytest.raises(BadInput, match=r"mine: is a command that you added"):
        preview(trial, 1)
