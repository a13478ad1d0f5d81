"""Tests of dvc.lock by entries: DVC reads the written entries, whoever wrote the file before."""

import copy
import json
from pathlib import Path

import pytest
from dvc.utils.serialize import dump_yaml, load_yaml
from hypothesis import given
from hypothesis import strategies as st

from flows.run.record.lock_file import LockFile, dump, split_blocks
from tasks.errors import BadInput

ODD = ["1e3", "0o14", "12:30", "yes", "on", "1_000", "~", "null", "=", "2026-01-01", "- a", "a: b", "#x", ""]
ENTRY = {
    "cmd": "benchloom stage trial.words",
    "deps": [{"path": "raw.txt", "hash": "md5", "md5": "d41d8cd98f00b204e9800998ecf8427e", "size": 0}],
    "params": {"params.yaml": {"a.b": {"odd": ODD, "deep": {"x": 1.5, "y": None, "z": [True, 1e-7]}}}},
    "outs": [{"path": "out", "hash": "md5", "md5": "1.dir", "size": 3, "nfiles": 2}],
}
TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"]), max_size=40)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)


@pytest.fixture
def lock(tmp_path):
    return LockFile(tmp_path / "dvc.lock", tmp_path / "kept.json")


def test_what_is_written_is_what_dvc_reads_sorted_by_stage(lock):
    lock.update({"b@2020": ENTRY, "a@1e5": {"cmd": "true"}})
    lock.update({"a@1e4": {"cmd": "false"}})
    read = load_yaml(str(lock.path))
    stages = {"a@1e4": {"cmd": "false"}, "a@1e5": {"cmd": "true"}, "b@2020": ENTRY}
    assert read == {"schema": "2.0", "stages": stages}
    assert list(read["stages"]) == ["a@1e4", "a@1e5", "b@2020"]
    assert lock.read() == read["stages"]


@given(VALUES)
def test_any_parameter_comes_back_as_it_was(value):
    text = dump({"stages": {"one": {"cmd": "x", "params": {"params.yaml": {"key": value}}}}})
    assert split_blocks(text) == [text.partition("\n")[2]]
    from ruamel.yaml import YAML

    assert YAML(typ="safe").load(text)["stages"]["one"]["params"]["params.yaml"]["key"] == value


def test_what_dvc_wrote_is_read_and_only_what_changes_is_written_anew(lock):
    stages = {
        f"stage-{number}": {**copy.deepcopy(ENTRY), "cmd": f"echo {number} {'long ' * 30}"}
        for number in range(5)
    }
    dump_yaml(str(lock.path), {"schema": "2.0", "stages": stages})
    before = lock.path.read_text().splitlines()
    assert lock.read() == stages
    lock.update({"stage-2": {"cmd": "date"}})
    after = lock.path.read_text().splitlines()
    assert load_yaml(str(lock.path))["stages"] == {**stages, "stage-2": {"cmd": "date"}}
    assert [line for line in after if line not in before] == ["    cmd: date"]


def test_entries_that_share_a_part_are_read_whole_and_written_each_for_itself(lock):
    dump_yaml(str(lock.path), {"schema": "2.0", "stages": {"one": ENTRY, "two": {**ENTRY, "cmd": "y"}}})
    assert "*id" in lock.path.read_text()
    assert lock.read() == {"one": ENTRY, "two": {**ENTRY, "cmd": "y"}}
    lock.update({"one": {"cmd": "x"}})
    assert load_yaml(str(lock.path))["stages"] == {"one": {"cmd": "x"}, "two": {**ENTRY, "cmd": "y"}}
    assert "*id" not in lock.path.read_text()


def test_an_entry_is_parsed_once_for_as_long_as_its_text_stays(lock, monkeypatch):
    lock.update({"one": ENTRY, "two": ENTRY})
    monkeypatch.setattr(LockFile, "_parse", lambda self, text: pytest.fail(f"parsed {text}"))
    assert lock.read() == {"one": ENTRY, "two": ENTRY}
    assert LockFile(lock.path, lock.kept).read()["two"] == ENTRY
    lock.update({"two": {"cmd": "other"}})
    assert lock.read() == {"one": ENTRY, "two": {"cmd": "other"}}


def test_what_json_cannot_keep_is_parsed_from_the_file(lock):
    entry = {"cmd": "x", "params": {"params.yaml": {"years": {2020: "a"}}}}
    lock.update({"one": entry})
    assert json.loads(lock.kept.read_text()) == {}
    assert lock.read() == {"one": entry}


@pytest.mark.parametrize("kept", ["", "[]", "{", '{"x": 1}'])
def test_what_was_kept_and_is_broken_is_parsed_again(lock, kept):
    lock.update({"one": ENTRY})
    lock.kept.write_text(kept)
    assert lock.read() == {"one": ENTRY}


def test_a_file_with_more_than_stages_keeps_it(lock):
    lock.path.write_text("schema: '2.0'\nstages:\n  one:\n    cmd: x\ndatasets:\n- name: d\n  url: u\n")
    assert lock.read() == {"one": {"cmd": "x"}}
    lock.update({"two": {"cmd": "y"}})
    data = load_yaml(str(lock.path))
    assert data["datasets"] == [{"name": "d", "url": "u"}]
    assert data["stages"] == {"one": {"cmd": "x"}, "two": {"cmd": "y"}}


def test_no_file_and_an_empty_one_hold_nothing(lock):
    assert lock.read() == {}
    lock.path.write_text("")
    assert lock.read() == {}
    lock.path.write_text("schema: '2.0'\n")
    assert lock.read() == {}


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (b"schema: '2.0'\nstages:\n  one:\n    cmd: [x\n", "cannot be read"),
        (b"schema: '2.0'\nstages:\n  one:\n    deps:\n    - x\n", "no readable entry for stage one"),
        (b"schema: '2.0'\nstages:\n  one: 3\n", "no readable entry for stage one"),
        (b"<<<<<<< HEAD\nschema: '2.0'\n", "cannot be read"),
        (b"- a\n", "is not a mapping"),
        (b"\xff\xfe", "is not UTF-8"),
    ],
)
def test_a_file_that_is_no_lock_file_is_refused_in_one_line(lock, text, line):
    lock.path.write_bytes(text)
    with pytest.raises(BadInput, match=line) as caught:
        lock.read()
    assert "\n" not in str(caught.value)
    assert "dvc.lock" in str(caught.value)


def test_an_entry_is_written_as_dvc_writes_it_to_the_letter(lock):
    """Alternate Benchloom's runs and `dvc repro`; lines of dvc.lock with the same content do not change."""
    own = Path(__file__).parents[3] / "dvc.lock"
    stages = load_yaml(str(own))["stages"]
    some = {name: stages[name] for name in sorted(stages)[::9]}
    lock.update(some)
    theirs = lock.path.with_name("theirs.lock")
    dump_yaml(str(theirs), {"schema": "2.0", "stages": some})
    assert lock.path.read_text() == theirs.read_text()
