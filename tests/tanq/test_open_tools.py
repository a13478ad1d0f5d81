import json
from pathlib import Path

import pytest

from tasks.errors import BadInput
from tasks.models.ask import Unparsed
from tasks.models.tools import write_calls
from tasks.tanq.solve.article_shelf import open_shelf
from tasks.tanq.solve.calculator import NoArithmetic, calculate
from tasks.tanq.solve.open_agent import run_tool
from tasks.tanq.solve.open_replies import (
    AgentMove,
    make_found_grammar,
    make_main_grammar,
    make_sub_grammar,
    offer_found,
    offer_main,
    offer_sub,
    parse_found,
    parse_main_move,
    parse_sub_move,
)
from tasks.tanq.solve.table_options import OpenLimits
from tests.tanq.table_items import write_articles


@pytest.mark.parametrize(
    ("expression", "value"),
    [("1955 - 1879", "76"), ("385,207 / 2", "192603.5"), ("round(10 / 3, 2)", "3.33"), ("2**10", "1024"),
     ("2^3", "8"), ("-(3 - 5) * 1.5", "3"), ("max(3, 7)", "7"), ("7 // 2 + 7 % 2", "4"), ("0.1 + 0.2", "0.3"),
     ("`1e3`", "1000"), ("6 \u00d7 7", "42")],
)  # fmt: skip
def test_arithmetic_is_computed(expression: str, value: str) -> None:
    assert calculate(expression) == value


@pytest.mark.timeout(10)
@pytest.mark.parametrize(
    "expression",
    ["9**9**9", "9**9**9**9", "10**18 * 10", "1e400", "1/0", "2**-65", "", "(((", "9" * 300, "(1+1)" * 39,
     "__import__('os').system('id')", "().__class__.__bases__", "open('/etc/passwd')", "'a' * 9", "[1] * 9",
     "lambda: 1", "import os", "round.__class__", "True", "1 if 1 else 2", "http://host/", "1; 2", "1 == 1",
     "f'{1}'", "abs", "max()", "round(1, 2, 3)", "1 << 9", "0x10", "(-8) ** 0.5", "[x for x in range(9)]"],
)  # fmt: skip
def test_nothing_else_is_computed(expression: str) -> None:
    with pytest.raises(NoArithmetic):
        calculate(expression)


def test_search_finds_one_article_and_evidence_in_it(tmp_path: Path) -> None:
    with open_shelf(write_articles(tmp_path)) as shelf:
        assert shelf.search("capital of Norway") == "Norway"
        assert shelf.search("Stockholm") == "Sweden"
        assert shelf.search("zzz") is None
        assert shelf.search(" \0 ") is None
        assert (shelf.find("norway"), shelf.find("Kingdom_of_Norway"), shelf.find("Oslo")) == (
            "Norway",
            "Norway",
            None,
        )
        assert shelf.read_intro("Norway") == ["Norway is a country.", "Oslo is the capital of Norway."]
        found = shelf.find_evidence("Norway", "capitals", 9)
        assert set(found) == {"Capital: Oslo", "Oslo is the capital of Norway."}, "by the stem of a word"
        assert shelf.find_evidence("Norway", "old", 9) == ["History: Norway is old."]
        assert len(shelf.find_evidence("Norway", "norway capital", 1)) == 1


@pytest.mark.parametrize(
    "hostile",
    ["../../etc/passwd", "/etc/passwd", "file:///etc/passwd", "http://127.0.0.1:1/x", '" OR title:"',
     "NEAR(a b)", "*", "title : Norway", "-", "\0", "%s" * 500, "a" * 100_000, "Norway\nSweden", "\ud800"],
)  # fmt: skip
def test_a_name_is_looked_up_in_the_index_and_nowhere_else(tmp_path: Path, hostile: str) -> None:
    with open_shelf(write_articles(tmp_path)) as shelf:
        for tool in ("GetIntro", "FindEvidence", "WikiSearch"):
            lines = run_tool(shelf, AgentMove("", tool, hostile), 3).lines
            assert lines
            assert not any("root:" in line for line in lines)
            assert len("".join(lines)) < 400
        assert run_tool(shelf, AgentMove("", "GetIntro", "Atlantis of Norway"), 3).lines == [
            "There is no article 'Atlantis of Norway'. There is 'Norway'."
        ]
        assert run_tool(shelf, AgentMove("", "Calculate", hostile), 3).lines[0].startswith("Not computed: ")


