"""Build the item viewer's data for an interaction: the agent's steps and answer, and the verdicts on them."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from tasks.artifacts.rows import Origin
from tasks.longform.build.items import LongformItem
from tasks.longform.judge.error_types import ErrorLabel
from tasks.longform.judge.peers import Review, group_reviews
from tasks.longform.judge.reference_verdicts import ReferenceVerdict, tell_rule
from tasks.longform.labels import SCORES, STEPS, Verdict
from tasks.longform.solve.interaction import AgentQuery, Interaction
from tasks.longform.view import count_things, decode_rows, list_origins
from tasks.reports import blocks
from tasks.reports.blocks import BAD, GOOD, OFF, Block, Tag
from tasks.reports.viewer import Filter, ViewedRow, Viewer

STEP_NAMES: Mapping[str, str] = {
    "IP": "Interaction planning",
    "TE": "Tool employment",
    "IS": "Information synthesis",
}
NO_ANSWER, NO_VERDICT = "no answer", "no verdict"
SENTENCE = re.compile(r"(?<=[.!?])\s+(?=\S)")
"""Matches the whitespace between two sentences."""
NUMBER = re.compile(r"(?<![\w.])-?\d[\d,]*(?:\.\d+)?(?![\w])")
"""Matches a number, which may have a minus sign, commas and decimal places."""
LEAST_NAME = 3
"""Minimum number of characters in a text cell that is searched for in a sentence.

Shorter texts occur in many sentences by chance.
"""
LEAST_NUMBER = 2
"""Minimum number of characters in a number that links a sentence to a query.

A single digit occurs in many rows by chance.
"""


@dataclass(frozen=True)
class Judged:
    """The verdicts on interactions, read from the stages' artifacts."""

    verdicts: Sequence[ReferenceVerdict]
    reviews: Sequence[Review]
    meta_reviews: Sequence[Review]
    revisions: Sequence[Review]
    errors: Sequence[ErrorLabel]


def view_interactions(
    items: Sequence[LongformItem],
    shown: Mapping[str, Sequence[Block]],
    interactions: Sequence[Interaction],
    judged: Judged,
    artifact: Path,
) -> Viewer:
    """Return a viewer for all interactions, in the given order, with all verdicts.

    shown: maps the item id to the blocks that show the item. artifact: the file of the interactions.
    """
    by_id = {item.id: item for item in items}
    verdicts = {verdict.interaction: verdict for verdict in judged.verdicts}
    passes = {
        "Reviews": group_reviews(judged.reviews),
        "Meta-reviews": group_reviews(judged.meta_reviews),
        "Revision": group_reviews(judged.revisions),
    }
    errors = {(error.interaction, error.step): error for error in judged.errors}
    origins: defaultdict[str, list[Origin]] = defaultdict(list)
    peers = (judged.reviews, judged.meta_reviews, judged.revisions)
    for said in chain[ReferenceVerdict | Review | ErrorLabel](judged.verdicts, *peers, judged.errors):
        origins[said.interaction] += said.origin
    tagged = {made.id: tag_verdict(made, verdicts.get(made.id)) for made in interactions}
    of_item: defaultdict[str, list[Interaction]] = defaultdict(list)
    for made in interactions:
        of_item[made.item].append(made)
    rows = []
    for made in interactions:
        item, verdict = by_id[made.item], tagged[made.id]
        reviewed = [
            block
            for step in STEPS
            for block in _show_step(
                step,
                {title: groups.get((made.id, step), ()) for title, groups in passes.items()},
                errors.get((made.id, step)),
            )
        ]
        told = [
            blocks.shared(item.id),
            *_show_work(made, verdict),
            *_show_judgement(verdicts.get(made.id)),
            *(
                reviewed
                or [blocks.heading("Reviews"), blocks.dim("No peer reviewed the steps of this interaction.")]
            ),
            *_show_siblings(made, of_item[made.item], tagged),
            *_show_sources(made, item, origins.get(made.id, ())),
        ]
        agent, model = (made.agent, ""), (made.model, "")
        rows.append(
            ViewedRow(
                made.id,
                item.question,
                (item.database, item.kind, made.agent, made.model, verdict[0]),
                [agent, model, verdict, (item.kind, OFF), (item.database, OFF)],
                told,
                also=(item.id,),
            )
        )
    return Viewer(
        "interaction",
        "interactions",
        "words in a question, plan, query, answer or review",
        "Choose an interaction to see its question, database, plan, queries with their results, answer, "
        "verdict and reviews.",
        (
            Filter("database", "Database"),
            Filter("kind", "Kind"),
            Filter("agent", "Agent"),
            Filter("model", "Model"),
            Filter("verdict", "Verdict"),
        ),
        rows,
        artifact,
        shared=shown,
    )


