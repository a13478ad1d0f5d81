"""Tests that answers over dirty columns equal a plain computation from the raw cells."""

import datetime as dt
import json
import re
import sqlite3
from collections import defaultdict
from contextlib import closing
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.artifacts.rows import Origin
from tasks.databases.entry import DatabaseEntry
from tasks.databases.execution import SafeDatabase
from tasks.databases.profile.kinds import ColumnRules
from tasks.databases.profile.profiling import read_columns
from tasks.errors import BadInput
from tasks.grammar.construct.columns import columns
from tasks.grammar.construct.fill_in import FillIn, fill_in
from tasks.grammar.construct.free_reading import read_free
from tasks.grammar.construct.pairs import make_question
from tasks.grammar.construct.queries import Query, write_template
from tasks.grammar.construct.sql_templates import SqlTemplate
from tasks.grammar.construct.text_templates import TextTemplate
from tasks.grammar.publish.rerun import Rerun
from tasks.grammar.publish.row_rules import expect_filled_sql, expect_query
from tests.databases.servers import PASSWORD, PASSWORD_ENV, open_place

JOINS = (("plants.region_id", "regions.region_id"),)
GIVEN = ("regions.name",)
NAME, CELL = ("plants.name",), "plants.cell"
QUERIES = {
    "most": Query(NAME, JOINS, GIVEN, "most", CELL),
    "least": Query(NAME, JOINS, GIVEN, "least", CELL),
    "average": Query((CELL,), JOINS, GIVEN, "average"),
    "over": Query(("plants.plant_id",), JOINS, (f"{CELL}:over", *GIVEN), "count"),
}
NONE = st.sampled_from([None, "", "N/A", "n/a ", "-", "unknown"])
DAYS = st.dates(dt.date(1900, 1, 1), dt.date(2090, 12, 31))
FORMATS = {"%m/%d/%Y": (1, 2, 0), "%d.%m.%Y": (1, 0, 2), "%Y/%m/%d": (0, 1, 2)}


def make(folder, declared, cells):
    path = f"{folder}/plants.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(
            "CREATE TABLE regions (region_id INTEGER PRIMARY KEY, name TEXT);"
            "INSERT INTO regions VALUES (0, 'North Coast'), (1, 'South Bay');"
            f"CREATE TABLE plants (plant_id INTEGER PRIMARY KEY, name TEXT, cell {declared}, "
            "region_id INTEGER REFERENCES regions (region_id));"
        )
        rows = [(n, f"Plant {n}", cell, n % 2) for n, cell in enumerate(cells)]
        connection.executemany("INSERT INTO plants VALUES (?, ?, ?, ?)", rows)
        connection.commit()
    return DatabaseEntry(name="plants", file=path)


def fill(entry, queries, **more):
    """Fill in templates, and check the SQL contracts of every group."""
    schema = read_columns(entry, ColumnRules())
    templates = [
        SqlTemplate(name, write_template(query), query.tables, query.projection, query.placeholders, 0, ())
        for name, query in queries.items()
    ]
    drafts = fill_in(templates, schema, entry, FillIn(every_value_matters=False, **more))
    rules = [
        expect_filled_sql({template.id: vars(template) for template in templates}, schema),
        expect_query(schema, own=()),
    ]
    with SafeDatabase(entry, children=1) as safe:
        rules.append(Rerun(safe, schema).rule())
        for group in drafts.rows:
            record = {**vars(group), "fillings": [vars(filling) for filling in group.fillings]}
            assert [rule.check(record) for rule in rules] == [""] * 3
    return drafts


def test_a_persons_sql_of_any_shape_reads_cells_as_it_says_and_the_contracts_hold(tmp_path):
    days = ["09/30/2004", "12/13/2004", "01/02/2005", "09/30/2004", "N/A", "03/14/2005"]
    entry = make(tmp_path, "DATE", days)
    schema = read_columns(entry, ColumnRules())
    assert [column.reading for column in schema if column.id == CELL] == ["%m/%d/%Y"]
    years = "SELECT SUBSTR(plants.cell, 7), COUNT(*) FROM plants WHERE plants.cell LIKE '%/%/%' GROUP BY 1"
    same = "SELECT COUNT(*) FROM plants WHERE plants.cell = '[plants.cell]' OR 'N/A' = '[plants.cell]'"
    queries = [read_free(sql, schema) for sql in (years, same)]
    templates = [
        SqlTemplate(
            query.id, query.sql, query.tables, query.projection, query.placeholders, 0,
            (Origin("row", "own_templates#1"),),
        )
        for query in queries
    ]  # fmt: skip
    drafts = fill_in(templates, schema, entry, FillIn())
    found = {
        (group.sql_template, *(filling.value for filling in group.fillings)): json.loads(group.answer_rows)
        for group in drafts.rows
    }
    first, second = (query.id for query in queries)
    counts = {(second, day): [[days.count(day) if day != "N/A" else len(days)]] for day in days}
    assert found == {(first,): [["2004", 3], ["2005", 2]], **counts}
    by_id = {template.id: vars(template) for template in templates}
    rules = [expect_filled_sql(by_id, schema), expect_query(schema, own=by_id)]
    for group in drafts.rows:
        record = {**vars(group), "fillings": [vars(filling) for filling in group.fillings]}
        assert [rule.check(record) for rule in rules] == ["", ""]
        assert rules[0].check({**record, "sql": group.sql + " LIMIT 1"})


