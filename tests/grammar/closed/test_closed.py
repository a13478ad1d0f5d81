import asyncio
import math
import re
import sqlite3
from itertools import count

import pytest

from tasks.artifacts.rows import Origin
from tasks.databases.columns import Column
from tasks.databases.reflection import reflect
from tasks.errors import BadInput
from tasks.grammar.closed.closed import closed
from tasks.grammar.closed.closed_documents import closed_documents
from tasks.grammar.closed.closed_entry import ClosedVariant
from tasks.grammar.closed.closed_names import closed_names
from tasks.grammar.invent.invented_names import ask_recognised, parse_verdict
from tasks.models.ask import Answer, Unparsed
from tasks.systems.contract import Document
from tests.grammar.gbnf import accepts
from tests.grammar.scripted import ScriptedAsk, make_database

SHOP = """
CREATE TABLE brands (brand VARCHAR(12) PRIMARY KEY NOT NULL, town TEXT, founded INTEGER CHECK (founded > 0));
CREATE TABLE people (person_id INTEGER PRIMARY KEY, full_name TEXT NOT NULL UNIQUE COLLATE NOCASE,
    brand VARCHAR(12) REFERENCES brands (brand), remark TEXT);
CREATE TABLE sales (brand VARCHAR(12) REFERENCES brands (brand), day DATE, PRIMARY KEY (brand, day))
    WITHOUT ROWID;
CREATE TABLE log (what TEXT);
CREATE VIEW seniors AS SELECT full_name FROM people WHERE person_id < 3;
CREATE TRIGGER watch AFTER UPDATE ON people BEGIN INSERT INTO log VALUES ('changed'); END;
INSERT INTO brands VALUES ('Acme', 'Berlin', 1901), ('Zeus', NULL, 1950), ('Old Oak Co', 'Paris', 1970);
INSERT INTO people VALUES (1, 'Jane Berg', 'Acme', 'Berg left Zeus for ACME.'),
    (2, 'Carl Dahl', 'Zeus', NULL), (3, 'Otto Ek', NULL, 'Knows Jane Berg of the old oak co.');
INSERT INTO sales VALUES ('Acme', '2031-01-01'), ('Acme', '2031-01-02'), ('Zeus', '2031-01-01');
"""
COLUMNS = {"brands.brand": "company", "people.full_name": "person"}


@pytest.fixture
def shop(tmp_path):
    return make_database(tmp_path / "shop.sqlite", SHOP)


def make_closed(shop, **fields):
    return ClosedVariant(
        **{"file": shop, "documents": shop.parent / "documents.parquet", "columns": COLUMNS, **fields}
    )


def name_by_grammar(known=()):
    """Return a model that writes names allowed by the grammar; as judge, it knows the names in `known`."""
    numbers = count(1)

    def reply(asked):
        if asked.prompt.name == "closed_check":
            return "yes" if asked.fields["name"] in known else "no"
        letters = re.findall(r'"\s?([A-Z])"', asked.grammar)
        word = "".join(chr(ord("a") + int(digit)) for digit in f"{next(numbers):04}")
        name = " ".join(f"{letter}{word}" for letter in letters)
        name = name if accepts(asked.grammar, name) else f"{name} Trade"
        assert accepts(asked.grammar, name)
        return name

    return reply


def run(shop, reply=None, tmp=None, **fields):
    variant = make_closed(shop, **fields)
    ask = ScriptedAsk(reply or name_by_grammar())
    drafts = asyncio.run(closed_names(variant, {}, ask))
    return variant, drafts, ask


def read(path, query):
    connection = sqlite3.connect(path)
    rows = connection.execute(query).fetchall()
    connection.close()
    return rows


def test_every_name_gets_one_successor_wherever_it_stands(shop):
    _, drafts, _ = run(shop)
    places = {(row.table, row.column) for row in drafts.rows}
    # Foreign keys that refer to a brand change with it.
    assert places == {("brands", "brand"), ("people", "brand"), ("sales", "brand"), ("people", "full_name")}
    successors = {(row.old, row.new) for row in drafts.rows}
    assert len(successors) == len({old for old, _ in successors}) == len({new for _, new in successors}) == 6
    assert not {old for old, _ in successors} & {new for _, new in successors}


