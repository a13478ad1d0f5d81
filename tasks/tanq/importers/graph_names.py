"""Look up published names in an imported graph: by ids, articles, labels and aliases."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

from tasks.artifacts.parquet import StoredRows
from tasks.errors import BadInput
from tasks.sources.wikidata.entities import INSTANCE_OF
from tasks.sources.wikidata.rows import ClaimRow, EntityRow
from tasks.sources.wikipedia.article import clean_title
from tasks.tanq.graph.graph_files import find_label, list_aliases

Row = TypeVar("Row")
WIKI = "enwiki"
BY_ID, BY_ARTICLE, BY_NAME = "id", "article", "name"


@dataclass
class WantedNames:
    """All names to look up in one pass over a graph."""

    ids: set[str] = field(default_factory=set)
    articles: set[str] = field(default_factory=set)
    names: set[str] = field(default_factory=set)
    """Names normalised by `fold_name`."""


@dataclass(frozen=True)
class ItemClaim:
    """A statement whose value is an item."""

    id: str
    relation: str
    value: str


class GraphNames:
    """The wanted entities of a graph, and their statements with items as values."""

    def __init__(self, graph: Path, wanted: WantedNames) -> None:
        """Read a graph; memory use depends only on the number of wanted names.

        Raises BadInput if the folder is not a graph.
        """
        self._ids: dict[str, str] = {}
        self._articles: dict[str, str] = {}
        self._labels: defaultdict[str, list[str]] = defaultdict(list)
        self._aliases: defaultdict[str, list[str]] = defaultdict(list)
        for row in _read_entities(graph):
            self._keep(row, wanted)
        found = {*self._ids.values(), *self._articles.values()}
        for names in (self._labels, self._aliases):
            found.update(entity for entities in names.values() for entity in entities)
        claims: defaultdict[str, list[ItemClaim]] = defaultdict(list)
        for claim in _read(graph, "claims.parquet", ClaimRow):
            if claim.entity in found and claim.value.item and claim.rank != "deprecated":
                claims[claim.entity].append(ItemClaim(claim.id, claim.property, claim.value.item))
        values = {claim.value for entity_claims in claims.values() for claim in entity_claims}
        moved: dict[str, str] = {}
        self._names: dict[str, str] = {}
        # The file is read a second time, because only the claims tell which entities need a label.
        for row in _read_entities(graph):
            old = values.intersection(row.redirects)
            moved.update(dict.fromkeys(old, row.id))
            if old or row.id in values:
                self._names.update((row.id, name) for name in _label(row))
        self._claims = {
            entity: [replace(claim, value=moved.get(claim.value, claim.value)) for claim in entity_claims]
            for entity, entity_claims in claims.items()
        }

    def find(self, item: str, article: str, names: Iterable[str]) -> tuple[str, list[str]]:
        """Return the lookup method (`id`, `article` or `name`) and the ids of all matching entities.

        If `item` is not empty, only this id is looked up. Otherwise, the first successful lookup is returned:
        the article, the first name as a label, the first name as an alias, the remaining names as labels.
        """
        if item:
            return BY_ID, [self._ids[item]] if item in self._ids else []
        if article and article in self._articles:
            return BY_ARTICLE, [self._articles[article]]
        folded = [fold_name(name) for name in names]
        for known, wanted in (
            (self._labels, folded[:1]),
            (self._aliases, folded[:1]),
            (self._labels, folded[1:]),
        ):
            for name in wanted:
                if name in known:
                    return BY_NAME, sorted(known[name])
        return BY_NAME, []

    def find_article(self, title: str) -> str:
        """Return the id of the entity with this article; empty if unknown."""
        return self._articles.get(title, "")

    def list_claims(self, entity: str) -> list[ItemClaim]:
        """List an entity's statements with items as values, except classes and deprecated statements."""
        return [claim for claim in self._claims.get(entity, ()) if claim.relation != INSTANCE_OF]

    def list_classes(self, entity: str) -> set[str]:
        """Return the classes that an entity is an instance of."""
        return {claim.value for claim in self._claims.get(entity, ()) if claim.relation == INSTANCE_OF}

    def get_label(self, entity: str) -> str:
        """Return the label of an entity that is a statement's value; empty if unknown.

        The label is in English if possible, otherwise in a fallback language.
        """
        return self._names.get(entity, "")

    def _keep(self, row: EntityRow, wanted: WantedNames) -> None:
        for name in (row.id, *row.redirects):
            if name in wanted.ids:
                self._ids[name] = row.id
        for link in row.sitelinks:
            if link.site == WIKI and (title := clean_title(link.title)) in wanted.articles:
                self._articles[title] = row.id
        labels = {fold_name(label) for label in _label(row)}
        aliases = {fold_name(alias) for alias in list_aliases(row.aliases)} - labels
        for known, names in ((self._labels, labels), (self._aliases, aliases)):
            for name in sorted(names & wanted.names):
                known[name].append(row.id)


def fold_name(name: str) -> str:
    """Normalise the case and the whitespace of a name for comparison."""
    return " ".join(name.casefold().split())


def count_classes(entities: Iterable[str], names: GraphNames) -> Mapping[str, int]:
    """Map each class to the number of entities that are its instances, sorted by class."""
    counts: defaultdict[str, int] = defaultdict(int)
    for entity in entities:
        for class_id in names.list_classes(entity):
            counts[class_id] += 1
    return {class_id: counts[class_id] for class_id in sorted(counts)}


def _label(row: EntityRow) -> Iterator[str]:
    """Yield an entity's English label or a fallback, if the entity has a label."""
    return filter(None, (find_label(row.labels),))


def _read_entities(graph: Path) -> Iterator[EntityRow]:
    return (row for row in _read(graph, "entities.parquet", EntityRow) if row.kind == "item")


def _read(graph: Path, file: str, row: type[Row]) -> StoredRows[Row]:
    if not (graph / file).is_file():
        raise BadInput(graph, f"has no {file}", hint="give a folder that `benchloom import wikidata` wrote")
    return StoredRows(graph / file, row)
