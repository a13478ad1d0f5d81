"""Tests of figures for a user's own system: values that count as zero, and warnings."""

from typing import Any

import pytest

from tasks.longform.evaluation import EVALUATION, measure_answers
from tasks.longform.judge.reference_verdicts import ReferenceVerdict
from tasks.longform.labels import Verdict
from tasks.longform.outcomes import join_outcomes
from tests.flows.evaluated import OPTIONS, read_default
from tests.longform.scripted_judges import make_interaction, make_item, make_query

ITEMS = [make_item(number) for number in range(10)]


def make_rows(asking: int, answered: int) -> dict[str, Any]:
    """Make ten interactions; the first `asking` have a query, the first `answered` have a matching answer."""
    made = [
        make_interaction(
            number,
            "system",
            id=f"x{number}",
            plan="",
            queries=(make_query(),) if number < asking else (),
            answer="Yes." if number < answered else None,
        )
        for number in range(10)
    ]
    verdicts = [
        ReferenceVerdict(f"v{n}", f"x{n}", f"i{n}", "conclusive", Verdict.MATCH, None, "", "", ())
        for n in range(answered)
    ]
    empty: dict[str, Any] = {name: [] for name in ("reviews", "meta_reviews", "revisions", "peer_canaries")}
    return {"items": ITEMS, "interactions": made, "reference_verdicts": verdicts, **empty}


def test_an_item_without_a_query_counts_as_none() -> None:
    # One query on one of ten items: 1 / 10.
    rows = make_rows(asking=1, answered=10)
    cells = measure_answers(join_outcomes(ITEMS, rows["interactions"], rows["reference_verdicts"]))
    for name in ("queries", "valid queries"):
        assert (cells[name].value, cells[name].n) == (pytest.approx(0.1), 10)


def test_a_system_that_tells_no_query_has_no_mean_of_them() -> None:
    rows = make_rows(asking=0, answered=10)
    cells = measure_answers(join_outcomes(ITEMS, rows["interactions"], rows["reference_verdicts"]))
    assert (cells["queries"].value, cells["queries"].n) == (None, 0)


@pytest.mark.parametrize(("answered", "warned"), [(1, True), (10, False)])
def test_items_without_an_answer_are_warned_of(answered: int, warned: bool) -> None:
    assert EVALUATION.measure is not None
    figures: Any = EVALUATION.measure(make_rows(0, answered), OPTIONS, read_default).figures
    assert figures["answers"]["match rate"].value == 1.0
    said = "9 of 10 interactions have no answer (90.0%). The means below leave out these interactions."
    assert (said in figures["warnings"]) == warned
