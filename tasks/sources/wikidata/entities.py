"""Define the interface of Wikidata sources, and the types of the entities that they yield."""

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
    """A claim. `id`: unique in the entity. `position`: index among the entity's claims with this property."""

    id: str
    property: str
    position: int
    rank: Rank
    value: Value
    qualifiers: tuple[Qualifier, ...] = ()


@dataclass(frozen=True)
class Sitelink:
    """A wiki page about an entity. `site`: the id of a wiki, such as `enwiki`."""

    site: str
    title: str


@dataclass(frozen=True)
class Entity:
    """An item or a property. `revision`: None if the source does not state the revision.

    - `labels`: at most one per language.
    - `aliases`: any number per language.

    Labels and aliases are sorted by language, and sitelinks by site.
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
    """The entities, claims, labels and sitelinks to read from a source. None means all.

    - `entities`: the ids of the selected items.
    - `classes`: instances (P31) of these classes are also selected. If `classes` is empty and `entities` is
      None, all items are selected.
    - `properties`: only claims with these properties are read. The properties themselves are also read as
      entities, because their labels are needed.
    - `languages`: the languages of labels and aliases; `list_fallbacks` returns the fallbacks for labels.
    - `sites`: the sites of sitelinks.
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
                    raise BadInput(
                        place,
                        f"{name!r} is not an id",
                        hint="expected an id such as Q42, or P31 for a property",
                    )

    def names_property(self, name: str) -> bool:
        """Return whether `properties` or `entities` contains a property's id."""
        return name in (self.properties or ()) or name in (self.entities or ())

    def takes_all_items(self) -> bool:
        """Return whether all items are selected."""
        return self.entities is None and not self.classes


class EntitySource(Protocol):
    """A source of entities, such as a dump, a server or a table."""

    def read(self, selection: EntitySelection, report: ReadingReport) -> Iterator[Entity]:
        """Yield each selected entity once; report unusable records with their position.

        Raises BadInput if the source is invalid or does not support the selection, and DatabaseGone if a
        server does not answer.
        """
        ...


def report_missing(selection: EntitySelection, known: KnownIds, where: str, report: ReadingReport) -> None:
    """Report each selected id that is not in `known`, unless it redirects to an id in `known`."""
    for name in list_named(selection):
        if name not in known:
            target = report.redirects.get(name)
            detail = f"redirects to {target}: ask for {target}" if target and target not in known else ""
            if target is None or detail:
                report.skip(SkippedEntity(MISSING, where, name, detail=detail))


def list_named(selection: EntitySelection) -> list[str]:
    """Return the ids of the selected entities and properties, sorted by letter and number."""
    names = {*(selection.entities or ()), *(selection.properties or ())}
    return sorted(names, key=lambda name: (name[0], int(name[1:])))
