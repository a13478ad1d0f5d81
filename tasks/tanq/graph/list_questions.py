"""Stage: the list questions of a source, imported or made from its graph (section 3, step 1)."""

from __future__ import annotations

from collections import defaultdict

from pydantic import BaseModel, ConfigDict, Field

from tasks.artifacts.parquet import read_rows
from tasks.artifacts.rows import Drafts, Dropped, make_id
from tasks.errors import StageFailed
from tasks.tanq.entries import GraphSource
from tasks.tanq.graph.question_drafts import (
    draft_intersections,
    draft_simple,
    draft_through_values,
    draft_values,
    list_conditions,
    view_graph,
)
from tasks.tanq.graph.rows import Fact, Relation, Thing
from tasks.tanq.rows import SeedQuestion


class ListQuestions(BaseModel):
    """`tanq.list_questions` in params.yaml."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    answers: tuple[int, int] = (3, 8)
    """The fewest and the most answers of a question."""
    a_shape: int = Field(default=200, gt=0)
    """Questions of one shape that are kept, in an order by their ids."""


def list_questions(
    facts: list[Fact],
    things: list[Thing],
    relations: list[Relation],
    entry: GraphSource,
    params: ListQuestions,
) -> Drafts[SeedQuestion]:
    """List what can be asked: the imported questions, or the graph's own where `seeds` is the graph.

    Drop reasons: `no_entity` (an imported question with an answer that the graph does not have), `no_article`
    (an answer without one, which nothing could bear out), `many_alike`. Raises StageFailed if there is none.
    """
    imported = entry.seeds != entry.graph
    drafts = (
        read_rows(entry.seeds, SeedQuestion) if imported else _draft(facts, things, relations, entry, params)
    )
    articles = {thing.id: thing.article for thing in things}
    kept: defaultdict[str, list[SeedQuestion]] = defaultdict(list)
    dropped = []
    for seed in sorted(drafts, key=lambda seed: make_id(seed.id)):
        if any(answer.entity not in articles for answer in seed.answers):
            dropped.append(Dropped(seed.id, "no_entity", seed.text))
        elif not all(articles[answer.entity] for answer in seed.answers):
            dropped.append(Dropped(seed.id, "no_article", seed.text))
        elif not imported and len(kept[seed.shape]) == params.a_shape:
            dropped.append(Dropped(seed.id, "many_alike", seed.shape))
        else:
            kept[seed.shape].append(seed)
    rows = [seed for own in kept.values() for seed in own]
    if not rows:
        raise StageFailed(
            f"{entry.seeds}: no list question of {len(drafts)} can be used: see the .dropped file"
        )
    return Drafts(rows, dropped)


def _draft(
    facts: list[Fact],
    things: list[Thing],
    relations: list[Relation],
    entry: GraphSource,
    params: ListQuestions,
) -> list[SeedQuestion]:
    least, most = params.answers
    view = view_graph(facts, things, relations, entry)
    asked = list_conditions(view, least)
    drafts = [
        *draft_simple(view, asked),
        *draft_intersections(view, asked),
        *draft_through_values(view, asked),
        *draft_values(view, asked, least),
    ]
    return [
        seed for seed in {seed.id: seed for seed in drafts}.values() if least <= len(seed.answers) <= most
    ]
