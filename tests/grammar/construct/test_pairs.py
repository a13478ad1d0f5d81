"""Tests of both question sets: unbalanced by a rule per criterion, balanced by number."""

from collections import Counter

from tasks.artifacts.rows import make_id
from tasks.grammar.construct.balanced import Balanced, balanced
from tasks.grammar.construct.fill_in import Filling, Group
from tasks.grammar.construct.pairs import fill_text
from tasks.grammar.construct.text_templates import TextTemplate
from tasks.grammar.construct.unbalanced import Unbalanced, unbalanced

GROUPS = [
    Group(
        f"g{n}",
        template,
        f"SELECT {n}",
        (Filling("clinics.name", f"N{n}"),),
        f"town {n}",
        f'[["town {n}"]]',
        (),
    )
    for n, template in enumerate(["one"] * 40 + ["two"] * 2 + ["bare"])
]
TEXTS = [
    TextTemplate(f"{template}-{criterion}-{n}", template, criterion, f"{criterion} {n} of [clinics.name]", ())
    for template, criterion, count in [("one", "short", 3), ("one", "long", 2), ("two", "short", 2)]
    for n in range(count)
]


def test_by_default_every_text_meets_every_group_of_its_template():
    drafts = unbalanced(TEXTS, GROUPS, Unbalanced())
    assert len(drafts.rows) == 40 * 5 + 2 * 2
    assert len({row.id for row in drafts.rows}) == len(drafts.rows)
    assert [(row.id, row.reason) for row in drafts.dropped] == [("g42", "no_text")]
    first = next(row for row in drafts.rows if row.group == "g7" and row.text_template == "one-short-0")
    assert (first.question, first.answer, first.sql) == ("short 0 of N7", "town 7", "SELECT 7")
    assert {o.reference for o in first.origin} == {"second_reading#one-short-0", "fill_in#g7"}


def test_a_rule_takes_the_first_texts_of_a_criterion():
    drafts = unbalanced(TEXTS, GROUPS, Unbalanced(rules={"short": {"first": 1}, "long": {"first": 0}}))
    assert Counter(row.criterion for row in drafts.rows) == {"short": 42}


def test_a_probability_leaves_a_seeded_part_of_the_groups():
    def groups(seed):
        params = Unbalanced(seed=seed, rules={"long": {"keep": 0.5}})
        return {row.group for row in unbalanced(TEXTS, GROUPS, params).rows if row.criterion == "long"}

    assert groups(1) == groups(1)
    assert groups(1) != groups(2)
    # In 40 fair draws, fewer than 8 or more than 32 have a probability below 1 in 10,000.
    assert 8 <= len(groups(1)) <= 32


def test_the_balanced_set_has_equally_many_texts_per_group_and_criterion():
    drafts = balanced(TEXTS, GROUPS, [], Balanced(criteria=("short", "long"), texts=2))
    per_group = Counter((row.group, row.criterion) for row in drafts.rows)
    assert set(per_group.values()) == {2}
    assert {group for group, _ in per_group} == {f"g{n}" for n in range(40)}
    assert {(row.id, row.reason) for row in drafts.dropped} == {
        (f"g{n}", "too_few_texts") for n in (40, 41, 42)
    }
    assert "0 long" in drafts.dropped[0].detail


def test_a_question_has_the_same_id_in_both_sets():
    one = {row.id for row in unbalanced(TEXTS, GROUPS, Unbalanced()).rows}
    assert {row.id for row in balanced(TEXTS, GROUPS, [], Balanced(criteria=("short",), texts=1)).rows} <= one
    assert make_id("question", "one-short-0", "g0") in one


def test_a_question_writes_dates_and_large_bounds_as_people_do():
    values = {"visits.day": "2013-01-05", "visits.fee:over": "2500000", "visits.number": "25000",
              "visits.year:from": "1990", "visits.note": "2013-13-45"}  # fmt: skip
    group = Group("g", "t", "SELECT 1", tuple(Filling(*pair) for pair in values.items()), "a", "[]", ())
    text = "of [visits.day] over [visits.fee:over], number [visits.number], [visits.year:from], [visits.note]"
    assert fill_text(text, group) == "of 5 January 2013 over 2,500,000, number 25000, 1990, 2013-13-45"
