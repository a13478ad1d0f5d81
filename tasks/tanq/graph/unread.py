"""Stage: list the statements that could change answers but could not be read or shown (step 1)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from tasks.artifacts.rows import Drafts
from tasks.tanq.entries import GraphSource
from tasks.tanq.graph.facts import Fact, Unread, read_graph
from tasks.tanq.graph.graph_files import INSTANCE_OF
from tasks.tanq.graph.showing import ITEM

ANY = ""
"""The key for an unknown entity, relation or value."""


def unread(entry: GraphSource) -> Drafts[Unread]:
    """List the statements about classes and used relations that could not be read or shown.

    Raises BadInput if the folder is not a graph.
    """
    return Drafts(read_graph(entry).unread)


def name_statement(statement: Unread) -> str:
    """Return a readable description of an unread statement, with the reason why it was not read."""
    what = " of ".join(filter(None, (statement.relation, statement.entity)))
    return " ".join(filter(None, (f"{what}:" if what else "", statement.reason, f"({statement.detail})")))


@dataclass(frozen=True)
class Others:
    """Entities that may meet a condition because of unread statements, except the entities in `known`.

    Both maps have entities as keys, or `ANY` for an unknown entity, and unread statements as values.

    - by_value: the statement has the condition's value, or could add a class to an entity with this value.
    - by_relation: the value of the statement is unknown.
    """

    known: Collection[str]
    by_value: Mapping[str, Unread]
    by_relation: Mapping[str, Unread]

    def __iter__(self) -> Iterator[str]:
        """Yield the entities, including `ANY`, possibly with duplicates."""
        for found in (self.by_value, self.by_relation):
            yield from (entity for entity in found if entity not in self.known)

    def get(self, entity: str) -> Unread | None:
        """Return an unread statement that may make the entity meet the condition, or None."""
        if entity in self.known:
            return None
        own = self.by_value.get(entity) or self.by_relation.get(entity)
        return own or self.by_value.get(ANY) or self.by_relation.get(ANY)

    def first(self) -> Unread | None:
        """Return the statement of the first entity; None if there are no entities."""
        return next(map(self.get, self), None)

    def meet(self, others: Others) -> Unread | None:
        """Return an unread statement that may make an entity meet both conditions, or None.

        Entities that are known to meet both conditions are ignored.
        """
        for side, other in ((self, others), (others, self)):
            for entity in side.known:
                if entity not in other.known and (found := other.get(entity)):
                    return found
            if ANY in side and (ANY in other or any(entity not in side.known for entity in other.known)):
                return side.get(ANY)
        small, large = sorted(
            (self, others), key=lambda doubts: len(doubts.by_value) + len(doubts.by_relation)
        )
        return next((small.get(entity) for entity in small if large.get(entity)), None)

    def __contains__(self, entity: str) -> bool:
        """Return whether an unread statement about this entity may make it meet the condition."""
        return entity not in self.known and (entity in self.by_value or entity in self.by_relation)


class UnreadIndex:
    """An index of the unread statements that could change a condition's answers or a table cell."""

    def __init__(self, unread: Iterable[Unread], facts: Iterable[Fact]) -> None:
        """Index the unread statements.

        facts: the facts of the same graph, for the classes and values of entities.
        """
        self._open: dict[tuple[str, str], Mapping[str, Unread]] = {}
        self._cells: dict[tuple[str, str], Unread] = {}
        self._values: defaultdict[tuple[str, str], dict[str, Unread]] = defaultdict(dict)
        self._classes: defaultdict[str, dict[str, Unread]] = defaultdict(dict)
        for row in unread:
            self._cells.setdefault((row.entity, row.relation), row)
            self._values[row.relation, row.value].setdefault(row.entity, row)
            if row.relation in (INSTANCE_OF, ANY):
                self._classes[row.value].setdefault(row.entity, row)
        self._known: defaultdict[str, set[str]] = defaultdict(set)
        self._unclassed: defaultdict[tuple[str, str], dict[str, Unread]] = defaultdict(dict)
        doubted = {
            entity: row for doubted_class in self._classes.values() for entity, row in doubted_class.items()
        }
        for fact in facts:
            if fact.value.kind == ITEM and fact.value.item:
                if fact.relation == INSTANCE_OF:
                    self._known[fact.entity].add(fact.value.item)
                elif fact.entity in doubted or ANY in doubted:
                    row = doubted.get(fact.entity) or doubted[ANY]
                    self._unclassed[fact.relation, fact.value.item].setdefault(fact.entity, row)

    def find_cell(self, entity: str, relation: str) -> Unread | None:
        """Return an unread statement that could add a value to an entity's relation, or None."""
        places = ((entity, relation), (entity, ANY), (ANY, relation), (ANY, ANY))
        return next((self._cells[place] for place in places if place in self._cells), None)

    def find_others(self, target: str, relation: str, value: str, known: Collection[str]) -> Others:
        """Find entities of a class that may have a value for a relation, except the entities in `known`."""
        rows = (self._values.get((relation, value), {}), self._unclassed.get((relation, value), {}))
        by_value = {
            entity: row for doubts in rows for entity, row in doubts.items() if self._may_be(entity, target)
        }
        if (target, relation) not in self._open:
            rows = (self._values.get((relation, ANY), {}), self._values.get((ANY, ANY), {}))
            self._open[target, relation] = {
                entity: row
                for doubts in rows
                for entity, row in doubts.items()
                if self._may_be(entity, target)
            }
        return Others(known, by_value, self._open[target, relation])

    def _may_be(self, entity: str, target: str) -> bool:
        if entity == ANY or target in self._known.get(entity, ()):
            return True
        open_to = (self._classes.get(name, {}) for name in (target, ANY))
        return any(entity in allowed or ANY in allowed for allowed in open_to)
