"""Tests of prompts: order, shared parts, two blank lines, and the limit of the context window."""

import pytest

from tasks.judging.prompt_room import estimate_tokens
from tasks.models.ask import render_prompt
from tasks.streambench.environment import PromptParts
from tasks.streambench.solve.agents import PROMPTS
from tasks.streambench.solve.step_caller import BETWEEN, FRAME, count_cut, list_fields, measure_room
from tests.streambench.scripted import StreamAsk, know_all, make_items, run_steps

PARTS = PromptParts("TASK", "COMMON", "CONTEXT", "QUESTION", "INSTRUCTION")
MORE = {
    "zero_shot": {},
    "with_examples": {"examples": "EXAMPLES", "judged": False},
    "critique": {"answer": "ANSWER", "marker": "MARKER"},
    "refine": {"history": "HISTORY"},
}
ORDER = ("TASK", "COMMON", "EXAMPLES", "CONTEXT", "QUESTION", "ANSWER", "HISTORY", "INSTRUCTION")


def render(name, parts=PARTS, **more):
    fields = {**list_fields(parts), **MORE[name], **more}
    return render_prompt(PROMPTS / f"{name}.md", fields).messages


@pytest.mark.parametrize("name", MORE)
def test_the_parts_stand_in_their_order_and_the_shared_ones_first(name):
    system, user = render(name)
    assert system["content"] == "TASK\n\nCOMMON", "the same for all items, methods and steps of a stream"
    text = f"{system['content']}\n{user['content']}"
    there = [part for part in ORDER if part in text]
    assert {"TASK", "COMMON", "CONTEXT", "QUESTION", *MORE[name].values()} - {False} <= {*there, "MARKER"}
    assert [text.index(part) for part in there] == sorted(text.index(part) for part in there)
    assert ("INSTRUCTION" in text) == (name != "critique"), "a critique is no answer"


@pytest.mark.parametrize("name", MORE)
def test_parts_that_are_empty_leave_no_gap(name):
    system, user = render(name, PromptParts("TASK", "", "", "QUESTION", "INSTRUCTION"))
    assert system["content"] == "TASK"
    lines = user["content"].replace(f"{BETWEEN}EXAMPLES{BETWEEN}", "")
    assert "\n\n\n" not in lines


@pytest.mark.parametrize("judged", [True, False])
def test_a_prompts_own_words_are_within_their_frame(judged):
    parts = PromptParts("", "", "", "", "")
    for name, more in MORE.items():
        fields = {field: value if isinstance(value, bool) else "" for field, value in more.items()}
        words = render(name, parts, **{**fields, **({"judged": judged} if "judged" in more else {})})
        assert sum(estimate_tokens(message["content"]) + 8 for message in words) < FRAME, name


def test_a_prompt_with_examples_word_by_word():
    ask = StreamAsk(know_all)
    run_steps(ask, make_items(3), "self_stream_icl")
    assert ask.asked[0].text == "Name the colour.\nQuestion: red 0\n\nStyle: direct"
    assert ask.asked[2].text == (
        "Name the colour.\n"
        "These are earlier tasks with right answers. Answer in the same way.\n\n\n"
        "Question: red 0\nRED\n\n\n"
        "Question: green 1\nGREEN\n\n\n"
        "This is the task now.\n\n"
        "Question: blue 2\n\nStyle: direct"
    )


def test_the_last_texts_that_have_room_are_kept():
    texts = ["a" * 40, "b" * 40, "c" * 40]  # ten tokens each, and one per separator
    assert [count_cut(texts, room) for room in (99, 33, 32, 21, 5, -5)] == [0, 0, 1, 2, 3, 3]
    assert count_cut(["a" * 40, "b" * 400, "c" * 4], 12) == 2, "none is passed over"


def test_a_window_leaves_out_the_first_examples_and_lists_them():
    parts = PromptParts("Name the colour.", "", "", "Question: red 6", "Style: direct")
    # An example has about eight tokens; the item, the reply and two examples fit into the window.
    window = next(size for size in range(100, 2_000) if measure_room(parts, size, 20) >= 17)
    ask = StreamAsk(know_all)
    rows = run_steps(ask, make_items(7), "grow_prompt", params={"window": window}, k=4)[
        "grow_prompt|agent|42"
    ]
    assert ask.asked[6].examples == [
        "Question: blue 5\nBLUE\nFeedback: That is right.",
    ]
    assert [entry.position for entry in rows[6].shown] == [6], "what was really shown"
    assert rows[6].left_out == ("example of step 3", "example of step 4", "example of step 5")
    assert rows[0].left_out == ()


def test_an_item_that_does_not_fit_is_not_asked():
    items = make_items(3)
    items[1] = type(items[1])(**{**items[1].__dict__, "context": "word " * 4_000})
    ask = StreamAsk(know_all)
    settings = {"roles.agent.model": "small", "models.small.context": 4096}
    rows = run_steps(ask, items, "self_stream_icl", settings=settings)["self_stream_icl|agent|42"]
    assert [row.bit for row in rows] == [True, False, True]
    assert rows[1].failed == "not asked: the window of 4,096 tokens has no room for the item and the reply"
    assert (rows[1].calls, rows[1].outcome, rows[1].reply) == ((), "failed", "")
    assert len(ask.asked) == 2
    assert run_steps(ask, items, "self_stream_icl")["self_stream_icl|agent|42"][1].bit, (
        "another model has room"
    )
    narrow = {"windows": {"agent": 64}}
    rows = run_steps(ask, items, "zero_shot", settings=settings, params=narrow)["zero_shot|agent|42"]
    assert not any(row.calls for row in rows), "a role's own window goes before its model's"
