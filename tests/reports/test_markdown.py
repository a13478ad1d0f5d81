"""Tests of the report for pull requests: tables, and escaping of names and warnings."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from tasks.judging.comparison import Comparison, compare_scored_systems
from tasks.judging.pair_analysis import analyse_pairs, price_means
from tasks.judging.priced_means import AnswerCost
from tasks.reports.markdown import list_drops, quote, write_markdown
from tests.browser.compared import make_scored_system

HOSTILE = [
    "a | b", "<script>alert(1)</script>", "@everyone", "#12 and !34", "[x](javascript:alert(1))", "`code`",
    "![x](https://evil.example/x.png)", "https://evil.example", "www.evil.example", "*bold* _it_ ~~no~~",
    "- a list", "1. a list", "# a head", "> said", "a\n\n| b |\n| --- |", "&lt;b&gt; &amp;", "\\| \\<b>",
    "$x$ :smile: ^up^", "a\u202eb\u200bc\x00d", "team/repo#5", "%milestone ~label &epic",
]  # fmt: skip
MARKDOWN = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
COST = AnswerCost(tokens=812.4, usd=0.00123, seconds=0.5)


def list_tables(text: str) -> list[list[list[str]]]:
    """List the tables of a report as rows of the cells' texts."""
    tables: list[list[list[str]]] = []
    for token in MARKDOWN.parse(text):
        if token.type == "table_open":
            tables.append([])
        elif token.type == "tr_open":
            tables[-1].append([])
        elif token.type == "inline" and tables and token.level > 3:
            tables[-1][-1].append(read_text(token))
    return tables


def read_text(token) -> str:
    """Return the visible text of an inline token; anything except plain text fails."""
    assert {child.type for child in token.children} <= {"text", "text_special"}, token.content
    return "".join(child.content for child in token.children).replace("\u200b", "")


def compare(right_a, right_b, names=("before", "after"), cost=COST) -> Comparison:
    a, b = make_scored_system(names[0], right_a, "red"), make_scored_system(names[1], right_b, "blue")
    comparison = compare_scored_systems([(a, b)], names=names, draws=500)
    means = [
        price_means(scored_systems, found, lambda scored_system: cost)
        for scored_systems, found in analyse_pairs([(a, b)], draws=500)
    ]
    return replace(comparison, means=means)


HALF = [number % 2 == 0 for number in range(40)]


def test_a_drop_is_the_verdict_and_both_tables_have_its_figures():
    comparison = compare([True] * 40, HALF)
    text = write_markdown(comparison)
    (change,) = comparison.strands[0].metrics
    assert "accuracy dropped by 0.500" in text
    assert f"[{change.low:+.3f} to {change.high:+.3f}]" in text
    systems, pairs = list_tables(text)
    assert systems[0] == ["System", "accuracy", "95% interval", "items", "tokens", "price", "latency"]
    assert systems[1] == ["entry/before", "1.000", systems[1][2], "40", "812", "$0.0012", "0.50 s"]
    assert systems[2][:2] == ["entry/after", "0.500"]
    assert pairs[1][:6] == ["entry/before → entry/after", "accuracy", "40", "1.000", "0.500", "-0.500"]
    assert pairs[1][-2:] == ["20", "0"]
    assert [drop.metric for drop in list_drops(comparison)] == ["accuracy"]


def test_nothing_that_dropped_is_said_plainly_and_a_rise_is_told():
    same = compare(HALF, HALF)
    assert "**No metric dropped significantly** (1 test)." in write_markdown(same)
    assert list_drops(same) == []
    risen = write_markdown(compare(HALF, [True] * 40))
    assert "No metric dropped significantly" in risen
    assert "accuracy rose by 0.500" in risen


def test_too_few_items_are_no_verdict():
    text = write_markdown(compare([True] * 3, [False] * 3))
    assert "No metric could be tested" in text
    assert "too few to distinguish a difference from chance" in text


def test_what_is_not_known_of_the_cost_is_not_shown():
    text = write_markdown(compare(HALF, HALF, cost=AnswerCost(20.0, why="run.prices has no price of a|b")))
    assert list_tables(text)[0][1][-3:] == ["20", "not shown", "not shown"]
    assert "Price not shown: run.prices has no price of a&#124;b." in text


@pytest.mark.parametrize("text", HOSTILE)
def test_a_hostile_name_stays_one_cell_of_plain_text(text):
    written = write_markdown(compare(HALF, HALF, names=(text, "after")), alone={"A": [text], "B": []})
    systems, pairs = list_tables(written)
    shown = " ".join(re.sub(r"[\x00-\x1f\u202e\u200b]+", " ", text).split())
    assert systems[1][0] == f"entry/{shown}"
    assert {len(row) for row in systems} == {7}
    assert {len(row) for row in pairs} == {10}
    rendered = MARKDOWN.render(written)
    assert not re.search(r"<(script|img|a|b|code|em|del|blockquote|ol)\b", rendered)
    assert not re.search(r"[@#!~%&]\w", re.sub(r"&\w+;|#{3,4} ", "", re.sub(r"<[^>]+>", "", rendered)))


@given(st.text())
def test_any_text_is_one_line_of_plain_text(text):
    tokens = MARKDOWN.parse(f"| {quote(text)} |\n| --- |")
    cells = [token for token in tokens if token.type == "inline"]
    assert len(cells) == 1
    read_text(cells[0])
    for token in MARKDOWN.parse(quote(text)):
        assert token.type in {"paragraph_open", "inline", "paragraph_close"}


def test_links_are_of_the_web_alone():
    text = write_markdown(
        compare(HALF, HALF), links=[("Job", "https://host/1"), ("x", "javascript:alert(1)")]
    )
    assert '<a href="https://host/1">Job</a>' in MARKDOWN.render(text)
    assert "javascript" not in text
