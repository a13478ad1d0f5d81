"""Quote the texts that a judge sees, each under a title, so that all texts together fit into the prompt."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from tasks.judging.prompt_room import estimate_tokens
from tasks.judging.quoting import quote
from tasks.longform.build.items import LongformItem
from tasks.longform.judge.peers import Review
from tasks.longform.solve.describe_database import SAMPLES, read_script
from tasks.longform.solve.interaction import AgentQuery, Interaction, tell_statistics
from tasks.longform.solve.room import fit_description

FRAME = 550
"""Maximum number of tokens in the fixed text of a judge's prompt."""
QUESTION, DATABASE, PLAN, STATISTICS, ANSWER, OPINIONS = 0.08, 0.28, 0.15, 0.05, 0.17, 0.15
"""Maximum size of each text, as a fraction of the prompt's tokens minus FRAME.

Queries get the remaining tokens, at least 12%.
"""
REFERENCE = 0.4
"""Maximum size of the reference answer, as a fraction of the prompt's tokens minus FRAME.

The same maximum applies to the judged answer in `show_answer`.
"""
LEFT_OUT = "(left out for lack of room)"
SQL, ERROR, LINE = 600, 240, 300
"""Maximum number of characters to show from an SQL statement, an error, and one row of a result."""
NO_QUERY = "(the agent ran no query)"


@dataclass(frozen=True)
class Exhibit:
    """A text for a judge, already quoted, and its title."""

    title: str
    text: str


def show_answer(
    item: LongformItem, interaction: Interaction, prompt_tokens: int, *, answer_first: bool = False
) -> tuple[Exhibit, ...]:
    """Show the question, the reference answer and the judged answer; `answer_first` swaps the answers."""
    room = prompt_tokens - FRAME
    reference = _show("Reference answer", item.reference, room * REFERENCE)
    answer = _show("Answer to judge", interaction.answer or "", room * REFERENCE)
    pair = (answer, reference) if answer_first else (reference, answer)
    return (_show("Question", item.question, room * QUESTION), *pair)


def show_step(
    item: LongformItem, interaction: Interaction, step: str, prompt_tokens: int
) -> tuple[Exhibit, ...]:
    """Show the texts that a reviewer of a step sees; reserve tokens for `show_opinions`.

    The texts for each step, as in section 4.2.2 of the paper:

    - IP (planning): the question, the database description and the plan
    - TE (queries): also the queries with their results, and the computed statistics
    - IS (synthesis): also the answer
    """
    room = prompt_tokens - FRAME
    before = [
        _show("Question", item.question, room * QUESTION),
        Exhibit(
            f"Database (tables, and {SAMPLES} sample rows of each)", _describe(item.script, room * DATABASE)
        ),
        _show("Plan of the agent", interaction.plan, room * PLAN),
    ]
    if step == "IP":
        return tuple(before)
    after = []
    if computed := tell_statistics(interaction):
        after.append(_show("Statistics that the agent had computed", computed, room * STATISTICS))
    if step == "IS":
        after.append(_show("Answer of the agent", interaction.answer or "", room * ANSWER))
    left = room * (1 - OPINIONS) - sum(estimate_tokens(exhibit.text) for exhibit in [*before, *after])
    queries = Exhibit("Queries of the agent, with their results", show_queries(interaction.queries, left))
    return (*before, queries, *after)


def show_opinions(title: str, reviews: Sequence[Review], prompt_tokens: int) -> Exhibit:
    """Show reviews with their verdicts, each rationale quoted separately.

    reviews: at least one review, all with verdicts.
    """
    # 10 tokens per review are for the line with the review's number and verdict.
    share = (prompt_tokens - FRAME) * OPINIONS / len(reviews) - 10
    texts = [
        f"{number}: {review.verdict}\n{quote_within(review.rationale, share)}"
        for number, review in enumerate(reviews, 1)
    ]
    return Exhibit(title, "\n".join(texts))


def quote_within(text: str, tokens: float) -> str:
    """Quote a text within a token limit, including the fence; omit the middle of a longer text."""
    # A hidden character becomes `[1 hidden]`, so quoting can make a text ten times as long.
    quoted = quote(text, limit=12 * len(text)).text
    limit = len(quoted)
    while (size := estimate_tokens(quoted)) > tokens:
        # 5% less than proportional, because the fence does not shrink with the text.
        limit = min(limit - 1, int(0.95 * min(limit, len(quoted)) * tokens / size))
        if limit <= 0:
            return LEFT_OUT
        quoted = quote(text, limit=limit).text
    return quoted


def _show(title: str, text: str, tokens: float) -> Exhibit:
    return Exhibit(title, quote_within(text, tokens))


def _describe(script: str, tokens: float) -> str:
    # 25 tokens are for the note that counts what is left out.
    fitted = fit_description(read_script(script), tokens - 25)
    if not fitted.left_out:
        return fitted.text
    tables = sum(name.startswith("table ") for name in fitted.left_out)
    samples = len(fitted.left_out) - tables
    return f"{fitted.text}\n(left out for lack of room: {tables} tables, the sample rows of {samples})"


def show_queries(queries: Sequence[AgentQuery], tokens: float) -> str:
    """Show queries with their results within a token limit, each text quoted separately.

    Every result is cut to its first rows, with the same maximum number of rows for all results. If the
    queries do not fit even without rows, the last queries are omitted. The text states how much was left out.
    """
    if not queries:
        return NO_QUERY
    results = [json.loads(query.rows) for query in queries]
    lines = [
        [json.dumps(line, ensure_ascii=False)[:LINE] for line in (query.columns, *rows)]
        for query, rows in zip(queries, results, strict=True)
    ]
    for limit in range(max(map(len, results)), -1, -1):
        shown = [_show_query(*pair, limit) for pair in zip(enumerate(queries, 1), lines, strict=True)]
        if estimate_tokens(text := "\n".join(shown)) <= tokens:
            return text
    for count in range(len(shown) - 1, 0, -1):
        text = "\n".join([*shown[:count], f"({_count(len(shown) - count, 'more query')} left out here)"])
        if estimate_tokens(text) <= tokens:
            return text
    return f"({_count(len(shown), 'query')} left out here)"


def _show_query(numbered: tuple[int, AgentQuery], lines: Sequence[str], limit: int) -> str:
    """Show a query, its columns and the first `limit` rows. lines: the column names, then a line per row."""
    (number, query), rows = numbered, len(lines) - 1
    head = f"Query {number}:\n{quote(query.sql, limit=SQL)}\n"
    if query.error:
        return f"{head}It failed:\n{quote(query.error, limit=ERROR)}"
    if not query.n_rows:
        return f"{head}Its result has no rows."
    seen = f", the agent was shown {rows}" if rows < query.n_rows else ""
    cut = f", {rows - limit} of them left out here" if limit < rows else ""
    table = quote("\n".join(lines[: limit + 1])).text
    return f"{head}Its result ({_count(query.n_rows, 'row')}{seen}{cut}):\n{table}"


def _count(number: int, what: str) -> str:
    plural = f"{what}s" if not what.endswith("y") else f"{what[:-1]}ies"
    return f"{number} {what if number == 1 else plural}"
