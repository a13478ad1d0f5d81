import asyncio
import json
import re

import pytest

from tasks.errors import BadInput
from tasks.grammar.construct.coverage import may_be_asked
from tasks.grammar.construct.free_reading import read_stored
from tasks.grammar.construct.sql_templates import SqlTemplates, sql_templates
from tests.grammar.gbnf import accepts
from tests.grammar.scripted import ENTRY, SCHEMA, ScriptedAsk

EXAMPLE = {
    "tables": "books(title text, publisher text)",
    "sql": "SELECT DISTINCT books.publisher FROM books WHERE books.title = '[books.title]'",
}


def make_params(**kinds):
    kinds = kinds or {"lookup": make_kind()}
    return SqlTemplates(
        kinds=kinds, criteria={"one_placeholder": "Leave one value open."}, example=EXAMPLE, offered=2, seed=0
    )


def make_kind(**changes):
    kind = {
        "tables": (1, 3),
        "placeholders": 1,
        "templates": 4,
        "requests": 12,
        "criteria": ("one_placeholder",),
    }
    return {**kind, **changes}


def pick_first(asked):
    return allowed(asked)[0]


def allowed(asked):
    return [json.loads(text) for text in re.findall(r'"(?:\\.|[^"\\])*"', asked.grammar)]


def run(reply, params=None, attempts=1, own=(), constrain="grammar"):
    ask = ScriptedAsk(reply, attempts)
    settings = {"roles.generator.constrain": constrain}
    return asyncio.run(sql_templates(SCHEMA, own, ENTRY, settings, params or make_params(), ask)), ask


def list_replies(drafts):
    """List the dropped replies, without the drops of columns that no template asks about."""
    return [row for row in drafts.dropped if row.reason != "uncovered"]


def test_what_no_template_of_the_drawn_kinds_asks_about_is_named():
    drafts, _ = run(pick_first)
    read = {column for row in drafts.rows for column in read_stored(row.sql, SCHEMA).columns}
    named = {row.detail.partition(":")[0] for row in drafts.dropped if row.reason == "uncovered"}
    assert named == {
        f"column {column.id}" for column in SCHEMA if may_be_asked(column) and column.id not in read
    }
    assert named


def test_templates_are_kept_until_there_are_enough():
    drafts, ask = run(pick_first)
    assert len(drafts.rows) == 4
    assert len({row.id for row in drafts.rows}) == 4
    for row in drafts.rows:
        assert row.origin[0].kind == "call"
        assert {o.reference for o in row.origin[1:]} <= {f"schema#{column.id}" for column in SCHEMA}
    assert len(ask.asked) == 4 + len(list_replies(drafts))


def test_the_grammar_accepts_what_it_offers_and_nothing_else():
    _, ask = run(pick_first)
    for asked in ask.asked:
        assert all(accepts(asked.grammar, sql) for sql in allowed(asked))
        assert not accepts(asked.grammar, "SELECT * FROM clinics")


def test_a_repeated_query_is_dropped_and_another_is_asked_for():
    same = "SELECT DISTINCT clinics.town FROM clinics WHERE clinics.name = '[clinics.name]'"
    drafts, ask = run(lambda _: same)
    assert len(drafts.rows) == 1
    dropped = list_replies(drafts)
    assert {row.reason for row in dropped} == {"duplicate"}
    assert len(ask.asked) == 12 or len(ask.asked) == 1 + len(dropped)


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (EXAMPLE["sql"].lower().replace("select distinct", "SELECT DISTINCT "), "copied_example"),
        ("I would ask for the town.", "unreadable"),
        ("SELECT clinics.town FROM clinics WHERE clinics.name = 'Xanadu House'", "constant"),
        (
            "SELECT reason FROM visits WHERE day = '[visits.day]' AND \"order\" = '[visits.order]'",
            "other_kind",
        ),
    ],
)
def test_what_breaks_a_rule_is_dropped_with_its_word(reply, reason):
    drafts, _ = run(lambda _: reply)
    assert not drafts.rows
    assert {row.reason for row in list_replies(drafts)} == {reason}
    assert len({row.id for row in drafts.dropped}) == len(drafts.dropped)


def test_a_fence_around_sql_is_taken_off():
    drafts, _ = run(lambda asked: f"```sql\n{pick_first(asked)}\n```")
    assert len(drafts.rows) == 4


def test_the_requests_do_not_depend_on_which_answer_comes_first():
    async def run_slowly(backwards):
        ask = ScriptedAsk(pick_first)

        async def delayed(prompt, fields, **more):
            number = len(delayed.seen)
            delayed.seen.append(more["row"])
            await asyncio.sleep(0.002 * (10 - number if backwards else number))
            return await ask(prompt, fields, **more)

        delayed.seen = []
        return await sql_templates(SCHEMA, [], ENTRY, {}, make_params(), delayed), delayed.seen

    assert asyncio.run(run_slowly(False)) == asyncio.run(run_slowly(True))


def test_a_criterion_is_a_sentence_in_the_prompt_and_an_unknown_one_is_said():
    _, ask = run(pick_first)
    assert "Leave one value open." in ask.asked[0].text
    with pytest.raises(BadInput, match="unknown criterion 'two'"):
        run(pick_first, make_params(lookup=make_kind(criteria=("two",))))


def test_a_kind_is_held_to_its_tables():
    drafts, _ = run(pick_first, make_params(joined=make_kind(tables=(2, 3), placeholders=2)))
    assert drafts.rows
    assert all(len(row.tables) >= 2 and len(row.placeholders) == 2 for row in drafts.rows)


def test_a_database_may_name_the_kinds_it_wants():
    params = make_params(lookup=make_kind(templates=1), joined=make_kind(tables=(2, 2), templates=1))

    def ask_for(*kinds):
        entry = ENTRY.model_copy(update={"kinds": kinds})
        return asyncio.run(sql_templates(SCHEMA, [], entry, {}, params, ScriptedAsk(pick_first))).rows

    assert [len(row.tables) for row in ask_for("joined")] == [2]
    assert len(ask_for("joined", "lookup")) == 2
    with pytest.raises(BadInput, match=r"databases\.clinics\.kinds: joint is not one of .*lookup, joined"):
        ask_for("joint")


def test_without_kinds_of_its_own_a_database_has_those_of_the_parameters():
    kinds = {"lookup": make_kind(templates=1), "joined": make_kind(tables=(2, 2), templates=1)}

    def ask_for(only, own=None):
        params = make_params(**kinds).model_copy(update={"only": only})
        entry = ENTRY.model_copy(update={"kinds": own})
        return asyncio.run(sql_templates(SCHEMA, [], entry, {}, params, ScriptedAsk(pick_first))).rows

    assert [len(row.tables) for row in ask_for(("joined",))] == [2]
    assert [len(row.tables) for row in ask_for(("joined",), own=("lookup",))] == [1]
    assert len(ask_for(None)) == 2
    with pytest.raises(BadInput, match=r"grammar\.sql_templates\.only: joint is not one of .*lookup, joined"):
        ask_for(("joint",))
