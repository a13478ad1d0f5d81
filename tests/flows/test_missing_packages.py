"""Tests that a command with a missing package first names the extra to install, on one line."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

BLOCKER = '''
"""Hides packages from every process that is started with this folder on its path."""
import os
import sys

HIDDEN = frozenset(os.environ["HIDDEN_PACKAGES"].split())


class Blind:
    def __init__(self, finder):
        self.finder = finder

    def find_spec(self, name, path=None, target=None):
        return None if name.split(".")[0] in HIDDEN else self.finder.find_spec(name, path, target)

    def __getattr__(self, name):
        return getattr(self.finder, name)


sys.meta_path[:] = [Blind(finder) for finder in sys.meta_path]
'''
POSTGRESQL, MARIADB = (
    "postgresql+psycopg://reader@127.0.0.1:1/shop",
    "mariadb+pymysql://reader@127.0.0.1:1/shop",
)
PLAIN, PLAIN_MYSQL = "postgresql://reader@127.0.0.1:1/shop", "mysql://reader@127.0.0.1:1/shop"
DUMP = ["import", "wikidata", "dump.json", "--engine"]
SCORE = ["score", "execution", "items.jsonl", "--url"]
EVALUATE = ["evaluate", "grammar", "--dataset", "questions.jsonl", "--documents", "corpus", "--system"]
PARAMS = """
databases:
  pg: {url: "postgresql://reader@127.0.0.1:1/shop", file: snapshots/pg.json}
  maria: {url: "mariadb://reader@127.0.0.1:1/shop", file: snapshots/maria.json}
"""
CHANGES = {
    "\nsystems:\n": "\nsystems:\n  shrine: {kind: rag, language: ja}\n",
    "\n  endpoints:\n": "\n  endpoints:\n    hosted: {kind: provider, provider: anthropic, url: 'http://127.0.0.1:9'}\n",
    "\n  answerer: ": "\n  answerer: {model: hosted, temperature: 0.0, max_tokens: 64}\n  unused: ",
}
"""Text of the template's params.yaml -> replacement."""
COMMANDS = {
    "score on PostgreSQL": (["psycopg"], [*SCORE, POSTGRESQL], "postgresql"),
    "score on PostgreSQL, no driver named": (
        ["psycopg"],
        [*SCORE, POSTGRESQL.replace("+psycopg", "")],
        "postgresql",
    ),
    "score on MariaDB": (["pymysql"], [*SCORE, MARIADB], "mariadb"),
    "score on MySQL by its default driver": (["pymysql"], [*SCORE, PLAIN_MYSQL], "mariadb"),
    "soft-f1": (["psycopg"], ["score", "soft-f1", "items.jsonl", "--url", POSTGRESQL], "postgresql"),
    "snapshot of PostgreSQL": (["psycopg"], ["snapshot", "pg"], "postgresql"),
    "snapshot of MariaDB": (["pymysql"], ["snapshot", "maria"], "mariadb"),
    "import wikipedia, wikitext": (["mwparserfromhell"], ["import", "wikipedia", "texts"], "wiki"),
    "import wikipedia, a dump": (["defusedxml"], ["import", "wikipedia", "dump.xml"], "wiki"),
    "import wikidata on Dask": (
        ["prefect_dask"],
        [*DUMP, "dask"],
        "dask",
    ),
    "import wikidata on Ray": (
        ["prefect_ray"],
        [*DUMP, "ray"],
        "ray",
    ),
    "run on Dask": (["prefect_dask"], ["run", "--engine", "dask"], "dask"),
    "run on Ray": (["prefect_ray"], ["run", "--engine", "ray"], "ray"),
    "publish": (["huggingface_hub"], ["publish", "shop", "--to", "x"], "publish"),
    "a model of this machine": (["xllamacpp"], ["model", "serve"], "embedded"),
    "a retriever's words": (["spacy"], [*EVALUATE, "weak"], "retrieval"),
    "a retriever's index": (["bm25s"], [*EVALUATE, "good"], "retrieval"),
    "a retriever in Japanese": (["sudachipy"], [*EVALUATE, "shrine"], "japanese"),
    "a provider's own protocol": (["any_llm"], [*EVALUATE, "weak"], "providers"),
    "MLflow at the end of a run": (
        ["mlflow"],
        ["run", "--set", "run.hooks={mlflow: {experiment: x}}"],
        "mlflow",
    ),
}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Create a project with data for each command."""
    folder = tmp_path_factory.mktemp("made")
    made = call(folder, [], ["init", "shop"])
    assert made.returncode == 0, made.stderr
    root = folder / "shop"
    params = (root / "params.yaml").read_text(encoding="utf-8")
    for known, other in (("\ndatabases: {}\n", PARAMS), *CHANGES.items()):
        assert params.count(known) == 1, known
        params = params.replace(known, other)
    (root / "params.yaml").write_text(params, encoding="utf-8")
    question = {"id": "a", "question": "Who?", "answer": "Ada", "group": "g", "criterion": "short"}
    (root / "questions.jsonl").write_text(json.dumps(question) + "\n", encoding="utf-8")
    (root / "corpus").mkdir()
    (root / "corpus/a.md").write_text("Ada leads.", encoding="utf-8")
    item = {"id": 1, "db_id": "shop", "gold": "SELECT 1", "prediction": "SELECT 1"}
    (root / "items.jsonl").write_text(json.dumps(item) + "\n", encoding="utf-8")
    (root / "texts").mkdir()
    (root / "texts/Dublin.wikitext").write_text("'''Dublin''' is a city.", encoding="utf-8")
    (root / "dump.xml").write_text("<mediawiki/>", encoding="utf-8")
    thing = {"type": "item", "id": "Q1", "labels": {"en": {"language": "en", "value": "One"}}, "claims": {}}
    (root / "dump.json").write_text(f"[\n{json.dumps(thing)}\n]\n", encoding="utf-8")
    with closing(sqlite3.connect(root / "shop.sqlite")) as connection:
        connection.execute("CREATE TABLE items (id INTEGER PRIMARY KEY)")
    return root


def call(folder: Path, hidden: list[str], words: list[str]) -> subprocess.CompletedProcess[str]:
    blocker = folder.parent / "blocker"
    blocker.mkdir(exist_ok=True)
    (blocker / "sitecustomize.py").write_text(BLOCKER, encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(blocker), "HIDDEN_PACKAGES": " ".join(hidden)}
    command = [str(Path(sys.executable).with_name("benchloom")), *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, env=environment)


def list_files(root: Path) -> set[Path]:
    return {
        path
        for path in root.rglob("*")
        if path.is_file() and not {"__pycache__", ".git", ".dvc", ".benchloom"} & {*path.parts}
    }


@pytest.mark.drill  # 20 starts of the whole command line: 60 s on two idle cores
@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_names_the_extra_first(project: Path, name: str) -> None:
    hidden, words, extra = COMMANDS[name]
    before = list_files(project)
    done = call(project, hidden, words)
    assert done.returncode == 2, done.stdout + done.stderr
    assert done.stderr.endswith(f"(run pip install 'benchloom[{extra}]')\n"), done.stderr
    assert done.stderr.count("\n") == 1, done.stderr
    assert done.stdout == ""
    assert list_files(project) == before