def test_a_folder_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput), open_shelf(tmp_path):
        pass


@pytest.mark.parametrize(
    ("reply", "move"),
    [
        ("Thought: t\nWikiSearch: Oslo area", AgentMove("t", "WikiSearch", "Oslo area")),
        ("**Thought:** t\n**GetIntro:** Oslo", AgentMove("t", "GetIntro", "Oslo")),
        ("FindEvidence: Oslo\nKeywords: area", AgentMove("", "FindEvidence", "Oslo | area")),
        ("FindEvidence: Oslo", AgentMove("", "FindEvidence", "Oslo | ")),
        ('Action: FindEvidence("Oslo", area km)', AgentMove("", "FindEvidence", "Oslo | area km")),
        ("Thought: t\nAction: WikiSearch[Oslo]\nObservation: x", AgentMove("t", "WikiSearch", "Oslo")),
        ("WikiSearch: Oslo\nResult: made up\nFound: made up", AgentMove("", "WikiSearch", "Oslo")),
        ("Thought: t\nFound: Oslo;\nBergen", AgentMove("t", "", "Oslo; Bergen")),
    ],
)
def test_a_step_of_a_sub_agent_is_read_and_what_follows_is_not(reply: str, move: AgentMove) -> None:
    assert parse_sub_move(reply) == move


def test_steps_of_the_main_agent_and_last_words_are_read() -> None:
    assert parse_main_move("Thought: t\nSubTask: find all") == AgentMove("t", "SubTask", "find all")
    assert parse_main_move("Thought: t\nTABLE") == AgentMove("t", "", "")
    assert parse_main_move("SubTask: a\nTABLE").tool == "SubTask", "the first one counts"
    assert parse_main_move("Calculate: 1 + 1").argument == "1 + 1"
    assert parse_found("Found: a\nb").argument == parse_found("a b").argument == "a b"
    for parse, reply in ((parse_main_move, "Hm."), (parse_sub_move, "SubTask: x"),
                         (parse_sub_move, "WikiSearch:"), (parse_found, " "),
                         (parse_main_move, "")):  # fmt: skip
        with pytest.raises(Unparsed):
            parse(reply)


@pytest.mark.timeout(20)
@pytest.mark.parametrize("unit", ["-", "*Thought: ", "Action ", "FindEvidence(", "\n", "# ", "Thought:\n"])
def test_hostile_steps_are_read_in_time(unit: str) -> None:
    for parse in (parse_main_move, parse_sub_move):
        with pytest.raises(Unparsed):
            parse(unit * (20_000 // len(unit)))


def test_calls_of_tools_are_read_as_the_same_steps() -> None:
    given = {"thought": "t", "findevidence": "Oslo", "keywords": "area"}
    call = {
        "function": {
            "name": "find_evidence",
            "arguments": json.dumps(given),
        }
    }
    assert parse_sub_move(write_calls([call], offer_sub(noted=False))) == AgentMove(
        "t", "FindEvidence", "Oslo | area"
    )
    end = {"function": {"name": "table", "arguments": "{}"}}
    assert parse_main_move(write_calls([end], offer_main(noted=True))) == AgentMove("", "", "")
    found = {"function": {"name": "found", "arguments": '{"found": "Oslo"}'}}
    assert parse_found(write_calls([found], offer_found())).argument == "Oslo"
    assert [tool.name for tool in offer_main(noted=False)] == ["sub_task"]


def test_a_grammar_offers_an_end_only_where_there_is_something_to_end_with() -> None:
    limits = OpenLimits()
    assert "TABLE" in make_main_grammar(limits, noted=True)
    assert "TABLE" not in make_main_grammar(limits, noted=False)
    assert "Found" not in make_sub_grammar(limits, noted=False)
    assert make_found_grammar(limits).startswith('root ::= "Found: "')
