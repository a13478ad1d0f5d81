"""`benchloom new`: from a SQLite shop and a scripted model to a project with a preview of 20 questions."""

import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
import yaml

from tests.benchloom.scenes import call
from tests.models.scenes import answering
from tests.newcomer.endpoint import ScriptedEndpoint
from tests.newcomer.strong_endpoint import StrongEndpoint

MOST_CALLS, TRIAL_CALLS = 60, 6
QUESTION = re.compile(r"^ {0,2}\d+\. \S.*$", re.MULTILINE)


class Grammatical(ScriptedEndpoint):
    """Picks among what a grammar allows; what comes without one, it answers in a sentence."""

    def _reply(self, body):
        return super()._reply(body) if "grammar" in body else "It is red."


def make_shop(path: Path) -> Path:
    """Make a shop of three tables, in which a name tells one row."""
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
    assert re.search(r"^A whole run: .* calls, .* tokens, \$", done.stdout, re.MULTILINE)
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


def test_what_fails_its_try_leaves_no_folder(tmp_path):
    make_shop(tmp_path / "shop.sqlite")
    words = ("--database", "shop.sqlite", "--model", "small", "--endpoint", "http://127.0.0.1:9/v1")
    done = call(tmp_path, "new", "mine", *words)
    assert done.returncode == 2
    assert "the try failed, and nothing is written" in done.stderr
    assert not (tmp_path / "mine").exists()
    assert call(tmp_path, "new", "mine", "--database", "gone.sqlite").returncode == 2
    assert not (tmp_path / "mine").exists()
