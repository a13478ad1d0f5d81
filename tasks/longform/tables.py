"""Make Tables 1 to 3: the question set, agents' answers, and answers with and without queries.

The tables have the numbers of the paper's tables (sections 2 and 4).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

from tasks.lineage.derivation import Derivation
from tasks.lineage.selection import Selection
from tasks.longform.entries import AgentEvaluation
from tasks.longform.judge.peers import REVIEWED
from tasks.longform.labels import CONCLUSIVE, INTERPRETIVE, KINDS
from tasks.longform.outcomes import (
    MATCH_RATE,
    MEAN_SCORE,
    AnswerOutcome,
    average_scores,
    choose_interactions,
    rate_matches,
    select,
)
from tasks.reports.declared import Measure, Slice, Table, Where
from tasks.reports.tables import Cell, FigureTable, Line, count_cell, leave_empty, mean_cell

INITIALS = {CONCLUSIVE: "C", INTERPRETIVE: "I"}
COMPARED = ("none", "sequential")
Fill = Callable[[Sequence[AnswerOutcome], Where], Cell]


def _measure_rows(measure: Callable[[Iterable[AnswerOutcome], Selection], Cell]) -> Fill:
    return lambda outcomes, where: measure(outcomes, choose_interactions(where))


QUALITY: Sequence[Measure[AnswerOutcome]] = (
    Measure(MATCH_RATE, _measure_rows(rate_matches), leave_empty),
    Measure(MEAN_SCORE, _measure_rows(average_scores), leave_empty),
)
"""The columns for the quality of answers: match rate of conclusive items, mean score of
interpretive items."""


def choose_agents(
    models: Iterable[str],
    agents: Sequence[str],
    explain: Callable[[str], str] = lambda agent: "",
    items: Collection[str] | None = None,
) -> tuple[Slice[AnswerOutcome], ...]:
    """Slice outcomes by model and agent.

    - explain: a function that returns the reason why an agent has no figure; empty if the agent has a figure
    - items: ids of the items to count; None counts all items
    """

    def choose(model: str, agent: str) -> Slice[AnswerOutcome]:
        def has(outcome: AnswerOutcome) -> bool:
            return bool(select([outcome], model=model, agent=agent, items=items))

        where = {"model": model, "agent": agent} | ({} if items is None else {"item": tuple(sorted(items))})
        return Slice((model, agent), has, where, explain(agent))

    return tuple(choose(model, agent) for model in models for agent in agents)


def describe_set(statistics: Mapping[str, Any]) -> FigureTable:
    """Make Table 1 from the content of `statistics.json` (section 2 of the paper)."""
    kinds, databases = statistics["by_kind"], statistics["databases"]
    n, tables = statistics["items"], databases["all_tables"]
    items = Selection("items")
    of_kind = {kind: Selection("items", {"kind": kind}) for kind in KINDS}
    count, words = "count", "mean words of the reference"
    of_questions = [
        ("questions", n, n, count, items),
        *((f"questions, {kind}", kinds[kind]["items"], n, count, of_kind[kind]) for kind in KINDS),
        ("mean words per reference answer", statistics["answer_words"], n, words, items),
        *(
            (
                f"mean words per reference answer, {kind} questions",
                kinds[kind]["answer_words"],
                kinds[kind]["items"],
                words,
                of_kind[kind],
            )
            for kind in KINDS
        ),
    ]
    of_databases = [
        ("tables per database, median", databases["tables"], n, "databases"),
        ("columns per table, median", databases["columns_per_table"], tables, "tables"),
        ("rows per table, median", databases["rows_per_table"], tables, "tables"),
    ]
    made = Derivation(
        "median over the databases that the scripts create", (Selection("construct", {}, {"id": items}),)
    )
    cells = [
        (label, count_cell(value, over, "questions", derivation=Derivation(measure, (rows,))))
        for label, value, over, measure, rows in of_questions
    ]
    cells += [
        (label, count_cell(_make_whole(value), over, of, derivation=made))
        for label, value, over, of in of_databases
    ]
    lines = tuple(Line((label,), (cell,)) for label, cell in cells)
    return FigureTable("1", "The question set", ("measure",), ("value",), lines)


def _make_whole(median: float | None) -> float | None:
    """Convert a median that is a whole number to int, so that the table shows a count without decimals."""
    return int(median) if median is not None and median == int(median) else median


def declare_answers(entry: AgentEvaluation, tokens: Mapping[str, int] | None) -> Table[AnswerOutcome]:
    """Declare Table 2: answer quality and mean counts for conclusive (C) and interpretive (I) items.

    tokens: maps the interaction id to the number of tokens of its calls; None omits the token columns.
    """
    measures = [
        *_average("plan, words", lambda outcome: outcome.plan_words, lacks="no plan"),
        *_average("queries", lambda outcome: outcome.n_queries, lacks="no queries", column="count(queries)"),
        *_average("valid queries", lambda outcome: outcome.n_valid, lacks="no queries"),
        *_average("answer, words", lambda outcome: outcome.answer_words),
    ]
    if tokens is not None:
        measures += _average(
            "tokens", lambda outcome: tokens.get(outcome.interaction.id), of="tokens of their calls"
        )
    return Table(
        "2",
        "Answers compared with the reference, and measures of the interactions",
        ("model", "agent"),
        choose_agents(entry.models, entry.agents),
        (*QUALITY, *measures),
        notes=(
            "(C): conclusive items. (I): interpretive items. The match rate is a share of the items, and "
            "all other columns are means over items.",
            "A query is valid if it runs without an error and its result has rows.",
            "The means leave out interactions without an answer or a verdict, and replies that could "
            "not be parsed.",
        ),
    )


def _average(
    name: str,
    read: Callable[[AnswerOutcome], int | None],
    *,
    lacks: str = "",
    column: str = "",
    of: str = "",
) -> list[Measure[AnswerOutcome]]:
    """Declare two measures, one per kind of item: the mean of the number that `read` returns.

    - lacks: the text in the empty cells of agents that do not query; if empty, these agents get a mean too
    - column: an expression on interactions; if no outcome lacks the number, the derivation is the mean of
      this expression
    - of: the name of the number in the derivation; the default is `name`
    """

    def declare(kind: str) -> Measure[AnswerOutcome]:
        def fill(outcomes: Sequence[AnswerOutcome], where: Where) -> Cell:
            if lacks and where["agent"] not in REVIEWED:
                return leave_empty(lacks)
            values = [read(outcome) for outcome in select(outcomes, kind=kind)]
            rows = (choose_interactions(where, kind=kind),)
            counted = column and None not in values
            derivation = (
                Derivation("mean", rows, column) if counted else Derivation(f"mean {of or name}", rows)
            )
            return mean_cell(values, derivation=derivation)

        return Measure(f"{name} ({INITIALS[kind]})", fill, leave_empty)

    return [declare(kind) for kind in KINDS]


def declare_queries(entry: AgentEvaluation, fitting: Collection[str], n_items: int) -> Table[AnswerOutcome]:
    """Declare Table 3: the agents `none` and `sequential`, over items whose records fit every model's prompt.

    fitting: ids of the items whose records fit. n_items: number of items in the question set.
    """

    def explain(agent: str) -> str:
        if agent not in entry.agents:
            return f"the agent `{agent}` did not run"
        if "none" not in entry.agents:
            return "the agent `none` did not run, so it is not known whether the records fit into the prompts"
        return "" if fitting else "there is no item whose records fit into the prompt of every model"

    size = (
        f"The table covers {len(fitting)} of {n_items} items. The records of these items fit into the "
        "prompt of every model."
    )
    return Table(
        "3",
        "With and without queries",
        ("model", "agent"),
        choose_agents(entry.models, COMPARED, explain, fitting),
        QUALITY,
        notes=(
            size
            if "none" in entry.agents
            else "The agent `none` did not run, so it is not known whether the records fit into the prompts.",
        ),
    )
