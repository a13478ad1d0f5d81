"""Stage: list the entities in facts: subjects, values, units and classes (step 1)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from tasks.artifacts.rows import Drafts, Dropped, Origin
from tasks.tanq.entries import GraphSource
from tasks.tanq.graph.facts import Fact
from tasks.tanq.graph.graph_files import (
    INSTANCE_OF,
    find_article,
    find_label,
    list_aliases,
    read_entities,
)
from tasks.tanq.graph.showing import ITEM
from tasks.tanq.graph.unit_names import UNIT_NAMES


@dataclass(frozen=True)
class Thing:
    """A row of stage `things`: an entity that is a subject, value, unit or class in a fact.

    article: the title of the entity's Wikipedia article; empty if there is no article. classes: the ids of
    its classes (instance of).
    """

    id: str
    label: str
    aliases: tuple[str, ...]
    article: str
    classes: tuple[str, ...]
    origin: tuple[Origin, ...]


def things(facts: Iterable[Fact], entry: GraphSource) -> Drafts[Thing]:
    """List the entities in a graph's facts with their names and articles.

    Common units that are not in the graph get their names from `UNIT_NAMES`. Drop reason: `no_label` (the
    entity is not in the graph, or has no label). Raises BadInput if the folder is not a graph.
    """
    used: set[str] = set()
    classes: defaultdict[str, list[str]] = defaultdict(list)
    for fact in facts:
        used.add(fact.entity)
        used.update(filter(None, (fact.value.item, fact.value.unit)))
        if fact.relation == INSTANCE_OF and fact.value.kind == ITEM and fact.value.item:
            classes[fact.entity].append(fact.value.item)
    rows, dropped = [], []
    for entity in read_entities(entry.graph):
        if entity.id not in used:
            continue
        origin = (Origin("evidence", f"entities.parquet#{entity.id}"),)
        if label := find_label(entity.labels):
            aliases = list_aliases(entity.aliases)
            own = tuple(sorted(classes[entity.id]))
            rows.append(Thing(entity.id, label, aliases, find_article(entity), own, origin))
        else:
            dropped.append(Dropped(entity.id, "no_label", "the graph has no English label for it", origin))
    known = {row.id for row in rows} | {row.id for row in dropped}
    named = {name: UNIT_NAMES[name] for name in sorted(used - known) if name in UNIT_NAMES}
    origin = (Origin("file", "tasks/tanq/graph/unit_names.py"),)
    rows += [Thing(name, label, (), "", (), origin) for name, label in named.items()]
    known.update(named)
    dropped += [Dropped(name, "no_label", "the graph does not contain it") for name in sorted(used - known)]
    return Drafts(rows, dropped)
