from pathlib import Path

import yaml

from flows.nights.once import place_ledger


def test_a_night_finds_the_ledger_that_params_name(tmp_path, monkeypatch):
    def name_ledger(address):
        (tmp_path / "params.yaml").write_text(yaml.safe_dump({"run": {"ledger": address}}))
        return place_ledger(tmp_path)

    monkeypatch.delenv("BENCHLOOM_LEDGER", raising=False)
    assert name_ledger("own/l.sqlite") == {"BENCHLOOM_LEDGER": str(tmp_path / "own/l.sqlite")}
    assert name_ledger("~/l.sqlite") == {"BENCHLOOM_LEDGER": str(Path.home() / "l.sqlite")}
    assert name_ledger("postgresql://team@server/ledger") == {}  # read from params.yaml as it stands there
    assert name_ledger(None) == {}
    monkeypatch.setenv("BENCHLOOM_LEDGER", "/elsewhere/l.sqlite")
    assert name_ledger("own/l.sqlite") == {}
