"""Convert entities and claims to rows of Parquet files, and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal

from tasks.sources.wikidata.calendars import Calendar
from tasks.sources.wikidata.entities import RANKS, Entity, EntityClaim, Qualifier, Sitelink
from tasks.sources.wikidata.values import ItemValue, Precision, Quantity, Text, Time, Value

CALENDARS: dict[str, Calendar] = {"gregorian": "gregorian", "julian": "julian"}


@dataclass(frozen=True)
class EntityRow:
    """A row of entities.parquet. `redirects`: the ids that redirect to this entity."""

    id: str
    kind: str
    revision: int | None
    labels: tuple[Text, ...]
    aliases: tuple[Text, ...]
    sitelinks: tuple[Sitelink, ...]
    redirects: tuple[str, ...]


@dataclass(frozen=True)
class ValueRow:
    """A value. `kind`: `item`, `time`, `quantity` or `text`; columns of other kinds are NULL.

    - `amount`, `lower`, `upper`: exact decimal numbers as text.
    - `number`: the amount as a float.
    - `year`: historical, negative before 1 CE.
    - `precision`: Wikibase's number, such as 11 = day, 9 = year, 7 = century.
    """

    kind: str
    item: str | None = None
    text: str | None = None
    language: str | None = None
    year: int | None = None
    month: int | None = None
    day: int | None = None
    precision: int | None = None
    calendar: str | None = None
    amount: str | None = None
    number: float | None = None
    unit: str | None = None
    lower: str | None = None
    upper: str | None = None


@dataclass(frozen=True)
class QualifierRow:
    """A qualifier of a claim."""

    property: str
    value: ValueRow


@dataclass(frozen=True)
class ClaimRow:
    """A row of claims.parquet.

    `id`: the statement's id. `position`: index among the entity's claims with this property.
    """

    id: str
    entity: str
    property: str
    position: int
    rank: str
    value: ValueRow
    qualifiers: tuple[QualifierRow, ...]


def make_entity_row(entity: Entity, redirects: Mapping[str, tuple[str, ...]]) -> EntityRow:
    """Return the row for an entity. `redirects`: id -> the ids that redirect to it."""
    return EntityRow(
        entity.id,
        entity.kind,
        entity.revision,
        entity.labels,
        entity.aliases,
        entity.sitelinks,
        redirects.get(entity.id, ()),
    )


def make_claim_row(entity: str, claim: EntityClaim) -> ClaimRow:
    """Return the row for a claim."""
    qualifiers = tuple(
        QualifierRow(qualifier.property, make_value_row(qualifier.value)) for qualifier in claim.qualifiers
    )
    value = make_value_row(claim.value)
    return ClaimRow(claim.id, entity, claim.property, claim.position, claim.rank, value, qualifiers)


def make_value_row(value: Value) -> ValueRow:
    """Return the row for a value; columns of other kinds are None."""
    if isinstance(value, ItemValue):
        return ValueRow("item", item=value.id)
    if isinstance(value, Text):
        return ValueRow("text", text=value.text, language=value.language)
    if isinstance(value, Time):
        return ValueRow(
            "time",
            year=value.year,
            month=value.month,
            day=value.day,
            precision=int(value.precision),
            calendar=value.calendar,
        )
    return ValueRow(
        "quantity",
        amount=str(value.amount),
        number=float(value.amount),
        unit=value.unit,
        lower=None if value.lower is None else str(value.lower),
        upper=None if value.upper is None else str(value.upper),
    )


def restore_claim(row: ClaimRow) -> EntityClaim:
    """Convert a row of claims.parquet back to a claim."""
    qualifiers = tuple(
        Qualifier(qualifier.property, restore_value(qualifier.value)) for qualifier in row.qualifiers
    )
    return EntityClaim(
        row.id, row.property, row.position, RANKS[row.rank], restore_value(row.value), qualifiers
    )


def restore_value(row: ValueRow) -> Value:
    """Convert a row's columns back to a value. Raises ValueError if the columns are inconsistent."""
    if row.kind == "item" and row.item is not None:
        return ItemValue(row.item)
    if row.kind == "text" and row.text is not None and row.language is not None:
        return Text(row.text, row.language)
    if row.kind == "time" and row.year is not None and row.precision is not None:
        calendar = CALENDARS[row.calendar or "gregorian"]
        return Time(row.year, row.month, row.day, Precision(row.precision), calendar)
    if row.kind == "quantity" and row.amount is not None:
        lower, upper = (None if bound is None else Decimal(bound) for bound in (row.lower, row.upper))
        return Quantity(Decimal(row.amount), row.unit, lower, upper)
    raise ValueError(f"{row.kind!r:.40} is not a kind of value, or its columns are empty")
