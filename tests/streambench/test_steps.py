"""Tests of the stage on a scripted environment: rows, failures, runs, and independence of replies' order."""

import pytest

from tasks.errors import BadInput, StageFailed
from tasks.models.stream_board import BOARD
from tests.streambench.scripted import StreamAsk, dump, know_all, make_items, order, run_steps


def test_a_thin_whole():
    ask = StreamAsk(know_all)
    runs = run_steps(ask, make_items(7), "zero_shot", "self_stream_icl", seeds=(42, 7))
    assert sorted(runs) == [
        "self_stream_icl|agent|42",
        "self_stream_icl|agent|7",
        "zero_shot|agent|42",
        "zero_shot|agent|7",
    ]
    for rows in runs.values():
        assert [row.position for row in rows] == [1, 2, 3, 4, 5, 6, 7]
        assert all(row.bit and row.outcome == "correct" and not row.failed for row in rows)
        assert rows[0].values == '{"em": 1.0}'
    own = runs["self_stream_icl|agent|42"]
    assert [row.memory_size for row in own] == [1, 2, 3, 4, 5, 6, 7]
    assert own[0].shown == ()
    assert own[0].calls == runs["zero_shot|agent|42"][0].calls, "no shots yet is the zero-shot prompt"
    # Step 7 is red 6: red 3 and red 0 are nearest, then other items by number.
    assert [entry.item for entry in own[6].shown][-2:] == ["i000", "i003"]
    assert len(own[6].shown) == 4
    assert {origin.reference for origin in own[6].origin} >= {"items#i006", "sequence#p42-7", *own[6].calls}
    assert len({row.id for rows in runs.values() for row in rows}) == 28
    assert len(ask.embedded) == 7, "each key once, whatever the number of streams"
    assert BOARD.describe(9) == []


def test_without_a_method_that_searches_nothing_is_embedded():
    ask = StreamAsk(know_all)
    run_steps(ask, make_items(5), "zero_shot", "grow_prompt", "chain", "self_refine")
    assert ask.embedded == []


def test_what_no_endpoint_answers_is_told_at_the_end_and_ends_the_stream_that_learns():
    ask = StreamAsk(lambda asked: None if asked.question == "green 1" else know_all(asked))
    with pytest.raises(StageFailed, match=r"steps: 2 steps have a call that no endpoint answered \(a"):
        run_steps(ask, make_items(5), "zero_shot", "self_stream_icl")
    assert len(ask.asked) == 7, "all five of zero-shot, and two of the other"
    runs = run_steps(ask, make_items(5), "zero_shot", "self_stream_icl", params={"count_unanswered": True})
    failed = runs["self_stream_icl|agent|42"][1]
    assert (failed.answer, failed.bit, failed.outcome, failed.calls) == (None, False, "failed", ())
    assert failed.failed == "no reply: the endpoint gave none", "no seconds, no number of tries"
    assert failed.words == "That is wrong."
    assert failed.stored is None
    assert [row.memory_size for row in runs["self_stream_icl|agent|42"]] == [1, 1, 2, 3, 4]


def test_a_reply_that_is_no_answer_and_a_gold_answer_that_does_not_run_are_wrong_steps():
    items = make_items(4)
    items[2] = type(items[2])(**{**items[2].__dict__, "gold": "broken"})
    ask = StreamAsk(lambda asked: " " if asked.question == "green 1" else know_all(asked))
    rows = run_steps(ask, items, "grow_prompt")["grow_prompt|agent|42"]
    assert [row.bit for row in rows] == [True, False, False, True]
    assert [row.outcome for row in rows] == ["correct", "failed", "unjudged", "correct"]
    assert [row.answer for row in rows] == ["RED", None, "BLUE", "RED"]
    assert rows[1].failed == "empty: there is no answer"
    assert len(rows[1].calls) == 1, "what it cost is booked"
    assert rows[2].failed == "the gold answer does not run"
    assert [row.memory_size for row in rows] == [1, 1, 2, 3], "without an answer there is nothing to show"


def test_only_so_many_steps_and_the_seeds_and_models_of_a_method():
    runs = run_steps(
        StreamAsk(know_all),
        make_items(6),
        "zero_shot",
        "chain",
        "mam_stream_icl",
        sequence=order(make_items(6), 1, 2, 3),
        seeds=(1, 2),
        steps=2,
        method_seeds={"chain": [3], "mam_stream_icl": [3]},
        method_models={"chain": ["agent", "other"], "mam_stream_icl": ["other", "agent"]},
    )
    assert {name: len(rows) for name, rows in runs.items()} == {
        "chain|agent|3": 2,
        "chain|other|3": 2,
        "mam_stream_icl|other+agent|3": 2,
        "zero_shot|agent|1": 2,
        "zero_shot|agent|2": 2,
    }


def test_what_cannot_be_run_is_refused():
    items, ask = make_items(3), StreamAsk(know_all)
    with pytest.raises(BadInput, match="no order for seed 9"):
        run_steps(ask, items, "zero_shot", method_seeds={"zero_shot": [9]})
    with pytest.raises(BadInput, match="method_models: no method has the label few"):
        run_steps(ask, items, "zero_shot", method_models={"few": ["agent"]})
    with pytest.raises(BadInput, match="no method has the label few"):
        run_steps(ask, items, "zero_shot", method_seeds={"few": [42]})
    with pytest.raises(BadInput, match="the stream has no shots"):
        run_steps(ask, items, "few_shot")
    with pytest.raises(BadInput, match=r"'guessing': is not known \(known: chain, few_shot, "):
        run_steps(ask, items, "guessing")
    with pytest.raises(StageFailed, match="position 3 in the order for seed 42 has no item"):
        run_steps(ask, items[:2], "zero_shot", sequence=order(items, 42))
    assert ask.asked == []


def test_rows_are_the_same_whatever_order_replies_come_in():
    def run(width):
        import tasks.streambench.solve.stream_runs as loop

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(loop, "WIDTH", width)
            return dump(run_steps(StreamAsk(know_all), make_items(9), "zero_shot", "mem_prompt"))

    assert run(1) == run(9)
