"""Tests of `benchloom import` for StreamBench's seven datasets, with small files in published layouts."""

import json
import re
import shutil
import tarfile
import zipfile
from collections import Counter
from pathlib import Path

import pytest
from typer.testing import CliRunner

from flows.commands.import_ import app
from tasks.errors import BadInput
from tasks.sources.stream_dataset import digest_file
from tests.shared_data import SHARED, needs
from tests.sources import published

"""Published data on this machine, if present; it is not part of the project."""


@pytest.fixture
def root(tmp_path, monkeypatch):
    root = tmp_path / "project"
    root.mkdir()
    (root / "params.yaml").write_text("databases: {}\n")
    (root / "dvc.yaml").write_text("stages: {}\n")
    monkeypatch.chdir(root)
    return root


def call(*words: object, code: int = 0):
    done = CliRunner().invoke(app, [*map(str, words)], catch_exceptions=True)
    if isinstance(done.exception, BadInput):
        raise done.exception
    assert done.exit_code == code, (done.output, done.exception)
    return done


def read(root: Path, name: str):
    folder = root / "data/raw/streambench" / name
    about = json.loads((folder / "dataset.json").read_text())
    lines = {
        file: [json.loads(line) for line in (folder / f"{file}.jsonl").read_text().splitlines()]
        for file in ("items", "shots", "skipped")
    }
    for file, digest in about["sha256"].items():
        if not file.startswith("published/"):
            assert digest_file(folder / file) == digest
    assert (about["items"], about["shots"]) == (len(lines["items"]), len(lines["shots"]))
    return about, lines["items"], lines["shots"], Counter(line["reason"] for line in lines["skipped"])


def test_spider_s_test_split_becomes_a_dataset_with_its_suite(root, tmp_path):
    release = published.make_spider(tmp_path / "spider")
    done = call("spider", release, "--streambench", "spider")
    assert "25 items of 28 records, 64 shots, 2 files: data/raw/streambench/spider" in done.stdout
    assert "skipped: no_database: 1" in done.stdout
    about, items, shots, skipped = read(root, "spider")
    assert (about["kind"], about["licence"]) == ("sql", "CC BY-SA 4.0")
    assert about["sha256"]["published/test.json"] == digest_file(release / "test.json")
    assert skipped == {"incomplete": 2, "no_database": 1}
    assert items[3] == {
        "key": "test-3",
        "text": "How large is City 3?",
        "memory_key": "How large is City 3?",
        "context": "CREATE TABLE city (\n  id INTEGER PRIMARY KEY,\n  name TEXT, size INTEGER);",
        "gold": "SELECT size FROM city WHERE id = 3",
        "details": {"db_id": "cities"},
        "file": "files/cities/cities.sqlite",
    }
    files = root / "data/raw/streambench/spider/files/cities"
    assert sorted(file.name for file in files.iterdir()) == ["cities.sqlite", "other.sqlite"]
    assert shots[0]["answer"].startswith("SELECT ")
    # The project's own entries do not change.
    assert (root / "params.yaml").read_text() == "databases: {}\n"
    with pytest.raises(BadInput, match="cannot be combined with"):
        call("spider", release, "--streambench", "spider", "--all")


def test_cosql_s_dialogues_are_flattened_into_turns(root, tmp_path):
    call("cosql", published.make_cosql(tmp_path / "cosql"))
    _, items, shots, skipped = read(root, "cosql")
    assert [item["key"] for item in items[:3]] == ["cosql_dev-0-0", "cosql_dev-0-1", "cosql_dev-1-0"]
    assert items[0]["gold"] == "SELECT size FROM city WHERE id <= 0 AND name != '> ='"
    assert items[1]["text"] == "How large is City 1?"
    assert (len(items), len(shots), skipped) == (22, 1, {"incomplete": 1})


def test_bird_without_databases_is_imported_only_if_it_is_asked_for(root, tmp_path):
    release = published.make_bird(tmp_path / "bird")
    call("bird", release)
    _, items, _, skipped = read(root, "bird")
    assert (len(items), skipped) == (22, {"no_database": 1})
    assert items[0]["key"] == "dev-100"
    call("bird", release, "--keep", "--name", "bird-all")
    _, items, _, skipped = read(root, "bird-all")
    towns = items[-1]
    assert (towns["file"], skipped) == ("", {})
    assert towns["context"] == 'CREATE TABLE "town" (\n  "id" number,\n  "name" text\n);'
    shutil.rmtree(release / "dev_databases")
    with pytest.raises(
        BadInput, match=r"none of the 23 records can be imported .*no_database: 23.*--databases DIR"
    ):
        call("bird", release, "--name", "none")
    assert not (root / "data/raw/streambench/none").exists()


