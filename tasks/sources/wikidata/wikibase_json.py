"""Parse Wikibase's JSON representation of an entity, from dumps or the API, and validate every field."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from tasks.sources.wikidata.entities import (
    INSTANCE_OF,
    RANKS,
    Entity,
    EntityClaim,
    EntitySelection,
    Qualifier,
    Sitelink,
)
from tasks.sources.wikidata.languages import MUL, may_name, pick_labels
from tasks.sources.wikidata.report import (
    MISSING,
    NO_LABEL,
    OTHER_TYPE,
    UNKNOWN_VALUE,
    ReadingReport,
    SkippedEntity,
)
from tasks.sources.wikidata.snaks import KeptOut, read_snak
from tasks.sources.wikidata.values import ENTITY, ItemValue, NoValue, Text, make_text, show

BROKEN, OTHER_KIND, TWICE = "broken entity", "no item", "statement id twice"
BROKEN_PART, BROKEN_CLAIM, BROKEN_CLAIMS = "broken part", "broken claim", "broken claims"
BROKEN_QUALIFIER, IN_QUALIFIER = "broken qualifier", "{} in a qualifier"
DEPRECATED = "deprecated"


@dataclass(frozen=True)
class _Reading:
    """The state of reading an entity: its id, its position, and the report for skipped parts."""

    entity: str
    where: str
    report: ReadingReport

    def skip(self, reason: str, detail: str, name: str = "", rank: str = "") -> None:
        self.report.skip(SkippedEntity(reason, self.where, self.entity, name, detail, rank=rank))


def read_entity(
    record: object, selection: EntitySelection, report: ReadingReport, where: str
) -> Entity | None:
    """Parse an entity; return None if it is invalid, not selected, or neither an item nor a property.

    `where`: position for the report.
    """
    if not isinstance(record, dict):
        report.skip(SkippedEntity(BROKEN, where, detail=f"{show(record)} is not an entity"))
        return None
    name, kind = record.get("id"), record.get("type")
    if kind is None and _note_redirect(record, report):
        return None
    reading = _Reading(show(name), where, report)
    if "missing" in record:
        reading.skip(MISSING, "")
        return None
    if kind not in ("item", "property"):
        reading.skip(OTHER_KIND if kind else BROKEN, f"is a {show(kind)}" if kind else "has no type")
        return None
    if (
        not isinstance(name, str)
        or not ENTITY.fullmatch(name)
        or name[0] != kind[0].upper().replace("I", "Q")
    ):
        reading.skip(BROKEN, f"{show(name)} is not a valid {kind} id")
        return None
    if kind == "property" and not selection.names_property(name):
        reading.skip(OTHER_KIND, "is a property that was not asked for")
        return None
    claims = _take_part(record, "claims", reading, BROKEN_CLAIMS)
    if kind == "item" and not _is_wanted(name, claims, selection):
        report.not_asked += 1
        return None
    redirects = record.get("redirects")
    old = redirects.get("from") if isinstance(redirects, dict) else None
    if isinstance(old, str) and ENTITY.fullmatch(old):
        report.redirects[old] = name
    revision = record.get("lastrevid")
    return Entity(
        id=name,
        kind="item" if kind == "item" else "property",
        revision=revision if isinstance(revision, int) and 0 <= revision < 2**63 else None,
        labels=_read_labels(_take_part(record, "labels", reading), selection, reading),
        aliases=tuple(_read_aliases(_take_part(record, "aliases", reading), selection, reading)),
        sitelinks=tuple(_read_sitelinks(_take_part(record, "sitelinks", reading), selection, reading)),
        claims=tuple(_read_claims(claims, selection.properties, reading)),
    )


def _note_redirect(record: Mapping[str, object], report: ReadingReport) -> bool:
    """Record a redirect in the report; return whether the record is a redirect instead of an entity."""
    old, new = record.get("entity"), record.get("redirect")
    if not all(isinstance(name, str) and ENTITY.fullmatch(name) for name in (old, new)):
        return False
    report.redirects[str(old)] = str(new)
    return True


def find_classes(claims: Mapping[str, object]) -> Iterator[str]:
    """Yield the ids of an item's classes (P31), except from deprecated statements."""
    statements = claims.get(INSTANCE_OF)
    for statement in statements if isinstance(statements, list) else []:
        if isinstance(statement, dict) and statement.get("rank") != DEPRECATED:
            try:
                value = read_snak(statement.get("mainsnak"))
            except (NoValue, KeptOut):
                continue
            if isinstance(value, ItemValue):
                yield value.id


def has_open_class(claims: Mapping[str, object]) -> bool:
    """Return whether an item's class is uncertain: a class statement has an unknown or invalid value."""
    statements = claims.get(INSTANCE_OF)
    for statement in statements if isinstance(statements, list) else []:
        if isinstance(statement, dict) and statement.get("rank") != DEPRECATED:
            try:
                read_snak(statement.get("mainsnak"))
            except NoValue:
                return True
            except KeptOut as kept:
                if kept.reason == UNKNOWN_VALUE:
                    return True
    return False


def _is_wanted(name: str, claims: Mapping[str, object], selection: EntitySelection) -> bool:
    if selection.takes_all_items() or name in (selection.entities or ()):
        return True
    if not selection.classes:
        return False
    return not selection.classes.isdisjoint(find_classes(claims)) or has_open_class(claims)