def list_answers(drafts):
    return [
        (
            group.sql_template,
            {filling.placeholder: filling.value for filling in group.fillings},
            json.loads(group.answer_rows),
        )
        for group in drafts.rows
    ]


def check_answers(drafts, values):
    """Compare answers with a plain computation. values: a plant's number -> its value, if any."""
    found = list_answers(drafts)
    regions = defaultdict(dict)
    for number, value in values.items():
        regions[("North Coast", "South Bay")[number % 2]][number] = value
    for measure, fillings, rows in found:
        own = regions[fillings["regions.name"]]
        if measure in ("most", "least"):
            extreme = (max if measure == "most" else min)(own.values())
            assert rows == [[f"Plant {n}"] for n, value in own.items() if value == extreme]
        elif measure == "average":
            assert rows == [[pytest.approx(sum(own.values()) / len(own), abs=0.0501)]]
        else:
            bound = type(next(iter(own.values())))(fillings[f"{CELL}:over"])
            assert rows == [[sum(value > bound for value in own.values())]]
    return {measure for measure, *_ in found}


def check_numbers(cells):
    values = {n: float(cell) for n, cell in enumerate(cells) if isinstance(cell, (int, float))}
    with TemporaryDirectory() as folder:
        check_answers(fill(make(folder, "REAL", cells), QUERIES), values)


def check_dates(cells, form):
    """Check answers for cells that are dates in a format, or other texts."""
    written = [cell.strftime(form) if isinstance(cell, dt.date) else cell for cell in cells]
    values = {n: cell.isoformat() for n, cell in enumerate(cells) if isinstance(cell, dt.date)}
    queries = {name: query for name, query in QUERIES.items() if name != "average"}
    with TemporaryDirectory() as folder:
        check_answers(fill(make(folder, "DATE", written), queries), values)


NUMBERS = st.lists(
    st.one_of(st.integers(-999, 999), st.decimals(-99, 99, places=2).map(float), NONE), min_size=6
)
DATES = st.tuples(
    st.lists(st.one_of(DAYS, NONE), min_size=6, max_size=30), st.sampled_from(sorted(FORMATS))
).filter(lambda drawn: any(isinstance(cell, dt.date) and cell.day > 12 for cell in drawn[0]))


@settings(max_examples=3, deadline=None)
@given(cells=NUMBERS)
def test_numbers_with_texts_among_them(cells):
    check_numbers(cells)


@settings(max_examples=3, deadline=None)
@given(drawn=DATES)
def test_dates_in_a_format(drawn):
    check_dates(*drawn)


@pytest.mark.drill
@settings(max_examples=200, deadline=None)
@given(cells=NUMBERS, drawn=DATES)
def test_many_dirty_columns(cells, drawn):
    check_numbers(cells)
    check_dates(*drawn)


def test_every_measure_is_answered_over_a_dirty_column(tmp_path):
    cells = ["" if n % 6 == 0 else "N/A" if n % 7 == 0 else n * 10.5 for n in range(1, 21)]
    values = {n: cell for n, cell in enumerate(cells) if isinstance(cell, float)}
    assert check_answers(fill(make(tmp_path, "REAL", cells), QUERIES), values) == set(QUERIES)


def test_whole_bounds_of_a_real_column_are_one_number_in_sql_and_text(tmp_path):
    drafts = fill(make(tmp_path, "REAL", [5.0 * n for n in range(20)]), {"over": QUERIES["over"]})
    for group in drafts.rows:
        question = make_question(
            TextTemplate("t", "over", "short", f"over [{CELL}:over]", ()), group
        ).question
        assert re.fullmatch(r"over \d+", question)
        assert f"> {question.removeprefix('over ')}.0" in group.sql


