import asyncio
from dataclasses import replace
from itertools import pairwise
from types import SimpleNamespace

import pytest

from tasks.grammar.construct.queries import Query, write_template
from tasks.grammar.construct.sql_templates import SqlTemplate
from tasks.grammar.construct.text_requests import (
    Criterion,
    TextExample,
    TextTemplates,
    compose_offers,
    list_frames,
    list_requests,
)
from tasks.grammar.construct.text_templates import text_templates
from tests.grammar.scripted import SCHEMA, ScriptedAsk

QUERY = Query(("clinics.town",), (), ("clinics.name",))
TEMPLATE = SqlTemplate(
    QUERY.id, write_template(QUERY), QUERY.tables, QUERY.projection, QUERY.placeholders, 0, ()
)
LONG = (
    "I am writing down the way for a friend who has never been there and would rather not be late. "
    "Could you please tell me the town that the clinic [clinics.name] is in?"
)


def make_params(**samples):
    criteria = {
        "short": {"prompt": "texts/short", "minimum_words": 3, "maximum_words": 10, "samples": 2},
        "long": {
            "prompt": "texts/long",
            "minimum_words": 25,
            "maximum_words": 45,
            "sentences": True,
            "samples": 1,
        },
    }
    return TextTemplates(criteria={name: {**criteria[name], "samples": n} for name, n in samples.items()})


def run(reply, params, attempts=1, own=(), groups=None, constrain="none"):
    ask = ScriptedAsk(reply, attempts)
    groups = [SimpleNamespace(sql_template=TEMPLATE.id)] if groups is None else groups
    return asyncio.run(
        text_templates([TEMPLATE], own, groups, SCHEMA, {"roles.generator.constrain": constrain}, params, ask)
    ), ask


def test_each_criterion_is_asked_with_its_own_prompt_and_bounds():
    short = iter(["town of the clinic [clinics.name]", "the town that has the clinic [clinics.name]"])
    drafts, ask = run(
        lambda a: LONG if a.prompt.name == "long" else next(short), make_params(short=2, long=1)
    )
    assert sorted(row.criterion for row in drafts.rows) == ["long", "short", "short"]
    assert [a.prompt.name for a in ask.asked] == ["short", "short", "long"]
    assert [a.sample for a in ask.asked] == [0, 1, 0]
    assert "25 to 45 words" in ask.asked[2].text
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


def read_reason(reply, criterion="long"):
    drafts, _ = run(lambda _: reply, make_params(**{criterion: 1}))
    return [drop.reason for drop in drafts.dropped]


def test_a_sentence_that_another_text_has_is_dropped():
    other = LONG.replace("writing", "putting").replace("is in", "lies in")
    replies = iter([LONG, LONG.replace("is in?", "lies in?"), other])
    drafts, _ = run(lambda _: next(replies), make_params(long=3))
    assert [row.text for row in drafts.rows] == [LONG, other.replace("lies", "lies")]
    assert [drop.reason for drop in drafts.dropped] == ["shared_sentence"]


def test_a_message_that_is_the_prompts_example_is_dropped():
    params = make_params(long=1)
    example = TextExample(text=LONG.replace("town", "height"))
    criterion = params.criteria["long"].model_copy(update={"example": example})
    drafts, _ = run(lambda _: LONG, TextTemplates(criteria={"long": criterion}))
    assert [drop.reason for drop in drafts.dropped] == ["copied_example"]


def test_no_two_requests_share_circumstance_and_opening():
    criterion = Criterion(
        prompt="texts/long",
        samples=4,
        circumstances=[f"I am {n}" for n in range(7)],
        openings=[f"Would {n}" for n in range(5)],
    )
    templates = [replace(TEMPLATE, id=f"t{n}") for n in range(8)]
    requests = list_requests("long", criterion, templates)
    pairs = [(request.circumstance, request.opening) for request in requests]
    assert len(set(pairs)) == len(pairs) == 32
    assert all(first[0] != other[0] for first, other in pairwise(pairs))
    again = list_requests("long", criterion.model_copy(update={"seed": 1}), templates)
    assert [request.circumstance for request in again] != [request.circumstance for request in requests]


