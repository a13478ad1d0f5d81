"""Tests that prompts before the fill-in contain names of tables and columns, but no values of rows."""

import asyncio
import hashlib
import json
import re
import sqlite3
from types import SimpleNamespace

from tasks.databases.entry import DatabaseEntry
from tasks.databases.profile.kinds import ColumnRules
from tasks.databases.profile.profiling import read_columns
from tasks.grammar.construct.sql_templates import SqlTemplates, sql_templates
from tasks.grammar.construct.text_requests import TextTemplates
from tasks.grammar.construct.text_templates import text_templates
from tests.grammar.construct.test_sql_templates import EXAMPLE, make_kind
from tests.grammar.scripted import ENTRY, ScriptedAsk, make_database


def pick(asked):
    offered = [json.loads(text) for text in re.findall(r'"(?:\\.|[^"\\])*"', asked.grammar)]
    return offered[int(hashlib.sha256(asked.row.encode()).hexdigest(), 16) % len(offered)]


def test_no_request_of_the_template_steps_holds_a_cell_value(tmp_path):
    path = make_database(tmp_path / "clinic.sqlite")
    schema = read_columns(DatabaseEntry(name="clinic", file=path), ColumnRules())
    kinds = {
        "all": make_kind(templates=30, requests=40),
        "two": make_kind(templates=30, requests=40, placeholders=2),
    }
    params = SqlTemplates(kinds=kinds, criteria={"one_placeholder": "One."}, example=EXAMPLE)
    first = ScriptedAsk(pick)
    templates = asyncio.run(sql_templates(schema, [], ENTRY, {}, params, first)).rows
    second = ScriptedAsk(lambda _: "no text")
    criteria = {
        "short": {"prompt": "texts/short", "samples": 1},
        "long": {"prompt": "texts/long", "samples": 1},
    }
    groups = [SimpleNamespace(sql_template=template.id) for template in templates]
    asyncio.run(text_templates(templates, [], groups, schema, {}, TextTemplates(criteria=criteria), second))
    sent = "\n".join(request.text + request.grammar for request in (*first.asked, *second.asked)).lower()
    values = read_values(path)
    assert len(first.asked) > 10
    assert len(values) > 20
    assert [value for value in values if value.lower() in sent] == []


def read_values(path):
    """Return distinct values that are not words of the schema, and too long to match a text by chance."""
    connection = sqlite3.connect(path)
    tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    cells = {
        str(cell) for table in tables for row in connection.execute(f"SELECT * FROM {table}") for cell in row
    }
    connection.close()
    return {cell for cell in cells if len(cell) > 2 and cell != "None"}
