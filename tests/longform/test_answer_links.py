"""Sentences of answers lead to the queries whose rows hold their names and figures."""

import json

import pytest

from tasks.longform.answer_links import link_sentences
from tasks.longform.solve.interaction import AgentQuery, AgentStatistic
from tests.longform.scripted_judges import make_query

SHIPS = make_query([["Ruvay", 28], ["Skarholm", 1414.26]])
DEPTH = make_query([["Overmere", None]], sql="SELECT name, depth FROM lights")
FAILED = make_query([], error="SqlFailed: no such column: bribe")
MEASURED = AgentQuery("SELECT a, b FROM t", ("a", "b"), "[[1, 2]]", 40, "",
    (AgentStatistic("pearson(a, b)", json.dumps({"r": 0.8125, "n": 40}), ""),))  # fmt: skip
QUERIES = (SHIPS, DEPTH, FAILED, MEASURED)


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