def tag_verdict(interaction: Interaction, verdict: ReferenceVerdict | None) -> Tag:
    """Tag an interaction with its verdict, or with the reason why it has no verdict."""
    if interaction.answer is None:
        return (NO_ANSWER, OFF)
    return _tag(verdict.verdict if verdict else None)


def _tag(verdict: Verdict | None) -> Tag:
    if verdict is None or verdict.score is None:
        return (verdict.shown if verdict else NO_VERDICT, OFF)
    if verdict in SCORES:
        return (verdict.shown, blocks.score_tag(int(verdict.score))[1])
    return (verdict.shown, GOOD if verdict.score else BAD)


def _show_work(made: Interaction, verdict: Tag) -> Iterator[Block]:
    """Show the plan, the steps and the answer; the list of steps omits the plan and the answer."""
    yield blocks.heading("Plan of", (made.agent, ""), (made.model, ""))
    yield blocks.text(made.plan) if made.plan else blocks.dim("This agent does not plan.")
    steps = list(_show_steps(made))
    yield blocks.heading(f"Steps ({len(steps):,})")
    yield from steps or [blocks.dim("The agent took no steps except the answer.")]
    if made.left_out:
        yield blocks.dim(
            f"Some parts of the prompts did not fit into the context window: {'; '.join(made.left_out)}."
        )
    yield blocks.heading("Answer", verdict)
    if made.answer is None:
        yield blocks.text(f"No answer: {made.problem}", "reply response")
        return
    yield _show_answer(made.answer, made.queries)
    if made.problem:
        yield blocks.dim(f"Problem: {made.problem}")


def _show_steps(made: Interaction) -> Iterator[Block]:
    """Show the steps in order, and each query with its result."""
    queries = iter([_show_query(number, query) for number, query in enumerate(made.queries, 1)])
    for step in made.steps:
        found = next(queries, None) if step.kind == "query" else None
        if found is not None:
            yield found
        elif (step.kind, step.text) not in (("plan", made.plan), ("answer", made.answer)):
            yield blocks.group("step", [blocks.text(step.text)], step.kind)
    yield from queries


def _show_query(number: int, query: AgentQuery) -> Block:
    rows = decode_rows(query.rows)
    found = blocks.table(query.columns, rows, total=query.n_rows, beside="as shown to the agent")
    return blocks.fold(
        f"Query {number}",
        [blocks.code(query.sql, sql=True), blocks.text(query.error, "error") if query.error else found],
        *([("error", BAD)] if query.error else []),
        beside="" if query.error else f"· {count_things(query.n_rows, 'row')}",
        style="query",
        is_open=True,
        anchor=f"query-{number}",
    )


def _show_answer(answer: str, queries: Sequence[AgentQuery]) -> Block:
    """Show each sentence of an answer with links to the queries that may support the sentence.

    An answer without queries is shown as plain text.
    """
    if not queries:
        return blocks.text(answer, "reply response")
    told = [
        (sentence if numbers else f"{sentence} (not found in the rows of any query)", numbers)
        for sentence, numbers in link_sentences(answer, queries)
    ]
    return blocks.links(
        [(part, [(f"query {number}", f"query-{number}") for number in numbers]) for part, numbers in told],
        "reply response",
    )


def _show_judgement(verdict: ReferenceVerdict | None) -> Iterator[Block]:
    reason, problem = (verdict.reason, verdict.problem) if verdict else ("", "")
    yield blocks.heading("Compared with the reference")
    yield blocks.text(reason) if reason else blocks.dim(problem or "The judge gave no reason.")
    if reason and problem:
        yield blocks.dim(f"Problem: {problem}")
    if verdict and (told := tell_rule(verdict)):
        yield blocks.dim(f"{told[:1].upper()}{told[1:]}.")


