"""Drill: analysis questions on seventy databases of Spider, by a scripted model with known error rates."""

import json
from collections import Counter
from pathlib import Path

import pytest

from bench.spider_project import has_rows
from tasks.artifacts.rows import make_id
from tasks.longform.build.analyses.kinds import KINDS
from tasks.longform.entries import SourceDatabase
from tests.longform.analysed import Analysed, find_unborne_claims
from tests.longform.scripted_analyst import HOSTILE, INJECTION, MALFORMED
from tests.longform.sources import write_sources
from tests.shared_data import SHARED, needs

SPIDER = SHARED / "spider"
TAKEN, PLANNED = 70, 60
CENT = 100
ALWAYS = {
    "control": {range(2): "Which?"},
    "construct": {range(2, 5): HOSTILE, range(5, 8): "wrong rows", range(8, 10): MALFORMED},
    "conclude": {range(10, 16): INJECTION},
}
"""Stage -> which of a hundred questions always get which faulty reply."""
ONCE = {
    "control": {range(16, 22): '{"question": "\x00\ufffd'},
    "construct": {range(22, 32): "wrong rows", range(32, 38): HOSTILE, range(38, 44): MALFORMED},
}
"""Stage -> which of a hundred questions get which faulty first reply."""


def place(row: str) -> int:
    """Return a question's number from 0 to 99, by its id."""
    return int(row[:8], 16) % CENT


def err(stage: str, row: str, sample: int) -> str:
    """Return the error of a reply; empty for a correct reply."""
    for shares in (ALWAYS, ONCE if sample == 0 else {}):
        for places, reply in shares.get(stage, {}).items():
            if place(row) in places:
                return reply
    return ""


def take_sources(root: Path, count: int) -> list[str]:
    """Write the artifacts of databases, first of those with their own questions; return the names."""
    asked: dict[str, list[str]] = {}
    for record in json.loads((SPIDER / "dev.json").read_text(encoding="utf-8")):
        asked.setdefault(record["db_id"], []).append(record["question"])
    files = {file.stem: file for file in (SPIDER / "database").glob("*/*.sqlite") if has_rows(file)}
    names = sorted(files, key=lambda name: (name not in asked, make_id("spider", 0, name)))[:count]
    for name in names:
        write_sources(SourceDatabase(file=files[name], questions=root / f"{name}.json"), root / "sources")
        (root / "sources" / name / "seeds.json").write_text(json.dumps(asked.get(name, [])))
    return names


@pytest.mark.drill
@needs("spider")
def test_most_databases_have_a_plan_of_each_kind_and_claims_are_borne_out(tmp_path: Path) -> None:
    names = take_sources(tmp_path, TAKEN)
    analysed = Analysed(tmp_path / "sources", names, 1, err, unknown=0.1)
    no_plan = analysed.dropped["control", "no_plan"]
    assert len(names) - no_plan >= PLANNED
    written = analysed.questions
    assert analysed.dropped["control", "uncontrolled"] == len(names) - no_plan - len(written)
    interpretive = sum(question.quality is not None for question in written)
    assert interpretive >= 0.4 * len(written)
    assert all(count >= 2 for count in Counter(question.design for question in written).values())
    places = Counter(place(question.id) for question in written)

    def count(places_of: range) -> int:
        return sum(places[number] for number in places_of)

    assert analysed.dropped["construct", "refused"] == count(range(2, 5)) + count(range(8, 10))
    wrong = analysed.dropped["construct", "not_borne_out"] + analysed.dropped["construct", "told"]
    assert wrong == count(range(5, 8))
    made = {row.id: row.rounds for row in analysed.made}
    assert all(made[row] == (2 if place(row) in range(22, 44) else 1) for row in made)
    assert len(analysed.items) == len(written) - count(range(2, 10))
    assert {analysed.find(item).design for item in analysed.items} == {*KINDS}
    assert [claim for item in analysed.items for claim in find_unborne_claims(item)] == []
    plain = {answer.id for answer in analysed.answers if answer.by == "plain"}
    assert {row for row in made if place(row) in range(10, 16)} <= plain
    unknown = sum(item.reference.startswith("Unknown") for item in analysed.items)
    assert unknown == sum("unknown" in guess.expected for guess in analysed.guesses if guess.id in made)
    assert unknown
