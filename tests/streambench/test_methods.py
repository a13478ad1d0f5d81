"""Tests of every method's definition, on models with known behaviour."""

import pytest

from tasks.errors import BadInput
from tests.streambench.scripted import (
    StreamAsk,
    follow_examples,
    know_all,
    know_nothing,
    make_items,
    make_shots,
    run_steps,
)

SHOTS = make_shots(6)


def run(reply, count, *methods, **more):
    """Run methods with one model; return the bits of each method."""
    ask = StreamAsk(reply)
    runs = run_steps(ask, make_items(count), *methods, shots=SHOTS, **more)
    return ask, {rows[0].method: rows for rows in runs.values()}


def bits(rows):
    return "".join(str(int(row.bit)) for row in rows)


def test_few_shot_shows_the_first_k_shots_in_their_order_each_time():
    ask, runs = run(know_all, 3, "few_shot", k=3)
    assert [example.split("\n") for example in ask.asked[2].examples] == [
        ["Question: red 900", "RED"],
        ["Question: green 901", "GREEN"],
        ["Question: blue 902", "BLUE"],
    ]
    assert [[entry.item for entry in row.shown] for row in runs["few_shot"]] == [["s0", "s1", "s2"]] * 3
    assert {entry.position for entry in runs["few_shot"][0].shown} == {0}
    assert "shots#s1" in {origin.reference for origin in runs["few_shot"][0].origin}


def test_chain_asks_for_reasoning_and_keeps_the_answer_alone():
    ask, runs = run(lambda asked: f"It looks so.\nAnswer: {know_all(asked)}", 2, "chain")
    assert ask.asked[0].max_tokens == 40
    assert "Style: chain" in ask.asked[0].text
    assert [row.answer for row in runs["chain"]] == ["RED", "GREEN"]
    assert runs["chain"][0].reply == "It looks so.\nAnswer: RED"


def test_self_refine_alternates_until_the_marker_or_four_refinements():
    def reply(asked):
        number = int(asked.question.split()[1])
        if asked.prompt == "critique":
            return "NO NEED TO REFINE" if f"VERSION {number}" in asked.text else "Not yet."
        if asked.prompt == "refine":
            return f"VERSION {asked.text.count('Remarks ')}"
        return "VERSION 0"

    ask, runs = run(reply, 7, "self_refine")
    rows = runs["self_refine"]
    # Item 0 stops immediately, item 3 after three refinements, items 4 to 6 after four.
    assert [row.answer for row in rows] == [f"VERSION {number}" for number in (0, 1, 2, 3, 4, 4, 4)]
    assert [len(row.calls) for row in rows] == [2, 4, 6, 8, 9, 9, 9]
    of_three = [asked for asked in ask.asked if asked.question == "blue 5"]
    order = ["zero_shot"] + ["critique", "refine"] * 4
    assert [asked.prompt for asked in of_three] == order
    last = of_three[-1].text
    assert [
        last.index(f"Answer {n}:\nVERSION {n - 1}\nRemarks {n}:\nNot yet.") for n in (1, 2, 3, 4)
    ] == sorted(last.index(f"Answer {n}:") for n in (1, 2, 3, 4)), "the whole history, numbered"
    assert "VERSION 3" in of_three[-2].text
    assert "VERSION 2" not in of_three[-2].text, "a critique is shown the current answer alone"
    assert {asked.max_tokens for asked in of_three if asked.prompt == "critique"} == {200}


def test_a_critique_that_fails_makes_the_step_fail():
    def reply(asked):
        return "" if asked.prompt == "critique" else know_all(asked)

    _, runs = run(reply, 1, "self_refine")
    (row,) = runs["self_refine"]
    assert (row.answer, row.bit, row.failed) == (None, False, "empty: the critique has no text")


def test_no_refinements_is_zero_shot():
    ask, _ = run(know_all, 2, "self_refine", params={"refinements": 0})
    assert [asked.prompt for asked in ask.asked] == ["zero_shot", "zero_shot"]


