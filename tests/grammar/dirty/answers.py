"""Build the questions of a database like the flow, and compare every answer with a plain computation."""

import asyncio
import json
from collections import Counter

from tasks.databases.execution import SafeDatabase
from tasks.databases.profile.kinds import ColumnRules
from tasks.grammar.construct.columns import columns
from tasks.grammar.construct.fill_in import FillIn, fill_in
from tasks.grammar.construct.free_reading import read_stored
from tasks.grammar.construct.queries import FreeQuery, Query, write_template
from tasks.grammar.construct.schema import schema as make_schema
from tasks.grammar.construct.sql_rules import fits_placeholder, has_mean, has_order
from tasks.grammar.construct.sql_templates import SqlTemplate, SqlTemplates, sql_templates
from tasks.grammar.publish.rerun import Rerun
from tests.grammar.construct.test_sql_templates import EXAMPLE, make_kind
from tests.grammar.dirty.plain import Plain, same_rows
from tests.grammar.scripted import ScriptedAsk
from tests.grammar.test_privacy import pick

FEW = 16
MEASURED = (
    ("count", "over", 2), ("count", "", 1), ("average", "", 1), ("most", "", 1), ("least", "pair", 2),
    ("list", "from", 1),
)  # fmt: skip


class Made:
    """A database's columns, templates and groups. few: maximum number of queries; whole: all."""

    def __init__(self, entry, *, whole=False, few=FEW):
        profiled = columns(entry, ColumnRules())
        self.profiles, self.losses = profiled.rows, list(profiled.dropped)
        self.schema = list(make_schema([], self.profiles, entry).rows)
        queries = list_queries(self.schema)
        queries = queries if whole else sorted(queries, key=lambda query: query.id)[:few]
        templates = [make_template(query) for query in queries]
        if whole:
            found = write_templates(self.schema, entry)
            templates += found
        self.templates = {template.id: template for template in templates}
        params = FillIn(every_value_matters=False, single_answer=False, cap=3 if whole else 1)
        filled = fill_in(list(self.templates.values()), self.schema, entry, params)
        self.groups, self.dropped = list(filled.rows), list(filled.dropped)
        self.entry = entry

    def check(self):
        """Compare every answer with a plain computation; return the number of answers per measure."""
        unreadable = {profile.id for profile in self.profiles if profile.kind == "unreadable"}
        plain = Plain(self.entry, [column for column in self.schema if column.id not in unreadable])
        seen = Counter()
        for group in self.groups:
            template = self.templates[group.sql_template]
            query = read_stored(template.sql, self.schema)
            assert not isinstance(query, FreeQuery), template.sql
            fillings = {filling.placeholder: filling.value for filling in group.fillings}
            found, due = json.loads(group.answer_rows), plain.answer(query, fillings)
            assert same_rows(found, due, query.measure), (group.sql, fillings, found, due)
            seen[query.measure or "lookup"] += 1
        with SafeDatabase(self.entry, children=1) as safe:
            reproduces = Rerun(safe, self.schema).rule()
            wrong = [group.sql for group in self.groups if reproduces.check(vars(group))]
        assert not wrong, wrong[:3]
        failed = [drop.detail for drop in self.dropped if drop.reason == "sql_failed"]
        assert not failed, failed[:3]
        return seen

    def list_losses(self):
        """List omitted columns and parts as (reason, name)."""
        return sorted({(drop.reason, drop.detail.partition(":")[0]) for drop in self.losses})

    def name_unasked(self):
        """Return column -> reason, for columns that no question asks about because of their cells."""
        return {profile.id: profile.why for profile in self.profiles if not profile.asked}


def make_template(query):
    return SqlTemplate(
        query.id, write_template(query), query.tables, query.projection, query.placeholders, 0, ()
    )


def list_queries(schema):
    """List queries on one table and over one key, for every column and every use that its kind allows."""
    found = []
    for table in dict.fromkeys(column.table for column in schema):
        own = [column for column in schema if column.table == table]
        keys = [column.id for column in own if column.primary_key]
        asked = [column for column in own if column.descriptive]
        names = [column.id for column in asked if column.type == "text" and fits_placeholder(column)]
        for column in asked:
            for name in [name for name in names if name != column.id][:2]:
                found.append(Query((column.id,), (), (name,)))
                if fits_placeholder(column):
                    found.append(Query((name,), (), (column.id,), "list"))
                if has_order(column):
                    for other in [other for other in names if other not in (name, column.id)][:3]:
                        found.append(Query((name,), (), (other,), "most", column.id))
                        found.append(Query((name,), (), (other,), "least", column.id))
                    if len(keys) == 1:
                        found += [
                            Query((keys[0],), (), (f"{column.id}:{side}",), "count")
                            for side in ("over", "under")
                        ]
                if has_mean(column):
                    found.append(Query((column.id,), (), (name,), "average"))
        for key in (column for column in own if column.references):
            far = key.references.partition(".")[0]
            given = [c.id for c in schema if c.table == far != table and c.descriptive and c.type == "text"]
            join = (tuple(sorted((key.id, key.references))),)
            for column in asked:
                found += [Query((column.id,), join, (name,), "list") for name in given[:1]]
                if has_mean(column):
                    found += [Query((column.id,), join, (name,), "average") for name in given[:1]]
                if has_order(column) and names:
                    found += [Query((names[0],), join, (name,), "most", column.id) for name in given[:1]]
    return list({query.id: query for query in found}.values())


def write_templates(schema, entry):
    """Return templates written by a scripted model."""
    kinds = {
        "one": make_kind(templates=30, requests=40),
        **{
            f"{measure} {compared}": make_kind(
                templates=15, requests=15, placeholders=placeholders, measure=measure, compared=compared
            )
            for measure, compared, placeholders in MEASURED
        },
    }
    params = SqlTemplates(kinds=kinds, criteria={"one_placeholder": "One."}, example=EXAMPLE)
    return asyncio.run(sql_templates(schema, [], entry, {}, params, ScriptedAsk(pick))).rows
