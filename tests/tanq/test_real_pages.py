"""Drill: questions on shared data, from Wikidata's excerpt and Wikipedia's pages and tables."""

from collections import Counter

import pytest

from tasks.sources.wikipedia.article import CELL, INFOBOX, TEXT
from tasks.tanq.build.skill_use import DATE_TO_YEAR, FILTER_TIME, FILTERS, TIME_CALCULATION
from tasks.tanq.entries import TanqSet
from tests.shared_data import needs
from tests.tanq.chain import ScriptedModel, build
from tests.tanq.real_pages import NOUNS, PEOPLE, write_pages
from tests.tanq.test_made_world import STRICT, draw

BOXES = {"P569": "birth_date", "P570": "death_date", "P19": "birth_place", "P413": "position"}
OF_PLACES = {"P47": "border", "P1082": "population", "P2046": "area"}
"""Relation of a country -> the word with which a passage states it."""
LEAD = 5
"""Maximum position of sentences that describe a person in an article."""
HALF_FILLED = {"tables": {**STRICT["tables"], "cells_filled": 0.4}}


def make_model(built):
    """Return a model that accepts proofs from each relation's source; some replies are malformed."""
    facts, proofs = {fact.id: fact for fact in built.facts}, {proof.id: proof for proof in built.proofs}
    rounds = Counter()

    def verify(_, name):
        proof = proofs[name]
        relation, own = facts[proof.fact].relation, proof.side == "entity"
        if draw("verify", name) < 0.03:
            return "Perhaps so."
        if relation in OF_PLACES:
            return "Yes" if OF_PLACES[relation] in proof.text else "Unknown"
        if proof.kind == CELL:
            return "Unknown" if own else "Yes"
        if proof.kind == INFOBOX:
            return "Yes" if own and BOXES.get(relation, proof.headers[0]) == proof.headers[0] else "Unknown"
        return "Yes" if own and proof.position < LEAD else "Unknown"

    def rephrase(fields, table):
        rounds[table] += 1
        return fields["meant"].removesuffix("?" if draw("rephrase", table, rounds[table]) < 0.1 else "")

    return ScriptedModel({"verify": verify, "rephrase": rephrase})


@pytest.mark.drill  # 4,000 passages, 24 tables and 30 pages are imported: half a minute, 10 seconds a set
@needs("wikidata")
@needs("ottqa")
@needs("wikitext")
@needs("infobox")
def test_shared_pages_give_questions_with_time_skills_tables_and_infoboxes(tmp_path):
    source = write_pages(tmp_path)
    for name, settings in (("paper", {}), ("strict", HALF_FILLED)):
        built = build(
            tmp_path / name, source, TanqSet(source="pages", questions=80), make_model,
            extend={"without": []}, list_questions={"answers": [2, 30]},
            skills={"counts": [1, 2, 0, 1, 3, 1, 2, 0, 1, 1]}, **settings,
        )  # fmt: skip
        print("\n", name, built.kept, built.drops)
        skills = Counter(use.name for item in built.items for use in item.skills)
        kinds = Counter(proof.kind for item in built.items for proof in item.proofs)
        print(skills, Counter(len(item.skills) for item in built.items), kinds)
        nouns = {seed.id: seed.noun for seed in built.seeds}
        print(
            Counter(nouns[question.seed] for question in built.extended),
            Counter(item.noun for item in built.items),
        )
        assert len(built.items) >= 40
        assert min(skills[name] for name in (TIME_CALCULATION, DATE_TO_YEAR, FILTER_TIME)) >= 10
        assert kinds[TEXT] > kinds[CELL] >= 50
        assert kinds[INFOBOX] >= 10
        for item in built.items:
            for use in item.skills:
                place = [column.relation for column in item.columns].index(use.relation)
                left = {row.cells[place].values for row in item.rows if row.filter_pass}
                assert use.name not in FILTERS or left != {(use.operand,)}, item.question
        # Eight of the excerpt's countries have a passage; no list of two or more countries is supported.
        assert {item.noun for item in built.items} == {NOUNS[PEOPLE]}
