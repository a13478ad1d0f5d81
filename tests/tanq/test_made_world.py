"""Drill: questions about 2,000 generated entities, with the paper's preset and with stricter settings."""

import re
from collections import Counter

import pytest

from tasks.artifacts.rows import make_id
from tasks.sources.wikipedia.article import CELL, INFOBOX, TEXT
from tasks.tanq.build.skill_use import FILTERS, SKILLS
from tasks.tanq.build.tanq_item import ENTITY
from tasks.tanq.entries import TanqSet
from tests.tanq.chain import ScriptedModel, build
from tests.tanq.made_world import make_world, write_world
from tests.tanq.plain_tables import compute_rows

STRICT = {"tables": {"whole_cells": True, "rows_kept": 1, "cells_filled": 1}}
"""Strict settings: a question is dropped unless each cell has all values of the graph."""
MALFORMED, WRONG = 0.05, 0.05
"""Fractions of the verifier's replies."""


def draw(*parts):
    """Return a number between 0 and 1 that depends only on the arguments."""
    return int(make_id(*parts), 16) % 10_000 / 10_000


def make_model(world):
    """Return a model that verifies and rewords correctly, with known error rates."""

    def script(built):
        ids = {(fact.entity, fact.relation, fact.shown): fact.id for fact in built.facts}
        telling = {
            make_id(ids[thing, name, shown], article, place)
            for thing, name, shown, article, place in world.told
        }
        rounds = Counter()

        def verify(_, proof):
            share = draw("verify", proof)
            if share < MALFORMED:
                return "Perhaps so."
            says_it = (proof in telling) != (share < MALFORMED + WRONG)
            return "Yes" if says_it else "Unknown"

        def rephrase(fields, table):
            rounds[table] += 1
            share, question = draw("rephrase", table, rounds[table]), fields["meant"]
            if share < 0.1:
                return question.removesuffix("?")
            if share < 0.2:
                return re.sub(r" \(\w+\)", "", question, count=1)
            return f"Sure! {question} Anything else?" if share < 0.25 else question

        return ScriptedModel({"verify": verify, "rephrase": rephrase})

    return script


@pytest.mark.drill  # 2,000 things, 1,000 list questions and 17,000 proofs: about a minute each
# Without the columns that lack a cell, fewer tables allow three skills.
@pytest.mark.parametrize(("settings", "triples"), [({}, 20), (STRICT, 10)], ids=["paper", "strict"])
def test_a_made_up_world_gives_questions_with_all_skills_whose_tables_are_right(tmp_path, settings, triples):
    world = make_world(7)
    assert len(world.labels) == 2000
    models = []

    def script(built):
        models.append(make_model(world)(built))
        return models[0]

    built = build(
        tmp_path / "work", write_world(world, tmp_path), TanqSet(source="made", questions=400), script,
        extend={"without": []}, seeds={"a_question": 2.5}, skills={"counts": [1, 2, 0, 1, 3, 1, 2, 0, 1, 1]},
        **settings,
    )  # fmt: skip
    print("\n", built.kept, built.drops)
    print(Counter(use.name for item in built.items for use in item.skills))
    print(Counter(len(item.skills) for item in built.items), Counter(item.noun for item in built.items))
    print(Counter(len(item.relations) for item in built.items))

    assert len(built.items) >= 200
    assert {use.name for item in built.items for use in item.skills} == set(SKILLS)
    assert sum(len(item.skills) == 3 for item in built.items) >= triples
    kinds = Counter(proof.kind for item in built.items for proof in item.proofs)
    assert min(kinds[kind] for kind in (TEXT, CELL, INFOBOX)) >= 200
    assert built.drops["skills"]["no_choice"] > 0

    said = models[0].said
    supported = {proof.fact for proof in built.proofs if said.get(proof.id) == "Yes"}
    ids = {(fact.entity, fact.relation, fact.shown): fact.id for fact in built.facts}
    seeds = {seed.id: seed for seed in built.seeds}
    for item in built.items:
        rows = compute_rows(
            world, item, seeds[item.init_qid],
            lambda thing, name, value: ids[thing, name, world.show(value)] in supported,
            whole=bool(settings),
        )  # fmt: skip
        made = [
            (row.label, row.filter_pass, tuple(tuple(sorted(cell.values)) for cell in row.cells))
            for row in item.rows
        ]
        assert set(made) == rows, item.question
        assert len(made) == len(rows)
        header, *lines = [line.split("|") for line in item.answer_table.split("\n")]
        assert header == [ENTITY, *(column.header for column in item.columns)]
        assert sorted(
            (line[0], *(tuple(sorted(filter(None, cell.split(", ")))) for cell in line[1:])) for line in lines
        ) == sorted((label, *cells) for label, passes, cells in rows if passes)
        for use in item.skills:
            if use.name in FILTERS:
                place = [column.relation for column in item.columns].index(use.relation)
                left = {row.cells[place].values for row in item.rows if row.filter_pass}
                assert left != {(use.operand,)}, item.question
                assert not all(row.filter_pass for row in item.rows)
