"""Stage: list the relations that questions use as conditions or as columns (step 1)."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from tasks.artifacts.rows import Drafts, Dropped, Origin
from tasks.english import make_plural
from tasks.errors import StageFailed
from tasks.tanq.entries import GraphSource, RelationWords
from tasks.tanq.graph.facts import Fact, find_common_unit
from tasks.tanq.graph.graph_files import INSTANCE_OF, find_label, read_entities
from tasks.tanq.graph.relation_words import ASPECTS, KNOWN, KnownRelation
from tasks.tanq.graph.showing import QUANTITY
from tasks.tanq.graph.unit_names import UNIT_NAMES


@dataclass(frozen=True)
class Relation:
    """A row of stage `relations`: a property that questions use as a condition or as a column.

    - label: the label in the source, such as `shares border with`.
    - words, one: the wording in questions for several values and for one value, such as `neighbouring
      countries`.
    - kind: the kind of the values, `item`, `time`, `quantity` or `text`.
    - unit: the unit's id for amounts; empty for plain numbers.
    - aspect: the topic, such as `birth`. Questions ask for relations of the same aspect together, in the
      order of `rank`.
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


def relations(facts: Iterable[Fact], entry: GraphSource) -> Drafts[Relation]:
    """Return every relation that questions may use and that has facts in the graph.

    Drop reasons: `no_facts`; `no_label` (neither the graph nor `KNOWN` names the property); `no_unit`
    (neither the graph nor `UNIT_NAMES` names the unit); `unlike_values` (the values are of several kinds).
    Raises StageFailed if no relation is left.
    """
    by_relation: defaultdict[str, list[Fact]] = defaultdict(list)
    for fact in facts:
        if fact.relation != INSTANCE_OF:
            by_relation[fact.relation].append(fact)
    wanted = list(entry.relations) or list(KNOWN)
    used = by_relation.keys() | {
        fact.value.unit for relation_facts in by_relation.values() for fact in relation_facts
    }
    labels = dict(UNIT_NAMES) | {
        entity.id: find_label(entity.labels) for entity in read_entities(entry.graph) if entity.id in used
    }
    rows: list[Relation] = []
    dropped: list[Dropped] = []
    for place, name in enumerate(wanted):
        own = by_relation.get(name, [])
        label = labels.get(name, "")
        kinds = Counter(fact.value.kind for fact in own)
        if not own or not (label or name in KNOWN):
            dropped.append(Dropped(name, "no_label" if own else "no_facts", label or name))
        elif (unit := find_common_unit(own)) and not labels.get(unit):
            dropped.append(Dropped(name, "no_unit", f"{label}: the graph has no label for {unit}"))
        elif len(kinds) > 1:
            dropped.append(Dropped(name, "unlike_values", f"{label}: {', '.join(sorted(kinds))}"))
        else:
            rows.append(_describe(name, label, own, entry.relations.get(name), place))
    if not rows:
        raise StageFailed(f"{entry.graph}: none of the {len(wanted)} relations can be asked about")
    return Drafts(rows, dropped)


def _describe(name: str, label: str, facts: list[Fact], given: RelationWords | None, place: int) -> Relation:
    label = label or KNOWN[name].one
    known = KNOWN.get(name, KnownRelation(label, make_plural(label), ""))
    words = given or RelationWords()
    one = words.one or known.one
    plural = words.words or (make_plural(words.one) if words.one else known.words)
    aspect = words.aspect or known.aspect
    order = ASPECTS.index(aspect) if aspect in ASPECTS else len(ASPECTS)
    kind = facts[0].value.kind
    within = list(KNOWN).index(name) if name in KNOWN else len(KNOWN) + place
    return Relation(
        id=name,
        label=label,
        words=plural,
        one=one,
        kind=kind,
        unit=find_common_unit(facts) if kind == QUANTITY else "",
        aspect=aspect,
        # 1000 exceeds the usual number of relations, so relations are sorted by aspect first.
        rank=order * 1000 + within,
        entities=len({fact.entity for fact in facts}),
        facts=len(facts),
        origin=(Origin("evidence", f"entities.parquet#{name}"),),
    )
