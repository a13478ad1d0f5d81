"""Tests of `benchloom new`: create a project with a preview of 20 questions from a SQLite shop."""

import json
import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
import yaml

from tests.benchloom.scenes import call
from tests.models.scenes import answering, say
from tests.newcomer.endpoint import ScriptedEndpoint
from tests.newcomer.strong_endpoint import StrongEndpoint

MOST_CALLS, TRIAL_CALLS = 60, 6
QUESTION = re.compile(r"^ {0,2}\d+\. \S.*$", re.MULTILINE)


class Grammatical(ScriptedEndpoint):
    """Chooses a text that the grammar allows; requests without a grammar get a sentence."""

    def _reply(self, body):
        return super()._reply(body) if "grammar" in body else "It is red."


def make_shop(path: Path) -> Path:
    """Create a shop database with three tables and unique names."""
    with closing(sqlite3.connect(path)) as shop, shop:
        shop.execute("CREATE TABLE customers (customer_id INTEGER PRIMARY KEY, name TEXT, town TEXT)")
        shop.execute(
            "CREATE TABLE products (product_id INTEGER PRIMARY KEY, name TEXT, category TEXT, weight REAL)"
        )
        shop.execute(
            "CREATE TABLE orders (order_id INTEGER PRIMARY KEY, quantity INTEGER, "
            "customer_id INTEGER REFERENCES customers, product_id INTEGER REFERENCES products)"
        )
        towns, kinds = ("Larkholm", "Brunsby", "Vexford"), ("lamp", "chair", "table", "shelf")
        shop.executemany(
            "INSERT INTO customers VALUES (?, ?, ?)", [(n, f"Ada Zwick{n}", towns[n % 3]) for n in range(30)]
        )
        shop.executemany(
            "INSERT INTO products VALUES (?, ?, ?, ?)",
            [(n, f"{kinds[n % 4]} Model{n}", kinds[n % 4], n + 0.5) for n in range(24)],
        )
        shop.executemany(
            "INSERT INTO orders VALUES (?, ?, ?, ?)", [(n, n % 7 + 1, n % 30, n * 5 % 24) for n in range(90)]
        )
    return path


@pytest.mark.drill
@pytest.mark.parametrize(
    ("make_endpoint", "constrain", "dialect"),
    [(Grammatical, "grammar", "plain"), (StrongEndpoint, "tools", "any")],
)
def test_a_database_and_a_model_become_a_project_with_twenty_questions(
    make_endpoint, constrain, dialect, tmp_path, monkeypatch
):
    monkeypatch.setenv("BENCHLOOM_LEDGER", str(tmp_path / "ledger.sqlite"))
    make_shop(tmp_path / "shop.sqlite")
    endpoint = make_endpoint()
    with answering(endpoint.answer) as url:
        done = call(
            tmp_path, "new", "mine", "--database", "shop.sqlite", "--model", "small", "--endpoint", url
        )
    assert done.returncode == 0, done.stderr
    assert sum(endpoint.asked.values()) + TRIAL_CALLS <= MOST_CALLS
    assert "shop: 3 tables, 11 columns" in done.stdout
    assert re.search(r"^A complete run: .* calls, .* tokens, \$", done.stdout, re.MULTILINE)
    assert len(QUESTION.findall(done.stdout)) == 20
    page = re.search(r"^page: (.+)$", done.stdout, re.MULTILINE)
    assert page
    assert (tmp_path / page[1]).is_file()
    assert done.stdout.splitlines()[-1] == "next: cd mine && benchloom run grammar-dataset@shop"
    params = yaml.safe_load((tmp_path / "mine/params.yaml").read_text())
    assert params["databases"] == {"shop": {"file": "data/shop.sqlite"}}
    assert params["roles"]["judge"]["model"] == "small"
    assert params["roles"]["generator"]["constrain"] == constrain
    assert params["grammar"]["sql_templates"]["dialect"] == dialect