def test_ds1000_s_problems_with_what_cannot_be_read_named(root, tmp_path):
    own = tmp_path / "shots.jsonl"
    own.write_text('{"text": "Halve 2.", "answer": "result = x / 2"}\n{"text": "no answer"}\n')
    done = call("ds1000", published.make_ds1000(tmp_path / "ds") / "ds1000.jsonl.gz", "--shots", own, code=1)
    assert "a record is broken: line 24" in done.stderr
    _, items, shots, skipped = read(root, "ds1000")
    assert len(items) == 22
    assert items[5]["details"]["library"] == "Numpy"
    assert "test_execution" in items[5]["details"]["code_context"]
    assert shots == [
        {"key": "shots-0", "text": "Halve 2.", "memory_key": "Halve 2.", "answer": "result = x / 2"}
    ]
    assert skipped == {"incomplete": 2, "broken": 1}


def test_toolbench_s_calls_and_all_descriptions(root, tmp_path):
    call("toolbench", published.make_toolbench(tmp_path / "ste"))
    about, items, _, skipped = read(root, "toolbench")
    assert (len(items), about["stratum"]) == (22, "api")
    assert skipped == {"no_description": 1, "bad_arguments": 1, "incomplete": 1}
    assert items[2]["key"] == "add_date#2"
    assert items[2]["details"] == {"api": "add_date", "arguments": {"days": 2}}
    words = json.loads((root / "data/raw/streambench/toolbench/files/descriptions.json").read_text())
    assert words["listed"] == ["search", "add_date"]
    assert len(words["apis"]) == 20
    assert words["apis"]["add_date"] == "Add days.\n- days (integer, required)"
    assert words["apis"]["search"] == (
        "Finds things.\nTool: Finder\n- entity (string, required): A name; such as x"
    )


def test_ddxplus_draws_as_many_patients_of_each_diagnosis(root, tmp_path):
    release = published.make_ddxplus(tmp_path / "ddxplus")
    call("ddxplus", release)
    about, items, shots, skipped = read(root, "ddxplus")
    assert (len(items), len(shots), about["stratum"]) == (98, 49, "pathology")
    assert about["draw"] == {"seed": 42, "take": 98}
    # One item of each kind in the test split, and in the validation split for few-shot examples.
    assert skipped == {"unknown_condition": 2, "unknown_evidence": 2, "incomplete": 2}
    assert items[1]["gold"] == "1"
    assert items[1]["text"].splitlines() == [
        "Age: 1", "Sex: female", "Came with: Do you cough? yes", "History:", "- Do you smoke? yes",
        "Symptoms:", "- Where is the pain? head, arm",
    ]  # fmt: skip
    assert {shot["answer"] for shot in shots} == {f"{number}. Illness {number}" for number in range(49)}
    call("ddxplus", release, "--take", "49", "--name", "few")
    _, few, _, _ = read(root, "few")
    assert sorted(int(item["gold"]) for item in few) == list(range(49))
    call("ddxplus", release, "--take", "49", "--name", "again", "--seed", "7")
    about, again, _, _ = read(root, "again")
    assert about["draw"] == {"seed": 7, "take": 49}
    assert {item["key"] for item in again} != {item["key"] for item in few}
    with pytest.raises(BadInput, match="is 99, but the source has 98 items"):
        call("ddxplus", release, "--take", "99")
    assert len(read(root, "ddxplus")[1]) == 98


@needs("ddxplus")
def test_ddxplus_says_the_published_evidences_and_labels_the_published_conditions(root, tmp_path):
    given = SHARED / "ddxplus"
    call("ddxplus", published.make_ddxplus(tmp_path / "ddxplus", 1, given))
    _, items, shots, _ = read(root, "ddxplus")
    conditions = json.loads((given / "release_conditions.json").read_text(encoding="utf-8"))
    evidences = json.loads((given / "release_evidences.json").read_text(encoding="utf-8"))
    folder = root / "data/raw/streambench/ddxplus"
    assert json.loads((folder / "files/diagnoses.json").read_text(encoding="utf-8")) == list(conditions)
    assert [(item["gold"], item["details"]["pathology"]) for item in items] == [
        (str(label), name) for label, name in enumerate(conditions)
    ]
    assert {shot["answer"] for shot in shots} == {f"{label}. {name}" for label, name in enumerate(conditions)}
    said = set()
    for item in items:
        condition = conditions[item["details"]["pathology"]]
        for code in (*condition["symptoms"], *condition["antecedents"]):
            own = evidences[code]
            meanings = [
                own["value_meaning"].get(str(v), {"en": str(v)})["en"] for v in own["possible-values"]
            ]
            assert f"{own['question_en']} {', '.join(meanings[-2:]) or 'yes'}" in item["text"], code
            said.add(code)
        assert not re.search(r"\b[EV]_\d", item["text"]), "a code is no word"
    assert len(said) > 200


