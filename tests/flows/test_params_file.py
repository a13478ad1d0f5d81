"""Tests that any params.yaml is read or refused on one line; invalid names never reach a path or a shell."""

import os
import subprocess
import sys
import time

import pytest

from flows.params_file import parse_params
from flows.run.node import split_command
from flows.settings import load_params, set_params
from tasks.errors import BadInput

GOOD = b"databases:\n  films: {file: a.sqlite}\nragcheck:\n  sets: {}\nown: {seed: null}\nblank:\n"
BOMB = b"a: &a [x,x,x,x,x,x,x,x,x]\n" + b"".join(
    f"{chr(98 + n)}: &{chr(98 + n)} [{','.join(['*' + chr(97 + n)] * 9)}]\n".encode() for n in range(12)
)
REFUSED = {
    "nothing": (b"", "is not a mapping"),
    "only a comment": (b"# nothing\n", "is not a mapping"),
    "a list": (b"- a\n", "is not a mapping"),
    "a text": (b"text", "is not a mapping"),
    "two documents": (b"a: 1\n---\nb: 2\n", "not valid YAML"),
    "UTF-16": ("a: 1\n".encode("utf-16"), "line 1: is not UTF-8"),
    "Latin-1": ("a: 1\ntitle: café\n".encode("latin-1"), "line 2: is not UTF-8"),
    "a null byte": (b"a: \x00\n", "not valid YAML"),
    "an escape character": (b"a: \x1b[2J\n", "not valid YAML"),
    "a tab": (b"a:\n\tb: 1\n", "line 2: is not valid YAML"),
    "an open bracket": (b"a: [1, 2\n", "is not valid YAML"),
    "an unknown alias": (b"a: *b\n", "line 1: is not valid YAML"),
    "a Python object": (b"a: !!python/object/apply:os.system [echo]\n", "line 1: is not valid YAML"),
    "an unknown tag": (b"a: !secret x\n", "line 1: is not valid YAML"),
    "a number as a key": (b"databases:\n  2020: {file: a}\n", "line 2: a key is a number.*in quotes"),
    "a date as a key": (b"x:\n  2020-01-01: 1\n", "line 2: a key is a date"),
    "yes as a key": (b"x: {yes: 1}\n", "line 1: a key is true or false"),
    "nothing as a key": (b"x: {~: 1}\n", "line 1: a key is blank"),
    "a list as a key": (b"x: {[1, 2]: 1}\n", "line 1: a key is a list"),
    "a section that comes twice": (
        b"systems: {a: 1}\nrun: {}\nsystems: {b: 1}\n",
        "line 3: systems: is already defined in line 1 .add your keys to the existing value",
    ),
    "a key that comes twice": (b"x: {a: 1, a: 2}\n", "line 1: a: is already defined in line 1"),
    "no date": (b"a: 2020-13-45\n", "cannot be read"),
    "a long number": (b"a: " + b"9" * 5000 + b"\n", "cannot be read"),
    "a blank section": (
        b"run:\n  workers: 4\ndatabases:\n",
        r"line 3: databases: is blank.*write \{\} for an empty section",
    ),
    "a blank section of a flow": (b"ragcheck:\n  sets:\n", "line 2: ragcheck.sets: is blank"),
    "aliases that multiply": (BOMB, "contains more than 100,000 values"),
    "an alias of itself": (b"a: &a\n  b: *a\n", "contains itself"),
    "many brackets": (b"a: " + b"[" * 200 + b"]" * 200 + b"\n", "more than 50 levels deep"),
    "brackets without end": (
        b"a: " + b"[" * 100_000 + b"\n",
        "line 1: a value is nested more than 50 levels deep",
    ),
    "a large file": (b"# " + b"x" * 5_000_000, "is larger than 4 MiB"),
}
NAMED = {"databases", "ragcheck.sets"}
NAMES = [
    "x; touch pwned; true", "$(touch pwned)", "`touch pwned`", "a b", "../../../escaped", ".", "..", "", "-r",
    "a/b", "a\\b", "a.b", "a\nb", "a@b", "${key}", "C:x", "a*", "~", "x" * 81, "a\u202eb",
]  # fmt: skip


