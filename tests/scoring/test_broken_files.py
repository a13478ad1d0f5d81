"""Tests of invalid files: one-line errors, scores of the valid rows, and exit codes."""

import gzip
import json
import sys

import pytest

from flows.cli import main

FIRST = {
    "hotpotqa": '{"id": 1, "gold": "a b", "prediction": "a b"}',
    "rms": '{"id": 1, "gold": "e|h\\nx|1", "prediction": "e|h\\nx|1"}',
    "grammar": '{"id": 1, "group": "g", "judgement": "Correct", "retrieved_document_ids": ["d"],'
    ' "true_document_ids": null}',
    "toolbench": '{"id": 1, "api": "a", "arguments": {}, "predicted_api": "a", "predicted_arguments": {},'
    ' "well_formed": true, "judged": true}',
    "ddxplus": '{"id": 1, "gold": 3, "prediction": "3. x"}',
    "multiturn": '{"id": 1, "scores": [5]}',
    "correlation": '{"id": 1, "human": 3, "judge": 4}',
    "agreement": '{"id": 1, "ratings": [1, 1]}',
}
DEEP = "[" * 5000 + "]" * 5000


def answer(**changes):
    return json.dumps({"id": 2, "gold": "a", "prediction": "a"} | changes)


BAD_LINES = [
    ("hotpotqa", "not json at all", "is not valid JSON"),
    ("hotpotqa", '{"id": 2, "gold": "a"', "is not valid JSON"),
    ("hotpotqa", "{'id': 2}", "is not valid JSON"),
    ("hotpotqa", '{"id": 2, "gold": "a", "prediction": "a",}', "is not valid JSON"),
    ("hotpotqa", '{"id": 2} {"id": 3}', "is not valid JSON"),
    ("hotpotqa", '{"id": 2, "gold": "a\tb\x01"}', "is not valid JSON"),
    ("hotpotqa", '[{"id": 2}]', "is a list; expected a JSON object"),
    ("hotpotqa", '"text"', "is text; expected a JSON object"),
    ("hotpotqa", "17", "is a number; expected a JSON object"),
    ("hotpotqa", "null", "is null; expected a JSON object"),
    ("hotpotqa", '{"gold": "a", "prediction": "a"}', "has no id"),
    ("hotpotqa", answer(id=None), "has no id"),
    ("hotpotqa", answer(id=""), "has no id"),
    ("hotpotqa", answer(id=1.5), "id is a number; expected text or a whole number"),
    ("hotpotqa", answer(id=True), "id is true or false"),
    ("hotpotqa", answer(id=[1]), "id is a list"),
    ("hotpotqa", answer(id=1), "repeats the id of line 1"),
    ("hotpotqa", '{"id": 2, "gold": "a", "prediction": NaN}', "contains NaN or Infinity"),
    ("hotpotqa", '{"id": 2, "gold": "a", "prediction": -Infinity}', "contains NaN or Infinity"),
    ("correlation", '{"id": 2, "human": 1e999, "judge": 1}', "infinity"),
    ("hotpotqa", f'{{"id": 2, "gold": {DEEP}}}', "nested too deeply"),
    ("hotpotqa", f'{{"id": 2, "gold": {DEEP[4800:5200]}}}', "nested deeper than 100"),
    ("hotpotqa", '{"id": 2, "gold": "\\ud800", "prediction": "a"}', "surrogate"),
    ("hotpotqa", b'{"id": 2, "gold": "\xff\xfe", "prediction": "a"}', "is not valid UTF-8"),
    ("hotpotqa", answer(prediction="x" * 50_000_000), "is longer than 16 MiB"),
    ("hotpotqa", answer(gold=None), "gold is null; expected text"),
    ("hotpotqa", answer(prediction=7), "prediction is a number; expected text"),
    ("rms", '{"id": 2, "prediction": "a|b"}', "gold is null; expected a table as text, or a list of rows"),
    ("rms", '{"id": 2, "gold": ["a", "b"], "prediction": "a|b"}', "gold is a list; expected a table as text"),
    ("rms", '{"id": 2, "gold": "a|b", "prediction": [["a", true]]}', "a cell of prediction contains true"),
    ("rms", '{"id": 2, "gold": [["a", [["b"]]]], "prediction": ""}', "a cell of gold contains a list"),
    (
        "grammar",
        FIRST["grammar"].replace("Correct", "correct").replace("1", "2", 1),
        "judgement is 'correct'",
    ),
    (
        "grammar",
        FIRST["grammar"].replace('["d"]', '"d"').replace("1", "2", 1),
        "retrieved_document_ids is text",
    ),
    ("grammar", FIRST["grammar"].replace('["d"]', "[1.5]").replace("1", "2", 1), "expected text or a whole"),
    ("grammar", FIRST["grammar"].replace('"g"', "{}").replace("1", "2", 1), "group is an object"),
    ("toolbench", FIRST["toolbench"].replace("true,", '"yes",').replace("1", "2", 1), "well_formed is text"),
    (
        "toolbench",
        FIRST["toolbench"].replace("{}", '"{x"', 1).replace("1", "2", 1),
        "arguments is neither an object",
    ),
    ("ddxplus", '{"id": 2, "gold": 49, "prediction": "3."}', "gold is 49; expected a label from 0 to 48"),
    ("ddxplus", '{"id": 2, "gold": "3", "prediction": "3."}', "gold is '3'"),
    ("multiturn", '{"id": 2, "scores": []}', "scores has 0 entries"),
    ("multiturn", '{"id": 2, "scores": null}', "scores is null"),
    ("multiturn", '{"id": 2, "scores": [1, 1, 1, 1, 1, 1]}', "scores has 6 entries; expected 1 to 5"),
    ("multiturn", '{"id": 2, "scores": [1, null]}', "scores contains None"),
    ("multiturn", '{"id": 2, "scores": [6]}', "expected numbers from 0 to 5"),
    ("correlation", '{"id": 2, "human": [], "judge": 1}', "human is an empty list"),
    ("correlation", '{"id": 2, "human": [1, null], "judge": 1}', "human contains null"),
    ("correlation", '{"id": 2, "human": 1, "judge": "4"}', "judge is text; expected a number"),
    ("agreement", '{"id": 2, "ratings": "1, 2"}', "ratings is text; expected a list"),
    ("agreement", '{"id": 2, "ratings": []}', "ratings is an empty list"),
    ("agreement", '{"id": 2, "ratings": [1, {}]}', "ratings contains an object"),
]


