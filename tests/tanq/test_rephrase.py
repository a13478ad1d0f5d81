"""Tests of rephrasing questions by a model: accepted and rejected texts, and the number of rounds."""

import asyncio
import json
from dataclasses import replace

import pytest

from tasks.models.ask import Answer, Unparsed, try_parse
from tasks.tanq.build.rephrase import Rephrase, check_rephrased, list_frames, rephrase, tag_columns
from tasks.tanq.build.tables import AnswerTable, TableCell, TableRow
from tasks.tanq.entries import TanqSet
from tasks.tanq.graph.relations import Relation
from tasks.tanq.graph.seed_question import Condition, SeedQuestion
from tasks.tanq.graph.things import Thing

SEED = SeedQuestion(
    "s", "simple", "P47", "Which countries border Viet Nam (South)?", "countries", "country",
    (Condition("P47", "vn", "Viet Nam (South)"),), (), (), "graph", (),
)  # fmt: skip
RELATIONS = [
    Relation("P36", "capital", "capitals", "capital", "item", "", "", 0, 2, 2, ()),
    Relation("P2046", "area", "areas", "area", "quantity", "km2", "", 1, 2, 2, ()),
]
THINGS = [Thing("km2", "square kilometre", (), "", (), ())]
TABLE = AnswerTable("t", "s", "?", ("P36", "P2046"), (), 0, (), (), ())
TAGGED = (
    "Which countries border Viet Nam (South) and what are their capitals (capital) and areas in square "
    "kilometres (area)?"
)
TAGS = ["capital", "area"]
GOOD = "What are the capitals (capital) and areas (area) of the countries that border Viet Nam (South)?"


class Scripted:
    """Returns replies in sequence, and then always the last reply."""

    def __init__(self, *replies):
        self.replies, self.asked = list(replies), []

    async def __call__(self, prompt, fields, *, parse, grammar, row, **_):
        self.asked.append((prompt, fields, grammar))
        text = self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]
        value, problem = try_parse(parse, text)
        return Answer(value, text, f"call{len(self.asked)}", 1, problem or "")


def run(ask, **params):
    return asyncio.run(
        rephrase([TABLE], [SEED], RELATIONS, THINGS, Rephrase(**params), TanqSet(source="x"), ask)
    )


def test_a_question_is_reworded_and_its_tags_are_removed():
    (row,) = run(Scripted(GOOD)).rows
    assert row.tagged == GOOD
    assert row.text == "What are the capitals and areas of the countries that border Viet Nam (South)?"


def test_what_was_wrong_is_told_until_the_rounds_are_over():
    ask = Scripted("Which countries?", GOOD)
    (row,) = run(ask).rows
    assert [fields["problem"] for _, fields, _ in ask.asked] == ["", "the tag (capital) is missing"]
    assert [origin.reference for origin in row.origin] == ["tables#t", "call1", "call2"]
    ask = Scripted("Which countries?")
    result = run(ask, rounds=5)
    assert len(ask.asked) == 5
    assert [(drop.reason, drop.detail) for drop in result.dropped] == [
        ("unrephrased", "the tag (capital) is missing: Which countries?")
    ]


@pytest.mark.parametrize(
    ("reply", "problem"),
    [
        (GOOD.replace(" (area)", ""), r"the tag \(area\) is missing"),
        (GOOD.replace("areas (area)", "areas (area) and areas (area)"), "a tag occurs twice"),
        (GOOD.replace("areas (area)", "areas (area) and flags (flag)"), "is not one of the tags"),
        (GOOD.replace("Viet Nam (South)", "Viet Nam"), r"does not mention Viet Nam \(South\)"),
        (GOOD.replace("countries", "Asian countries"), "mentions Asian"),
        (GOOD.replace("countries", "3 countries"), "numbers differ"),
        (GOOD.replace("?", "."), "not a single question"),
        (GOOD + " Why?", "not a single question"),
        (GOOD.replace("countries", "countries " * 20), "more than 30 words"),
        ("`" + GOOD, "not a single question"),
        ("", "not a single question"),
    ],
)
def test_a_reply_that_asks_for_something_else_is_refused(reply, problem):
    with pytest.raises(Unparsed, match=problem):
        check_rephrased(reply, TAGGED, SEED, TAGS)


