"""Tests that hand-written templates over dirty columns give groups with valid contracts and answers."""

import datetime as dt
import json
import re
import sqlite3
from contextlib import closing

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.artifacts.rows import Origin
from tasks.databases.entry import DatabaseEntry
from tasks.databases.execution import SafeDatabase
from tasks.databases.profile.kinds import ColumnRules
from tasks.databases.profile.profiling import read_columns
from tasks.grammar.construct.fill_in import FillIn, fill_in
from tasks.grammar.construct.pairs import make_question
from tasks.grammar.construct.template_lines import TemplateRules, check_lines, read_template_lines
from tasks.grammar.construct.text_templates import Criterion, TextTemplate
from tasks.grammar.publish.rerun import Rerun
from tasks.grammar.publish.row_rules import expect_filled_sql, expect_query
from tests.grammar.dirty.test_odd_cells import SETTINGS

HALLS = ("Alder Hall", "Birch Hall")
SHORT = Criterion(prompt="texts/short", minimum_words=3, maximum_words=18, samples=1)
JOIN = "FROM shows JOIN halls ON shows.hall_id = halls.hall_id WHERE"
IN_HALL = "halls.name = '[halls.name]'"
ORDERED = f"SELECT shows.title {JOIN} {IN_HALL} AND shows.cell IS NOT NULL ORDER BY shows.cell"
BOUNDS = {"over": (">", "over"), "under": ("<", "under"), "from": (">=", "at least"), "to": ("<=", "at most")}
TEMPLATES = {
    "most": (f"{ORDERED} DESC LIMIT 1", "show in the hall [halls.name] with the highest cell"),
    "least": (f"{ORDERED} ASC LIMIT 1", "show in the hall [halls.name] with the lowest cell"),
    "average": (f"SELECT ROUND(AVG(shows.cell), 1) {JOIN} {IN_HALL}", "average cell of hall [halls.name]"),
    **{
        name: (
            f"SELECT COUNT(DISTINCT shows.show_id) {JOIN} shows.cell {sign} '[shows.cell:{name}]' "
            f"AND {IN_HALL}",
            f"number of shows with a cell {said} [shows.cell:{name}] in the hall [halls.name]",
        )
        for name, (sign, said) in BOUNDS.items()
    },
}
COMPARE = {
    "over": lambda cell, bound: cell > bound,
    "under": lambda cell, bound: cell < bound,
    "from": lambda cell, bound: cell >= bound,
    "to": lambda cell, bound: cell <= bound,
}


def fill_own(folder, declared, cells, names=TEMPLATES):
    """Read templates like the stage, fill them in, and check the SQL contracts of each group."""
    entry = DatabaseEntry(name="shows", file=folder / "shows.sqlite")
    entry.file.unlink(missing_ok=True)
    with closing(sqlite3.connect(entry.file)) as connection:
        connection.executescript(
            "CREATE TABLE halls (hall_id INTEGER PRIMARY KEY, name TEXT NOT NULL);"
            "CREATE TABLE shows (show_id INTEGER PRIMARY KEY, title TEXT NOT NULL,"
            f"cell {declared}, hall_id INTEGER REFERENCES halls (hall_id));"
        )
        connection.executemany("INSERT INTO halls VALUES (?, ?)", enumerate(HALLS, start=1))
        rows = [(n, f"Evening {chr(64 + n)}", cell, 1 + n % 2) for n, cell in enumerate(cells, start=1)]
        connection.executemany("INSERT INTO shows VALUES (?, ?, ?, ?)", rows)
        connection.commit()
    schema = read_columns(entry, ColumnRules())
    lines = folder / "shows.jsonl"
    made = [{"sql": TEMPLATES[name][0], "texts": {"short": TEMPLATES[name][1]}} for name in names]
    lines.write_text("".join(json.dumps(line) + "\n" for line in made), encoding="utf-8")
    checked = check_lines(
        list(read_template_lines(str(lines))),
        TemplateRules("shows", schema, {"short": SHORT}, {"short": 1}, instead=True),
    )
    assert not checked.errors
    templates = dict(zip(names, checked.templates, strict=True))
    drafts = fill_in(checked.templates, schema, entry, FillIn(every_value_matters=False))
    by_id = {template.id: vars(template) for template in checked.templates}
    rules = [expect_filled_sql(by_id, schema), expect_query(schema, own=by_id)]
    with SafeDatabase(entry, children=1) as safe:
        rules.append(Rerun(safe, schema).rule())
        for group in drafts.rows:
            record = {**vars(group), "fillings": [vars(filling) for filling in group.fillings]}
            assert [rule.check(record) for rule in rules] == [""] * 3
    return templates, drafts.rows