def test_the_variant_keeps_rows_types_keys_and_rules(shop, tmp_path):
    variant, drafts, _ = run(shop, texts=("people.remark",))
    out = tmp_path / "closed" / "database.sqlite"
    closed(list(drafts.rows), variant, out)
    new = {row.old: row.new for row in drafts.rows}
    assert reflect(out) == reflect(shop)
    schema = "SELECT type, name, sql FROM sqlite_master ORDER BY type, name"
    assert read(out, schema) == read(shop, schema)
    assert read(out, "PRAGMA foreign_key_check") == []
    assert read(out, "SELECT * FROM sales ORDER BY brand, day") == sorted(
        (new[brand], day) for brand, day in read(shop, "SELECT * FROM sales")
    )
    assert read(out, "SELECT person_id, full_name, brand FROM people ORDER BY 1") == [
        (number, new[name], new.get(brand))
        for number, name, brand in read(shop, "SELECT person_id, full_name, brand FROM people ORDER BY 1")
    ]
    # The trigger exists again, and has not fired.
    assert read(out, "SELECT count(*) FROM log") == [(0,)]
    remarks = [remark for (remark,) in read(out, "SELECT remark FROM people ORDER BY person_id")]
    # The first remark contains no full name, so `Berg` is ambiguous there.
    assert remarks == [
        f"Berg left {new['Zeus']} for {new['Acme'].upper()}.", None,
        f"Knows {new['Jane Berg']} of the {new['Old Oak Co'].lower()}.",
    ]  # fmt: skip


def test_the_same_names_give_the_same_bytes_and_the_source_stays(shop, tmp_path):
    before = shop.read_bytes()
    variant, drafts, _ = run(shop)
    for name in ("one", "two"):
        closed(list(drafts.rows), variant, tmp_path / name)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    assert shop.read_bytes() == before
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]


def test_no_old_name_is_left_anywhere_in_the_file(shop, tmp_path):
    variant, drafts, _ = run(shop, texts=("people.remark",))
    closed(list(drafts.rows), variant, tmp_path / "out")
    raw = (tmp_path / "out").read_bytes()
    for old in (b"Jane Berg", b"Acme", b"Carl Dahl", b"Old Oak"):
        assert old not in raw


def test_no_name_of_the_database_goes_to_a_model(shop):
    _, drafts, ask = run(shop)
    sent = "\n".join(request.text + request.grammar for request in ask.asked)
    assert len(ask.asked) >= 12
    assert [row.old for row in drafts.rows if row.old in sent] == []


def test_a_name_that_the_model_knows_is_asked_anew(shop):
    _, plain, _ = run(shop)
    first = plain.rows[0].new
    _, drafts, ask = run(shop, name_by_grammar({first}))
    assert first not in {row.new for row in drafts.rows}
    assert max(request.sample for request in ask.asked) == 1
    assert not any(row.generic for row in drafts.rows)


def test_where_every_name_is_known_a_generic_one_stands_and_is_told_of(shop):
    def reply(asked):
        return "yes" if asked.prompt.name == "closed_check" else name_by_grammar()(asked)

    _, drafts, _ = run(shop, reply, tries=2)
    assert {row.new for row in drafts.rows} == {
        "Company 1", "Company 2", "Company 3", "Person 1", "Person 2", "Person 3",
    }  # fmt: skip
    assert all(row.generic for row in drafts.rows)
    assert len(drafts.dropped) == 6
    assert {row.reason for row in drafts.dropped} <= {"known", "taken"}


def test_a_name_fits_its_column(shop):
    """brands.brand has at most 12 characters."""
    numbers = count()

    def reply(asked):
        if asked.prompt.name == "closed_check":
            return "no"
        first = re.findall(r'"([A-Z])"', asked.grammar)[0]
        tail = "abcdefgh"[: 3 + next(numbers) % 6]
        return (
            f"{first}{tail} {'Z' + tail}"
            if "{1,2}" in asked.grammar or '" ' in asked.grammar
            else first + tail
        )

    _, drafts, _ = run(shop, reply, tries=12)
    assert all(len(row.new) <= 12 for row in drafts.rows if row.column == "brand")


def test_the_letters_hang_on_the_name_and_the_seed_not_on_the_order(shop):
    _, _, ask_one = run(shop)
    _, _, ask_two = run(shop, columns={"people.full_name": "person"})
    grammars = {
        request.row: request.grammar for request in ask_one.asked if request.prompt.name == "closed_name"
    }
    assert all(
        grammars[request.row] == request.grammar
        for request in ask_two.asked
        if request.prompt.name == "closed_name"
    )
    _, _, ask_three = run(shop, seed=1)
    assert grammars != {
        request.row: request.grammar for request in ask_three.asked if request.prompt.name == "closed_name"
    }


