"""Stage: the questions with an equal number of texts per semantic group and criterion."""

from __future__ import annotations

from collections.abc import Iterable

from pydantic import BaseModel, ConfigDict, Field

from tasks.artifacts.rows import Drafts, Dropped, Origin
from tasks.artifacts.spool import Spool
from tasks.grammar.construct.pairs import group_texts, pair
from tasks.grammar.rows import Group, Question, TextTemplate


class Balanced(BaseModel):
    """`grammar.balanced` in params.yaml."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    criteria: tuple[str, ...] = Field(min_length=1)
    texts: int = Field(default=1, ge=1)
    """Texts per group and criterion: the same number everywhere, so that criteria can be compared."""


def balanced(back_check: list[TextTemplate], fill_in: Iterable[Group], params: Balanced) -> Drafts[Question]:
    """Pair every group with equally many texts of each criterion; groups that have too few are dropped.

    Groups are streamed: there may be more of them, and of the questions, than memory holds.
    """
    texts = group_texts(back_check)
    rows: Spool[Question] = Spool()
    dropped: Spool[Dropped] = Spool()
    for group in fill_in:
        own = texts.get(group.sql_template, {})
        short = {
            name: len(own.get(name, [])) for name in params.criteria if len(own.get(name, [])) < params.texts
        }
        if short:
            missing = ", ".join(f"{count} {name}" for name, count in short.items())
            origin = (Origin("row", f"fill_in#{group.id}"),)
            dropped.add(Dropped(group.id, "too_few_texts", f"has {missing}, needs {params.texts}", origin))
            continue
        for name in params.criteria:
            for text in own[name][: params.texts]:
                rows.add(pair(text, group))
    return Drafts(rows, dropped)
