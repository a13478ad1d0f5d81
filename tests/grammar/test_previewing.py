"""Tests that a preview of N questions makes calls in proportion to N, and a whole run is unaffected."""

import copy
from pathlib import Path

import pytest
import yaml

from tasks.grammar.previewing import shrink

PARAMS = yaml.safe_load((Path(__file__).parents[2] / "params.yaml").read_text(encoding="utf-8"))
ATTEMPTS = 2
"""The generator's number of attempts in params.yaml."""


def count_worst(params, attempts=ATTEMPTS):
    """Return the maximum number of calls for one database: for SQL, for texts, and for checking texts."""
    grammar = params["grammar"]
    kinds = grammar["sql_templates"]["kinds"].values()
    templates = sum(kind["templates"] for kind in kinds)
    texts = sum(
        templates * settings.get("samples", 2) for settings in grammar["text_templates"]["criteria"].values()
    )
    return attempts * sum(kind["requests"] for kind in kinds) + attempts * texts + texts


@pytest.mark.parametrize(("limit", "most"), [(1, 20), (3, 20), (10, 30), (20, 50), (40, 100)])
def test_calls_follow_the_number_of_questions(limit, most):
    assert count_worst(shrink(PARAMS, limit)) <= most


def test_a_model_that_writes_any_sql_gets_a_part_of_the_plan():
    given = {"grammar": {"sql_templates": {"dialect": "any", "coverage": {"column": 1}}}}
    coverage = shrink(given, 20)["grammar"]["sql_templates"]["coverage"]
    assert coverage == {"column": 1, "rounds": 1, "requests": 5}


def test_what_is_given_is_not_changed():
    given = copy.deepcopy(PARAMS)
    shrink(given, 3)
    assert given == PARAMS


def test_no_kind_gets_more_than_a_whole_run_gives_it():
    kinds = PARAMS["grammar"]["sql_templates"]["kinds"]
    shrunk = shrink(PARAMS, 10_000)["grammar"]["sql_templates"]["kinds"]
    assert list(shrunk) == list(kinds)
    assert all(shrunk[name]["templates"] == kind["templates"] for name, kind in kinds.items())
    assert all(shrunk[name]["requests"] <= kind["requests"] for name, kind in kinds.items())


def test_templates_are_of_kinds_that_the_database_asks_for():
    params = {**PARAMS, "databases": {"shop": {"file": "shop.sqlite", "kinds": ["most", "least"]}}}
    kinds = shrink(params, 20)["grammar"]["sql_templates"]["kinds"]
    assert kinds["most"]["templates"] + kinds["least"]["templates"] >= 2


def test_the_first_groups_are_of_several_templates():
    assert shrink(PARAMS, 20)["grammar"]["fill_in"]["cap"] == 8
    assert shrink({"grammar": {"fill_in": {"cap": 2}}}, 20)["grammar"]["fill_in"]["cap"] == 2


@pytest.mark.parametrize(
    "grammar", [None, [], {"sql_templates": {"kinds": {"lookup": 5}}}, {"fill_in": "all"}]
)
def test_what_is_not_valid_is_left_for_the_stage_that_names_it(grammar):
    shrunk = shrink({"grammar": grammar}, 3)["grammar"]
    if isinstance(grammar, dict) and "sql_templates" in grammar:
        assert shrunk["sql_templates"] == grammar["sql_templates"]