def _show_step(step: str, said: Mapping[str, Sequence[Review]], error: ErrorLabel | None) -> Iterator[Block]:
    """Show the verdicts of a step's reviews, meta-reviews and revision; nothing if there are no verdicts."""
    if not any(said.values()) and error is None:
        return
    yield blocks.heading(f"{step}: {STEP_NAMES[step]}")
    columns = {title: list(_show_reviews(title, reviews)) for title, reviews in said.items()}
    if error is None:
        named = blocks.dim("No error is labelled.")
    else:
        named = blocks.tags((error.label.shown if error.label else "no label", BAD), beside=error.problem)
    columns["Revision"].append(blocks.group("note", [named], "Error"))
    yield blocks.group("peers", [blocks.group("note", column, title) for title, column in columns.items()])


def _show_reviews(title: str, reviews: Sequence[Review]) -> Iterator[Block]:
    silent = "all meta-reviews agree" if title == "Revision" else "no rationale"
    for review in reviews:
        number = "" if title == "Revision" else f"{review.reviewer + 1}"
        yield blocks.tags(_tag(review.verdict), beside=number)
        yield blocks.text(review.rationale or review.problem or silent)
        if review.rationale and review.problem:
            yield blocks.dim(review.problem)
    if not reviews:
        yield blocks.dim("None.")


def _show_siblings(
    made: Interaction, siblings: Sequence[Interaction], tagged: Mapping[str, Tag]
) -> Iterator[Block]:
    others = [other for other in siblings if other is not made]
    if others:
        yield blocks.heading("Other answers to the same question")
        yield blocks.items(
            [
                (f"{other.agent} · {other.model}", *tagged[other.id], f"#interaction={other.id}")
                for other in others
            ],
            "siblings",
        )


def _show_sources(made: Interaction, item: LongformItem, said: Iterable[Origin]) -> Iterator[Block]:
    origins = [*made.origin, *said]
    yield blocks.calls(
        "Calls", [origin.reference for origin in origins if origin.kind == "call" and origin.reference]
    )
    rows = [origin for origin in made.origin if origin.kind != "call"]
    yield blocks.ids(
        interaction=made.id,
        item=item.id,
        **{"confirmed by": item.confirmed_by, "made from": list_origins([*rows, *item.origin])},
    )


def link_sentences(answer: str, queries: Sequence[AgentQuery]) -> list[tuple[str, list[int]]]:
    """Split an answer into sentences, each with the numbers (from 1) of the queries that may support it.

    A query is linked if a name or a number of the sentence occurs in one of the query's statistics, or in a
    result row that the agent saw. A link is not a verdict, because a sentence may misread its row.
    """
    sentences = [part for part in SENTENCE.split(answer.strip()) if part]
    return [
        (sentence, [number for number, query in enumerate(queries, start=1) if _holds(query, sentence)])
        for sentence in sentences
    ]


def _holds(query: AgentQuery, sentence: str) -> bool:
    said = [text.replace(",", "") for text in NUMBER.findall(sentence)]
    for row in _list_rows(query):
        told = [
            text for text in said if len(text) >= LEAST_NUMBER and any(_equals(text, cell) for cell in row)
        ]
        if told or any(isinstance(cell, str) and _names(cell, sentence) for cell in row):
            return True
    return False


def _list_rows(query: AgentQuery) -> Iterator[Sequence[object]]:
    yield from json.loads(query.rows, parse_constant=str)
    for statistic in query.statistics:
        yield list(json.loads(statistic.figures).values())


def _names(cell: str, sentence: str) -> bool:
    name = cell.strip()
    return len(name) >= LEAST_NAME and bool(
        re.search(rf"(?<!\w){re.escape(name)}(?!\w)", sentence, re.IGNORECASE)
    )


def _equals(text: str, cell: object) -> bool:
    """Return whether a cell, rounded to as many decimals as a sentence's number, equals that number."""
    if isinstance(cell, bool) or not isinstance(cell, int | float):
        return False
    places = len(text.partition(".")[2])
    return abs(float(text) - cell) <= 0.5 * 10.0**-places if places else float(text) == round(cell)
