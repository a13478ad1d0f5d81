"""Stage: pair every semantic group with the same number of texts of each criterion (the balanced set)."""

from __future__ import annotations

from collections.abc import Iterable

from pydantic import Field

from tasks.artifacts.rows import Drafts, Dropped, Origin
from tasks.artifacts.spool import Spool
from tasks.grammar.construct.fill_in import Group
from tasks.grammar.construct.pairs import Question, group_texts, make_question
from tasks.grammar.construct.sql_templates import OwnTemplate
from tasks.grammar.construct.text_templates import TextTemplate
from tasks.settings import Settings


class Balanced(Settings):
    """The settings in params.yaml under `grammar.balanced`."""

    criteria: tuple[str, ...] = Field(min_length=1)
    """The criteria for which every group must have texts."""
    texts: int = Field(default=1, ge=1)
    """The number of texts per group and criterion. The number is the same for all criteria, so that criteria
    are comparable."""


def count_texts(own_templates: Iterable[OwnTemplate], params: Balanced) -> int:
    """Return the number of texts that every group gets per criterion: at least `params.texts`.

    If user-written templates replace the model's templates, the number is the smallest number of texts that
    any template has for a criterion. Therefore a file with ten texts per template and criterion is used
    completely.
    """
    counts = [
        sum(text.criterion == criterion for text in template.texts)
        for template in own_templates
        if template.instead
        for criterion in params.criteria
    ]
    return max(params.texts, min(counts, default=0))


def balanced(
    second_reading: list[TextTemplate],
    fill_in: Iterable[Group],
    own_templates: list[OwnTemplate],
    params: Balanced,
) -> Drafts[Question]:
    """Pair every group with `count_texts` texts of each criterion; drop groups with too few texts.

    Groups and questions are streamed, because they may not fit into memory.
    """
    texts = group_texts(second_reading)
    wanted = count_texts(own_templates, params)
    rows: Spool[Question] = Spool()
    dropped: Spool[Dropped] = Spool()
    for group in fill_in:
        candidates = texts.get(group.sql_template, {})
        counts = {criterion: len(candidates.get(criterion, [])) for criterion in params.criteria}
        if too_few := {criterion: count for criterion, count in counts.items() if count < wanted}:
            missing = ", ".join(f"{count} {criterion}" for criterion, count in too_few.items())
            origin = (Origin("row", f"fill_in#{group.id}"),)
            dropped.add(
                Dropped(
                    group.id,
                    "too_few_texts",
                    f"has too few texts: {missing}; expected {wanted} for each criterion",
                    origin,
                )
            )
            continue
        for criterion in params.criteria:
            for text in candidates[criterion][:wanted]:
                rows.add(make_question(text, group))
    return Drafts(rows, dropped)