def test_every_wording_of_the_grammar_is_taken():
    ask = Scripted(GOOD)
    run(ask)
    choices = ask.asked[0][2].removeprefix("root ::= (").rpartition(") ")[0]
    frames = json.loads(f"[{choices.replace(' | ', ', ')}]")
    assert len(frames) == 4
    for frame in frames:
        assert check_rephrased(f"{frame}?", TAGGED, SEED, TAGS)


def test_what_each_answer_has_one_of_is_asked_for_in_the_singular():
    cells = (TableCell(("f1",), ("Hanoi",)), TableCell(("f2", "f3"), ("Laos", "China")))
    table = AnswerTable("t", "s", "?", ("P36", "P47"), (TableRow("vn", cells),), 0, (), (), ())
    border = Relation(
        "P47", "border", "neighbouring countries", "neighbouring country", "item", "", "", 2, 2, 2, ()
    )
    known = {"P36": RELATIONS[0], "P47": border}
    tags = {"P36": "capital", "P47": "border"}
    assert list(tag_columns(table, known, {}, tags, of_each=True).values()) == [
        "capital (capital)", "neighbouring countries (border)",
    ]  # fmt: skip
    assert list(tag_columns(table, known, {}, tags).values()) == [
        "capitals (capital)", "neighbouring countries (border)",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "turned"),
    [
        ("Which countries border Chad?", True),
        ("Which countries does Chad border?", False),
        ("Who won?", False),
    ],
)
def test_only_what_answers_do_is_turned_round(text, turned):
    seed = SeedQuestion("s", "simple", "x", text, "countries", "c", (), (), (), "graph", ())
    ((first, *frames),) = list_frames(
        seed, {"capital": "capitals (capital)"}, {"capital": "capital (capital)"}
    )
    assert frames[0] == f"{text.rstrip('?')}, and what is the capital (capital) of each"
    assert first == f"{text.rstrip('?')} and what are their capitals (capital)"
    assert any("countries that border Chad" in frame for frame in frames) == turned


def test_tables_beyond_the_number_asked_are_counted():
    other = AnswerTable("u", "s", "Q?", ("P36",), (), 0, (), (), ())
    result = asyncio.run(
        rephrase(
            [TABLE, other], [SEED], RELATIONS, THINGS, Rephrase(questions=1), TanqSet(source="x"),
            Scripted(GOOD.replace(" and areas (area)", ""), GOOD),
        )
    )  # fmt: skip
    assert [drop.reason for drop in result.dropped if drop.reason == "not_asked"] == ["not_asked"]


def test_people_are_those_who_do_something():
    seed = SeedQuestion(
        "s", "simple", "x", "Which listed people died in Oslo?", "listed people", "c", (), (), (), "graph", ()
    )
    ((*frames,),) = list_frames(seed, {"born": "dates of birth (born)"}, {"born": "date of birth (born)"})
    assert "What are the dates of birth (born) of the listed people who died in Oslo" in frames


def test_a_reply_has_room_for_every_column():
    class Room(Scripted):
        async def __call__(self, prompt, fields, *, max_tokens, **more):
            rooms.append(max_tokens)
            return await super().__call__(prompt, fields, **more)

    rooms = []
    names = [f"P{number}" for number in range(10)]
    known = [Relation(name, f"own {name}", f"{name}s", name, "item", "", "", 0, 2, 2, ()) for name in names]
    for count in (2, 3, 10):
        table = replace(TABLE, relations=tuple(names[:count]))
        asyncio.run(
            rephrase([table], [SEED], known, THINGS, Rephrase(rounds=1), TanqSet(source="x"), Room("?"))
        )
    assert rooms == [160, 160, 335]