def list_answers(templates, groups):
    """List the groups as (template's name, fillings, rows)."""
    names = {template.id: name for name, template in templates.items()}
    return [
        (
            names[group.sql_template],
            {filling.placeholder: filling.value for filling in group.fillings},
            json.loads(group.answer_rows),
        )
        for group in groups
    ]


@pytest.mark.parametrize("name", COMPARE)
def test_a_bound_of_ones_own_becomes_groups(name, tmp_path):
    stock = [7 * n for n in range(1, 21)]
    templates, groups = fill_own(tmp_path, "INTEGER", stock, [name])
    template = templates[name]
    assert Origin("row", "schema#shows.cell") in template.origin
    assert not [origin for origin in template.origin if origin.kind == "row" and ":" in origin.reference]
    assert len(groups) >= 4
    for _, fillings, rows in list_answers(templates, groups):
        bound, hall = int(fillings[f"shows.cell:{name}"]), HALLS.index(fillings["halls.name"])
        own = [cell for n, cell in enumerate(stock, start=1) if n % 2 == hall]
        assert rows == [[sum(COMPARE[name](cell, bound) for cell in own)]]
    text = TextTemplate("t", template.id, "short", template.texts[0].text, ())
    for group in groups:
        question = make_question(text, group).question
        values = {filling.placeholder: filling.value for filling in group.fillings}
        assert (
            f"a cell {BOUNDS[name][1]} {values[f'shows.cell:{name}']} in the hall {values['halls.name']}"
            in question
        )


def test_dates_with_the_month_first_are_compared_as_dates(tmp_path):
    days = [
        "9/3/1999", "10/1/2004", "1/20/2012", "4/11/2010", "12/8/1998", "7/20/2007", "3/9/2001", "11/30/2011",
        "2/2/2000", "6/6/2006",
    ]  # fmt: skip
    found = list_answers(*fill_own(tmp_path, "DATE", days, ["most", "least"]))
    assert {(name, fillings["halls.name"]): rows for name, fillings, rows in found} == {
        ("most", "Alder Hall"): [["Evening H"]],
        ("least", "Alder Hall"): [["Evening B"]],
        ("most", "Birch Hall"): [["Evening C"]],
        ("least", "Birch Hall"): [["Evening E"]],
    }


NONE = st.sampled_from([None, "", "N/A", "unknown"])
AMOUNTS = st.one_of(st.integers(-999, 999), st.decimals(-99, 99, places=2).map(float))
DAYS = st.dates(dt.date(1900, 1, 13), dt.date(2090, 12, 31)).filter(lambda day: day.day > 12)
COLUMNS = {"REAL": st.one_of(AMOUNTS, NONE), "DATE": st.one_of(DAYS, NONE)}


@settings(max_examples=4, **SETTINGS)
@given(
    drawn=st.sampled_from(sorted(COLUMNS)).flatmap(
        lambda declared: st.tuples(st.just(declared), st.lists(COLUMNS[declared], min_size=16, max_size=26))
    )
)
def test_generated_columns_under_a_persons_templates(drawn, tmp_path_factory):
    declared, cells = drawn
    written = [
        f"{cell.month}/{cell.day}/{cell.year}" if isinstance(cell, dt.date) else cell for cell in cells
    ]
    names = [name for name in TEMPLATES if declared == "REAL" or name != "average"]
    values = {
        n: cell.isoformat() if isinstance(cell, dt.date) else cell
        for n, cell in enumerate(cells, start=1)
        if cell is not None and not isinstance(cell, str)
    }
    if not values:
        return
    folder = tmp_path_factory.mktemp("shows")
    for name, fillings, rows in list_answers(*fill_own(folder, declared, written, names)):
        hall = HALLS.index(fillings["halls.name"])
        own = {n: value for n, value in values.items() if n % 2 == hall}
        if name in ("most", "least"):
            best = (max if name == "most" else min)(own.values())
            assert sorted(rows) == [[f"Evening {chr(64 + n)}"] for n, value in own.items() if value == best]
        elif name == "average":
            assert rows == [[pytest.approx(sum(own.values()) / len(own), abs=0.0501)]]
        else:
            text = fillings[f"shows.cell:{name}"]
            bound = text if re.fullmatch(r"\d{4}-\d\d-\d\d", text) else float(text)
            assert rows == [[sum(COMPARE[name](value, bound) for value in own.values())]]