def _take_part(
    record: Mapping[str, object], part: str, reading: _Reading, reason: str = BROKEN_PART
) -> Mapping[str, object]:
    """Return the object in a record's field; {} if the field is missing or invalid.

    Wikibase writes an empty object as []. Other values that are not objects are reported.
    """
    found = record.get(part)
    if isinstance(found, dict):
        return found
    if found not in (None, []):
        reading.skip(reason, f"{part}: {show(found)} is not a JSON object")
    return {}


def _read_labels(
    part: Mapping[str, object], selection: EntitySelection, reading: _Reading
) -> tuple[Text, ...]:
    wanted = selection.languages
    codes = [code for code in part if wanted is None or may_name(code, wanted)]
    found = tuple(_read_texts(part, codes, "labels", reading))
    if wanted:
        found = tuple(pick_labels(found, wanted))
        if not found:
            reading.report.keep_out(NO_LABEL, reading.where, reading.entity, "", ", ".join(sorted(wanted)))
    return found


def _read_aliases(
    part: Mapping[str, object], selection: EntitySelection, reading: _Reading
) -> Iterator[Text]:
    wanted = selection.languages
    codes = [code for code in part if wanted is None or code in wanted or (wanted and code == MUL)]
    return _read_texts(part, codes, "aliases", reading)


def _read_texts(
    part: Mapping[str, object], codes: Iterable[str], what: str, reading: _Reading
) -> Iterator[Text]:
    for language in sorted(codes):
        found = part[language]
        for entry in found if isinstance(found, list) else [found]:
            try:
                yield make_text(entry["value"] if isinstance(entry, dict) else entry, language)
            except (NoValue, KeyError) as error:
                reading.skip(BROKEN_PART, f"{what}, {language}: {error}")


def _read_sitelinks(
    part: Mapping[str, object], selection: EntitySelection, reading: _Reading
) -> Iterator[Sitelink]:
    for site in sorted(part):
        if selection.sites is not None and site not in selection.sites:
            continue
        entry = part[site]
        title = entry.get("title") if isinstance(entry, dict) else None
        if isinstance(title, str):
            yield Sitelink(site, title)
        else:
            reading.skip(BROKEN_PART, f"sitelinks, {site}: {show(entry)} has no title")


def _read_claims(
    claims: Mapping[str, object], wanted: Collection[str] | None, reading: _Reading
) -> Iterator[EntityClaim]:
    known: set[str] = set()
    for name in sorted(claims if wanted is None else wanted & claims.keys()):
        statements = claims[name]
        if not isinstance(statements, list) or not ENTITY.fullmatch(name):
            reading.skip(BROKEN_CLAIMS, f"{show(statements)} is not a list of statements", f"{name:.40}")
            continue
        for position, statement in enumerate(statements):
            claim = _read_claim(name, position, statement, reading)
            if claim is not None and claim.id in known:
                reading.skip(TWICE, claim.id, name, claim.rank)
            elif claim is not None:
                known.add(claim.id)
                yield claim


def _read_claim(name: str, position: int, statement: object, reading: _Reading) -> EntityClaim | None:
    if not isinstance(statement, dict):
        reading.skip(BROKEN_CLAIM, f"{name_place(position)}: {show(statement)} is not a statement", name)
        return None
    identifier, rank, qualifiers = statement.get("id"), statement.get("rank"), statement.get("qualifiers")
    known_rank = RANKS.get(rank) if isinstance(rank, str) else None
    if known_rank is None:
        reading.skip(BROKEN_CLAIM, f"{name_place(position)}: {show(rank)} is not a rank", name)
        return None
    try:
        value = read_snak(statement.get("mainsnak"))
    except NoValue as error:
        reading.skip(BROKEN_CLAIM, f"{name_place(position)}: {error}", name, known_rank)
        return None
    except KeptOut as kept:
        if kept.reason == OTHER_TYPE:
            reading.report.keep_out(kept.reason, reading.where, reading.entity, name, kept.detail)
        else:
            reading.skip(kept.reason, name_place(position), name, known_rank)
        return None
    if not isinstance(identifier, str) or not _belongs(identifier, reading.entity):
        # A statement id with another entity's prefix could collide with that entity's ids, so the property
        # and the position replace it.
        identifier = f"{reading.entity}${name}-{position}"
    read = () if qualifiers is None else tuple(_read_qualifiers(name, position, qualifiers, reading))
    return EntityClaim(identifier, name, position, known_rank, value, read)


def _belongs(identifier: str, entity: str) -> bool:
    owner, found, _ = identifier.partition("$")
    if not found or len(identifier) >= 100:
        return False
    # Some statement ids begin with a lower-case `q`.
    return owner == entity or owner.casefold() == entity.casefold()


def name_place(position: int) -> str:
    """Return `statement N` for the report, where N is the position plus 1."""
    return f"statement {position + 1}"


def _read_qualifiers(name: str, position: int, part: object, reading: _Reading) -> Iterator[Qualifier]:
    if part == []:
        return
    place = name_place(position)
    if not isinstance(part, dict):
        reading.skip(BROKEN_QUALIFIER, f"{place}: {show(part)} is not a JSON object", name)
        return
    for property_id in sorted(part):
        snaks = part[property_id]
        for snak in snaks if isinstance(snaks, list) and ENTITY.fullmatch(property_id) else [None]:
            try:
                yield Qualifier(property_id, read_snak(snak))
            except NoValue as error:
                reading.skip(BROKEN_QUALIFIER, f"{place}, {property_id:.40}: {error}", name)
            except KeptOut as kept:
                detail = f"qualifier {property_id}" + (f", {kept.detail}" if kept.detail else "")
                reason = IN_QUALIFIER.format(kept.reason)
                reading.report.keep_out(reason, reading.where, reading.entity, name, detail)
