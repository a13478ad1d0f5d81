"""Tests of the item viewer for an interaction, and of links from an answer's sentences to queries."""

import json
from collections.abc import Sequence
from typing import Any

import pytest

from tasks.longform.judge.reference_verdicts import ReferenceVerdict
from tasks.longform.labels import SCORES, Verdict
from tasks.longform.solve.interaction import AgentQuery, AgentStatistic
from tasks.longform.view_interactions import Judged, link_sentences, tag_verdict, view_interactions
from tasks.reports.blocks import BAD, GOOD, OFF, Block
from tasks.reports.viewer import ViewedRow
from tests.longform.scripted_judges import make_interaction, make_query
from tests.longform.test_page import EVIL
from tests.longform.test_view import ARTIFACT, ROWS, SHOWN, find

SHIPS = make_query([["Ruvay", 28], ["Skarholm", 1414.26]])
DEPTH = make_query([["Overmere", None]], sql="SELECT name, depth FROM lights")
FAILED = make_query([], error="SqlFailed: no such column: bribe")
MEASURED = AgentQuery("SELECT a, b FROM t", ("a", "b"), "[[1, 2]]", 40, "",
    (AgentStatistic("pearson(a, b)", json.dumps({"r": 0.8125, "n": 40}), ""),))  # fmt: skip
QUERIES = (SHIPS, DEPTH, FAILED, MEASURED)


def find_after(blocks: Sequence[Block], title: str) -> list[Block]:
    """List the blocks between a heading and the next heading."""
    place = next(n for n, block in enumerate(blocks) if block[:2] == ("head", title))
    end = next((n for n in range(place + 1, len(blocks)) if blocks[n][0] == "head"), len(blocks))
    return list(blocks[place + 1 : end])


@pytest.fixture(scope="module")
def rows() -> dict[str, ViewedRow]:
    judged = Judged(
        *(ROWS[name] for name in ("reference_verdicts", "reviews", "meta_reviews", "revisions")),
        ROWS["error_types"],
    )
    viewer = view_interactions(ROWS["items"], SHOWN, ROWS["interactions"], judged, ARTIFACT)
    return {row.id: row for row in viewer.rows}


def test_an_interaction_is_filtered_by_its_item_its_agent_and_its_verdict(rows: dict[str, ViewedRow]) -> None:
    assert {name: row.values[-1] for name, row in rows.items()} == {
        "x1-sequential": "Match", "x1-guess": "no verdict", "x2-sequential": "no answer",
    }  # fmt: skip
    assert rows["x1-sequential"].values == ("lights", "conclusive", "sequential", "agent", "Match")
    assert rows["x1-sequential"].blocks[0] == ("shared", "i1")
    assert find(rows["x1-sequential"].blocks, "calls")[0][1] == ["c1", "c2"]
    assert "No answer: agent_answer: no reply parsed" in str(rows["x2-sequential"].blocks)
    assert "No peer reviewed the steps of this interaction." in str(rows["x1-guess"].blocks)


def test_results_are_as_the_agent_saw_them(rows: dict[str, ViewedRow]) -> None:
    several, failed = (fold for fold in find(rows["x1-sequential"].blocks, "fold") if fold[3] == "query")
    _, columns, cells, total, beside = several[-1][1]
    assert (columns, total, beside) == (["island", "ships"], 9, "as shown to the agent")
    assert cells == [["Ruvay", None], [EVIL, str(2**60)], ["Overmere", 1.5]]
    assert failed[1] == [("error", BAD)]
    assert failed[-1][1][1].startswith("SqlFailed")


def test_steps_stand_in_their_order_with_what_was_left_out(rows: dict[str, ViewedRow]) -> None:
    """The plan step differs from the whole plan here, so both are shown."""
    steps = find_after(rows["x1-sequential"].blocks, "Steps (4)")
    assert [block[2] if block[0] == "group" else block[1] for block in steps[:-1]] == [
        "plan", "Query 1", "Query 2", "reasoning",
    ]  # fmt: skip
    assert (
        steps[-1][1]
        == "Some parts of the prompts did not fit into the context window: 6 of 9 rows of query 1."
    )
    assert (
        find_after(rows["x1-guess"].blocks, "Steps (0)")[0][1] == "The agent took no steps except the answer."
    )