def test_hotpotqa_in_both_layouts(root, tmp_path):
    call("hotpotqa", published.make_hotpotqa(tmp_path / "hotpot"))
    about, items, shots, skipped = read(root, "hotpotqa")
    assert (len(items), skipped) == (23, {"incomplete": 1})
    assert about["draw"] == {"seed": 42, "take": None}, "all items, and shots by the seed"
    assert items[0]["key"] == "h0"
    assert items[0]["context"] == "Ann 0\nAnn lives in Town 0. She sings.\n\nBo\nBo ran."
    assert (items[22]["key"], items[22]["context"]) == ("hotpot_dev_distractor_v1-22", "Cy\nCy is 7.")
    assert shots[0]["text"].endswith(shots[0]["memory_key"])


def test_an_archive_is_read_as_its_folder_and_a_hostile_one_is_refused(root, tmp_path):
    release = published.make_toolbench(tmp_path / "ste")
    with tarfile.open(tmp_path / "ste.tar.gz", "w:gz") as archive:
        archive.add(release, "STE/tool_metadata")
    call("toolbench", tmp_path / "ste.tar.gz")
    assert len(read(root, "toolbench")[1]) == 22
    with zipfile.ZipFile(tmp_path / "bad.zip", "w") as bad:
        bad.writestr("../tool_test.json", "{}")
    with pytest.raises(BadInput, match="points outside"):
        call("toolbench", tmp_path / "bad.zip")


@pytest.mark.parametrize(
    ("words", "file", "content", "said"),
    [
        ("toolbench", "tool_test.json", "[]", "is not a JSON object"),
        ("toolbench", "tool_test.json", "{" * 10_000, "is not valid JSON"),
        ("hotpotqa", "hotpot_dev_distractor_v1.json", "plainly not", "is not valid JSON"),
        (
            "hotpotqa",
            "hotpot_dev_distractor_v1.json",
            "[1, [], null]",
            "none of the 3 records can be imported",
        ),
        ("cosql", "dev.json", "", "is empty"),
        ("bird", "dev.json", '[{"db_id": "../x", "question": "q", "SQL": "SELECT 1"}]', "bad_name"),
        ("ddxplus", "release_conditions.json", "{}", "release_evidences.json: does not exist"),
        ("ds1000", "nothing.txt", "", "contains no ds1000.jsonl.gz"),
    ],
)
def test_broken_files_are_one_clear_line(words, file, content, said, root, tmp_path):
    (tmp_path / "given").mkdir()
    (tmp_path / "given/API_descriptions.json").write_text("{}")
    (tmp_path / "given" / file).write_text(content)
    with pytest.raises(BadInput) as caught:
        call(words, tmp_path / "given")
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)
    assert not list((root / "data/raw").glob("streambench/*"))


def test_an_import_replaces_the_one_before_and_a_bad_name_is_refused(root, tmp_path):
    release = published.make_hotpotqa(tmp_path / "hotpot")
    call("hotpotqa", release)
    call("hotpotqa", release, "--take", 5)
    assert len(read(root, "hotpotqa")[1]) == 5
    with pytest.raises(BadInput, match="is not a valid name"):
        call("hotpotqa", release, "--name", "../x")
    assert [place.name for place in (root / "data/raw/streambench").iterdir()] == ["hotpotqa"]


@needs("toolbench_ste")
def test_the_published_ones_have_the_sizes_that_the_paper_says(root):
    call("toolbench", SHARED / "toolbench_ste")
    assert len(read(root, "toolbench")[1]) == 750
    call("bird", SHARED / "bird", "--keep")
    bird = read(root, "bird")[1]
    assert len(bird) == 1534
    assert all(item["context"] for item in bird)
    call("hotpotqa", SHARED / "hotpotqa/hotpot_dev_distractor_100.json")
    assert len(read(root, "hotpotqa")[1]) == 100
    call("cosql", SHARED / "cosql", "--databases", SHARED / "spider/database")
    _, cosql, _, skipped = read(root, "cosql")
    assert len(cosql) + skipped["no_database"] == 1007
