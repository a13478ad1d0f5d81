"""Tests of GRAMMAR-Eval's rules on cases computed by hand.

d is the true document. Rows: + judged Correct, - Incorrect, ? unscored; retrieved documents in braces.

group  rows                                  tag, open           tag, closed
A      + {d}, + {d e}                        robust              robust
B      + {d e}, - {d}, - {x}                 non-robust          non-robust
C      - {d}, - {x}                          gap                 gap
D      ? {d}                                 none                none
E      + {x}, - {x}                          non-robust          gap: the model knew the answer without d
"""

import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.grammar.assess.judged import (
    ATTRIBUTIONS,
    DATABASE,
    MODEL,
    MODES,
    REQUIREMENTS,
    RETRIEVAL,
    RULES,
    JudgedRow,
    check_identity,
    measure,
    shows_retrieval,
    tag_groups,
    tag_rows,
)
from tasks.scoring.correctness import Correctness
from tasks.scoring.running import Bootstrap

LABELS = {"+": Correctness.CORRECT, "-": Correctness.INCORRECT, "?": None}


def make(group, label, retrieved, true="d", criterion="short", number=0):
    return JudgedRow(
        id=f"{group}{number}",
        group=group,
        criterion=criterion,
        judgement=LABELS[label],
        retrieved=None if retrieved is None else frozenset(retrieved),
        true=None if true is None else frozenset(true),
        enough=None if None in (true, retrieved) else set(true) <= set(retrieved),
        obtainable=None if None in (true, retrieved) else True,
    )


def number(rows):
    return [replace(row, id=f"{row.group}{n}") for n, row in enumerate(rows)]


ROWS = number(
    [
        make("A", "+", "d"), make("A", "+", "de"),
        make("B", "+", "de"), make("B", "-", "d"), make("B", "-", "x"),
        make("C", "-", "d"), make("C", "-", "x"),
        make("D", "?", "d"),
        make("E", "+", "x"), make("E", "-", "x"),
    ]
)  # fmt: skip


def modules(mode, rule):
    return [row.find_module(rule) for row in tag_rows(ROWS, mode) if not row.correct]


def test_groups_are_tagged_by_their_scored_rows():
    assert tag_groups([("a", True), ("a", None), ("b", False), ("c", True), ("c", False), ("d", None)]) == {
        "a": "robust",
        "b": "gap",
        "c": "non-robust",
    }


def test_rates_in_both_modes():
    # open: 9 scored, 4 correct, 2 in the gap C: R = 4/7.
    # closed: E's + {x} falls, E becomes a gap: 3 of 9, 3/5.
    shown = {mode: measure(ROWS, mode) for mode in MODES}
    assert [shown[mode]["accuracy"] for mode in MODES] == pytest.approx([4 / 9, 3 / 9])
    assert [shown[mode]["robustness"] for mode in MODES] == pytest.approx([4 / 7, 3 / 5])
    assert [shown[mode]["retrieval_db_accuracy"] for mode in MODES] == pytest.approx([3 / 4, 2 / 4])


def test_wrong_rows_are_put_down_to_modules_under_each_rule():
    # The wrong rows, in order: B {d}, B {x}, C {d}, C {x}, E {x}. C is a gap: every rule blames the database.
    gap = [DATABASE, DATABASE]
    # B's correct sibling retrieved {d e}: neither {d} nor {x} equals it; E's correct sibling retrieved {x}.
    assert modules("open", "siblings") == [RETRIEVAL, RETRIEVAL, *gap, MODEL]
    # {d} shares d with {d e}; {x} shares nothing.
    assert modules("open", "siblings_overlap") == [MODEL, RETRIEVAL, *gap, MODEL]
    # {d} equals the true set, {x} does not.
    assert modules("open", "gold") == [MODEL, RETRIEVAL, *gap, RETRIEVAL]
    assert modules("open", "gold_contained") == [MODEL, RETRIEVAL, *gap, RETRIEVAL]
    # closed: both of E's rows are wrong, in a gap.
    assert modules("closed", "siblings_overlap") == [MODEL, RETRIEVAL, *gap, DATABASE, DATABASE]


def test_more_than_the_true_documents_is_enough_for_containment_alone():
    # {d e} contains d but is not {d}: the retriever's fault under `gold`, the model's under `gold_contained`.
    rows = number([make("A", "+", "d"), make("A", "-", "de")])
    wrong = tag_rows(rows, "open")[1]
    assert [wrong.find_module(rule) for rule in RULES] == [RETRIEVAL, MODEL, RETRIEVAL, MODEL]
    context = measure(rows, "open")["context"]
    assert [context[rule]["accuracy"] for rule in RULES] == [0.5, 1, 0.5, 1]


