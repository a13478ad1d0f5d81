"""Stage: pair every semantic group with the texts that each criterion's rule selects (the unbalanced set)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pydantic import Field

from tasks.artifacts.rows import Drafts, Dropped, Origin, make_id
from tasks.artifacts.spool import Spool
from tasks.grammar.construct.fill_in import Group
from tasks.grammar.construct.pairs import Question, group_texts, make_question
from tasks.grammar.construct.text_templates import TextTemplate
from tasks.settings import Settings


class CriterionRule(Settings):
    """The rule that sets how many texts of a criterion a group gets."""

    first: int | None = Field(default=None, ge=0)
    """The number of texts to use per SQL template; null means all texts."""
    keep: float = Field(default=1.0, ge=0, le=1)
    """The probability that a group gets texts of this criterion."""


class Unbalanced(Settings):
    """The settings in params.yaml under `grammar.unbalanced`. A criterion without a rule gets all texts."""

    rules: Mapping[str, CriterionRule] = Field(default_factory=dict)
    """The rule that selects the texts of each criterion, by name."""
    seed: int = 0
    """The seed that decides which groups get texts of a criterion."""


def unbalanced(
    second_reading: list[TextTemplate], fill_in: Iterable[Group], params: Unbalanced
) -> Drafts[Question]:
    """Return one question per group and text that the rules select for the group's SQL template.

    Drop reasons are `left_out` (the rules select no text) and `no_text` (the SQL template has no text).
    Groups and questions are streamed, because they may not fit into memory.
    """
    texts = group_texts(second_reading)
    rows: Spool[Question] = Spool()
    dropped: Spool[Dropped] = Spool()
    for group in fill_in:
        chosen = [
            text
            for criterion, candidates in sorted(texts.get(group.sql_template, {}).items())
            if draws_criterion(group, criterion, params)
            for text in candidates[: params.rules.get(criterion, CriterionRule()).first]
        ]
        for text in chosen:
            rows.add(make_question(text, group))
        if not chosen:
            reason = "left_out" if group.sql_template in texts else "no_text"
            dropped.add(Dropped(group.id, reason, group.sql, (Origin("row", f"fill_in#{group.id}"),)))
    return Drafts(rows, dropped)


def draws_criterion(group: Group, criterion: str, params: Unbalanced) -> bool:
    """Return whether a group gets texts of a criterion. A seeded hash decides, with probability `keep`."""
    # An id has 16 hexadecimal digits.
    share = int(make_id("keep", params.seed, criterion, group.id), 16) / 16**16
    return share < params.rules.get(criterion, CriterionRule()).keep
