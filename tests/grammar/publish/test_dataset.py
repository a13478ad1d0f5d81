import hashlib
import json
import re
import subprocess
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tasks.grammar.publish.dataset import Dataset, dataset, describe_choices, describe_idle
from tests.grammar.sample import write_sample

LOAD = """
import json, sys
from datasets import load_dataset
folder, name = sys.argv[1:]
rows = load_dataset(folder, name, split="test")
print(json.dumps([len(rows), rows.column_names, rows[0]["question"]]))
"""


@pytest.fixture
def made(tmp_path):
    sample = write_sample(tmp_path, hostile=True)
    out = sample.folder / "dataset"
    settings = {"grammar": {"seed": 7}}
    counts = dataset(**sample.inputs(), database=sample.entry, settings=settings, params=Dataset(), out=out)
    return sample, out, counts


def test_the_folder_holds_every_set_and_the_card(made):
    sample, out, counts = made

    rows = [
        json.loads(line) for line in (out / "balanced.jsonl").read_text(encoding="utf-8").split("\n") if line
    ]
    assert [row["id"] for row in rows] == sorted(question.id for question in sample.questions)
    assert {row["question"] for row in rows} == {question.question for question in sample.questions}
    files = {
        "README.md",
        *(
            f"{name}.jsonl"
            for name in ("balanced", "unbalanced", "groups", "text_templates", "sql_templates")
        ),
    }
    assert {path.name for path in out.iterdir()} == files
    assert counts.rows_out == 14 + 16 + 8 + 4 + 2


def test_the_card_says_yields_and_drops(made):
    card = (made[1] / "README.md").read_text(encoding="utf-8")

    assert "| `short` | 3 | 2 | 67% | 8 |" in card
    assert "| back_check | `misread` | 1 |" in card
    assert re.search(r"14 question/answer pairs about .*\d distinct texts for 2 SQL templates", card)
    assert "seed: 7" in card


def test_the_card_says_whether_the_texts_were_read_a_second_time(made, tmp_path):
    sample, out, _ = made
    card = (out / "README.md").read_text(encoding="utf-8")
    assert "No person or model read the texts a second time." in card
    assert "Second reading" not in card
    for by, reader in (("model", "a model"), ("file", "a person")):
        settings = {"grammar.second_reading.by": by, "grammar.second_reading.groups": 2}
        dataset(
            **sample.inputs(), database=sample.entry, settings=settings, params=Dataset(), out=tmp_path / by
        )
        card = (tmp_path / by / "README.md").read_text(encoding="utf-8")
        assert f"Second reading: {reader} sees only a text and the schema" in card
        assert "in any of 2 groups" in card
        assert "| `short` | 3 | 2 | 67% | 2 | 8 |" in card
        assert "read the texts a second time" not in card


def test_the_same_rows_give_the_same_bytes(made, tmp_path):
    sample, out, _ = made
    again = tmp_path / "again"
    settings = {"grammar": {"seed": 7}}
    dataset(**sample.inputs(), database=sample.entry, settings=settings, params=Dataset(), out=again)

    digests = [
        {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()}
        for folder in (out, again)
    ]

    assert digests[0] == digests[1]


def test_the_datasets_package_reads_it_offline(made, tmp_path):
    pytest.importorskip("datasets", reason="the `dev` extra is not installed")
    sample, out, _ = made
    environment = {
        "HF_HUB_OFFLINE": "1",
        "HF_HOME": str(tmp_path / "cache"),
        "PATH": "",
        "HOME": str(tmp_path),
    }
    command = [sys.executable, "-c", LOAD, str(out), "balanced"]

    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
    count, columns, question = json.loads(done.stdout.strip().splitlines()[-1])
    assert count == len(sample.questions)
    assert {"id", "group", "criterion", "question", "answer", "sql", "origin"} <= set(columns)
    assert question in {question.question for question in sample.questions}


def test_the_card_does_not_say_where_the_database_lies(tmp_path):
    sample = write_sample(tmp_path)
    out = tmp_path / "out"
    settings = {"databases.films.file": "/elsewhere/films.sqlite", "grammar.balanced.texts": 2}

    dataset(**sample.inputs(), database=sample.entry, settings=settings, params=Dataset(), out=out)

    card = (out / "README.md").read_text(encoding="utf-8")
    assert "/elsewhere" not in card
    assert "grammar.balanced.texts: 2" in card


def test_the_card_says_how_large_the_choice_was_and_what_asked_nothing(tmp_path):
    templates, groups = tmp_path / "sql_templates.parquet", tmp_path / "fill_in.parquet"
    rows = [
        {"id": "a", "placeholders": ["x.y"], "choices": 3},
        {"id": "b", "placeholders": ["x.y", "x.z"], "choices": 9},
        {"id": "c", "placeholders": ["x.y", "x.z"], "choices": 0},
    ]
    pq.write_table(pa.Table.from_pylist(rows), templates)
    held = describe_choices(templates, free=False)
    assert "picked each of 2 queries from 3 to 9 options (median 6)" in held
    assert "wrote queries and texts freely" in describe_choices(templates, free=True)
    assert "No combination of values was left out" in describe_idle(groups, templates, sought=True)
    assert "may contain a value that does not change the answer" in describe_idle(
        groups, templates, sought=False
    )
    origin = [{"reference": "sql_templates#b"}]
    dropped = [
        {"reason": "idle_value", "detail": "30 of 40 combinations: SELECT", "origin": origin},
        {"reason": "tied", "detail": "9 of 40 combinations: SELECT", "origin": origin},
    ]
    pq.write_table(pa.Table.from_pylist(dropped), tmp_path / "fill_in.dropped.parquet")
    assert "30 of 40 combinations of several values (75%) were left out" in describe_idle(
        groups, templates, sought=True
    )
