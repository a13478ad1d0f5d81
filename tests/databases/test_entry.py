from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import ValidationError

from tasks.databases.entry import DatabaseEntry, read_entry
from tasks.errors import BadInput


@pytest.mark.parametrize(
    "url",
    [
        "postgresql+psycopg://ann:s3cret@host/shop",
        "mysql+pymysql://host/shop?password=s3cret",
        "postgresql+psycopg://ann@host/shop?sslkey=client.key&sslpassword=s3cret",
        "mysql+pymysql://host/shop?ssl_key_password=s3cret",
        "postgresql+psycopg://host/shop?SSLPassword=s3cret",
        "postgresql+psycopg://host/shop?sslmode=require&oauth_client_secret=s3cret",
        "no url with s3cret",
    ],
)
def test_a_password_is_refused_and_never_repeated(url: str) -> None:
    with pytest.raises(BadInput) as caught:
        read_entry("shop", {"url": url})
    assert str(caught.value).startswith("databases.shop.url: ")
    assert "s3cret" not in str(caught.value)
    with pytest.raises(ValidationError) as raw:
        DatabaseEntry.model_validate({"url": url})
    assert "s3cret" not in str(raw.value)


@pytest.mark.parametrize("option", ["sslkey=client.key", "passfile=/home/ann/.pgpass", "service=shop"])
def test_where_a_secret_lies_is_no_secret(option: str) -> None:
    assert read_entry("shop", {"url": f"postgresql+psycopg://ann@host/shop?{option}"}).url


def test_a_driver_that_repeats_the_password_does_not_bring_it_into_an_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SHOP_PASSWORD", "s3cret")
    entry = read_entry("shop", {"url": "postgresql+psycopg://ann@host/shop", "password_env": "SHOP_PASSWORD"})
    said = entry.explain(RuntimeError("no connection by host=host password=s3cret"), "cannot be read")
    assert str(said) == "databases.shop: cannot be read: no connection by host=host password=***"


def test_the_password_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    entry = read_entry("shop", {"url": "postgresql+psycopg://ann@host/shop", "password_env": "SHOP_PASSWORD"})
    pytest.importorskip("psycopg", reason="the PostgreSQL driver is an extra")
    monkeypatch.delenv("SHOP_PASSWORD", raising=False)
    with pytest.raises(BadInput, match=r"databases\.shop: the environment variable SHOP_PASSWORD is not set"):
        entry.connect()
    monkeypatch.setenv("SHOP_PASSWORD", "s3cret")
    engine = entry.connect()
    assert engine.url.password == "s3cret"
    assert "s3cret" not in repr(engine)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({}, "needs a file"),
        ({"file": "a.db", "url": "postgresql://h/d"}, "ends in .json"),
        ({"url": "sqlite:///a.db"}, "name it by file"),
        ({"file": "a.db", "licens": "CC0"}, "licens"),
        ({"file": "a.db", "world": "data/raw/b.db"}, "outside data/worlds"),
    ],
)
def test_a_wrong_entry_is_named(fields: dict[str, object], message: str) -> None:
    with pytest.raises(BadInput, match=r"databases\.shop.*" + message):
        read_entry("shop", fields)


def test_a_file_is_placed_under_the_project(tmp_path: Path) -> None:
    entry = read_entry("shop", {"file": "data/shop.db"}).resolve_under(tmp_path)
    assert entry.file == tmp_path / "data/shop.db"
    with pytest.raises(BadInput, match="no such database file"):
        entry.locate_file()


def test_a_part_names_its_whole(tmp_path: Path) -> None:
    entry = read_entry("shop", {"file": "data/shop.db", "world": "data/worlds/shop.db"}).resolve_under(
        tmp_path
    )
    world = entry.find_world()
    assert world is not None
    assert world.file == tmp_path / "data/worlds/shop.db"
    assert world.find_world() is None
    assert read_entry("shop", {"file": "data/shop.db"}).resolve_under(tmp_path).find_world() is None
