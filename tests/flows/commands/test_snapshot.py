import json

import pytest
import yaml

from flows.commands.snapshot import snapshot_command
from tasks.databases import entry
from tasks.errors import BadInput
from tests.databases.conftest import place  # noqa: F401 (a fixture)


@pytest.fixture
def project(place, tmp_path, monkeypatch):  # noqa: F811 (the fixture that is asked for)
    fields = {"url": place.entry.url, "password_env": place.entry.password_env, "file": "snapshots/shop.json"}
    (tmp_path / "dvc.yaml").write_text("stages: {}\n")
    (tmp_path / "params.yaml").write_text(
        yaml.safe_dump({"databases": {"shop": fields, "film": {"file": "film.sqlite"}}})
    )
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_record_of_a_server_is_written_where_its_entry_says(project, capsys):
    assert snapshot_command([]) == 0
    record = json.loads((project / "snapshots/shop.json").read_text())
    assert {name: table["rows"] for name, table in record["tables"].items()} == {
        "authors": 50,
        "book_subjects": 0,
        "books": 1000,
        "subjects": 0,
    }
    assert "databases.shop: 4 tables, 1,050 rows" in capsys.readouterr().err


def test_a_database_without_a_url_has_no_record(project):
    with pytest.raises(BadInput, match=r"film: is not a database with a URL in params\.yaml \(known: shop\)"):
        snapshot_command(["film"])


@pytest.mark.parametrize(("driver", "extra"), [("psycopg", "postgresql"), ("pymysql", "mariadb")])
def test_a_missing_driver_is_named_with_its_extra_before_anything_is_read(
    tmp_path, monkeypatch, driver, extra
):
    fields = {"url": f"{extra}+{driver}://reader@127.0.0.1:1/shop", "file": "snapshots/shop.json"}
    (tmp_path / "dvc.yaml").write_text("stages: {}\n")
    (tmp_path / "params.yaml").write_text(yaml.safe_dump({"databases": {"shop": fields}}))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(entry, "find_spec", lambda _: None)
    with pytest.raises(BadInput) as refused:
        snapshot_command([])
    line = f"databases.shop.url: needs {driver}, which is not installed here"
    assert str(refused.value).startswith(line)
    assert f"pip install 'benchloom[{extra}]'" in str(refused.value)
