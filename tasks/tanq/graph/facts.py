"""Stage: the statements of a graph that questions may stand on, of the best rank each (step 1)."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

from tasks.artifacts.rows import Drafts, Dropped, Origin
from tasks.errors import StageFailed
from tasks.sources.wikidata.rows import ClaimRow, QualifierRow, ValueRow
from tasks.tanq.entries import GraphSource
from tasks.tanq.graph.graph_files import INSTANCE_OF, find_label, pick_best, read_claims, read_entities
from tasks.tanq.graph.relation_words import KNOWN
from tasks.tanq.graph.showing import QUANTITY, show_value

MOST_NAMED = 50
"""Of the facts that are left out for one reason, so many are named; the rest are counted."""


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


def facts(entry: GraphSource) -> Drafts[Fact]:
    """Read the facts of the relations in R, and what things are instances of.

    An amount of a relation is given in the unit that most have. Drop reasons, of statements: `deprecated`,
    `outranked`, `of_itself` (Wikidata has Brazil as the country of Brazil), `not_shown` (a value without a
    name, a date by millennia), `other_unit`. Raises BadInput for a graph that is none, StageFailed if no fact
    is left.
    """
    relations = set(entry.relations) or set(KNOWN)
    labels = {entity.id: find_label(entity.labels) for entity in read_entities(entry.graph)}
    found: list[Fact] = []
    left = DroppedFacts()
    own = (
        claim
        for claim in read_claims(entry.graph)
        if claim.property in relations or claim.property == INSTANCE_OF
    )
    for (entity, name), group in groupby(
        sorted(own, key=lambda claim: (claim.entity, claim.property, claim.position)),
        key=lambda claim: (claim.entity, claim.property),
    ):
        claims = list(group)
        best = pick_best(claims)
        for claim in claims:
            if claim not in best:
                left.add(claim, "deprecated" if claim.rank == "deprecated" else "outranked")
        for claim in best:
            if claim.value.item == entity:
                left.add(claim, "of_itself")
                continue
            shown = show_value(claim.value, labels)
            if not shown or not labels.get(entity):
                left.add(claim, "not_shown")
                continue
            origin = (Origin("evidence", f"claims.parquet#{claim.id}"),)
            found.append(Fact(claim.id, entity, name, claim.value, shown, claim.qualifiers, origin))
    kept = _keep_units(found, left)
    if not kept:
        raise StageFailed(f"{entry.graph}: no statement of {len(relations)} relations can be used")
    return Drafts(kept, left.list())


class DroppedFacts:
    """Collects what is left out, the first of each reason by name."""

    def __init__(self) -> None:
        self._named: list[Dropped] = []
        self._counts: Counter[str] = Counter()

    def add(self, claim: ClaimRow | Fact, reason: str) -> None:
        """Leave out a statement."""
        self._counts[reason] += 1
        if self._counts[reason] <= MOST_NAMED:
            name = claim.property if isinstance(claim, ClaimRow) else claim.relation
            self._named.append(Dropped(claim.id, reason, f"{name} of {claim.entity}"))

    def list(self) -> list[Dropped]:
        """List them; the last of a reason says how many more there are."""
        more = [
            Dropped(f"more/{reason}", reason, f"{count - MOST_NAMED} more")
            for reason, count in sorted(self._counts.items())
            if count > MOST_NAMED
        ]
        return [*self._named, *more]


def find_common_unit(facts: Iterable[Fact]) -> str:
    """Return the unit that most amounts have; empty for plain numbers."""
    counts = Counter(fact.value.unit or "" for fact in facts)
    return min(counts, key=lambda unit: (-counts[unit], unit))


def _keep_units(facts: Sequence[Fact], left: DroppedFacts) -> list[Fact]:
    amounts: defaultdict[str, list[Fact]] = defaultdict(list)
    for fact in facts:
        if fact.value.kind == QUANTITY:
            amounts[fact.relation].append(fact)
    units = {relation: find_common_unit(own) for relation, own in amounts.items()}
    kept = []
    for fact in facts:
        if fact.value.kind == QUANTITY and (fact.value.unit or "") != units[fact.relation]:
            left.add(fact, "other_unit")
        else:
            kept.append(fact)
    return kept