class Numbers:
    """Answers two of three questions with the correct number. asked: number of questions received."""

    def __init__(self) -> None:
        self.asked = 0

    async def answer(self, request):
        self.asked += 1
        found = re.search(r"number (\d+)", (await request.json())["messages"][-1]["content"])
        return say(found[1] if found and int(found[1]) % 3 else "I cannot tell.")


@pytest.mark.drill
def test_a_table_of_questions_is_two_commands_from_a_night(tmp_path, monkeypatch):
    monkeypatch.setenv("BENCHLOOM_LEDGER", str(tmp_path / "ledger.sqlite"))
    rows = "".join(f"What is number {n}?,{n}\n" for n in range(60))
    (tmp_path / "faq.csv").write_text("question,answer\n" + rows)
    model = Numbers()
    with answering(model.answer) as url:
        done = call(tmp_path, "new", "mine", "--questions", "faq.csv", "--model", "small", "--endpoint", url)
        assert done.returncode == 0, done.stderr
        assert model.asked <= 20 + TRIAL_CALLS
        assert done.stdout.startswith("faq: 60 questions\nOne nightly run: 60 calls, ")
        assert len(QUESTION.findall(done.stdout)) == 20
        assert re.search(r"^exact match: \d+% of 20 answers$", done.stdout, re.MULTILINE)
        assert done.stdout.splitlines()[-1] == "next: cd mine && benchloom nightly once"
        night = call(tmp_path / "mine", "nightly", "once", "--plain", "--json")
        assert night.returncode == 0, night.stderr
    (em, _) = json.loads(night.stdout)["series"]
    assert (em["n"], em["mean"]) == (60, pytest.approx(2 / 3))


@pytest.mark.drill
def test_a_published_file_is_a_comparison_of_methods(tmp_path, monkeypatch):
    monkeypatch.setenv("BENCHLOOM_LEDGER", str(tmp_path / "ledger.sqlite"))
    rows = [
        {"_id": str(n), "question": f"What is number {n}?", "answer": str(n), "type": "bridge",
         "level": "easy", "context": [["Ostel", ["Ostel is a town."]]], "supporting_facts": [["Ostel", 0]]}
        for n in range(12)
    ]  # fmt: skip
    (tmp_path / "hotpot.json").write_text(json.dumps(rows))
    with answering(Numbers().answer) as url:
        words = [
            ("init", "mine"),
            ("add", "model", "small", "--endpoint", url),
            ("import", "hotpotqa", "../hotpot.json"),
            ("add", "dataset", "hotpotqa", "data/raw/streambench/hotpotqa", "--method", "zero_shot"),
            ("run", "--plain", "streambench-evaluation-page@hotpotqa"),
        ]
        for command in words:
            done = call(tmp_path if command[0] == "init" else tmp_path / "mine", *command)
            assert done.returncode == 0, done.stderr
    figures = tmp_path / "mine/data/streambench/hotpotqa/hotpotqa/evaluation_figures.json"
    assert "zero_shot" in figures.read_text()
    assert (tmp_path / "mine/data/reports/streambench/hotpotqa/index.html").is_file()


def test_a_project_is_made_of_one_thing(tmp_path):
    assert "expected exactly one of the two" in call(tmp_path, "new", "mine").stderr
    assert call(tmp_path, "new", "mine", "--questions", "gone.csv").returncode == 2
    assert not (tmp_path / "mine").exists()


def test_what_fails_its_try_leaves_no_folder(tmp_path):
    make_shop(tmp_path / "shop.sqlite")
    words = ("--database", "shop.sqlite", "--model", "small", "--endpoint", "http://127.0.0.1:9/v1")
    done = call(tmp_path, "new", "mine", *words)
    assert done.returncode == 2
    assert "the test failed, so nothing was written" in done.stderr
    assert not (tmp_path / "mine").exists()
    assert call(tmp_path, "new", "mine", "--database", "gone.sqlite").returncode == 2
    assert not (tmp_path / "mine").exists()
