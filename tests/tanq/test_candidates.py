"""Tests of the stage `candidates`: questions for which a table is still possible, and their selection."""

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from tasks.errors import StageFailed
from tasks.tanq.build.candidates import Candidates, candidates, take_candidates
from tasks.tanq.build.extend import ExtendedQuestion
from tasks.tanq.build.proofs import Proof
from tests.tanq.made_set import ENTRY, EXTENDED, FACTS, PROOFS, RELATIONS, SEEDS

ALL = {"tanq.tables.rows_kept": 1, "tanq.tables.cells_filled": 0.5, "tanq.tables.whole_cells": True}


def run(proofs: list[Proof], extend: list[ExtendedQuestion] = EXTENDED, **params: Any) -> Any:
    return candidates(extend, SEEDS, proofs, FACTS, RELATIONS, ALL, Candidates(**params), ENTRY)


def without(*facts: tuple[str, str]) -> list[Proof]:
    lost = {fact.id for fact in FACTS if (fact.entity, fact.relation) in facts}
    return [proof for proof in PROOFS if proof.fact not in lost]


def test_what_has_evidence_for_all_of_its_table_is_kept() -> None:
    found = run(PROOFS)
    assert {row.id for row in found.rows} == {question.id for question in EXTENDED}
    assert not found.dropped


def test_a_question_that_is_bound_to_lose_a_row_or_a_column_is_dropped_unasked() -> None:
    entities = EXTENDED[0].entities
    capitals = tuple(fact.id for fact in FACTS if fact.relation == "P36")
    simpler = replace(EXTENDED[0], id="capitals", relations=("P36",), facts=capitals)
    few_areas = without(*((name, "P2046") for name in entities[1:]))
    found = run(few_areas, [*EXTENDED, simpler])
    assert [row.id for row in found.rows] == ["capitals"]
    assert {drop.id: drop.reason for drop in found.dropped} == {
        question.id: "columns_missing" for question in EXTENDED
    }
    lenient = run(few_areas, [*EXTENDED, simpler], columns=False)
    assert {row.id for row in lenient.rows} == {question.id for question in EXTENDED} | {"capitals"}
    nothing = [(entities[0], relation) for relation in ("P36", "P2046", "P1082", "P37")]
    with pytest.raises(StageFailed, match=r"none of the 5 extended questions has evidence"):
        run(without(*nothing))


def test_a_proof_that_a_guard_refuses_is_no_evidence() -> None:
    refused = [replace(proof, text=f"{proof.mention} has a port.") for proof in PROOFS]
    with pytest.raises(StageFailed):
        run(refused)


def test_so_many_are_taken_as_are_wanted_and_the_rest_is_named() -> None:
    found = run(
        PROOFS,
        [replace(question, id=f"{question.id}-{n}") for question in EXTENDED for n in range(4)],
        a_question=2,
    )
    assert len(found.rows) == 2 * ENTRY.questions
    assert Counter(drop.reason for drop in found.dropped) == {"not_taken": 20 - 2 * ENTRY.questions}
    by_seed = Counter(SEEDS[int(row.seed[1:])].kind for row in found.rows)
    assert by_seed == {"simple": 4, "intersection": 4, "composition": 4}


def test_relations_take_turns_and_gaps_have_their_share() -> None:
    pool = [
        replace(EXTENDED[0], id=f"{relation}-{n}-{gap}", relations=(relation,))
        for relation in ("P36", "P2046")
        for n in range(20)
        for gap in ("whole", "gap")
    ]
    whole = {question.id for question in pool if question.id.endswith("whole")}
    by_id = {seed.id: seed for seed in SEEDS}
    for gaps, most in ((0.0, 0), (0.25, 5)):
        taken = take_candidates(pool, whole, by_id, 20, gaps, 0)
        assert Counter(question.relations[0] for question in taken) == {"P36": 10, "P2046": 10}
        assert sum(question.id not in whole for question in taken) <= most
    short = take_candidates(
        pool, {question.id for question in pool if question.id.startswith("P36-1")}, by_id, 20, 0.25, 0
    )
    assert len(short) == 20
