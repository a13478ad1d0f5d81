"""Tests that a stage without its required rows ends the run, and reports where the rows were lost."""

import os

import pytest
import yaml

from flows import discovery
from flows.commands.run import conclude, run_preview
from flows.run import lost_rows
from flows.run.lost_rows import list_empty
from flows.run.node import Node
from flows.run.runner import run_plain
from flows.run.selection import order_nodes
from flows.stage import Scope
from tasks.errors import StageFailed

TRIAL = Scope(folder="data/trial")
LOST = (
    "trial-words has no rows; rows were dropped: 3 short (for example: two), see "
    "data/trial/words.dropped.parquet; "
    "change `trial.words` in params.yaml, and run the same command again"
)


@pytest.fixture
def declare(trial, monkeypatch):
    """Declare the trial's stages, with or without required words; no word is long enough."""
    trial.write("source.txt", "one two six\n")
    trial.set(trial={"words": {"letters": 9}, "page": {"title": "Words", "look": {}}})

    def declare(*, may_be_empty: bool) -> None:
        own = {
            "trial.words": TRIAL.stage("trial.words", may_be_empty=may_be_empty),
            "trial.answers": TRIAL.stage("trial.answers", roles=("generator",)),
        }
        monkeypatch.setattr(lost_rows, "find_stage", own.get)

    return declare


def run_all(trial):
    """Run the trial like `benchloom run --plain` in this process; also return its output."""
    run, said = trial.open(), []
    run.say = said.append
    names = order_nodes(run.recorder.nodes)
    try:
        run_plain(run, names, 2)
    finally:
        run.finish()
        run.recorder.close()
    return run, conclude(run, names), said


def test_a_stage_that_lost_all_its_rows_ends_the_run_and_is_recorded_nowhere(trial, declare):
    declare(may_be_empty=False)
    run, code, said = run_all(trial)
    assert code == 1
    assert {name: outcome.state for name, outcome in run.outcomes.items()} == {
        "trial-words": "failed",
        "trial-answers": "skipped",
        "trial-page": "skipped",
    }
    assert run.outcomes["trial-words"].error == LOST
    assert sum(LOST in line for line in said) == 1
    assert not (trial.root / "dvc.lock").exists()
    assert (trial.root / "data/trial/words.dropped.parquet").is_file()  # for inspection
    assert not trial.asked

    trial.set(trial={"words": {"letters": 3}, "page": {"title": "Words", "look": {}}})
    assert run_all(trial)[1] == 0


def test_the_stage_that_lost_them_is_named_where_it_may_be_empty_itself(trial, declare):
    declare(may_be_empty=True)
    run, code, _ = run_all(trial)
    assert code == 1
    assert run.outcomes["trial-words"].state == "ran"
    error = run.outcomes["trial-answers"].error
    assert error.startswith(
        "trial-answers has no rows, because data/trial/words.parquet, the output of trial-words, is empty; "
        "rows were dropped: 3 short (for example: two)"
    )
    assert list(yaml.safe_load(trial.read("dvc.lock"))["stages"]) == ["trial-words"]


def test_an_empty_stage_that_was_named_says_why_it_has_no_rows(trial, declare):
    declare(may_be_empty=True)
    run, _, _ = run_all(trial)
    nodes = run.recorder.nodes
    assert list_empty(nodes, ["trial-words", "other"], trial.root) == [
        "trial-words has no rows; rows were dropped: 3 short (for example: two), see "
        f"{os.path.relpath(trial.root / 'data/trial/words.dropped.parquet')}"
    ]
    assert list_empty(nodes, [], trial.root) == []


def test_a_preview_that_has_nothing_to_show_says_so(trial, declare):
    declare(may_be_empty=False)
    run = trial.open()
    with pytest.raises(
        StageFailed, match=r"rows were dropped: 3 short .* see data/\.preview/trial/words\.dropped"
    ):
        run_preview(run, ["trial-words"], 2)


def test_each_stage_that_may_be_empty_is_said_once_by_its_flow():
    """Stages with optional user input are declared; stages of a dataset are not."""
    may = {stage.name for stage in discovery.list_stages() if stage.may_be_empty}
    assert {"grammar.human_labels", "tanq.human_tables", "longform.human_labels", "ragcheck.ratings"} <= may
    # A database without possible questions does not end the set, which records `no_plan` for it.
    assert {"longform.foci", "longform.source_rows"} <= may
    datasets = {"grammar.fill_in", "grammar.balanced", "longform.items", "tanq.items", "streambench.items"}
    assert not may & datasets
    for flow in discovery.list_flows():
        for scope in flow.list_scopes():
            assert scope.evaluates not in may


def test_what_a_model_lost_may_be_the_models_fault():
    settings = {"params.yaml": ("databases.shop", "grammar.sql_templates", "models", "roles.generator")}
    node = Node("grammar-sql-templates@shop", "grammar.sql_templates", "shop", (), (), (), settings=settings)
    assert lost_rows.advise(node) == (
        "change `grammar.sql_templates` or the model of `roles.generator` or the source in "
        "`databases.shop` in "
        "params.yaml, and run the same command again"
    )
