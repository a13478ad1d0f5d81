"""Tests that the flows' declarations determine the evaluations available to nightly runs."""

import pytest

from flows.night_settings import find_evaluation, list_evaluations
from flows.nights.preparation import select_night
from flows.run.node import Node
from tasks.errors import BadInput
from tasks.judging.answered import Scored
from tasks.ragcheck import conversations, scores

PARAMS = {
    "assessments": {"films-weak": {}},
    "ragcheck": {"correctness": {"mtrag": {}, "films-weak": {}}, "continuity": {"mtrag": {}}},
}


def test_every_section_that_evaluates_is_offered_in_full_where_names_are_twice():
    assert list_evaluations(PARAMS) == [
        "assessments.films-weak", "ragcheck.continuity.mtrag", "ragcheck.correctness.films-weak",
        "ragcheck.correctness.mtrag",
    ]  # fmt: skip
    assert find_evaluation(PARAMS, "ragcheck.continuity.mtrag").scope.over == "ragcheck.continuity"
    with pytest.raises(BadInput, match="'mtrag' is an entry in several sections"):
        find_evaluation(PARAMS, "mtrag")
    with pytest.raises(BadInput, match=r"'nobody' is not an evaluation \(known: assessments\.films-weak"):
        find_evaluation(PARAMS, "nobody")


def test_a_night_takes_the_stages_of_its_section_alone():
    def node(stage: str, *upstream: str, params: tuple[str, ...] = ()) -> Node:
        name = f"{stage.replace('.', '-').replace('_', '-')}@mtrag"
        return Node(name, stage, "mtrag", (), (), upstream, settings={"params.yaml": params})

    nodes = [
        node("ragcheck.questions"),
        node("ragcheck.answers", "ragcheck-questions@mtrag", params=("evaluation",)),
        node("ragcheck.scores", "ragcheck-answers@mtrag", params=("evaluation",)),
        node("ragcheck.correlations", "ragcheck-scores@mtrag"),
        node("ragcheck.conversations", "ragcheck-questions@mtrag", params=("evaluation",)),
        node("ragcheck.comparison", "ragcheck-conversations@mtrag"),
    ]
    graph = {node.name: node for node in nodes}
    chosen = select_night(graph, find_evaluation(PARAMS, "ragcheck.correctness.mtrag"))
    assert [graph[name].stage for name in chosen] == [
        "ragcheck.answers", "ragcheck.scores", "ragcheck.correlations",
    ]  # fmt: skip
    chosen = select_night(graph, find_evaluation(PARAMS, "ragcheck.continuity.mtrag"))
    assert [graph[name].stage for name in chosen] == ["ragcheck.conversations", "ragcheck.comparison"]


class Row:
    def __init__(self, **columns: object) -> None:
        self.__dict__.update(columns)


def test_not_sure_and_failed_are_no_scores():
    grades = [Row(id="a", question="q", score=5), Row(id="b", question="q", score=0),
              Row(id="c", question="r", score=None)]  # fmt: skip
    assert scores.list_scored(grades) == [
        Scored("a", "q", 5.0),
        Scored("b", "q", None),
        Scored("c", "r", None),
    ]
    talks = [Row(id="t", question="q", wscore=3.5), Row(id="u", question="q", wscore=None)]
    assert conversations.list_scored(talks) == [Scored("t", "q", 3.5), Scored("u", "q", None)]
