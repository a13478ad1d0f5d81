"""Tests of the agents' statistics tool: figures against plain computations, and invalid requests."""

import asyncio
import json
import random
import statistics
from typing import Any

import pytest
import scipy.stats

from tasks.longform.entries import AgentEvaluation
from tasks.longform.judge.exhibits import show_step
from tasks.longform.solve.interaction import AgentStatistic, AgentStep, Interaction
from tasks.longform.solve.interactions import interactions
from tasks.longform.solve.replies import (
    AgentLimits,
    WrittenQuery,
    make_queries_grammar,
    make_round_grammar,
    parse_queries,
    parse_round,
)
from tasks.longform.solve.room import show_statistic
from tasks.longform.solve.statistic import compute_statistic
from tests.longform.scripted_agents import PLAN, ScriptedAgents, make_item

COLUMNS = ("name", "x", "y", "flat", "count(*)")
SAID = "Seats and concerts go together."
SEATS = "SELECT id, seats, length(name) AS letters, 7 AS flat, name FROM stadium"


def make_rows(count: int = 40) -> list[tuple[Any, ...]]:
    dice = random.Random(5)
    return [
        (f"n{n}", x := dice.randint(0, 30), 3 * x - dice.gauss(2, 9), 7, dice.random()) for n in range(count)
    ]


def compute(request: str, rows: list[tuple[Any, ...]] | None = None) -> dict[str, float]:
    found = compute_statistic(request, COLUMNS, make_rows() if rows is None else rows)
    assert not found.error, found.error
    return dict(json.loads(found.figures))


def run(agent: str, replies: dict[str, list[str]], **params: Any) -> tuple[Interaction, ScriptedAgents]:
    ask: Any = ScriptedAgents(replies)
    entry = AgentEvaluation(set="s", agents=(agent,))  # type: ignore[arg-type]
    limits = AgentLimits(**{"statistics": True, **params})
    return asyncio.run(interactions([make_item()], entry, limits, ask)).rows[0], ask


def test_figures_are_those_of_a_plain_computation() -> None:
    rows = make_rows()
    x, y = [row[1] for row in rows], [row[2] for row in rows]
    line = statistics.linear_regression(x, y)
    assert compute("pearson(x, y)") == {"r": pytest.approx(statistics.correlation(x, y), rel=1e-5), "n": 40}
    assert compute("spearman(x, y)") == {
        "rho": pytest.approx(scipy.stats.spearmanr(x, y).statistic, rel=1e-5), "n": 40,
    }  # fmt: skip
    assert compute("regression(y, x)") == {
        "slope": pytest.approx(line.slope, rel=1e-5),
        "intercept": pytest.approx(line.intercept, rel=1e-5),
        "r2": pytest.approx(statistics.correlation(x, y) ** 2, rel=1e-5),
        "n": 40,
    }
    low, middle, high = statistics.quantiles(y, n=4, method="inclusive")
    assert compute("quantiles(y)") == {
        "q0.25": pytest.approx(low, rel=1e-5),
        "q0.5": pytest.approx(middle, rel=1e-5),
        "q0.75": pytest.approx(high, rel=1e-5),
        "n": 40,
    }
    tenth = statistics.quantiles(y, n=10, method="inclusive")
    found = compute("quantiles(y, 0.9, 0.1)")
    assert list(found) == ["q0.1", "q0.9", "n"]
    assert found["q0.1"] == pytest.approx(tenth[0], rel=1e-5)
    assert found["q0.9"] == pytest.approx(tenth[-1], rel=1e-5)


def test_a_line_through_four_points_is_worked_out_by_hand() -> None:
    # x = 0, 1, 2, 3 and y = 1, 3, 5, 7: y = 2x + 1, and any rank correlation is 1.
    rows = [("", n, 2 * n + 1, 0, 0) for n in range(4)]
    assert compute("regression(y, x)", rows) == {"slope": 2.0, "intercept": 1.0, "r2": 1.0, "n": 4}
    assert compute("regression(x, y)", rows) == {"slope": 0.5, "intercept": -0.5, "r2": 1.0, "n": 4}
    assert compute("spearman(x, y)", rows) == {"rho": 1.0, "n": 4}
    assert compute("quantiles(x, 0, 0.5, 1)", rows) == {"q0": 0.0, "q0.5": 1.5, "q1": 3.0, "n": 4}


