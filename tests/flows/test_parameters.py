"""Tests of error messages for params.yaml: each message names the problem and the line."""

from typing import Annotated, Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field, field_validator

from flows.parameters import find_line, validate
from flows.settings import load_params, parse_database, parse_section, parse_value
from tasks.errors import BadInput


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Http(Strict):
    kind: Literal["http"]
    address: str


class Local(Strict):
    kind: Literal["local"]
    module: str
    turns: int = Field(1, ge=1, le=9)


System = Annotated[Http | Local, Field(discriminator="kind")]


class Shop(Strict):
    file: str
    rows: int | None = Field(None, gt=0)
    mode: Literal["read", "write"] = "read"
    tags: list[str] = []
    share: float = 0.5
    whole: bool = False
    systems: dict[str, System] = {}

    @field_validator("file")
    @classmethod
    def check(cls, file):
        if file.startswith("/"):
            raise ValueError("is no path below the project")
        return file


def read(tmp_path, *lines):
    path = tmp_path / "params.yaml"
    path.write_text("\n".join(["# what one may turn", "", "shops:", "  first:", *lines, ""]))
    return load_params(tmp_path)


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        # a misspelt key: its line, the most similar key, and all known keys
        (
            ["    file: a", "    row: 3"],
            "line 6: shops.first.row: no such key (did you mean 'rows'? known: file,",
        ),
        # missing: the line of the entry
        (["    rows: 3"], "line 4: shops.first.file: is missing"),
        # wrong types
        (["    file: a", "    rows: many"], "line 6: shops.first.rows: must be a whole number, not text"),
        (
            ["    file: a", "    rows: 1.5"],
            "line 6: shops.first.rows: must be a whole number, not a number",
        ),
        (["    file: 3"], "line 5: shops.first.file: must be text, not a number"),
        (
            ["    file: a", "    whole: sometimes"],
            "line 6: shops.first.whole: must be true or false, not text",
        ),
        (
            ["    file: a", "    share: {a: 1}"],
            "line 6: shops.first.share: must be a number, not a mapping",
        ),
        (["    file: a", "    tags: x"], "line 6: shops.first.tags: must be a list, not text"),
        (
            ["    file: a", "    tags: [a,", "      2]"],
            "line 7: shops.first.tags.1: must be text, not a number",
        ),
        (["    file:"], "line 5: shops.first.file: must be text, not nothing"),
        # a list instead of a mapping
        (["    - file: a"], "line 4: shops.first: must be a mapping, not a list"),
        # a value that is not among the allowed words
        (
            ["    file: a", "    mode: raed"],
            "line 6: shops.first.mode: is not an allowed value (did you mean 'read'?",
        ),
        # out of bounds
        (["    file: a", "    rows: 0"], "line 6: shops.first.rows: must be more than 0"),
        # the model's own check, with its own message
        (["    file: /a"], "line 5: shops.first.file: is no path below the project"),
        # inside the mapping selected by `kind`: the selection is not a key of the file
        (
            ["    file: a", "    systems:", "      ours: {kind: local, module: m,", "        turns: 10}"],
            "line 8: shops.first.systems.ours.turns: must be at most 9",
        ),
        (
            ["    file: a", "    systems:", "      ours: {kind: http, adress: m}"],
            "line 7: shops.first.systems.ours.adress: no such key (did you mean 'address'?",
        ),
        (
            ["    file: a", "    systems:", "      ours: {kind: htp}"],
            "line 7: shops.first.systems.ours: its 'kind' is missing or unknown (did you mean 'http'?",
        ),
    ],
)
def test_a_mistake_is_named_with_its_line(tmp_path, lines, said):
    with pytest.raises(BadInput) as caught:
        parse_section(read(tmp_path, *lines), "shops.first", Shop)
    assert str(caught.value).startswith(f"params.yaml, {said}")


def test_what_is_right_is_read(tmp_path):
    params = read(tmp_path, "    {file: a, systems: {ours: {kind: local, module: m}}}")
    assert parse_section(params, "shops.first", Shop).systems["ours"].turns == 1


def test_a_value_is_never_repeated(tmp_path):
    params = read(tmp_path, "    file: a", "    rows: s3cret", "    s3: s3cret")
    with pytest.raises(BadInput) as caught:
        parse_section(params, "shops.first", Shop)
    assert "s3cret" not in str(caught.value)
    assert caught.value.__cause__ is None


def test_a_section_that_is_a_list_is_named(tmp_path):
    params = read(tmp_path, "    - a")
    with pytest.raises(BadInput, match=r"params.yaml, line 4: shops.first: must be a mapping"):
        parse_value(params, "shops.first.file", str)


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ("[a.sqlite]", "line 2: databases.films: must be a mapping"),
        ("{fil: a.sqlite}", "line 2: databases.films.fil: no such key (did you mean 'file'?"),
        ("{file: 3}", "line 2: databases.films.file: "),
        ("", "line 2: databases.films: needs a file (SQLite) or a url"),
    ],
)
def test_an_entry_of_databases_is_held_too(tmp_path, entry, said):
    (tmp_path / "params.yaml").write_text(f"databases:\n  films: {entry}\n")
    with pytest.raises(BadInput) as caught:
        parse_database(load_params(tmp_path), "films")
    assert str(caught.value).startswith(f"params.yaml, {said}")


def test_without_a_file_there_is_no_line():
    with pytest.raises(BadInput, match=r"^params.yaml: a.b: must be a whole number, not text$"):
        validate(int, "x", ["a", "b"], {})


def test_the_line_is_that_of_the_nearest_key_there_is(tmp_path):
    path = tmp_path / "params.yaml"
    path.write_text("a:\n  - x\n  - {b: 1}\n")
    places = (["a"], ["a", "1", "b"], ["a", "1", "c"], ["a", "7"], ["z"])
    assert [find_line(path, keys) for keys in places] == [1, 3, 3, 1, None]
