"""Tests on published QAMPARI data, if this machine has them; they are not part of the project."""

import json
from pathlib import Path

from flows.importing import bring_in
from tasks.artifacts.parquet import read_rows, write_rows
from tasks.sources.wikidata.rows import ClaimRow, EntityRow, ValueRow
from tasks.sources.wikidata.values import Text
from tasks.tanq.build.extend import Extend, extend
from tasks.tanq.entries import GraphSource
from tasks.tanq.graph.facts import facts
from tasks.tanq.graph.relations import relations
from tasks.tanq.graph.seed_question import SeedQuestion
from tasks.tanq.graph.things import things
from tasks.tanq.graph.unread import unread
from tasks.tanq.importers.qampari import Qampari
from tests.shared_data import SHARED, needs

FILE = SHARED / "qampari/qampari_dev_1000_answers.json"
pytestmark = needs("qampari")


def test_the_published_questions_are_found_in_a_graph_of_their_answers(tmp_path: Path) -> None:
    names = sorted({answer[0] for record in json.loads(FILE.read_text()) for answer in record["answers"]})
    entities = [
        EntityRow(f"Q{n + 1}", "item", None, (Text(name, "en"),), (), (), ()) for n, name in enumerate(names)
    ]
    write_rows(tmp_path / "g/entities.parquet", EntityRow, sorted(entities, key=lambda row: row.id))
    write_rows(tmp_path / "g/claims.parquet", ClaimRow, [])
    bring_in(tmp_path, Qampari(path=FILE, graph=tmp_path / "g"))
    rows = read_rows(tmp_path / "data/raw/qampari/main/seeds.parquet", SeedQuestion)
    kinds = [row.kind for row in rows]
    assert [kinds.count(kind) for kind in ("simple", "intersection", "composition")] == [500, 200, 300]
    assert all(row.noun and len(row.answers) > 1 for row in rows)


def test_a_hundred_published_questions_are_extended_over_a_made_up_graph(tmp_path: Path) -> None:
    """Two of four relations apply to all answers: one is missing for a first answer, one has six values."""
    records = json.loads(FILE.read_text())[::10]
    names = sorted({answer[0] for record in records for answer in record["answers"]})
    first = {record["answers"][0][0] for record in records}
    values = [f"value {number}" for number in range(9)]
    ids = {name: f"Q{number}" for number, name in enumerate([*values, *names], 100)}
    claims = []
    for number, name in enumerate(names):
        given: dict[str, list[int]] = {
            "P27": [number % 4],
            "P136": [number % 3, 4 + number % 3],
            "P166": [*range(6)],
        }
        given |= {} if name in first else {"P86": [8]}
        claims += [
            ClaimRow(f"{ids[name]}-{texts}-{value}", ids[name], texts, 0, "normal",
                     ValueRow("item", item=ids[values[value]]), ())
            for texts, listed in given.items() for value in listed
        ]  # fmt: skip
    entities = [
        EntityRow(row_id, "item", None, (Text(name, "en"),), (), (), ()) for name, row_id in ids.items()
    ]
    graph = tmp_path / "g"
    write_rows(graph / "entities.parquet", EntityRow, sorted(entities, key=lambda row: row.id))
    write_rows(graph / "claims.parquet", ClaimRow, sorted(claims, key=lambda row: row.id))
    (tmp_path / "a.json").write_text(json.dumps(records))
    bring_in(tmp_path, Qampari(path=tmp_path / "a.json", graph=graph))
    seeds = read_rows(tmp_path / "data/raw/qampari/main/seeds.parquet", SeedQuestion)
    asked = dict.fromkeys(("P27", "P136", "P166", "P86"))
    source = GraphSource(graph=graph, articles=tmp_path, seeds=tmp_path / "seeds", relations=asked)
    known = list(facts(source).rows)
    made = extend(
        seeds,
        known,
        list(things(known, source).rows),
        list(relations(known, source).rows),
        list(unread(source).rows),
        Extend(),
    )
    assert len(seeds) == 100
    assert {row.seed for row in made.rows} == {seed.id for seed in seeds}
    assert {name for row in made.rows for name in row.relations} == {"P27", "P136"}
    by_id, by_seed = {fact.id: fact for fact in known}, {seed.id: seed for seed in seeds}
    for row in made.rows:
        assert set(row.entities) == {answer.entity for answer in by_seed[row.seed].answers}
        plain = {(claim.entity, claim.property, claim.value.item) for claim in claims
                 if claim.entity in row.entities and claim.property in row.relations}  # fmt: skip
        told = [by_id[fact] for fact in row.facts]
        assert {(line.entity, line.relation, line.value.item) for line in told} == plain
        assert row.text.startswith(by_seed[row.seed].text.rstrip("?."))
        assert " and what " in row.text
