"""What the item viewer shows of a question, and of what an agent did with it, as blocks."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tasks.longform.judge.reference_verdicts import ReferenceVerdict
from tasks.longform.labels import SCORES, Verdict
from tasks.longform.view import ItemSources, show_items, view_questions
from tasks.longform.view_interactions import Judged, tag_verdict, view_interactions
from tasks.reports.blocks import BAD, GOOD, OFF, Block
from tasks.reports.viewer import ViewedRow
from tests.longform.scripted_judges import make_interaction, make_item
from tests.longform.test_page import EVIL, make_rows

ROWS = make_rows()
SOURCES = ItemSources.gather(ROWS["control"], ROWS["construct"], ROWS["conclude"])
ARTIFACT = Path("interactions.parquet")


def walk(blocks: Sequence[Block]) -> Iterator[Block]:
    """Yield blocks with those inside folds and groups, in order."""
    for block in blocks:
        yield block
        if block[0] in ("fold", "group"):
            inside: Any = block[-1]
            yield from walk(inside)


def find(blocks: Sequence[Block], kind: str) -> list[Any]:
    return [block[1:] for block in walk(blocks) if block[0] == kind]


def find_after(blocks: Sequence[Block], title: str) -> list[Block]:
    """List the blocks between a heading and the next one."""
    place = next(n for n, block in enumerate(blocks) if block[:2] == ("head", title))
    end = next((n for n in range(place + 1, len(blocks)) if blocks[n][0] == "head"), len(blocks))
    return list(blocks[place + 1 : end])


@pytest.fixture(scope="module")
def rows() -> dict[str, ViewedRow]:
    judged = Judged(
        *(ROWS[name] for name in ("reference_verdicts", "reviews", "meta_reviews", "revisions")),
        ROWS["error_types"],
    )
    viewer = view_interactions(ROWS["items"], SOURCES, ROWS["interactions"], judged, ARTIFACT)
    return {row.id: row for row in viewer.rows}


@pytest.fixture(scope="module")
def items() -> dict[str, list[Block]]:
    return show_items(ROWS["items"], SOURCES)


def test_an_item_has_its_whole_database_and_its_evidence(items: dict[str, list[Block]]) -> None:
    tables = {fold[0]: fold[-1] for fold in find(items["i1"], "fold") if fold[3] == "rows"}
    assert tables["keepers"][0][1:4] == (
        ["keeper_id", "island"],
        [[1, "Skarholm"], [2, "Ruvay"], [3, "Ruvay"], [4, "Overmere"]],
        4,
    )
    assert tables["shifts"][0][2] == [["1", 14]]
    told, claim = (fold for fold in find(items["i1"], "fold") if fold[3] == "claim")
    assert told[0] == "What it was condensed from"
    assert claim[-1][0][1] == "SELECT 28"
    assert claim[-1][1][1:] == (["ships"], [[28]], 1, "")
    assert find(items["i1"], "list")[0][0] == [["Higher average number of ships", "as conjectured", GOOD]]
    assert "2 tables, 5 rows; its rows were asked for 2 times." in str(items["i1"])
    assert ("head", "Reference answer", [("stated plainly", OFF)]) in items["i1"]


def test_an_item_of_unknown_making_is_shown_without(items: dict[str, list[Block]]) -> None:
    assert "What it was condensed from" not in str(items["i2"])
    assert ("head", "Reference answer", []) in items["i2"]
    assert "asked for" not in str(items["i2"])
    assert "Nothing is known of its conjecture." in str(items["i2"])
    assert "No query backs it." in str(items["i2"])


def test_numbers_that_no_script_holds_are_shown_as_text() -> None:
    script = f"CREATE TABLE t (a REAL); INSERT INTO t VALUES (9e999), (NULL), ({2**60});"
    (shown,) = show_items([make_item(1, script=script)], SOURCES).values()
    (fold,) = (fold for fold in find(shown, "fold") if fold[3] == "rows")
    assert fold[-1][0][2] == [["inf"], [None], [2.0**60]]


def test_questions_are_listed_by_database_with_their_filters() -> None:
    viewer = view_questions(ROWS["items"], SOURCES, {"i1": ["c1"]}, Path("items.parquet"))
    assert [(row.id, tuple(row.values)) for row in viewer.rows] == [
        ("i2", ("harbours", "interpretive", "model")),
        ("i1", ("lights", "conclusive", "model")),
    ]
    assert viewer.rows[1].tags == [("conclusive", ""), ("lights", OFF), ("stated plainly", OFF)]
    assert [find(row.blocks, "calls")[0][1] for row in viewer.rows] == [[], ["c1"]]


def test_an_interaction_is_filtered_by_its_item_its_agent_and_its_verdict(rows: dict[str, ViewedRow]) -> None:
    assert {name: row.values[-1] for name, row in rows.items()} == {
        "x1-sequential": "Match", "x1-guess": "no verdict", "x2-sequential": "no answer",
    }  # fmt: skip
    assert rows["x1-sequential"].values == ("lights", "conclusive", "sequential", "agent", "Match")
    assert rows["x1-sequential"].blocks[0] == ("shared", "i1")
    assert find(rows["x1-sequential"].blocks, "calls")[0][1] == ["c1", "c2"]
    assert "No answer: agent_answer: no reply parsed" in str(rows["x2-sequential"].blocks)
    assert "Nobody reviewed its steps." in str(rows["x1-guess"].blocks)


def test_results_are_as_the_agent_saw_them(rows: dict[str, ViewedRow]) -> None:
    several, failed = (fold for fold in find(rows["x1-sequential"].blocks, "fold") if fold[3] == "query")
    _, columns, cells, total, beside = several[-1][1]
    assert (columns, total, beside) == (["island", "ships"], 9, "as the agent saw them")
    assert cells == [["Ruvay", None], [EVIL, str(2**60)], ["Overmere", 1.5]]
    assert failed[1] == [("error", BAD)]
    assert failed[-1][1][1].startswith("SqlFailed")


def test_steps_stand_in_their_order_with_what_was_left_out(rows: dict[str, ViewedRow]) -> None:
    """The plan step differs from the whole plan here, so both are shown."""
    steps = find_after(rows["x1-sequential"].blocks, "Steps (4)")
    assert [block[2] if block[0] == "group" else block[1] for block in steps[:-1]] == [
        "plan", "Query 1", "Query 2", "reasoning",
    ]  # fmt: skip
    assert steps[-1][1] == "Left out of its prompts for lack of room: 6 of 9 rows of query 1."
    assert find_after(rows["x1-guess"].blocks, "Steps (0)")[0][1] == "None but its answer."


def test_each_sentence_of_an_answer_leads_to_the_queries_that_have_what_it_states(
    rows: dict[str, ViewedRow],
) -> None:
    ((parts, _),) = find(rows["x1-sequential"].blocks, "links")
    assert parts == [
        ["Yes. (in no query's rows)", []],
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
    assert "None was named." in str(peers)


def test_the_same_question_to_others_is_linked(rows: dict[str, ViewedRow]) -> None:
    listed, *_ = find_after(rows["x1-guess"].blocks, "The same question to others")
    assert listed[1] == [["sequential · agent", "Match", GOOD, "#interaction=x1-sequential"]]
    assert "The same question to others" not in str(rows["x2-sequential"].blocks)


def test_verdicts_have_their_tones() -> None:
    def tag(label: Verdict | None, score: int | None) -> tuple[str, str]:
        return tag_verdict(make_interaction(), ReferenceVerdict("v", "x", "i", "", label, score, "", "", ()))

    assert [tag(None, int(score)) for score in SCORES] == [
        ("1 of 5", BAD), ("2 of 5", BAD), ("3 of 5", OFF), ("4 of 5", GOOD), ("5 of 5", GOOD),
    ]  # fmt: skip
    assert [tag(Verdict.MATCH, None), tag(Verdict.NOT_MATCH, None)] == [("Match", GOOD), ("Not Match", BAD)]
