"""Tests of naming the module that causes most wrong answers, for all phrasings."""

from dataclasses import replace

import pytest

from tasks.grammar.assess.contrast import NONE_SHOWN
from tasks.grammar.assess.judged import tag_rows
from tasks.grammar.assess.losses import find_losses
from tasks.scoring.running import Bootstrap
from tests.grammar.assess.test_judged import make, number

DRAWS = Bootstrap(2000, 0)


def ask(group, marks, retrieved="d"):
    """Return rows of one group, one per mark (+ correct, - wrong), with alternating criteria."""
    return [make(group, mark, retrieved, criterion=("short", "long")[n % 2]) for n, mark in enumerate(marks)]


def find(groups):
    return find_losses(tag_rows(number([row for group in groups for row in group]), "open"), DRAWS)


@pytest.mark.parametrize(
    ("retrieved", "module"),
    [("d", "model"), ("x", "retrieval")],
)
def test_a_module_that_fails_whatever_the_wording_is_named(retrieved, module):
    found = find(ask(f"g{n}", "++" if n < 4 else "--", "d" if n < 4 else retrieved) for n in range(20))
    assert found.module == module
    assert (found.n, found.wrong) == (40, 32)
    assert found.parts[0].module == module
    assert (found.parts[0].wrong, found.parts[0].share) == (32, 0.8)
    assert 0.5 < found.parts[0].low < 0.8 < found.parts[0].high <= 1
    assert "of all answers (95% interval), more than any other module" in found.why


@pytest.mark.parametrize(
    ("groups", "why"),
    [
        # A good system: 2 of 40 wrong.
        ([ask(f"g{n}", "-+" if n in (3, 9) else "++") for n in range(20)], "more than 10% of all answers"),
        # 16 wrong answers by each of two modules.
        (
            [ask(f"g{n}", "--" if n < 16 else "++", "x" if n % 2 else "d") for n in range(20)],
            "do not differ significantly",
        ),
        ([ask(f"g{n}", "--") for n in range(4)], "too few SQL templates (4)"),
    ],
)
def test_none_is_named_where_none_stands_out(groups, why):
    found = find(groups)
    assert found.module == NONE_SHOWN
    assert why in found.why


def test_what_was_retrieved_must_be_known():
    rows = [make(f"g{n}", "-", None, criterion="short") for n in range(20)]
    found = find([rows])
    assert (found.module, found.why) == (None, "the system retrieves no documents, or does not return them")


def test_modules_that_lose_the_same_are_seldom_told_apart():
    from random import Random

    named = 0
    for seed in range(60):
        draw = Random(seed)
        groups = [ask(f"g{n}", "--", draw.choice("dx")) for n in range(20)]
        named += (
            find_losses(tag_rows(number([r for g in groups for r in g]), "open"), Bootstrap(400, seed)).module
            != NONE_SHOWN
        )
    assert named <= 6


def test_rows_of_which_nobody_can_tell_are_a_part_and_may_be_anyones():
    told = [ask(f"g{n}", "--" if n < 8 else "++", "x") for n in range(20)]
    assert find(told).module == "retrieval"
    untold = [ask(f"h{n}", "--", "d") for n in range(6)]
    dark = [[replace(row, enough=None, obtainable=None) for row in rows] for rows in untold]
    found = find([*told, *dark])
    assert found.module == NONE_SHOWN
    assert [part.wrong for part in found.parts if part.module == "not told"] == [12]
    assert sum(part.wrong for part in found.parts) == found.wrong
