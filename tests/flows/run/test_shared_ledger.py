"""Tests of runs whose ledger is a PostgreSQL database."""

import shutil

from tests.models.ledger_places import place_ledger

MADE = ("words.parquet", "answers.parquet", "answers.dropped.parquet", "answers.calls.parquet")


def rebuild(trial, **options):
    """Run all stages again; return the bytes of the artifacts."""
    for made in ("data", ".dvc/cache", ".dvc/tmp"):
        shutil.rmtree(trial.root / made, ignore_errors=True)
    (trial.root / "dvc.lock").unlink(missing_ok=True)
    assert {outcome.state for outcome in trial.run(**options).values()} == {"ran"}
    return {name: (trial.root / "data/trial" / name).read_bytes() for name in MADE}


def test_a_run_gives_the_same_bytes_and_its_replay_asks_nobody(trial, tmp_path, monkeypatch):
    by_file = rebuild(trial)
    assert len(trial.asked) == 5
    with place_ledger("postgresql", tmp_path) as address:
        monkeypatch.setenv("BENCHLOOM_LEDGER", address)
        assert rebuild(trial) == by_file
        assert len(trial.asked) == 10
        assert rebuild(trial, replay=True) == by_file
    assert len(trial.asked) == 10
