"""Stage: the questions with an equal number of texts per semantic group and criterion."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from tasks.artifacts.rows import Drafts, Dropped, Origin
from tasks.grammar.pairs import group_texts, pair
from tasks.grammar.rows import Group, Question, TextTemplate


class Balanced(BaseModel):
    """`grammar.balanced` in params.yaml."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    criteria: tuple[str, ...] = Field(min_length=1)
    texts: int = Field(default=1, ge=1)
    """Texts per group and criterion: the same number everywhere, so that criteria can be compared."""


def balanced(back_check: list[TextTemplate], fill_in: list[Group], params: Balanced) -> Drafts[Question]:
    """Pair every group with equally many texts of each criterion; groups that have too few are dropped."""
    texts = group_texts(back_check)
    rows: list[Question] = []
    dropped: list[Dropped] = []
    for group in fill_in:
        own = texts.get(group.sql_template, {})
        short = {
            name: len(own.get(name, [])) for name in params.criteria if len(own.get(name, [])) < params.texts
        }
        if short:
            missing = ", ".join(f"{count} {name}" for name, count in short.items())
            origin = (Origin("row", f"fill_in#{group.id}"),)
            dropped.append(Dropped(group.id, "too_few_texts", f"has {missing}, needs {params.texts}", origin))
            continue
        rows += [pair(text, group) for name in params.criteria for text in own[name][: params.texts]]
    return Drafts(rows, dropped)
