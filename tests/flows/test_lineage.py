import json

import pytest

from flows.commands.lineage import lineage
from tasks.errors import BadInput
from tests.grammar.sample import write_sample

LOCK = """
schema: '2.0'
stages:
  grammar-schema@films:
    cmd: benchloom stage grammar.schema films
    deps:
    - {path: data/films.sqlite, hash: md5, md5: bb, size: 9}
    - {path: tasks/grammar/schema.py, hash: md5, md5: cc, size: 9}
    params:
      params.yaml:
        grammar.schema: {views: false}
    outs:
    - {path: data/grammar/films/schema.parquet, hash: md5, md5: dd, size: 9}
"""


@pytest.fixture
def project(tmp_path, monkeypatch):
    sample = write_sample(tmp_path)
    (tmp_path / "dvc.lock").write_text(LOCK, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return sample


def test_a_row_walks_back_to_the_database(project):
    question = project.questions[0]

    whole = json.loads(lineage("data/grammar/films/balanced.parquet", question.id, as_json=True))

    files = [each for each in whole["nodes"] if each["kind"] == "file"]
    assert whole["target"] == f"balanced#{question.id}"
    assert [(each["reference"], each["summary"]["md5"]) for each in files] == [("data/films.sqlite", "bb")]


def test_an_artifact_walks_back_by_its_stages(project):
    text = lineage("./data/grammar/films/schema.parquet")

    assert text.splitlines()[0].startswith(
        "file data/grammar/films/schema.parquet  stage=grammar-schema@films"
    )
    assert text.splitlines()[1].startswith("└─ file data/films.sqlite")


@pytest.mark.parametrize("row", [None, "0123456789"])
def test_an_unknown_target_says_what_there_is(project, row):
    with pytest.raises(BadInput, match=r"there is data/grammar/films/schema\.parquet"):
        lineage("data/schema.parquet", row)


def test_without_a_lock_nothing_has_run(project, tmp_path):
    (tmp_path / "dvc.lock").unlink()

    with pytest.raises(BadInput, match="benchloom run"):
        lineage("data/grammar/films/schema.parquet")


def test_a_broken_lock_is_one_clear_line(project, tmp_path):
    (tmp_path / "dvc.lock").write_text("stages: {a: [", encoding="utf-8")

    with pytest.raises(BadInput, match=r"dvc\.lock: cannot be read"):
        lineage("data/grammar/films/schema.parquet")