def test_rows_with_null_are_left_out_and_counted() -> None:
    rows = [("", n, 2 * n, 0, 0) for n in range(4)] + [("", None, 9, 0, 0), ("", 9, None, 0, 0)]
    assert compute("pearson(x, y)", rows) == {"r": 1.0, "n": 4, "rows left out": 2}
    assert compute("quantiles(x, 1)", rows) == {"q1": 9.0, "n": 5, "rows left out": 1}


@pytest.mark.parametrize("request_", ['Pearson ( X , "y" ).', "pearson(`x`, [y]);", "PEARSON(x,Y)"])
def test_the_form_is_read_leniently(request_: str) -> None:
    assert compute(request_) == compute("pearson(x, y)")


def test_a_computed_column_is_named_by_its_expression() -> None:
    assert compute("pearson(x, count(*))")["n"] == 40
    found = compute_statistic("pearson(round(a, 2), b)", ("round(a, 2)", "b"), [(n, -n) for n in range(3)])
    assert json.loads(found.figures) == {"r": -1.0, "n": 3}


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("pearson(x, z)", "the result has no column 'z'; its columns are name, x, y, flat, count(*)"),
        ("pearson(x, name)", "column 'name' is not numeric: it contains 'n0'"),
        ("pearson(x, flat)", "column 'flat' is constant"),
        ("regression(flat, x)", "column 'flat' is constant"),
        ("pearson(x, x)", "both columns are the same"),
        ("pearson(x)", "pearson needs 2 columns, got 1"),
        ("quantiles()", "quantiles needs 1 column, got 0"),
        ("quantiles(x, y)", "quantiles expects numbers from 0 to 1 after the column"),
        ("quantiles(x, nan)", "quantiles expects numbers from 0 to 1 after the column"),
        ("quantiles(x, 1.5)", "quantiles expects numbers from 0 to 1 after the column"),
        ("mode(x)", "unknown statistic; expected one of pearson(x, y), spearman(x, y), regression(y, x), "
         "quantiles(x)"),
        ("__import__('os').system('x')", "unknown statistic; expected one of pearson(x, y), spearman(x, y), "
         "regression(y, x), quantiles(x)"),
        ("", "unknown statistic; expected one of pearson(x, y), spearman(x, y), regression(y, x), "
         "quantiles(x)"),
    ],
)  # fmt: skip
def test_a_bad_request_is_told_in_one_line(asked: str, said: str) -> None:
    assert compute_statistic(asked, COLUMNS, make_rows()) == AgentStatistic(asked, "{}", said)


def test_too_few_rows_and_numbers_too_large_are_told() -> None:
    few = compute_statistic("pearson(x, y)", COLUMNS, [("", 1, 2, 0, 0), ("", 2, 3, 0, 0)])
    assert few.error == "2 rows have a number in every named column; expected at least 3"
    rows: Any = [("", n * 1e308, -n * 1e308, 0, 0) for n in (-1, 0, 1)]
    assert "not defined" in compute_statistic("regression(y, x)", COLUMNS, rows).error
    twice = compute_statistic("quantiles(a)", ("a", "a"), [(1, 2)] * 3)
    assert twice.error == "the result has 2 columns 'a'; rename them with AS"


def test_a_long_request_is_cut_and_stays_on_its_line() -> None:
    found = compute_statistic("pearson(x,\n" + "y" * 500, COLUMNS, make_rows())
    assert len(found.request) == 160
    assert "\n" not in show_statistic(found)