def test_midnights_are_days_in_questions(tmp_path):
    cells = [f"1996-07-{n + 10} 00:00:00.000" for n in range(12)]
    drafts = fill(make(tmp_path, "DATETIME", cells), {"over": QUERIES["over"]})
    text = TextTemplate("t", "over", "short", f"after [{CELL}:over]", ())
    assert drafts.rows
    for group in drafts.rows:
        assert re.fullmatch(r"after \d\d July 1996", make_question(text, group).question)


def test_a_column_with_too_many_misfits_is_named_and_not_compared(tmp_path):
    entry = make(tmp_path, "REAL", [*range(10), "about 3", "few", "many", "none yet"])
    (drop,) = columns(entry, ColumnRules()).dropped
    assert drop.reason == "unfit_cells"
    assert drop.detail.startswith("plants.cell: 4 of 14 values are not numbers")
    assert all(text in drop.detail for text in ("about 3", "few", "many"))
    cell = next(column for column in read_columns(entry, ColumnRules()) if column.id == CELL)
    assert cell.type == "text"


def test_look_alikes_name_nothing(tmp_path):
    entry = make(tmp_path, "TEXT", ["Bern", "Chur", "Zug", "Wil", "Sion"])
    names = ["Anker", "anker", "Zoe\u0308", "Zo\u00eb", "Gull"]
    with closing(sqlite3.connect(entry.file)) as connection:
        connection.executemany(
            "UPDATE plants SET name = ? WHERE plant_id = ?", [(n, i) for i, n in enumerate(names)]
        )
        connection.commit()
    queries = {"town": Query((CELL,), (), NAME)}
    drafts = fill(entry, queries)
    assert [group.fillings[0].value for group in drafts.rows] == ["Gull"]
    assert [(drop.reason, drop.detail[:20]) for drop in drafts.dropped] == [
        ("look_alike", "4 of 5 combinations:")
    ]
    assert len(fill(entry, queries, look_alikes="keep").rows) == 5


@pytest.mark.parametrize(
    ("overrides", "what"),
    [
        ({"plants.cell": "%d/%m"}, "is neither a type nor a date format"),
        ({"plants.sell": "text"}, "there is no column or table"),
        ({"plants": "text"}, "is a table"),
    ],
)
def test_an_override_that_is_not_valid_is_one_line(tmp_path, overrides, what):
    entry = make(tmp_path, "TEXT", ["a"]).model_copy(update={"columns": overrides})
    with pytest.raises(BadInput, match=what):
        columns(entry, ColumnRules())


@pytest.mark.parametrize("kind", ["postgresql", "mariadb"])
def test_midnights_and_odd_numbers_on_a_server(kind, monkeypatch):
    monkeypatch.setenv(PASSWORD_ENV, PASSWORD)
    odd = {"postgresql": "'NaN'", "mariadb": "NULL"}[kind]
    with open_place(kind) as place:
        place.run(
            "CREATE TABLE regions (region_id INTEGER PRIMARY KEY, name VARCHAR(20))",
            "INSERT INTO regions VALUES (0, 'North Coast'), (1, 'South Bay')",
            "CREATE TABLE plants (plant_id INTEGER PRIMARY KEY, name VARCHAR(20), cell NUMERIC(8, 2), "
            f"opened {'TIMESTAMP' if kind == 'postgresql' else 'DATETIME'}, "
            "region_id INTEGER REFERENCES regions (region_id))",
            *(
                f"INSERT INTO plants VALUES ({n}, 'Plant {n}', {odd if n == 3 else n * 2.5}, "
                f"'{'9999-12-31' if n == 5 else f'2001-02-{n + 10}'} 00:00:00', {n % 2})"
                for n in range(12)
            ),
        )
        place.grant()
        drafts = fill(place.entry, QUERIES)
        assert check_answers(drafts, {n: n * 2.5 for n in range(12) if n != 3}) == set(QUERIES)
        latest = Query(NAME, JOINS, GIVEN, "most", "plants.opened")
        after = Query(("plants.plant_id",), JOINS, ("plants.opened:over", *GIVEN), "count")
        found = fill(place.entry, {"latest": latest, "after": after}).rows
    answers = {group.fillings[0].value: group.answer for group in found if group.sql_template == "latest"}
    assert answers == {"North Coast": "Plant 10", "South Bay": "Plant 11"}
    bounds = [filling for group in found if group.sql_template == "after" for filling in group.fillings[:1]]
    assert bounds
    assert all(re.fullmatch(r"2001-02-\d\d", claim.value) and claim.kind == "date" for claim in bounds)