def test_grow_prompt_shows_the_last_k_steps_oldest_first_with_feedback():
    ask, runs = run(
        lambda asked: "NONE" if "green" in asked.question else know_all(asked), 4, "grow_prompt", k=2
    )
    assert ask.asked[3].examples == [
        "Question: green 1\nNONE\nFeedback: That is wrong.",
        "Question: blue 2\nBLUE\nFeedback: That is right.",
    ]
    assert [[entry.position for entry in row.shown] for row in runs["grow_prompt"]] == [
        [],
        [1],
        [1, 2],
        [2, 3],
    ]
    assert "whether each was right" in ask.asked[3].text


def test_mem_prompt_shows_the_k_nearest_the_nearest_last_with_feedback():
    ask, runs = run(
        lambda asked: "NONE" if "green" in asked.question else know_all(asked), 7, "mem_prompt", k=3
    )
    # Red 6 after red 0, green 1, blue 2, red 3, green 4, blue 5: the reds, and the nearest other by number.
    assert [entry.position for entry in runs["mem_prompt"][6].shown] == [6, 1, 4]
    distances = [entry.distance for entry in runs["mem_prompt"][6].shown]
    assert distances == sorted(distances, reverse=True)
    assert ask.asked[6].examples[-1] == "Question: red 3\nRED\nFeedback: That is right."
    assert runs["mem_prompt"][1].stored.words == "That is wrong."


def test_ablations_filter_after_the_selection():
    def half(asked):
        number = int(asked.question.split()[1])
        return know_all(asked) if number % 2 else "NONE"

    choices = [
        {"method": method, "use": use}
        for method in ("grow_prompt", "mem_prompt")
        for use in ("all", "correct", "incorrect")
    ]
    _, runs = run(half, 6, *choices, k=3)
    # Step 6 (blue 5): the window is steps 3, 4, 5, of which step 4 (red 3) is right.
    shown = {label: [entry.position for entry in rows[5].shown] for label, rows in runs.items()}
    assert shown["grow_prompt"] == [3, 4, 5]
    assert shown["grow_prompt-correct"] == [4]
    assert shown["grow_prompt-incorrect"] == [3, 5]
    found = shown["mem_prompt"]
    assert len(found) == 3
    assert shown["mem_prompt-correct"] == [position for position in found if position % 2 == 0]
    assert shown["mem_prompt-incorrect"] == [position for position in found if position % 2 == 1]


def test_nothing_left_by_an_ablation_is_the_zero_shot_prompt():
    ask, runs = run(know_nothing, 3, {"method": "mem_prompt", "use": "correct"}, "zero_shot")
    assert {asked.prompt for asked in ask.asked} == {"zero_shot"}
    assert runs["mem_prompt-correct"][2].calls == runs["zero_shot"][2].calls


def test_self_stream_icl_keeps_right_answers_and_shows_no_feedback():
    ask, runs = run(
        lambda asked: "NONE" if "green" in asked.question else know_all(asked), 5, "self_stream_icl"
    )
    rows = runs["self_stream_icl"]
    assert [row.memory_size for row in rows] == [1, 1, 2, 3, 3]
    assert [row.stored is None for row in rows] == [False, True, False, False, True]
    assert "Feedback" not in "".join(asked.text for asked in ask.asked)
    # Green 4 after red 0, blue 2, red 3, whose distances differ only by their numbers.
    assert ask.asked[4].examples == ["Question: red 0\nRED", "Question: blue 2\nBLUE", "Question: red 3\nRED"]


def test_agents_take_turns_and_the_index_moves_before_use():
    _, runs = run(know_all, 7, "mam_stream_icl", "self_stream_icl", models=["a", "b", "c"])
    rows = runs["mam_stream_icl"]
    assert [row.agent for row in rows] == ["b", "c", "a", "b", "c", "a", "b"]
    assert {row.agents for row in rows} == {("a", "b", "c")}
    assert rows[0].run == "mam_stream_icl|a+b+c|42", "one run with all models"
    # b answers red 6 with the examples found by b (red 3, red 0), a and c.
    assert {entry.position for entry in rows[6].shown} >= {1, 4}
    assert [row.stored.agent for row in rows] == ["b", "c", "a", "b", "c", "a", "b"]


