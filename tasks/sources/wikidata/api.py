"""Fetch entities by id from Wikibase's API (wbgetentities), 50 per request; cache each entity as a file.

A cached file has the same content as the entity's line in a dump. The cache folder can be tracked with DVC,
and is read without network access.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from tasks.errors import BadInput, DatabaseGone
from tasks.sources.answers import KeptAnswers
from tasks.sources.web import (
    MEDIAWIKI_FIELDS,
    Client,
    WebServer,
    check_accepted,
    check_passing,
    find_error,
    name_server,
)
from tasks.sources.wikidata.entities import Entity, EntitySelection, list_named
from tasks.sources.wikidata.known_ids import KnownIds
from tasks.sources.wikidata.report import ReadingReport, SkippedEntity
from tasks.sources.wikidata.values import ENTITY, show
from tasks.sources.wikidata.wikibase_json import read_entity

IDS = 50
"""Maximum number of ids per request to the API."""
OTHER_ANSWER = "another entity was answered"
UNKNOWN_ID = "no-such-entity"
FIELDS = {
    **MEDIAWIKI_FIELDS,
    "action": "wbgetentities",
    "props": "info|labels|aliases|claims|sitelinks|datatype",
    "redirects": "yes",
}


class ApiSource:
    """Fetches entities by id from an API.

    `cache`: a folder for responses, `<host>/<last two digits>/<id>.json`. The host is part of the path,
    because ids differ between Wikibases.
    """

    def __init__(self, server: WebServer, cache: Path) -> None:
        self._server, self._kept = server, KeptAnswers(cache / name_server(server.url), server.url)

    def read(self, selection: EntitySelection, report: ReadingReport) -> Iterator[Entity]:
        """Yield the entities with the selected ids; see `EntitySource.read`.

        Raises BadInput if the selection has no ids, or has classes.
        """
        if selection.entities is None or selection.classes:
            raise BadInput(
                self._server.url, "serves entities only by id", hint="use, for example, --entity Q42"
            )
        known = KnownIds()
        with Client(self._server) as client:
            for names in _batch(list_named(selection)):
                for name, record in self._load(client, names):
                    entity = self._read_answer(name, record, selection, report)
                    if entity is not None and known.add(entity.id):
                        yield entity

    def _read_answer(
        self, name: str, record: object, selection: EntitySelection, report: ReadingReport
    ) -> Entity | None:
        where = f"wbgetentities, {name}"
        entity = read_entity(record, _take_any(selection, record), report, where)
        if entity is None or entity.id == name or report.redirects.get(name) == entity.id:
            return entity
        report.skip(SkippedEntity(OTHER_ANSWER, where, name, detail=entity.id))
        return None

    def _load(self, client: Client, names: Sequence[str]) -> Iterator[tuple[str, object]]:
        """Yield (id, record) for these ids in order, from the cache or from the server."""
        wanted = [name for name in names if not self._kept.has(place_answer(name))]
        while wanted:
            reply = client.ask("GET", {**FIELDS, "ids": "|".join(wanted)}, "application/json", check_passing)
            unknown = name_unknown(reply, wanted)
            if unknown:
                self._kept.keep(place_answer(unknown), {"id": unknown, "missing": ""})
                wanted.remove(unknown)
                continue
            for name, record in split_reply(reply, wanted, self._server.url).items():
                self._kept.keep(place_answer(name), record)
            break
        for name in names:
            yield name, self._kept.read(place_answer(name))


def place_answer(name: str) -> str:
    """Return the cache path of an id, such as `42/Q42`; subfolders limit the number of files per folder."""
    return f"{name[1:][-2:].rjust(2, '0')}/{name}"


def name_unknown(reply: object, names: Sequence[str]) -> str | None:
    """Return the unknown id for which the API rejected the whole request; None if there is no such error."""
    error = find_error(reply)
    name = error.get("id")
    return (
        next((known for known in names if known == name), None) if error.get("code") == UNKNOWN_ID else None
    )


def split_reply(reply: object, names: Sequence[str], url: str) -> dict[str, object]:
    """Map the requested ids to the records in a response. Raises DatabaseGone if a record is missing."""
    check_accepted(reply, url)
    entities = reply.get("entities") if isinstance(reply, dict) else None
    if not isinstance(entities, dict):
        raise DatabaseGone(f"{url}: the response does not contain `entities`")
    by_old = {
        show(record["redirects"].get("from")): record
        for record in entities.values()
        if isinstance(record, dict) and isinstance(record.get("redirects"), dict)
    }
    found = {name: entities.get(name, by_old.get(name)) for name in names}
    if lacking := [name for name, record in found.items() if not isinstance(record, dict)]:
        raise DatabaseGone(f"{url}: the response does not contain {lacking[0]}, which was requested")
    return found


def _take_any(selection: EntitySelection, record: object) -> EntitySelection:
    """Return the selection, restricted to the entity in a record.

    After a redirect, this entity's id differs from the requested id.
    """
    name = record.get("id") if isinstance(record, dict) else None
    taken = frozenset({name} if isinstance(name, str) and ENTITY.fullmatch(name) else ())
    return replace(selection, entities=taken)


def _batch(names: Sequence[str]) -> Iterator[Sequence[str]]:
    for start in range(0, len(names), IDS):
        yield names[start : start + IDS]