@pytest.fixture
def call(monkeypatch, capsys):
    """Return a function: words -> exit code, stdout and stderr of `benchloom score`."""

    def run(*words):
        monkeypatch.setattr(sys, "argv", ["benchloom", "score", *map(str, words)])
        with pytest.raises(SystemExit) as done:
            main()
        out, err = capsys.readouterr()
        return done.value.code, out, err

    return run


@pytest.mark.parametrize(("metric", "line", "why"), BAD_LINES, ids=range(len(BAD_LINES)))
def test_a_bad_line_is_named_and_the_rest_is_scored(call, tmp_path, metric, line, why):
    good = FIRST[metric]
    bad = line if isinstance(line, bytes) else line.encode()
    path = tmp_path / "items.jsonl"
    path.write_bytes(b"\n".join([good.encode(), bad, b"", good.replace("1", "9", 1).encode()]))
    code, out, err = call(metric, path, "--json")
    assert code == 1
    assert [err.count("\n"), err.startswith(f"benchloom: {path}, line 2: ")] == [1, True]
    assert why in err
    assert len(err) < 400
    report = json.loads(out)
    assert (report["n"], report["n_scored"], report["n_unreadable"]) == (2, 2, 1)


GOOD = "\n".join(answer(id=n) for n in range(2000)).encode()


def cut(data):
    return data[: len(data) // 2]


BAD_FILES = [
    ("a gzip that ends early", cut(gzip.compress(GOOD)), 1, "the gzip stream is truncated and ends here"),
    ("a gzip with bad bytes", gzip.compress(GOOD)[:-8] + b"\0" * 8, 1, "cannot be read from this line on"),
    ("a gzip header alone", gzip.compress(GOOD)[:5], 2, "has no readable line"),
    ("a gzip of nonsense", b"\x1f\x8b" + b"nonsense" * 9, 2, "has no readable line"),
    ("an empty file", b"", 2, "has no readable line (it is empty)"),
    ("an empty gzip", gzip.compress(b""), 2, "has no readable line (it is empty)"),
    ("blank lines", b"\n \n\t\n\r\n", 2, "has no readable line (it is empty)"),
    ("binary", bytes(range(256)) * 20, 2, "is binary"),
    ("a gzip of binary", gzip.compress(bytes(range(256)) * 20), 2, "is binary"),
    ("UTF-16", answer().encode("utf-16"), 2, "is UTF-16 (save it as UTF-8)"),
    (
        "a pretty-printed list",
        json.dumps([{"id": 1}], indent=1).encode(),
        2,
        "no readable line (unreadable lines: 5)",
    ),
]


@pytest.mark.parametrize(
    ("data", "code", "why"), [row[1:] for row in BAD_FILES], ids=[row[0] for row in BAD_FILES]
)
def test_a_bad_file_has_one_clear_line(call, tmp_path, data, code, why):
    path = tmp_path / "items.jsonl"
    path.write_bytes(data)
    found, out, err = call("hotpotqa", path, "--json")
    assert found == code
    assert [line for line in err.splitlines() if why in line]
    assert all(line.startswith(f"benchloom: {path}") for line in err.splitlines())
    if code == 2:
        assert out == ""
    else:
        assert 100 < json.loads(out)["n_scored"] <= 2000


def test_a_folder_and_a_missing_file(call, tmp_path):
    code, out, err = call("hotpotqa", tmp_path)
    assert (code, out) == (2, "")
    hint = "give a .jsonl, .csv, .tsv or .parquet file, or - for JSON Lines on stdin"
    assert err == f"benchloom: {tmp_path}: is a folder ({hint})\n"
    code, _, err = call("hotpotqa", tmp_path / "nothing.jsonl")
    assert code == 2
    assert "no such file" in err


@pytest.mark.parametrize(
    "data",
    [
        b"\xef\xbb\xbf" + GOOD,  # a byte order mark
        GOOD.replace(b"\n", b"\r\n"),
        GOOD.replace(b"\n", b"\n\n \n"),
        GOOD + b"\n",
        gzip.compress(GOOD),
        gzip.compress(cut(GOOD)) + gzip.compress(GOOD[len(GOOD) // 2 :]),  # two members
        gzip.compress(b"\xef\xbb\xbf" + GOOD),
    ],
)
def test_what_is_harmless_is_read(call, tmp_path, data):
    path = tmp_path / "items.jsonl"
    path.write_bytes(data)
    code, out, err = call("hotpotqa", path, "--json")
    assert (code, err, json.loads(out)["n"]) == (0, "", 2000)


def test_many_bad_lines_are_all_named_but_not_one_by_one(call, tmp_path):
    path = tmp_path / "items.jsonl"
    path.write_bytes(b"x\n" * 500 + answer().encode() + b"\nx\n")
    code, _, err = call("hotpotqa", path, "--json")
    assert code == 1
    assert err.count("\n") == 51
    assert err.endswith("these lines are unreadable, too: 51-500, 502\n")
