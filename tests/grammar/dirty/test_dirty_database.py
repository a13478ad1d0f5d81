"""A database with every kind of fault gives right answers alone, and names what it leaves out."""

import pytest

from tests.databases.servers import PASSWORD, PASSWORD_ENV, open_place
from tests.grammar.dirty.answers import Made
from tests.grammar.dirty.database import make_server, make_sqlite


def test_sqlite(tmp_path):
    made = Made(make_sqlite(tmp_path / "shipyard.sqlite"))
    print(made.list_losses())
    print(made.name_unasked())
    print(len(made.groups), len(made.templates))
    print(made.check())


@pytest.mark.parametrize("kind", ["postgresql", "mariadb"])
def test_server(kind, monkeypatch):
    monkeypatch.setenv(PASSWORD_ENV, PASSWORD)
    with open_place(kind) as place:
        made = Made(make_server(place))
        print(made.list_losses())
        print(made.name_unasked())
        print(len(made.groups), len(made.templates))
        print(made.check())