def test_with_one_agent_it_is_self_stream_icl():
    ask = StreamAsk(follow_examples)
    runs = run_steps(ask, make_items(6), "mam_stream_icl", "self_stream_icl")
    one, other = runs["mam_stream_icl|agent|42"], runs["self_stream_icl|agent|42"]
    assert [row.calls for row in one] == [row.calls for row in other]


CHOSEN = {"method": "mam_stream_icl", "memory_of": "a"}


def right_but_b(asked):
    """Answer correctly for all agents except b."""
    return "NONE" if asked.role == "b" else know_all(asked)


def test_one_agents_memory_by_its_turns():
    ask, runs = run(right_but_b, 6, {**CHOSEN, "memory_rule": "store_on_turn"}, models=["a", "b", "c"])
    rows = runs["mam_stream_icl-store_on_turn-a"]
    assert [row.agent for row in rows] == ["b", "c", "a", "b", "c", "a"]
    assert bits(rows) == "011011"
    assert [row.stored.agent if row.stored else None for row in rows] == [None, None, "a", None, None, "a"]
    assert [row.memory_size for row in rows] == [0, 0, 1, 1, 1, 2]
    assert all(row.shadow_calls == () for row in rows)
    assert len(ask.asked) == 6


def test_one_agents_memory_by_its_shadow():
    ask, runs = run(right_but_b, 6, {**CHOSEN, "memory_rule": "shadow"}, models=["a", "b", "c"])
    rows = runs["mam_stream_icl-shadow-a"]
    assert [row.agent for row in rows] == ["b", "c", "a", "b", "c", "a"]
    assert bits(rows) == "011011", "the shadow is not scored"
    assert [row.stored.agent for row in rows] == ["a"] * 6
    assert [row.memory_size for row in rows] == [1, 2, 3, 4, 5, 6]
    assert [len(row.shadow_calls) for row in rows] == [1, 1, 0, 1, 1, 0]
    assert all(len(row.calls) == 1 for row in rows)
    assert [asked.role for asked in ask.asked] == ["b", "a", "c", "a", "a", "b", "a", "c", "a", "a"]
    # Both agents see the same examples.
    assert ask.asked[5].text == ask.asked[6].text


def test_a_shadow_that_is_wrong_or_silent_is_not_kept():
    def reply(asked):
        return " " if asked.role == "a" and "green" in asked.question else right_but_b(asked)

    _, runs = run(
        reply,
        6,
        {**CHOSEN, "memory_of": "b", "memory_rule": "shadow"},
        {**CHOSEN, "memory_rule": "shadow"},
        models=["a", "b", "c"],
    )
    assert runs["mam_stream_icl-shadow-b"][-1].memory_size == 0
    # Steps 2 and 5 are green; a gives no answer there.
    assert [row.memory_size for row in runs["mam_stream_icl-shadow-a"]] == [1, 1, 2, 3, 3, 4]


@pytest.mark.parametrize(
    ("choice", "said"),
    [
        ({"method": "zero_shot", "use": "correct"}, "does not support `use`"),
        ({"method": "self_stream_icl", "use": "incorrect"}, "does not support `use`"),
        ({"method": "mem_prompt", "memory_of": "agent"}, "does not support `memory_of`"),
        ({"method": "mam_stream_icl", "memory_of": "nobody"}, "nobody is not one of agent"),
        ({"method": "mam_stream_icl", "memory_rule": "shadow"}, "no memory_of"),
    ],
)
def test_an_ablation_that_a_method_does_not_have_is_refused(choice, said):
    with pytest.raises(BadInput, match=said):
        run(know_all, 2, choice)
