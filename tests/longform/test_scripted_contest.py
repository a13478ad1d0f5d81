"""Tests with scripted models (strong, weak, a twin of the strong one) and a judge that accepts all."""

from collections.abc import Iterable
from typing import Any

import pytest

from tests.longform.evaluation_script import Skill
from tests.longform.plain_figures import list_labels, read_line
from tests.longform.scripted_evaluation import ScriptedEvaluation, judge_kindly

ALIKE = Skill(right=0.9, perfect=0.95, valid=0.9, broken=0)
SKILLS = {"strong": ALIKE, "weak": Skill(right=0.05, perfect=0.05, valid=0.2, broken=0), "twin": ALIKE}


@pytest.fixture(scope="module")
def contest(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Three models: a strong model, a weak model, and an equally strong model with another seed."""
    return ScriptedEvaluation(tmp_path_factory.mktemp("contest"), SKILLS, more=None).run()


def list_compared(figures: Any) -> Iterable[tuple[str, dict[str, Any]]]:
    """Yield the names of compared cells, with the cell of each model."""
    tables = figures["tables"]
    columns = {
        "2": ("match rate (C)", "mean score, 1 to 5 (I)"),
        "3": ("match rate (C)", "mean score, 1 to 5 (I)"),
        "5": ("reviewers, Perfect", "meta-reviewers, Perfect", "revised, Perfect"),
    }
    for number, names in columns.items():
        for model, *rest in list_labels(tables[number]):
            for name in names if model == "strong" else ():
                cells = {other: read_line(tables[number], other, *rest)[name] for other in SKILLS}
                yield f"table {number}, {rest}, {name}", cells
    for model, *rest in list_labels(tables["4"]):
        for name in ("people, mean", "judge, mean") if model == "strong" else ():
            cells = {other: read_line(tables["4"], other, *rest)[name] for other in SKILLS}
            yield f"table 4, {rest}, {name}", cells
    for measure in ("match_rate", "mean_score"):
        yield f"figure 4, {measure}", {row["model"]: row["bar"][measure] for row in figures["figures"]["4"]}


def find_ends(cell: Any) -> tuple[float, float]:
    """Return a cell's interval; if all values are equal, the value as both bounds."""
    if cell["interval"] is None:
        assert cell["why"] == "all values are equal: no interval"
        return cell["value"], cell["value"]
    return cell["interval"]


@pytest.mark.drill
def test_a_strong_model_scores_higher_than_a_weak_one_in_every_table(contest: Any) -> None:
    compared = dict(list_compared(contest))
    assert len(compared) > 60
    for name, cells in compared.items():
        assert find_ends(cells["strong"])[0] > find_ends(cells["weak"])[1], name


def test_models_of_equal_scripts_are_equal_within_their_intervals(contest: Any) -> None:
    for name, cells in list_compared(contest):
        (low, high), (other_low, other_high) = map(find_ends, (cells["strong"], cells["twin"]))
        assert low <= other_high, name
        assert other_low <= high, name


def test_a_judge_that_is_always_content_is_warned_of_at_the_pages_head(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    kind = ScriptedEvaluation(tmp_path_factory.mktemp("kind"), {"first": Skill(broken=0)}, more=None)
    found = kind.run(judge_kindly)
    assert found["canaries"]["reviewer"]["agreement"] == 0.5
    page = kind.write_page()
    head = page[: page.index("Quality of answers")]
    assert "Step reviewer (`reviewer`): The judge got 6 of 12 test cases right" in head
    assert "Answer judge (`judge`): The judge got 5 of 12 test cases right" in head
