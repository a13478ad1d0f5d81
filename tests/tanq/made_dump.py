"""Small fictitious Wikidata dumps: statements in Wikibase's JSON, and the list questions of a dump."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tasks.artifacts.rows import Drafts
from tasks.sources.importers.wikidata import write_all
from tasks.sources.wikidata.dump import DumpSource
from tasks.sources.wikidata.entities import EntitySelection
from tasks.sources.wikidata.report import ReadingReport
from tasks.tanq.entries import GraphSource, RelationWords
from tasks.tanq.graph.facts import facts
from tasks.tanq.graph.list_questions import ListQuestions, list_questions
from tasks.tanq.graph.relations import relations
from tasks.tanq.graph.seed_question import SeedQuestion
from tasks.tanq.graph.things import things
from tasks.tanq.graph.unread import unread

FILM, HUMAN, CITY, LAND = "Q11424", "Q5", "Q515", "Q6256"
CLASS, DIRECTOR, MADE_IN, BORN_IN, LENGTH = "P31", "P57", "P495", "P19", "P2047"
FARLAND, NEARLAND = "Q30", "Q31"
NOUNS = {FILM: "films", HUMAN: "people", CITY: "cities"}
Lines = dict[str, dict[str, Any]]


def snak(prop: str, value: str) -> dict[str, Any]:
    if value in ("somevalue", "novalue"):
        return {"snaktype": value, "property": prop, "datatype": "wikibase-item"}
    held = {"value": {"entity-type": "item", "id": value}, "type": "wikibase-entityid"}
    return {"snaktype": "value", "property": prop, "datatype": "wikibase-item", "datavalue": held}


def state(prop: str, value: str, rank: str = "normal") -> dict[str, Any]:
    return {"mainsnak": snak(prop, value), "type": "statement", "rank": rank}


def amount(number: str, unit: str = "Q7727") -> dict[str, Any]:
    value = {"amount": number, "unit": f"http://www.wikidata.org/entity/{unit}"}
    held = {"value": value, "type": "quantity"}
    own = {"snaktype": "value", "property": LENGTH, "datatype": "quantity", "datavalue": held}
    return {"mainsnak": own, "type": "statement", "rank": "normal"}


def make(name: str, *statements: dict[str, Any], label: str | None = "en") -> dict[str, Any]:
    claims: dict[str, list[Any]] = {}
    for number, statement in enumerate(statements):
        claims.setdefault(statement["mainsnak"]["property"], []).append(
            {**statement, "id": f"{name}${number}"}
        )
    return {
        "type": "item",
        "id": name,
        "labels": {label: {"language": label, "value": f"Thing {name}"}} if label else {},
        "claims": claims,
        "sitelinks": {"enwiki": {"site": "enwiki", "title": f"Thing {name}"}},
    }


def film(number: int, *more: dict[str, Any], director: str = "Q201", land: str = FARLAND) -> dict[str, Any]:
    own = [state(CLASS, FILM), state(MADE_IN, land)] + ([state(DIRECTOR, director)] if director else [])
    return make(f"Q{300 + number}", *own, *more)


def labelled(language: str | None, class_: str = FILM, director: str = "Q201") -> dict[str, Any]:
    return make("Q308", state(CLASS, class_), state(DIRECTOR, director), label=language)


def make_world() -> Lines:
    """Return a dump of complete films: four of Farland by one director, and three of Nearland by another."""
    rows = [make(name) for name in (FILM, HUMAN, CITY, LAND, FARLAND, NEARLAND, "Q41", "Q42", "Q7727")]
    rows += [
        make("Q201", state(CLASS, HUMAN), state(BORN_IN, "Q41")),
        make("Q202", state(CLASS, HUMAN), state(BORN_IN, "Q42")),
    ]
    rows += [film(number, amount("+90")) for number in range(4)]
    rows += [film(number, amount("+80"), director="Q202", land=NEARLAND) for number in range(4, 7)]
    return {row["id"]: row for row in rows}


def import_lines(folder: Path, *lines: object, relations: Iterable[str] = ()) -> GraphSource:
    """Write lines as a dump and import it; return its entry. relations: additional relations."""
    folder.mkdir(parents=True, exist_ok=True)
    written = [line if isinstance(line, str) else json.dumps(line) for line in lines]
    dump = folder / "dump.json"
    dump.write_text("[\n" + ",\n".join(written) + "\n]\n")
    with (folder / "skipped.jsonl").open("w") as skipped:
        report = ReadingReport(lambda line: print(line, file=skipped))
        selection = EntitySelection(languages=frozenset({"en"}))
        write_all(folder, DumpSource([dump]).read(selection, report), report)
    given = dict.fromkeys((DIRECTOR, MADE_IN, LENGTH, *relations))
    born = RelationWords(one="place of birth", condition="were born in {}")
    return GraphSource(
        graph=folder, articles=folder, seeds=folder, nouns=NOUNS, relations={**given, BORN_IN: born}
    )


def ask(entry: GraphSource, answers: tuple[int, int] = (1, 20)) -> Drafts[SeedQuestion]:
    found = facts(entry).rows
    own = (list(found), list(things(found, entry).rows), list(relations(found, entry).rows))
    return list_questions(*own, list(unread(entry).rows), entry, ListQuestions(answers=answers))


def list_texts(drafts: Drafts[SeedQuestion]) -> dict[str, set[str]]:
    return {row.text: {answer.entity for answer in row.answers} for row in drafts.rows}
