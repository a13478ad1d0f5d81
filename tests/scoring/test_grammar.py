"""Tests of GRAMMAR's rates on cases computed by hand.

Five groups; d is the true document everywhere. + correct, - incorrect, ? not judged.

group  rows (retrieved)                     tag
A      + {d}, + {d}                         robust
B      + {d}, - {d}, - {x}                  non-robust
C      - {d}, - {x}                         gap
D      ? {d}                                no scored row: left out
E      + {x}, - {x}                         non-robust
"""

import pytest

from tasks.scoring.running import Bootstrap


def row(group, judgement, retrieved, true=("d",)):
    return {
        "group": group,
        "query": "?",
        "judgement": {"+": "Correct", "-": "Incorrect", "?": None}[judgement],
        "retrieved_document_ids": list(retrieved),
        "true_document_ids": None if true is None else list(true),
    }


def number(rows):
    return [{"id": f"q{n}", **item} for n, item in enumerate(rows)]


ROWS = number(
    [
        row("A", "+", "d"), row("A", "+", "d"),
        row("B", "+", "d"), row("B", "-", "d"), row("B", "-", "x"),
        row("C", "-", "d"), row("C", "-", "x"),
        row("D", "?", "d"),
        row("E", "+", "x"), row("E", "-", "x"),
    ]
)  # fmt: skip


def test_rates_over_scored_rows(score):
    report = score("grammar", ROWS)
    assert (report["n"], report["n_scored"], report["n_skipped"], report["n_failed"]) == (10, 9, 1, 0)
    assert report["accuracy"] == pytest.approx(4 / 9)
    assert report["robustness"] == pytest.approx(4 / 7)  # 9 rows minus 2 of C
    assert report["retrieval_db_accuracy"] == pytest.approx(3 / 4)  # C of A, B, C, E
    assert report["lambda"] == pytest.approx(2 / 9)
    tags = ("gap_groups", "robust_groups", "non_robust_groups")
    assert [report[name] for name in tags] == [1, 1, 2]


def test_context_rules(score):
    context = score("grammar", ROWS)["context"]
    # gold: {d} was retrieved in A A, B B, C: 5 of 9; outside of C, 4 of 7
    assert context["gold"] == pytest.approx({"accuracy": 5 / 9, "robustness": 4 / 7})
    # siblings: the 4 correct ones, B's second row (as its first), E's second (as its first), not C's: 6 of 9
    assert context["siblings"] == pytest.approx({"accuracy": 6 / 9, "robustness": 6 / 7})


def test_closed_mode_takes_answers_without_their_true_documents_as_incorrect_before_tagging(score):
    # E's correct row retrieved only x: E becomes a gap group, and its rows no longer have siblings
    report = score("grammar", ROWS, closed=True)
    assert report["accuracy"] == pytest.approx(3 / 9)
    assert report["robustness"] == pytest.approx(3 / 5)  # 9 rows minus 4 of C and E
    assert report["retrieval_db_accuracy"] == pytest.approx(2 / 4)
    assert report["lambda"] == pytest.approx(4 / 9)
    assert [report[name] for name in ("gap_groups", "robust_groups", "non_robust_groups")] == [2, 1, 1]
    assert report["context"]["gold"] == pytest.approx({"accuracy": 5 / 9, "robustness": 4 / 5})
    assert report["context"]["siblings"] == pytest.approx({"accuracy": 4 / 9, "robustness": 4 / 5})


def test_closed_mode_wants_every_true_document(score):
    rows = [row("A", "+", "dx", "de"), row("A", "+", "exd", "de"), row("A", "+", "x", None)]
    report = score("grammar", number(rows), closed=True)
    assert report["accuracy"] == pytest.approx(2 / 3)  # e is missing; with null true ids the judgement counts


def test_ids_are_compared_as_sets_of_exact_ids(score_items):
    rows = number(
        [
            row("A", "+", ["a", "b"], ["b", "a"]),
            row("A", "-", ["b", "a", "a"], ["a", "b"]),
            row("A", "-", ["a"], ["a", "b"]),
            row("A", "-", [1], ["1"]),
            row("A", "-", [], []),
        ]
    )
    context = [line["context"] for line in score_items("grammar", rows)]
    assert [figures["gold"]["accuracy"] for figures in context] == [1, 1, 0, 0, 1]
    assert [figures["siblings"]["accuracy"] for figures in context] == [1, 1, 0, 0, 0]


def test_the_same_ids_in_another_group_are_no_siblings(score_items):
    rows = number([row("A", "+", "x"), row("A", "-", "d"), row("B", "+", "d"), row("B", "-", "x")])
    siblings = [line["context"]["siblings"]["accuracy"] for line in score_items("grammar", rows)]
    assert siblings == [1, 0, 1, 0]


def test_null_true_ids_make_gold_null_and_nothing_else(score):
    report = score("grammar", [*ROWS, {"id": "z", **row("A", "+", "d", None)}], intervals=Bootstrap(50))
    assert report["context"]["gold"] is None
    assert report["ci"]["context"]["gold"] is None
    assert report["context"]["siblings"]["accuracy"] == pytest.approx(7 / 10)
    # an unscored row's null does not count
    assert score("grammar", [*ROWS, {"id": "z", **row("D", "?", "d", None)}])["context"]["gold"] is not None


def test_all_gap_has_no_robustness_and_nothing_scored_no_rate(score):
    report = score("grammar", number([row("A", "-", "d")]))
    assert (report["accuracy"], report["robustness"], report["lambda"]) == (0, None, 1)
    assert report["context"]["gold"] == {"accuracy": 1, "robustness": None}
    report = score("grammar", number([row("A", "?", "d")]), intervals=Bootstrap(10))
    assert (report["n_scored"], report["accuracy"], report["gap_groups"]) == (0, None, 0)
    assert report["ci"]["accuracy"] is None


def test_each_item_has_its_own_scores(score_items):
    lines = score_items("grammar", ROWS)
    assert lines[3] == {
        "id": "q3",
        "accuracy": 0,
        "context": {"gold": {"accuracy": 1}, "siblings": {"accuracy": 1}},
    }
    assert lines[7] == {"id": "q7", "accuracy": None, "context": {"gold": None, "siblings": None}}


def test_intervals_draw_whole_groups(score):
    # Six groups of 50 rows, three all correct, three all wrong: in 7 of 64 samples, at most one of six groups
    # is robust, so the interval extends to 1 / 6; a bootstrap over rows would be near 0.5.
    rows = number([row(group, "+" if group in "ABC" else "-", "d") for group in "ABCDEF" for _ in range(50)])
    found = score("grammar", rows, intervals=Bootstrap(2000))["ci"]["accuracy"]
    assert found == pytest.approx([1 / 6, 5 / 6])
    assert score("grammar", rows[:250], intervals=Bootstrap(2000))["ci"]["accuracy"] is None, "of five"
