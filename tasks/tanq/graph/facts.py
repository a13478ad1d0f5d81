"""Stage: select the best-ranked statements of a graph that questions can use (step 1)."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from tasks.artifacts.rows import Drafts, Dropped, Origin, make_id
from tasks.errors import StageFailed
from tasks.sources.wikidata.report import (
    LIKE_NAMED,
    NO_ID,
    NO_VALUE,
    OTHER_TYPE,
    UNKNOWN_VALUE,
    SkippedEntity,
)
from tasks.sources.wikidata.rows import ClaimRow, QualifierRow, ValueRow
from tasks.sources.wikidata.values import ENTITY
from tasks.tanq.entries import GraphSource
from tasks.tanq.graph.amounts import convert_amount
from tasks.tanq.graph.graph_files import (
    INSTANCE_OF,
    find_best_rank,
    find_label,
    follow_redirects,
    read_claims,
    read_entities,
    read_skipped,
)
from tasks.tanq.graph.relation_words import KNOWN
from tasks.tanq.graph.showing import QUANTITY, show_value

OF_ITSELF, NOT_SHOWN, OTHER_UNIT, UNRANKED = "of_itself", "not_shown", "other_unit", "unranked"
SAME_AMOUNT = "same_amount"
BEARING = frozenset(
    (
        "archive cut off or damaged", "another entity was answered", "array without its end", "broken cell",
        "broken claim", "broken claims", "broken entity", "broken line", "line too long",
        "statement id twice", LIKE_NAMED, NO_ID, NO_VALUE, OTHER_TYPE, UNKNOWN_VALUE,
    )
)  # fmt: skip
"""Reasons why an import skips a record that may contain a statement."""
MOST_NAMED = 50
"""Maximum number of dropped statements to list for each reason; further statements are only counted."""


@dataclass(frozen=True)
class Fact:
    """A row of stage `facts`: a statement of the graph that has the best rank for its entity and relation.

    id: the id of the statement. shown: the value as displayed in a table, without its unit.
    """

    id: str
    entity: str
    relation: str
    value: ValueRow
    shown: str
    qualifiers: tuple[QualifierRow, ...]
    origin: tuple[Origin, ...]


@dataclass(frozen=True)
class Unread:
    """A row of stage `unread`: a statement that is not a fact because it could not be read or shown.

    entity, relation: ids. value: the value's id if the value is an entity. An empty field means
    that any entity, relation or value is possible.
    """

    id: str
    entity: str
    relation: str
    value: str
    reason: str
    detail: str
    origin: tuple[Origin, ...]


@dataclass(frozen=True)
class GraphReading:
    """The statements of a graph: facts, dropped statements and unread statements."""

    facts: list[Fact]
    left: DroppedFacts
    unread: list[Unread]


def facts(entry: GraphSource) -> Drafts[Fact]:
    """Return the facts about the relations that questions may use, and about the classes of entities.

    All amounts of a relation are converted to its most frequent unit, if the conversion is exact. Drop
    reasons of statements:

    - `deprecated` or `outranked`: the statement does not have the best rank.
    - `of_itself`: the value is the entity itself; for example, in Wikidata, the country of Brazil is Brazil.
    - `not_shown`: the entity or the value has no name, or the value is a date less precise than a millennium.
    - `other_unit`: the amount has no exact conversion.
    - `same_amount`: another statement has the same amount after conversion.
    - `not_read`: the import skipped the statement.
    - `unranked`: for the same entity and relation, there is another statement whose rank was not read.

    Raises BadInput if the folder is not a graph, and StageFailed if no fact is left.
    """
    reading = read_graph(entry)
    if not reading.facts:
        count = len(entry.relations) or len(KNOWN)
        raise StageFailed(f"{entry.graph}: no statement with one of the {count} relations can be used")
    return Drafts(reading.facts, reading.left.list())


def read_graph(entry: GraphSource) -> GraphReading:
    """Divide the statements of a graph into facts, dropped statements and unread statements.

    Raises BadInput if the folder is not a graph.
    """
    wanted = {INSTANCE_OF, *(entry.relations or KNOWN)}
    labels: dict[str, str] = {}
    redirects: dict[str, str] = {}
    for row in read_entities(entry.graph):
        labels[row.id] = find_label(row.labels)
        redirects.update(dict.fromkeys(row.redirects, row.id))
    skipped = group_skipped(read_skipped(entry.graph), wanted)
    found: list[Fact] = []
    left = DroppedFacts()
    unread: list[Unread] = []
    own = (claim for claim in read_claims(entry.graph) if claim.property in wanted)
    ordered = sorted(
        follow_redirects(own, redirects), key=lambda claim: (claim.entity, claim.property, claim.position)
    )
    for place, group in groupby(ordered, key=lambda claim: (claim.entity, claim.property)):
        claims, others = list(group), skipped.get(place, [])
        best = find_best_rank({claim.rank for claim in claims} | {other.rank for other in others})
        for claim in claims:
            if claim.rank != best:
                left.add(claim, "deprecated" if claim.rank == "deprecated" else "outranked")
            # An unread statement whose rank is unknown could outrank these claims.
            elif reason := UNRANKED if "" in {other.rank for other in others} else find_fault(claim, labels):
                left.add(claim, reason)
                unread.append(make_unread(claim, reason, name_fault(claim, labels)))
            else:
                shown = show_value(claim.value, labels)
                origin = (Origin("evidence", f"claims.parquet#{claim.id}"),)
                found.append(
                    Fact(claim.id, claim.entity, claim.property, claim.value, shown, claim.qualifiers, origin)
                )
        skipped[place] = [other for other in others if other.rank in ("", best)]
    kept = _unify_units(found, labels, left, unread)
    for others in skipped.values():
        best = find_best_rank({other.rank for other in others})
        unread += [
            name_skipped(other) for other in others if other.reason != NO_VALUE and other.rank in ("", best)
        ]
    for statement in unread:
        if statement.reason not in (OF_ITSELF, NOT_SHOWN, OTHER_UNIT, UNRANKED):
            left.add(statement, "not_read")
    return GraphReading(kept, left, sorted({row.id: row for row in unread}.values(), key=lambda row: row.id))


def group_skipped(
    skipped: Iterable[SkippedEntity], wanted: Collection[str]
) -> dict[tuple[str, str], list[SkippedEntity]]:
    """Group the skipped records of an import by entity and property.

    Excludes deprecated records, other properties, and skip reasons that cannot affect a statement.
    """
    grouped: defaultdict[tuple[str, str], list[SkippedEntity]] = defaultdict(list)
    for record in (part for whole in skipped for part in split_nameless(whole)):
        if record.reason in BEARING and record.rank != "deprecated" and record.property in (*wanted, ""):
            # A record that counts several statements covers a whole property, although it names only one
            # entity.
            grouped[name_thing(record), record.property].append(record)
    return dict(grouped)


def split_nameless(skipped: SkippedEntity) -> list[SkippedEntity]:
    """Split a skipped row without an entity id into one record per statement.

    Any other record is returned unchanged.
    """
    own = replace(skipped, statements=(), rank="normal")
    return [replace(own, property=name, value=value) for name, value in skipped.statements] or [skipped]


def name_thing(skipped: SkippedEntity) -> str:
    """Return the id of the entity that a skipped record is about; empty if it could be any entity."""
    if skipped.reason == NO_ID and skipped.property:
        return skipped.where
    return skipped.entity if ENTITY.fullmatch(skipped.entity) and not is_total(skipped) else ""


def is_total(skipped: SkippedEntity) -> bool:
    """Return whether a record may cover several entities; its `entity` is then only an example."""
    return skipped.count > 1 or skipped.reason == OTHER_TYPE


def name_skipped(skipped: SkippedEntity) -> Unread:
    """Return the row of stage `unread` for a record that an import skipped."""
    entity = name_thing(skipped)
    where = "" if entity == skipped.where else skipped.where
    detail = ", ".join(filter(None, (where, skipped.detail)))
    told = (skipped.value,) if skipped.reason in (NO_ID, LIKE_NAMED) else ()
    name = make_id("unread", entity, skipped.property, skipped.reason, detail, *told)
    origin = (Origin("evidence", f"skipped.jsonl#{skipped.where}"),)
    return Unread(name, entity, skipped.property, skipped.value, skipped.reason, detail, origin)


def make_unread(claim: ClaimRow | Fact, reason: str, detail: str) -> Unread:
    """Return the row of stage `unread` for a statement that was read but is not a fact."""
    relation = claim.property if isinstance(claim, ClaimRow) else claim.relation
    origin = (Origin("evidence", f"claims.parquet#{claim.id}"),)
    return Unread(claim.id, claim.entity, relation, claim.value.item or "", reason, detail, origin)


def find_fault(claim: ClaimRow, labels: Mapping[str, str]) -> str:
    """Return the reason why a statement cannot be a fact; empty if the statement can be a fact."""
    if claim.value.item == claim.entity:
        return OF_ITSELF
    return "" if labels.get(claim.entity) and show_value(claim.value, labels) else NOT_SHOWN


def name_fault(claim: ClaimRow, labels: Mapping[str, str]) -> str:
    """Describe why a statement cannot be shown, such as an entity without a label."""
    lacking = [name for name in (claim.entity, claim.value.item) if name and not labels.get(name)]
    said = [f"{name} {'has no label' if name in labels else 'is not in the graph'}" for name in lacking]
    return ", ".join(said) or f"{claim.value.kind} value of statement {claim.id}"


class DroppedFacts:
    """The dropped statements by reason: the first `MOST_NAMED` are named, and the others are counted."""

    def __init__(self) -> None:
        self._named: list[Dropped] = []
        self._counts: Counter[str] = Counter()

    def add(self, claim: ClaimRow | Fact | Unread, reason: str) -> None:
        """Record that a statement is dropped."""
        self._counts[reason] += 1
        if self._counts[reason] <= MOST_NAMED:
            name = claim.property if isinstance(claim, ClaimRow) else claim.relation
            detail = f"{name} of {claim.entity}"
            if isinstance(claim, Unread):
                detail = f"{name or 'statements'} of {claim.entity or 'any'}: {claim.reason}, {claim.detail}"
            self._named.append(Dropped(claim.id, reason, detail))

    def list(self) -> list[Dropped]:
        """Return the dropped statements.

        If a reason has more than `MOST_NAMED` statements, an additional entry states how many are not listed.
        """
        more = [
            Dropped(f"more/{reason}", reason, f"{count - MOST_NAMED} more")
            for reason, count in sorted(self._counts.items())
            if count > MOST_NAMED
        ]
        return [*self._named, *more]


def find_common_unit(facts: Iterable[Fact]) -> str:
    """Return the most frequent unit of the amounts; empty for plain numbers."""
    counts = Counter(fact.value.unit or "" for fact in facts)
    return min(counts, key=lambda unit: (-counts[unit], unit))


def _unify_units(
    facts: Sequence[Fact], labels: Mapping[str, str], left: DroppedFacts, unread: list[Unread]
) -> list[Fact]:
    amounts: defaultdict[str, list[Fact]] = defaultdict(list)
    for fact in facts:
        if fact.value.kind == QUANTITY:
            amounts[fact.relation].append(fact)
    units = {relation: find_common_unit(relation_amounts) for relation, relation_amounts in amounts.items()}
    told = {
        (fact.entity, fact.relation, fact.shown)
        for relation_amounts in amounts.values()
        for fact in relation_amounts
        if (fact.value.unit or "") == units[fact.relation]
    }
    kept = []
    for fact in facts:
        if fact.value.kind != QUANTITY or (fact.value.unit or "") == units[fact.relation]:
            kept.append(fact)
        elif (value := convert_amount(fact.value, units[fact.relation], labels)) is None:
            left.add(fact, OTHER_UNIT)
            detail = f"{fact.value.unit or 'no unit'} in place of {units[fact.relation] or 'none'}"
            unread.append(make_unread(fact, OTHER_UNIT, detail))
        elif (amount := (fact.entity, fact.relation, show_value(value, labels))) in told:
            left.add(fact, SAME_AMOUNT)
        else:
            told.add(amount)
            kept.append(replace(fact, value=value, shown=amount[2]))
    return kept
