"""Rows of the graph: things, relations and facts."""

from __future__ import annotations

from dataclasses import dataclass

from tasks.artifacts.rows import Origin
from tasks.sources.wikidata.rows import QualifierRow, ValueRow

ITEM, TIME, QUANTITY, TEXT = "item", "time", "quantity", "text"


@dataclass(frozen=True)
class Thing:
    """Stage things: an entity that has facts or is the value, unit or class of one.

    article: the title of its Wikipedia article; empty for none. classes: what it is an instance of.
    """

    id: str
    label: str
    aliases: tuple[str, ...]
    article: str
    classes: tuple[str, ...]
    origin: tuple[Origin, ...]


@dataclass(frozen=True)
class Relation:
    """Stage relations: a property by which questions ask or are extended.

    label: the source's, `shares border with`; words: as a column of a table is asked for, `neighbouring
    countries`; one: the same for one value; kind: of its values, `item`, `time`, `quantity` or `text`; unit:
    the thing that its amounts are given in, empty for plain numbers; aspect: relations of one aspect are
    asked side by side (`birth`, `death`), in the order of `rank`.
    """

    id: str
    label: str
    words: str
    one: str
    kind: str
    unit: str
    aspect: str
    rank: int
    entities: int
    facts: int
    origin: tuple[Origin, ...]


@dataclass(frozen=True)
class Fact:
    """Stage facts: one statement of the graph, of its relation's best rank.

    id: the statement's; shown: the value as a table has it, without its unit.
    """

    id: str
    entity: str
    relation: str
    value: ValueRow
    shown: str
    qualifiers: tuple[QualifierRow, ...]
    origin: tuple[Origin, ...]