def test_each_sentence_of_an_answer_leads_to_the_queries_that_have_what_it_states(
    rows: dict[str, ViewedRow],
) -> None:
    ((parts, _),) = find(rows["x1-sequential"].blocks, "links")
    assert parts == [
        ["Yes. (not found in the rows of any query)", []],
        [EVIL, [["query 1", "query-1"]]],
    ], "the rows of query 1 have the text"
    assert find(rows["x1-guess"].blocks, "links") == []


def test_what_peers_said_stands_side_by_side(rows: dict[str, ViewedRow]) -> None:
    blocks = rows["x1-sequential"].blocks
    heads = [block[1] for block in blocks if block[0] == "head" and str(block[1])[2:3] == ":"]
    assert heads == ["IP: Interaction planning", "TE: Tool employment", "IS: Information synthesis"]
    (peers,) = find_after(blocks, "TE: Tool employment")
    columns: Any = {group[2]: group[3] for group in peers[3]}  # type: ignore[attr-defined]
    assert list(columns) == ["Reviews", "Meta-reviews", "Revision"]
    assert find(columns["Reviews"], "tags") == [
        ([("Perfect", GOOD)], "1"), ([("Imperfect", BAD)], "2"), ([("no verdict", OFF)], "3"),
    ]  # fmt: skip
    assert find(columns["Meta-reviews"], "tags") == [([("Perfect", GOOD)], "1")]
    assert find(columns["Revision"], "tags") == [
        ([("Imperfect", BAD)], ""), ([("statistics not computed", BAD)], ""),
    ]  # fmt: skip
    (peers,) = find_after(blocks, "IS: Information synthesis")
    assert "No error is labelled." in str(peers)


def test_the_same_question_to_others_is_linked(rows: dict[str, ViewedRow]) -> None:
    listed, *_ = find_after(rows["x1-guess"].blocks, "Other answers to the same question")
    assert listed[1] == [["sequential · agent", "Match", GOOD, "#interaction=x1-sequential"]]
    assert "Other answers to the same question" not in str(rows["x2-sequential"].blocks)


def test_verdicts_have_their_tones() -> None:
    def tag(label: Verdict | None, score: int | None) -> tuple[str, str]:
        return tag_verdict(make_interaction(), ReferenceVerdict("v", "x", "i", "", label, score, "", "", ()))

    assert [tag(None, int(score)) for score in SCORES] == [
        ("1 of 5", BAD), ("2 of 5", BAD), ("3 of 5", OFF), ("4 of 5", GOOD), ("5 of 5", GOOD),
    ]  # fmt: skip
    assert [tag(Verdict.MATCH, None), tag(Verdict.NOT_MATCH, None)] == [("Match", GOOD), ("Not Match", BAD)]


@pytest.mark.parametrize(
    ("sentence", "numbers"),
    [
        ("Keepers of ruvay guide most.", [1]),
        ("There are 28 of them.", [1]),
        ("It is 1,414.3 at the other.", [1]),
        ("It is 1,414.2 at the other.", []),
        ("It is 1414.", [1]),
        ("Neither Ruvay nor Overmere has one.", [1, 2]),
        ("They go together (r = 0.81).", [4]),
        ("They go together (r = 0.82).", []),
        ("Ruvayan keepers do not.", []),
        ("There are 128 or 28.5 of 1 kind.", []),
        ("Nothing is known.", []),
    ],
)
def test_a_sentence_is_linked_by_a_name_or_a_figure_as_far_as_it_is_said(
    sentence: str, numbers: list[int]
) -> None:
    assert link_sentences(sentence, QUERIES) == [(sentence, numbers)]


def test_an_answer_is_split_at_its_sentences_and_not_in_numbers() -> None:
    answer = "Yes, 28 ships. Overmere has 1.5 fewer!  Nobody else?"
    assert link_sentences(answer, QUERIES) == [
        ("Yes, 28 ships.", [1]),
        ("Overmere has 1.5 fewer!", [2]),
        ("Nobody else?", []),
    ]
    assert link_sentences("", QUERIES) == []
