import asyncio

import pytest

from tasks.grammar.construct.queries import Query, write_template
from tasks.grammar.construct.text_templates import TextTemplates, text_templates
from tasks.grammar.rows import SqlTemplate
from tests.grammar.scripted import SCHEMA, ScriptedAsk

QUERY = Query(("clinics.town",), (), ("clinics.name",))
TEMPLATE = SqlTemplate(
    QUERY.id, write_template(QUERY), QUERY.tables, QUERY.projection, QUERY.placeholders, ()
)
LONG = (
    "Could you please tell me the town of the clinic [clinics.name]? I am writing down the way for a friend "
    "who has never been there and would rather not be late on the very first morning."
)


def make_params(**samples):
    criteria = {
        "short": {"prompt": "texts/short", "minimum_words": 3, "maximum_words": 10, "samples": 2},
        "long": {
            "prompt": "texts/long",
            "minimum_words": 30,
            "maximum_words": 45,
            "sentences": True,
            "samples": 1,
        },
    }
    return TextTemplates(criteria={name: {**criteria[name], "samples": n} for name, n in samples.items()})


def run(reply, params, attempts=1, own=()):
    ask = ScriptedAsk(reply, attempts)
    return asyncio.run(text_templates([TEMPLATE], own, SCHEMA, params, ask)), ask


def test_each_criterion_is_asked_with_its_own_prompt_and_bounds():
    short = iter(["town of the clinic [clinics.name]", "the town that has the clinic [clinics.name]"])
    drafts, ask = run(
        lambda a: LONG if a.prompt.name == "long" else next(short), make_params(short=2, long=1)
    )
    assert sorted(row.criterion for row in drafts.rows) == ["long", "short", "short"]
    assert [a.prompt.name for a in ask.asked] == ["short", "short", "long"]
    assert [a.sample for a in ask.asked] == [0, 1, 0]
    assert "30 to 45 words" in ask.asked[2].text
    assert all(row.origin[1].reference == f"sql_templates#{TEMPLATE.id}" for row in drafts.rows)


def test_the_same_words_are_kept_once():
    drafts, _ = run(lambda _: "Town of the clinic [clinics.name]", make_params(short=3))
    assert len(drafts.rows) == 1
    assert [row.reason for row in drafts.dropped] == ["duplicate", "duplicate"]


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ("town of the clinic", "wrong_placeholders"),
        ("[clinics.name] clinic", "too_short"),
        ("town of a clinic that is by name known as [clinics.name] everywhere", "too_long"),
        ("the database says town of clinic [clinics.name]", "code_words"),
        ("all about the clinic [clinics.name]", "wanted_missing"),
        ("town of [clinics.name]", "given_missing"),
    ],
)
def test_what_breaks_a_rule_is_asked_again_then_dropped_with_its_word(reply, reason):
    drafts, ask = run(lambda _: reply, make_params(short=1), attempts=3)
    assert len(ask.asked) == 3
    assert [row.reason for row in drafts.dropped] == [reason]
    assert reply in drafts.dropped[0].detail


def test_a_second_attempt_may_succeed():
    drafts, _ = run(
        lambda a: "town of the clinic" + (" [clinics.name]" if a.attempt else ""),
        make_params(short=1),
        attempts=2,
    )
    assert [row.text for row in drafts.rows] == ["town of the clinic [clinics.name]"]
