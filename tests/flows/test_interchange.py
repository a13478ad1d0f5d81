"""Tests that alternate `benchloom run` and `dvc repro` on the real graph: each continues the other's work."""

import pytest

from tests.flows.sample import Sample, replay_datasets, wait_for

pytestmark = [pytest.mark.drill, pytest.mark.timeout(3600)]
UP_TO_DATE = "Data and pipelines are up to date."

CHANGES = {
    "parameter": ("params.yaml", "{first: 1, keep: 0.5}", "{first: 1, keep: 0.25}"),
    # The prompts do not change, so the shipped ledger has the answers.
    "prompt": ("tasks/grammar/prompts/back_check.md", "\nTables:", "\n{# all of them #}\nTables:"),
    "module": ("tasks/grammar/construct/balanced.py", "\n\n\n", "\n\n\n# one more line\n"),
    "raw file": ("data/raw/packages/airlines.csv", "Delta Air", "Dalta Air"),
}
FRESH = {"parameter": "grammar-balanced@films", "prompt": "grammar-fill-in@films",
         "module": "grammar-unbalanced@films", "raw file": "sources-films"}  # fmt: skip
"""Change -> a stage that the change must not affect."""


@pytest.fixture(scope="module")
def sample(tmp_path_factory) -> Sample:
    return replay_datasets(tmp_path_factory.mktemp("sample"))


def test_after_our_run_dvc_has_nothing_to_do(sample):
    assert UP_TO_DATE in sample.dvc("status")
    before = sample.lock()
    assert "up to date" in sample.dvc("repro")
    assert sample.lock() == before


@pytest.mark.parametrize("what", CHANGES)
def test_a_change_is_carried_out_alike_by_both_and_taken_back_from_the_run_cache(sample, what):
    path, old, new = CHANGES[what]
    original, artifacts, lock = (sample.root / path).read_text(), sample.artifacts(), sample.lock()

    sample.edit(path, lambda text: text.replace(old, new, 1))
    said = sample.run()
    assert " ran " in said
    assert FRESH[what] not in said
    assert UP_TO_DATE in sample.dvc("status")
    ours, our_lock = sample.artifacts(), sample.lock()
    assert our_lock != lock

    (sample.root / path).write_text(original)
    back = sample.run()
    assert "from the run cache" in back
    assert " ran" not in back.replace("from the run cache", "")
    assert (sample.artifacts(), sample.lock()) == (artifacts, lock)

    sample.edit(path, lambda text: text.replace(old, new, 1))
    sample.dvc("repro", "--no-run-cache")
    theirs, their_lock = sample.artifacts(), sample.lock()
    again = sample.run()
    assert "ran" not in again.split()
    assert "restored" not in again.split()
    assert theirs == ours
    assert their_lock == our_lock

    (sample.root / path).write_text(original)
    sample.run()
    assert (sample.artifacts(), sample.lock()) == (artifacts, lock)


def test_a_file_edited_while_its_stage_runs_fails_it_and_is_named(sample):
    artifacts, lock = sample.artifacts(), sample.lock()
    module, stage = "tasks/grammar/construct/fill_in.py", "grammar-fill-in@films"
    original = (sample.root / module).read_text()
    sample.edit(module, lambda text: text + "# before it runs\n")
    process = sample.start(stage)
    locks = sample.root / ".dvc/tmp/rwlock"
    wait_for(lambda: "films/fill_in.parquet" in locks.read_text())
    sample.edit(module, lambda text: text + "# while it runs\n")

    said = process.communicate()[1]
    assert process.returncode == 1
    assert f"{stage}: {module} changed while running; run it again" in said
    assert sample.lock() == lock

    assert f"{stage}  " in sample.run(stage)
    (sample.root / module).write_text(original)
    sample.run()
    assert (sample.artifacts(), sample.lock()) == (artifacts, lock)
