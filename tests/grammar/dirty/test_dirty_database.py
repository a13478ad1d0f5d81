"""Tests that a database with every kind of fault gives only correct answers, and names omitted parts."""

import pytest

from tests.databases.servers import PASSWORD, PASSWORD_ENV, open_place
from tests.grammar.dirty.answers import Made
from tests.grammar.dirty.database import make_server, make_sqlite

UNASKED = {
    "ports.port_uuid": "identifiers: not what people ask about",
    "ships.empty": "no cell has a value",
    "ships.token": "identifiers: not what people ask about",
}
LOST = {
    "sqlite": {
        ("foreign_key", "foreign key ships.owner_id -> owners is not read"),
        *(
            ("internal_table", f"table notes_{name} is not read")
            for name in ("config", "content", "data", "docsize", "idx")
        ),
        ("no_value", "ships.crew"),
        ("undecodable", "broken.label"),
        ("unfit_cells", "ships.either"),
        ("unfit_cells", "ships.tons"),
    },
    "postgresql": {
        ("foreign_key", "foreign key ships.owner_id -> hr.owners is not read"),
        ("other_schema", "schema hr is not read"),
        ("partition", "table voyages_2024 is not read"),
        ("unfit_cells", "ships.built"),
        ("unfit_cells", "ships.either"),
        ("unfit_cells", "ships.valid_to"),
    },
    "mariadb": {("unfit_cells", "ships.either")},
}
READINGS = {
    "ports.opened": "%m/%d/%Y",
    "ships.logged": "%d/%m/%Y %H:%M",
    "ships.paid": "%d.%m.%Y",
    "ships.sailed": "%b %d, %Y",
    "ships.docked": "day",
    "ships.checked": "day",
    "ships.launched": "",
    "ships.isbn": "",
}


def check(made, engine):
    assert set(made.list_losses()) == LOST[engine]
    unasked = made.name_unasked()
    assert {name: unasked[name] for name in UNASKED} == UNASKED
    assert {"ships.meta", "ships.shape", "ships.photo"} <= set(unasked)
    assert {profile.id: profile.reading for profile in made.profiles if profile.id in READINGS} == READINGS
    return made.check()


@pytest.fixture
def server(request, monkeypatch):
    monkeypatch.setenv(PASSWORD_ENV, PASSWORD)
    with open_place(request.param) as place:
        yield request.param, make_server(place)


BOTH = pytest.mark.parametrize("server", ["postgresql", "mariadb"], indirect=True)


def test_sqlite(tmp_path):
    assert sum(check(Made(make_sqlite(tmp_path / "shipyard.sqlite")), "sqlite").values()) >= 10


@BOTH
def test_servers(server):
    kind, entry = server
    assert sum(check(Made(entry), kind).values()) >= 10


@pytest.mark.drill  # 900 answers: one to three minutes
@pytest.mark.timeout(900)
def test_all_of_sqlite(tmp_path):
    seen = check(Made(make_sqlite(tmp_path / "shipyard.sqlite"), whole=True), "sqlite")
    assert set(seen) == {"lookup", "list", "count", "average", "most", "least"}


@pytest.mark.drill  # 900 answers on each server: two to five minutes
@pytest.mark.timeout(1800)
@BOTH
def test_all_of_servers(server):
    kind, entry = server
    assert set(check(Made(entry, whole=True), kind)) == {
        "lookup",
        "list",
        "count",
        "average",
        "most",
        "least",
    }