def test_the_sequential_agent_has_statistics_of_its_results_computed() -> None:
    row, ask = run(
        "sequential",
        {
            "agent_plan": [PLAN],
            "agent_queries": [
                f"SQL: {SEATS};\nStatistic: pearson(id, seats)\nStatistic: pearson(id, flat)\n"
                "SQL: SELECT town FROM stadium;\nStatistic: quantiles(town)"
            ],
            "agent_answer": [SAID],
        },
        shown_rows=2,
    )
    first, failed = row.queries
    ids, seats = (1, 2, 3, 4), (4000, 11998, 3808, 3100)
    expected = float(f"{statistics.correlation(ids, seats):.6g}")
    assert first.statistics == (
        AgentStatistic("pearson(id, seats)", json.dumps({"r": expected, "n": 4}), ""),
        AgentStatistic("pearson(id, flat)", "{}", "column 'flat' is constant"),
    )  # over four rows, although two are shown
    assert failed.statistics == (AgentStatistic("quantiles(town)", "{}", "its query has no result"),)
    assert [step for step in row.steps if step.kind == "statistic"] == [
        AgentStep("statistic", f"Of query 1: pearson(id, seats): r = {expected}, n = 4"),
        AgentStep("statistic", "Of query 1: pearson(id, flat): error: column 'flat' is constant"),
        AgentStep("statistic", "Of query 2: quantiles(town): error: its query has no result"),
    ]
    plan, queries, answer = ask.asked
    assert "correlations (Pearson, Spearman)" in plan.text
    assert "Statistic: regression(y, x)" in queries.text
    assert f"-- pearson(id, seats): r = {expected}, n = 4" in answer.text
    assert "-- pearson(id, flat): error: column 'flat' is constant" in answer.text
    shown = show_step(make_item(), row, "TE", 3000)
    assert f"r = {expected}" in "".join(exhibit.text for exhibit in shown), "reviewers see it, too"


def test_the_iterative_agent_is_told_what_came_of_a_statistic() -> None:
    row, ask = run(
        "iterative",
        {
            "agent_next_query": [
                f"Need: spread of seats\nSQL: {SEATS};\nStatistic: `quantiles(seats)`",
                f"Need: trend\nSQL: {SEATS};\n" + "Statistic: pearson(id, letters)\n" * 5,
                "ENOUGH",
            ],
            "agent_answer": [SAID],
        },
    )
    assert [len(query.statistics) for query in row.queries] == [1, 3]
    low, middle, high = statistics.quantiles((4000, 11998, 3808, 3100), n=4, method="inclusive")
    told = f"-- quantiles(seats): q0.25 = {low:g}, q0.5 = {middle:g}, q0.75 = {high:g}, n = 4"
    assert told in ask.asked[1].text
    assert told in ask.asked[-1].text
    assert row.left_out == ("2 of 5 statistics of query 2, over the limit",)


def test_without_the_tool_neither_prompts_nor_replies_know_of_it() -> None:
    replies = {
        "agent_plan": [PLAN],
        "agent_queries": [f"SQL: {SEATS};\nStatistic: pearson(id, seats)"],
        "agent_answer": [SAID],
    }
    row, ask = run("sequential", replies, statistics=False)
    assert row.queries[0].statistics == ()
    assert all(step.kind != "statistic" for step in row.steps)
    assert not any("tatistic" in asked.system + asked.text + asked.grammar for asked in ask.asked)
    _, with_it = run("sequential", replies)
    # The tool adds lines at the end of a prompt, and the same number of tokens to the reply's limit.
    assert with_it.asked[1].text.startswith(ask.asked[1].text)
    assert with_it.asked[1].max_tokens > ask.asked[1].max_tokens


def test_statistics_stand_behind_their_query() -> None:
    both = "Statistic: pearson(a, b)\nSQL: SELECT 1;\n**Statistic:** quantiles(a)\nSQL: SELECT 2;"
    assert parse_queries(both, statistics=True) == (
        WrittenQuery("SELECT 1", ("quantiles(a)",)), WrittenQuery("SELECT 2"),
    )  # fmt: skip
    assert parse_queries(both) == (WrittenQuery("SELECT 1"), WrittenQuery("SELECT 2"))
    taken = parse_round(
        "Need: n\nSQL: SELECT 1;\nStatistic: quantiles(a)\nNeed: m\nSQL: SELECT 2;\nStatistic: pearson(a, b)",
        statistics=True,
    )
    assert taken.query == WrittenQuery("SELECT 1", ("quantiles(a)",)), "what is invented further is left out"


def test_grammars_admit_a_statistic_where_the_tool_is_on() -> None:
    params = AgentLimits(queries=2, query_tokens=10, statistics=True)
    assert make_queries_grammar(params).splitlines() == [
        'root ::= query ("\\n" query){0,1}',
        'query ::= sql ("\\n" statistic)?',
        'sql ::= "SQL: " ("SELECT " | "WITH ") [^;\\n\\r]{1,30} ";"',
        'statistic ::= "Statistic: " ("pearson(" | "spearman(" | "regression(" | "quantiles(") '
        '[^()\\n\\r]{1,120} ")"',
    ]
    assert '"\\n" query' in make_round_grammar(params)