def test_documents_change_alike_and_keep_their_ids(shop):
    _, drafts, _ = run(shop)
    new = {row.old: row.new for row in drafts.rows}
    documents = [
        Document(
            "d1", "Jane Berg", "Jane Berg works for Acme.\n\nBerg knows ZEUS well.", (Origin("row", "x"),)
        )
    ]
    rows = closed_documents(documents, list(drafts.rows)).rows
    surname = new["Jane Berg"].split()[-1]
    assert rows[0] == Document(
        "d1", new["Jane Berg"],
        f"{new['Jane Berg']} works for {new['Acme']}.\n\n{surname} knows {new['Zeus'].upper()} well.",
        (Origin("row", "documents#d1"),),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("fields", "what"),
    [
        ({"columns": {"brands.colour": "colour"}}, "does not have this column"),
        ({"columns": {"brands.founded": "year"}}, "contains integer values, not text"),
        ({"columns": {"brands.brand": "company", "sales.brand": "label"}}, "is listed both"),
        ({"texts": ("people.full_name",)}, "already listed in `columns`"),
    ],
)
def test_settings_that_do_not_fit_the_database_are_one_clear_line(shop, fields, what):
    with pytest.raises(BadInput, match=what) as refused:
        run(shop, **fields)
    assert "\n" not in str(refused.value)


def test_a_name_without_a_successor_is_refused(shop, tmp_path):
    variant, drafts, _ = run(shop)
    rows = [row for row in drafts.rows if row.old != "Carl Dahl"]
    with pytest.raises(BadInput, match="Carl Dahl"):
        closed(rows, variant, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_rule_of_the_database_that_forbids_a_name_is_one_clear_line(tmp_path):
    path = make_database(
        tmp_path / "a.sqlite", "CREATE TABLE t (a TEXT CHECK (a = 'x')); INSERT INTO t VALUES ('x');"
    )
    variant, drafts, _ = run(path, columns={"t.a": "company"})
    with pytest.raises(BadInput, match="CHECK"):
        closed(list(drafts.rows), variant, tmp_path / "out")


@pytest.mark.parametrize(("text", "known"), [("yes", True), ("No.", False), (" YES ", True)])
def test_a_verdict_is_read_strictly(text, known):
    assert parse_verdict(text) is known


@pytest.mark.parametrize("text", ["", "yes and no", "Yes, it is", "maybe"])
def test_what_is_no_verdict_is_none(text):
    with pytest.raises(Unparsed):
        parse_verdict(text)


def test_a_schema_is_grouped_by_its_keys():
    from tasks.grammar.closed.closed_names import group_columns

    columns = [
        Column("a.x", "a", "x", "text", False, True, None, True),
        Column("b.x", "b", "x", "text", False, False, "a.x", True),
        Column("c.x", "c", "x", "text", False, False, "b.x", True),
        Column("d.y", "d", "y", "text", False, False, None, True),
    ]
    variant = ClosedVariant(file="a.sqlite", documents="d", columns={"c.x": "town"})
    assert group_columns(variant, columns) == {"a.x": "town", "b.x": "town", "c.x": "town"}


@pytest.mark.parametrize(
    ("yes", "no", "recognised"),
    [
        # The share of yes is yes / (yes + no): 0.9 / 1.0 and 0.8 / 1.0, against 0.85.
        (0.9, 0.1, True),
        (0.8, 0.2, False),
        (0.45, 0.05, True),
    ],
)
def test_a_name_is_recognised_by_how_surely_the_judge_says_yes(yes, no, recognised):
    async def ask(*_, **__):
        return Answer(True, "Yes", "call", 1, "", ({"Yes": math.log(yes), "No": math.log(no)},))

    verdict = asyncio.run(ask_recognised("Brellwick", "company", ask, row="r", sure=0.85))
    assert verdict.value is recognised


def test_without_probabilities_the_judges_word_decides():
    for text, recognised in (("Yes", True), ("No", False)):
        ask = ScriptedAsk(lambda _, text=text: text)
        verdict = asyncio.run(ask_recognised("Brellwick", "company", ask, row="r", sure=0.85))
        assert verdict.value is recognised
