"""The facts that an answer needs, and a check that documents state these facts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection
from dataclasses import dataclass

from tasks.artifacts.rows import Origin

Says = Callable[[str, str], bool]
"""A function of a document and a value. Returns whether the document's retrieved text contains the value."""


@dataclass(frozen=True)
class StatedCells:
    """Documents, each of which states every cell of `columns` for one combination of rows."""

    documents: tuple[str, ...]
    columns: tuple[str, ...]


@dataclass(frozen=True)
class AnswerSupport:
    """A combination of joined rows that supports a part of the answer.

    `part` is the number of the part. A part is a row of the answer, a counted row, or a row from which a mean
    or an extreme is computed. `values` contains the cells of `AnswerFacts.columns` as strings, with empty
    strings for keys.
    """

    part: int
    values: tuple[str, ...]
    statements: tuple[StatedCells, ...]


@dataclass(frozen=True)
class AnswerFacts:
    """The facts that a group's answer needs, and the documents that state these facts.

    - `id` is the group's id.
    - `needed` contains the columns whose cells documents must state.
    - `names` contains the columns with row names; two statements can be combined if both state the same name.
    - `columns` contains the columns of `AnswerSupport.values`.
    - `supports` contains the combinations of rows that support the parts of the answer. For every part,
      documents must state at least one such combination.
    - `whole` contains the documents that state the answer itself, if the answer is a count.
    """

    id: str
    needed: tuple[str, ...]
    names: tuple[str, ...]
    columns: tuple[str, ...]
    supports: tuple[AnswerSupport, ...]
    origin: tuple[Origin, ...]
    whole: tuple[str, ...] = ()


def suffices(facts: AnswerFacts, documents: Collection[str], says: Says = lambda *_: True) -> bool:
    """Return whether documents support every part of the answer, or state the answer itself."""
    if not set(facts.whole).isdisjoint(documents):
        return True
    parts: defaultdict[int, list[AnswerSupport]] = defaultdict(list)
    for support in facts.supports:
        parts[support.part].append(support)
    return bool(parts) and all(
        any(_states(facts, support, documents, says) for support in supports) for supports in parts.values()
    )


def _states(facts: AnswerFacts, support: AnswerSupport, documents: Collection[str], says: Says) -> bool:
    """Return whether statements that are linked by row names together contain every needed cell."""
    values = dict(zip(facts.columns, support.values, strict=True))
    waiting = [
        {column for column in statement.columns if says(document, values[column])}
        for statement in support.statements
        for document in statement.documents
        if document in documents
    ]
    while waiting:
        joined = waiting.pop()
        while linked := [told for told in waiting if told & joined & {*facts.names}]:
            waiting = [told for told in waiting if told not in linked]
            joined = joined.union(*linked)
        if joined.issuperset(facts.needed):
            return True
    return False