def test_no_true_document_is_not_contained_in_everything():
    wrong = tag_rows(number([make("A", "+", "", ""), make("A", "-", "x", "")]), "open")[1]
    assert wrong.sufficient["gold_contained"] is False


def test_widening_does_not_undo_closed_mode():
    # The second row was Correct without d. It shares no document with its sibling, so it stays wrong.
    rows = number([make("A", "+", "de"), make("A", "+", "e")])
    tagged = tag_rows(rows, "closed")
    assert [row.correct for row in tagged] == [True, False]
    assert tagged[1].find_module("siblings_overlap") == MODEL
    assert measure(rows, "closed")["context"]["siblings_overlap"]["accuracy"] == 1
    assert measure(rows, "closed")["accuracy"] == 0.5


def test_a_system_that_does_not_show_its_retrieval_has_no_context_figures():
    rows = number([make("A", "+", None), make("A", "-", None)])
    for mode in MODES:
        figures = measure(rows, mode, Bootstrap(20))
        assert figures["accuracy"] == 0.5  # closed mode cannot decide, so the judgement remains
        assert figures["context"] == dict.fromkeys(RULES)
        assert figures["ci"]["context"] == dict.fromkeys(RULES)
        assert [row.find_module(rule) for row in tag_rows(rows, mode) for rule in RULES] == [None] * 8


def test_a_model_alone_has_no_retriever_to_blame():
    rows = number([make("A", "+", ""), make("A", "-", "")])
    assert measure(rows, "open")["context"] == dict.fromkeys(RULES)
    assert {tag_rows(rows, "open")[1].find_module(rule) for rule in RULES} == {None}
    assert measure(rows, "closed")["accuracy"] == 0  # closed: the model knew everything alone


def test_unknown_true_documents_leave_gold_open_and_siblings_told():
    rows = number([make("A", "+", "d", None), make("A", "-", "d", None)])
    context = measure(rows, "open")["context"]
    assert context["gold"] is None
    assert context["gold_contained"] is None
    assert context["siblings"]["accuracy"] == 1
    assert tag_rows(rows, "open")[1].find_module("gold") is None


def test_the_identity_is_held_and_a_breach_is_raised():
    assert check_identity({"accuracy": 0.3, "robustness": 0.5, "lambda": 0.4}) == pytest.approx(0)
    with pytest.raises(ArithmeticError):
        check_identity({"accuracy": 0.31, "robustness": 0.5, "lambda": 0.4})


rows_of_any_kind = st.lists(
    st.builds(
        make,
        st.sampled_from("ABC"),
        st.sampled_from("+-?"),
        st.sets(st.sampled_from("dex")),
        st.sets(st.sampled_from("de"), max_size=2),
        st.sampled_from(["short", "long"]),
    ),
    max_size=14,
).map(number)


@given(rows_of_any_kind, st.sampled_from(MODES))
def test_accuracy_is_always_r_times_one_less_lambda_and_modules_share_out_the_wrong(rows, mode):
    figures = measure(rows, mode)
    assert check_identity(figures) < 1e-9
    tagged = tag_rows(rows, mode)
    assert len(tagged) == sum(row.judgement is not None for row in rows)
    tags = {row.judged.group: row.tag for row in tagged}
    names = {"gap": "gap_groups", "robust": "robust_groups", "non-robust": "non_robust_groups"}
    for tag, name in names.items():
        assert sum(found == tag for found in tags.values()) == figures[name]
    for rule in RULES:
        wrong = [row.find_module(rule) for row in tagged if not row.correct]
        if shows_retrieval(rows):  # true ids are known, so every wrong row has a module
            assert None not in wrong
        if figures["accuracy"] is not None:
            assert 1 - len(wrong) / len(tagged) == pytest.approx(figures["accuracy"])


@given(rows_of_any_kind, st.sampled_from(MODES), st.integers(0, 99))
def test_renaming_ids_and_turning_rows_changes_nothing(rows, mode, seed):
    names = dict(zip("dex", ["9", "é", "~"], strict=True))
    groups = dict(zip("ABC", ["z", "y", "x"], strict=True))
    renamed = [
        replace(
            row,
            group=groups[row.group],
            retrieved=frozenset(names[document] for document in row.retrieved),
            true=frozenset(names[document] for document in row.true),
        )
        for row in rows
    ]
    random.Random(seed).shuffle(renamed)
    assert measure(renamed, mode) == measure(rows, mode)
    before = {row.judged.id: {rule: row.find_module(rule) for rule in RULES} for row in tag_rows(rows, mode)}
    after = {
        row.judged.id: {rule: row.find_module(rule) for rule in RULES} for row in tag_rows(renamed, mode)
    }
    assert before == after


def test_every_rule_of_attribution_has_words_for_pages():
    assert set(REQUIREMENTS) == set(ATTRIBUTIONS)
