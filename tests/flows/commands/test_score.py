"""Tests of `benchloom score` for a new user."""

import gzip
import json
import subprocess
import sys

import pytest

ROWS = [
    {"id": "a", "gold": "yes", "prediction": "yes sir"},
    {"id": "b", "gold": "Rome", "prediction": "rome"},
    {"id": 3, "gold": "x", "prediction": None},
]
TEXT = "\n".join(json.dumps(row) for row in ROWS)
GROUPS = [
    {"id": n, "group": group, "judgement": word, "retrieved_document_ids": [], "true_document_ids": []}
    for n, (group, word) in enumerate([("g", "Correct"), ("g", "Incorrect"), ("h", "Incorrect")])
]


def call(*words, stdin=None):
    return subprocess.run(
        [sys.executable, "-m", "flows.cli", "score", *map(str, words)],
        input=stdin, capture_output=True, text=True, check=False,
    )  # fmt: skip


@pytest.fixture
def items(tmp_path):
    path = tmp_path / "items.jsonl"
    path.write_text(TEXT, encoding="utf-8")
    return path


def test_json_is_one_object_and_a_failed_item_is_exit_1(items):
    done = call("hotpotqa", items, "--json")
    assert done.returncode == 1
    assert json.loads(done.stdout) == {
        "metric": "hotpotqa", "rule": "official", "n": 3, "n_scored": 2, "n_failed": 1, "n_skipped": 0,
        "n_unreadable": 0, "em": 0.5, "f1": 0.5,
    }  # fmt: skip
    assert done.stderr == ""


def test_all_rules_nest_and_intervals_stand_with_their_figures(items):
    done = call("hotpotqa", items, "--json", "--rule", "all", "--ci", "--draws", 200, "--seed", 3)
    report = json.loads(done.stdout)
    assert report["rule"] == "all"
    # streambench has no yes/no rule: "yes sir" against "yes" is 2 * 1/2 * 1 / (3/2)
    assert report["streambench"]["f1"] == pytest.approx((2 / 3 + 1) / 2)
    assert report["official"]["ci"] == {"em": None, "f1": None}, "three items tell nothing of chance"
    again = call("hotpotqa", items, "--json", "--rule", "all", "--ci", "--draws", 200, "--seed", 3)
    assert again.stdout == done.stdout


def test_an_interval_is_never_without_a_width(tmp_path):
    path, widths = tmp_path / "right.jsonl", []
    for n in (1, 5, 6, 25, 100):
        items = [{"id": number, "gold": "Oslo", "prediction": "Oslo"} for number in range(n)]
        path.write_text("\n".join(map(json.dumps, items)))
        report = json.loads(call("hotpotqa", path, "--json", "--ci").stdout)
        assert report["em"] == 1
        assert (report["ci"]["em"] is None) is (n < 6)
        if n >= 6:
            low, high = report["ci"]["em"]
            assert (low, high) == pytest.approx((n / (n + 1.959964**2), 1)), "Wilson's"
            widths.append(high - low)
    assert widths == sorted(widths, reverse=True)
    assert len(set(widths)) == 3

    pairs = [{"id": number, "human": number % 5 + 1, "judge": number % 5 + 1} for number in range(20)]
    path.write_text("\n".join(map(json.dumps, pairs)))
    found = json.loads(call("correlation", path, "--json", "--ci").stdout)
    assert (found["pearson"], found["ci"]["pearson"]) == (1, None), "no share, and no interval of no width"


def test_items_are_written_line_by_line(items, tmp_path):
    out = tmp_path / "deep" / "out.jsonl"
    call("hotpotqa", items, "--items", out)
    lines = [json.loads(line) for line in out.read_text().splitlines()]
    assert lines[:2] == [{"id": "a", "em": 0, "f1": 0}, {"id": "b", "em": 1, "f1": 1}]
    assert lines[2] == {"id": 3, "em": None, "f1": None}
    call("hotpotqa", items, "--items", out, "--rule", "streambench")
    assert json.loads(out.read_text().splitlines()[0])["f1"] == pytest.approx(2 / 3)
    call("hotpotqa", items, "--items", out, "--rule", "all")
    assert json.loads(out.read_text().splitlines()[0])["official"] == {"em": 0, "f1": 0}


def test_items_go_through_a_link_and_do_not_replace_it(items, tmp_path):
    real, link = tmp_path / "real.jsonl", tmp_path / "link.jsonl"
    link.symlink_to(real)
    call("hotpotqa", items, "--items", link)
    assert link.is_symlink()
    assert len(real.read_text().splitlines()) == 3


def test_stdin_and_gzip(tmp_path):
    assert json.loads(call("hotpotqa", "-", "--json", stdin=TEXT).stdout)["n"] == 3
    path = tmp_path / "items.jsonl.gz"
    path.write_bytes(gzip.compress(TEXT.encode()))
    assert json.loads(call("hotpotqa", path, "--json").stdout)["n"] == 3


def test_the_table_prints_fractions_times_100_and_counts_as_they_are(tmp_path):
    path = tmp_path / "groups.jsonl"
    path.write_text("\n".join(map(json.dumps, GROUPS)))
    done = call("grammar", path, "--ci")
    assert done.returncode == 0
    rows = {
        line.split("│")[1].strip(): line.split("│")[2].strip()
        for line in done.stdout.splitlines()
        if "│" in line
    }
    assert rows["accuracy"] == "33.33"
    assert rows["robustness"] == "50.00"
    assert rows["gap_groups"] == "1"
    assert rows["context.gold.accuracy"] == "100.00"
    path.write_text('{"id": 1, "scores": [1, 5]}')
    assert "3.0000" in call("multiturn", path, "--turns", 3).stdout


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (("rouge", "x.jsonl"), "metric 'rouge': is not known (known: agreement, "),
        (
            ("rms", "x.jsonl", "--rule", "best"),
            "score rms: has no rule best (known: released, paper, all)",
        ),
        (
            ("ddxplus", "x.jsonl", "--rule", "best"),
            "score ddxplus: has no rule best (the metric has only one rule)",
        ),
        (("rms", "x.jsonl", "--closed"), "score rms: has no option --closed (it takes none)"),
        (
            ("grammar", "x.jsonl", "--turns", "3"),
            "score grammar: has no option --turns (it accepts --closed)",
        ),
        (("multiturn", "x.jsonl", "--turns", "0"), "--turns: is 0 (expected at least 1)"),
        (("agreement", "x.jsonl", "--level", "ratio"), "--level ratio: is not a level of measurement"),
        (("rms", "x.jsonl", "--ci", "--draws", "0"), "Invalid value for '--draws'"),
        (("rms",), "Missing argument 'file'"),
    ],
)
def test_a_wrong_word_is_one_clear_line_and_exit_2(words, line):
    done = call(*words)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"benchloom: {line}")
    assert done.stderr.count("\n") == 1


def test_items_that_cannot_be_written_are_bad_input(items, tmp_path):
    done = call("hotpotqa", items, "--items", items / "out.jsonl")
    assert done.returncode == 2
    assert "cannot be written" in done.stderr


def test_it_loads_neither_prefect_nor_dvc_nor_models(items):
    code = (
        "import sys\n"
        f"sys.argv = ['benchloom', 'score', 'hotpotqa', {str(items)!r}, '--ci', '--draws', '10']\n"
        "from flows.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "heavy = {'prefect', 'dvc', 'pandas', 'pyarrow', 'openai', 'great_expectations'}\n"
        "heavy |= {'httpx', 'tasks.models.sending.client', 'tasks.artifacts', 'flows.run.record.recorder'}\n"
        "heavy &= set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