def parse(content, tmp_path):
    return parse_params(
        content, tmp_path / "params.yaml", {"databases", "ragcheck.sets"}, {"databases", "run"}
    )


def test_what_can_be_used_is_read(tmp_path):
    assert parse(GOOD, tmp_path)["databases"] == {"films": {"file": "a.sqlite"}}
    assert parse(b"\xef\xbb\xbf" + GOOD, tmp_path)["own"] == {"seed": None}
    merged = parse(b"x: &x {a: 1}\ny:\n  <<: *x\n  b: 2\n", tmp_path)
    assert merged["y"] == {"a": 1, "b": 2}


@pytest.mark.parametrize("what", REFUSED)
def test_what_cannot_is_refused_in_one_line_and_at_once(what, tmp_path):
    content, line = REFUSED[what]
    begun = time.process_time()
    with pytest.raises(BadInput, match=line) as caught:
        parse(content, tmp_path)
    assert time.process_time() - begun < 10
    assert str(caught.value).isprintable()


@pytest.mark.parametrize("name", NAMES)
def test_a_name_that_is_a_path_or_a_command_is_refused(name, tmp_path):
    quoted = '"' + "".join(f"\\u{ord(letter):04x}" for letter in name) + '"'
    content = f"run: {{workers: 4}}\ndatabases:\n  {quoted}: {{file: a}}\n".encode()
    with pytest.raises(BadInput, match=r"line 3: databases: .* is not a valid name") as caught:
        parse(content, tmp_path)
    assert str(caught.value).isprintable()


@pytest.mark.parametrize("name", ["films", "flights_closed", "mt-rag", "2020", "日本", "x" * 80])
def test_plain_names_may_be_used(name, tmp_path):
    assert parse(f'databases: {{"{name}": {{file: a}}}}\n'.encode(), tmp_path)["databases"]


@pytest.mark.parametrize(
    "assignment",
    [
        "databases.x; touch pwned={file: a}",
        "databases.$(touch pwned)={file: a}",
        "databases.a={b: [}",
        "run=~",
    ],
)
def test_set_writes_nothing_that_cannot_be_read(assignment, tmp_path):
    text = "databases: {}\nrun: {workers: 4}\n"
    (tmp_path / "params.yaml").write_text(text)
    with pytest.raises(BadInput):
        set_params(tmp_path, [assignment])
    assert (tmp_path / "params.yaml").read_text() == text
    assert load_params(tmp_path)["run"] == {"workers": 4}


@pytest.mark.parametrize("rest", [" a b; touch x", " a $(x)", "", " a b c d e", " a ../b"])
def test_a_command_that_looks_like_ours_is_never_a_shells(rest):
    with pytest.raises(BadInput, match="is not the command of a stage"):
        split_command(f"benchloom stage{rest}")


def test_what_is_not_ours_is_the_users_own():
    assert split_command("python train.py; echo done") == ("", "")
    assert split_command("benchloom stage grammar.fill_in films") == ("grammar.fill_in", "films")


@pytest.mark.parametrize("command", ["status", "plan", "run"])
def test_every_command_refuses_it_before_dvc_reads_it(command, project):
    project.write("params.yaml", "databases:\n  '$(touch pwned)': {file: a}\n")
    done = subprocess.run(
        [sys.executable, "-m", "flows.cli", command], cwd=project.root, capture_output=True, text=True,
        check=False, env={**os.environ, "PYTHONPATH": ":".join(sys.path)},
    )  # fmt: skip
    assert done.returncode == 2, done.stderr
    assert "is not a valid name" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (project.root / "pwned").exists()


def test_a_section_that_is_spelt_nearly_as_one_of_ours_is_refused_with_its_line(tmp_path):
    path = tmp_path / "params.yaml"
    path.write_text("databases: {}\n\nassesments:\n  mine: {}\n")
    with pytest.raises(
        BadInput, match=r"line 3: assesments: no stage reads .* \(did you mean 'assessments'\?\)"
    ):
        load_params(tmp_path)
    path.write_text("databases: {}\nour_own: {}\nwarehouse: {}\n")
    assert load_params(tmp_path) == {"databases": {}, "our_own": {}, "warehouse": {}}
