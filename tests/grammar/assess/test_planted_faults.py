"""Tests that four kinds of planted faults on three databases are named, and no fault of a good system."""

import pytest

from tasks.grammar.assess.contrast import NONE_SHOWN
from tasks.grammar.assess.judged import MODULES, tag_rows
from tasks.grammar.assess.losses import find_losses
from tasks.scoring.running import Bootstrap
from tests.grammar.assess.planted import SCENES, assess, make_dataset


@pytest.fixture(scope="module", params=SCENES)
def dataset(request, tmp_path_factory):
    return make_dataset(request.param, tmp_path_factory.mktemp(request.param))


def find(rows, draws=2000, seed=0):
    return find_losses(tag_rows(rows, "open"), Bootstrap(draws, seed))


@pytest.mark.parametrize("fault", MODULES)
def test_a_planted_fault_is_named(dataset, fault):
    found = find(assess(dataset, fault))
    assert found.module == fault
    assert found.parts[0].share > 0.35


@pytest.mark.parametrize(("redraws", "at_most"), [(60, 6), pytest.param(200, 14, marks=pytest.mark.drill)])
def test_a_good_system_is_hardly_ever_named(dataset, redraws, at_most):
    named = [find(assess(dataset, seed=seed, slips=0.1), 400, seed).module for seed in range(redraws)]
    assert sum(module != NONE_SHOWN for module in named) <= at_most


def test_what_the_model_loses_is_told_of_what_was_retrieved_for(dataset):
    # The model loses no answers in groups that the retriever fails.
    found = find(assess(dataset, "retrieval"))
    assert found.of_enough is not None
    assert 0 < found.of_enough.n < found.n
    assert found.of_enough.share < 0.15
    bad = find(assess(dataset, "model"))
    assert bad.of_enough is not None
    assert bad.of_enough.share > 0.5
