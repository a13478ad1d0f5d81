"""Stage: the questions that systems are asked: all texts, of both sets, of a seeded sample of groups."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

from pydantic import BaseModel, ConfigDict, Field

from tasks.artifacts.rows import Drafts, Dropped, Origin, make_id
from tasks.grammar.assessment_rows import AskedQuestion
from tasks.grammar.corpus.true_documents import TrueDocument
from tasks.grammar.rows import Question
from tasks.systems.contract import Document


class Questions(BaseModel):
    """`grammar.questions` in params.yaml."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    groups: int | None = Field(default=None, ge=1)
    """Semantic groups to ask about, spread over the SQL templates; null = all."""
    criteria: tuple[str, ...] = Field(min_length=1)
    """Linguistic criteria; a group is taken if the balanced set has it under each of them."""
    texts: int | None = Field(default=None, ge=1)
    """Texts per group and criterion that the unbalanced set may add up to; null = all it has."""
    grounded: bool = True
    """Only groups whose true documents are known and all written: else a corpus of a part of the database
    would make a gap of every group outside of it."""
    seed: int = 0


def questions(
    balanced: list[Question],
    unbalanced: list[Question],
    true_documents: list[TrueDocument],
    documents: list[Document],
    params: Questions,
) -> Drafts[AskedQuestion]:
    """Draw groups by seed and take their texts from both sets, each text once and flagged."""
    true = {each.id: each.documents for each in true_documents}
    written = {each.id for each in documents}
    grounded = {group for group, ids in true.items() if ids and written.issuperset(ids)}
    able = (each for each in balanced if each.group in grounded or not params.grounded)
    chosen = set(choose_groups(able, params))
    in_balanced = {each.id for each in balanced}
    in_unbalanced, too_many = cut_texts((each for each in unbalanced if each.group in chosen), params)
    asked = {
        each.id: each
        for each in [*balanced, *unbalanced]
        if each.group in chosen
        and each.criterion in params.criteria
        and (each.id in in_balanced or each.id in in_unbalanced)
    }
    rows = [
        AskedQuestion(
            id=each.id,
            group=each.group,
            criterion=each.criterion,
            question=each.question,
            answer=each.answer,
            sql_template=each.sql_template,
            text_template=each.text_template,
            in_balanced=each.id in in_balanced,
            in_unbalanced=each.id in in_unbalanced,
            true_document_ids=true.get(each.group),
            origin=_trace(each, in_balanced, true),
        )
        for each in asked.values()
    ]
    dropped = [
        Dropped(each.id, "too_many_texts", each.question, (Origin("row", f"unbalanced#{each.id}"),))
        for each in too_many
        if each.id not in in_balanced
    ]
    return Drafts(rows, dropped)


def choose_groups(balanced: Iterable[Question], params: Questions) -> list[str]:
    """Choose groups that have every criterion, in a seeded order that takes SQL templates in turn."""
    criteria: defaultdict[str, set[str]] = defaultdict(set)
    template = {}
    for each in balanced:
        criteria[each.group].add(each.criterion)
        template[each.group] = each.sql_template
    able = sorted(
        (group for group, names in criteria.items() if names.issuperset(params.criteria)),
        key=lambda group: make_id("assessed", params.seed, group),
    )
    taken: Counter[str] = Counter()
    turn = {}
    for group in able:
        turn[group] = taken[template[group]]
        taken[template[group]] += 1
    return sorted(able, key=lambda group: turn[group])[
        : params.groups
    ]  # stable: the seeded order within a turn


def cut_texts(unbalanced: Iterable[Question], params: Questions) -> tuple[set[str], Sequence[Question]]:
    """Give the ids of the unbalanced set's texts that are asked, and the texts beyond `texts`."""
    kept: set[str] = set()
    beyond: list[Question] = []
    count: Counter[tuple[str, str]] = Counter()
    for each in sorted(unbalanced, key=lambda each: each.text_template):
        if each.criterion not in params.criteria:
            continue
        count[each.group, each.criterion] += 1
        if params.texts is not None and count[each.group, each.criterion] > params.texts:
            beyond.append(each)
        else:
            kept.add(each.id)
    return kept, beyond


def _trace(question: Question, in_balanced: set[str], true: dict[str, tuple[str, ...]]) -> tuple[Origin, ...]:
    stem = "balanced" if question.id in in_balanced else "unbalanced"
    origin = [Origin("row", f"{stem}#{question.id}")]
    if question.group in true:
        origin.append(Origin("row", f"true_documents#{question.group}"))
    return tuple(origin)
