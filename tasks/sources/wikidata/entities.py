"""The interface of Wikidata sources: entities out, a selection of entities and properties in."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, Protocol

from tasks.errors import BadInput
from tasks.sources.wikidata.known_ids import KnownIds
from tasks.sources.wikidata.report import MISSING, ReadingReport, SkippedEntity
from tasks.sources.wikidata.values import ENTITY, Text, Value

Rank = Literal["preferred", "normal", "deprecated"]
RANKS: dict[str, Rank] = {"preferred": "preferred", "normal": "normal", "deprecated": "deprecated"}
INSTANCE_OF = "P31"


@dataclass(frozen=True)
class Qualifier:
    """A qualifier of a claim."""

    property: str
    value: Value


@dataclass(frozen=True)
class EntityClaim:
    """A statement. id: unique within its entity; position: its place in its property, from 0."""

    id: str
    property: str
    position: int
    rank: Rank
    value: Value
    qualifiers: tuple[Qualifier, ...] = ()


@dataclass(frozen=True)
class Sitelink:
    """An entity's page. site: `enwiki`."""

    site: str
    title: str


@dataclass(frozen=True)
class Entity:
    """An item or a property. revision: None where the source does not tell it.

    labels: one a language; aliases: any number; both and sitelinks in the order of language and site.
    """

    id: str
    kind: Literal["item", "property"]
    revision: int | None
    labels: tuple[Text, ...]
    aliases: tuple[Text, ...]
    sitelinks: tuple[Sitelink, ...]
    claims: tuple[EntityClaim, ...]


@dataclass(frozen=True)
class EntitySelection:
    """The selection of entities and properties from a source.

    entities, classes: items of these ids, or that are an instance (P31) of one of the classes; neither = all.
    properties: claims of these, None = of all. Properties that are named are given as entities too, since
    their labels are needed. languages: of labels and aliases; a label falls back as `list_fallbacks` says.
    sites: of sitelinks. None = all.
    """

    entities: frozenset[str] | None = None
    classes: frozenset[str] = frozenset()
    properties: frozenset[str] | None = None
    languages: frozenset[str] | None = None
    sites: frozenset[str] | None = None

    def __post_init__(self) -> None:
        for place, names, letter in (
            ("--entity", self.entities or (), ""),
            ("--class", self.classes, "Q"),
            ("--property", self.properties or (), "P"),
        ):
            for name in sorted(names):
                if not (ENTITY.fullmatch(name) and name.startswith(letter)):
                    raise BadInput(place, f"{name!r} is not an id", hint="like Q42, or P31 for a property")

    def names_property(self, name: str) -> bool:
        """Return whether a property is asked for by its id."""
        return name in (self.properties or ()) or name in (self.entities or ())

    def takes_all_items(self) -> bool:
        """Return whether items are not filtered."""
        return self.entities is None and not self.classes


class EntitySource(Protocol):
    """Where entities come from."""

    def read(self, selection: EntitySelection, report: ReadingReport) -> Iterator[Entity]:
        """Yield what is selected, each entity once; what cannot be used goes to the report, with its place.

        Raises BadInput for a source that is none, or cannot select so; DatabaseGone where it does not answer.
        """
        ...


def report_missing(selection: EntitySelection, known: KnownIds, where: str, report: ReadingReport) -> None:
    """Report the ids that were asked for and not found. known: the ids that were found."""
    for name in list_named(selection):
        if name not in known:
            target = report.redirects.get(name)
            detail = f"redirects to {target}: ask for {target}" if target and target not in known else ""
            if target is None or detail:
                report.skip(SkippedEntity(MISSING, where, name, detail=detail))


def list_named(selection: EntitySelection) -> list[str]:
    """List the ids of a selection, those of properties too, by number."""
    names = {*(selection.entities or ()), *(selection.properties or ())}
    return sorted(names, key=lambda name: (name[0], int(name[1:])))
