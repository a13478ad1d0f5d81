import pytest

from flows.run.model_settings import read_run
from tasks.errors import BadInput
from tasks.models.recording.ledger_address import find_ledger

SECRET = "hush-4711-xyzzy"
WITH_PASSWORD = [
    f"postgresql://team:{SECRET}@server/ledger",
    f"postgres://team:@server/ledger?sslpassword={SECRET}",
    f"postgresql:///ledger?p%61ssword={SECRET}",
]


def test_the_environment_names_the_ledger_first(tmp_path, monkeypatch):
    monkeypatch.setenv("BENCHLOOM_LEDGER", str(tmp_path / "mine.sqlite"))
    assert find_ledger(str(tmp_path / "other.sqlite")) == tmp_path / "mine.sqlite"
    monkeypatch.setenv("BENCHLOOM_LEDGER", "postgresql://team@server/ledger")
    assert find_ledger(str(tmp_path / "other.sqlite")) == "postgresql://team@server/ledger"
    monkeypatch.delenv("BENCHLOOM_LEDGER")
    assert find_ledger(str(tmp_path / "other.sqlite")) == tmp_path / "other.sqlite"
    assert (
        find_ledger("postgres://server/ledger?passfile=/etc/pg")
        == "postgres://server/ledger?passfile=/etc/pg"
    )
    assert find_ledger().name == "ledger.sqlite"


@pytest.mark.parametrize("address", WITH_PASSWORD)
def test_a_password_is_refused_wherever_it_is_named_and_not_repeated(address, monkeypatch):
    refusal = "contains a password: put the password into PGPASSWORD or ~/.pgpass"
    with pytest.raises(BadInput) as caught:
        read_run({"run": {"ledger": address}})
    assert str(caught.value) == f"params.yaml: run.ledger: {refusal}"
    monkeypatch.setenv("BENCHLOOM_LEDGER", address)
    with pytest.raises(BadInput) as caught:
        find_ledger()
    assert str(caught.value) == f"BENCHLOOM_LEDGER: {refusal}"


@pytest.mark.parametrize(
    ("address", "words"),
    [
        (f"mysql://team:{SECRET}@server/x", "must be a file path or postgresql://user@host/database"),
        (
            f"postgresql+psycopg://{SECRET}@server/x",
            "must be a file path or postgresql://user@host/database",
        ),
        (f"postgresql://[{SECRET}", "is not a database URL (postgresql://user@host/database)"),
    ],
)
def test_what_is_no_address_of_a_ledger_is_refused(address, words, monkeypatch):
    monkeypatch.setenv("BENCHLOOM_LEDGER", address)
    with pytest.raises(BadInput) as caught:
        find_ledger()
    assert str(caught.value) == f"BENCHLOOM_LEDGER: {words}"