def test_a_request_without_a_wording_goes_on_to_a_frame_that_no_other_has():
    # A clinic's town has few fragments of a form; none is left for the fifth request.
    short = make_params(short=7).criteria["short"].model_copy(update={"forms": ("wanted", "given", "asking")})
    params = {"short": short.model_copy(update={"wordings": 2})}
    requests = list_requests("short", params["short"], [TEMPLATE])
    offers = compose_offers(requests, SCHEMA, params)
    moved = [offer for offer, request in zip(offers, requests, strict=True) if offer.request != request]
    assert moved
    assert [offer.request.id for offer in offers] == [request.id for request in requests]
    wordings = [text for offer in offers for text in offer.wordings]
    assert len(set(wordings)) == len(wordings)
    # Templates with their own wordings do not depend on other templates.
    alone = compose_offers(requests[:2], SCHEMA, params)
    assert offers[:2] == alone


def test_a_message_that_is_too_short_in_its_circumstance_gets_a_longer_one():
    criterion = (
        make_params(long=1)
        .criteria["long"]
        .model_copy(
            update={
                "circumstances": (
                    "I am compiling a list",
                    "I am writing a long letter to a friend who has moved away from here",
                ),
                "reasons": ("and one question remains",),
                "openings": ("Could you tell me",),
            }
        )
    )
    frames = [frame for frame, _ in zip(list_frames("long", criterion), range(2), strict=False)]
    assert {frame.circumstance for frame in frames} == set(criterion.circumstances)
    for start in range(2):
        requests = [replace(list_requests("long", criterion, [TEMPLATE])[0], **frames[start]._asdict())]
        (offer,) = compose_offers(requests, SCHEMA, {"long": criterion})
        assert offer.wordings
        assert all(len(text.split()) >= 25 and "letter" in text for text in offer.wordings)


def test_a_request_names_its_circumstance_opening_and_form():
    criterion = (
        make_params(long=1)
        .criteria["long"]
        .model_copy(update={"circumstances": ("I am settling a bet",), "openings": ("Would you know",)})
    )
    short = make_params(short=3).criteria["short"].model_copy(update={"forms": ("wanted", "given", "asking")})
    params = TextTemplates(criteria={"long": criterion, "short": short})
    _, ask = run(lambda _: "", params)
    assert "Begin: I am settling a bet\nQuestion: Would you know\n" in ask.asked[0].text
    assert '"I am settling a bet" turn' in ask.asked[0].grammar
    forms = [request.text for request in ask.asked[1:]]
    assert ["Begin with " in text for text in forms] == [True] * 3
    assert len(set(forms)) == len({request.grammar for request in ask.asked[1:]}) == 3


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (("clinic [clinics.name] is in?", "clinic clinic [clinics.name] is in?"), "doubled_word"),
        (("writing down", "writing down down"), "doubled_word"),
        (("for a friend", "for an friend"), "wrong_article"),
        (("the way", "the wayy"), "unknown_word"),
        (
            (LONG[LONG.index("Could") :], "The town of the clinic [clinics.name] would help us all."),
            "no_question",
        ),
        (
            ("I am writing down the way for a friend who has never been", "Here writing never been"),
            "too_short",
        ),
    ],
)
def test_clumsy_messages_are_dropped(change, reason):
    assert read_reason(LONG.replace(*change)) == [reason]


def test_a_template_without_groups_is_not_worded(tmp_path):
    drafts, ask = run(lambda _: "town of the clinic [clinics.name]", make_params(short=2), groups=())
    assert not drafts.rows
    assert not ask.asked
    assert [(row.reason, row.detail) for row in drafts.dropped] == [("no_groups", TEMPLATE.sql)]
