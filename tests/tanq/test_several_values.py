"""Table 7: an answer with several values in a cell, as the viewer has it, against a plain computation.

Its values have no letter order in common, so that a triplet is matched by its like or not at all, and
precision and recall are plain shares of triplets.
"""

from itertools import combinations

import pytest

from tasks.tanq.build.answer_table import FinalCell, FinalColumn, FinalRow
from tasks.tanq.build.tanq_item import TanqItem
from tasks.tanq.publish.shown_predictions import ShownPrediction, show_prediction
from tasks.tanq.publish.shown_tables import show_table_item
from tasks.tanq.publish.table_outcomes import TableOutcome
from tasks.tanq.score.scores import score_all
from tests.tanq.scored_items import make_item, make_prediction

FILMS = {
    "Evita": {"duration": ("129",), "genre": ("biographical film", "musical", "drama")},
    "Hey Ram": {"duration": ("186",), "genre": ("crime", "epic")},
}
OTHER = "western"


def make_films() -> TanqItem:
    columns = (FinalColumn("P2047", "duration", "quantity", "min"), FinalColumn("P136", "genre", "item", ""))
    rows = tuple(
        FinalRow(name, name, True, tuple(FinalCell(values, (f"{name}-f",)) for values in own.values()))
        for name, own in FILMS.items()
    )
    lines = ["entity|duration|genre"]
    lines += [
        "|".join([name, *(", ".join(values) for values in own.values())]) for name, own in FILMS.items()
    ]
    return make_item(
        "films", columns=columns, rows=rows, relations=("P2047", "P136"), answer_table="\n".join(lines)
    )


ITEM = make_films()
GENRES = FILMS["Evita"]["genre"]
SAID = [
    (*some, *more)
    for count in range(len(GENRES) + 1)
    for some in combinations(GENRES, count)
    for more in ((), (OTHER,))
]
"""What a prediction may say of Evita's genre: any of its values, with another or without."""


def show(said: tuple[str, ...], order: int = 1) -> ShownPrediction:
    table = (
        ("entity", "duration", "genre"),
        ("Evita", "129", ", ".join(said[::order])),
        ("Hey Ram", "186", ", ".join(FILMS["Hey Ram"]["genre"])),
    )
    row = make_prediction("films", table)
    (score,) = score_all([ITEM], [row], "predictions")
    return show_prediction(TableOutcome(ITEM, row, score))


@pytest.mark.parametrize("said", SAID)
def test_scores_and_states_of_several_values_are_a_plain_count_of_triplets(said: tuple[str, ...]) -> None:
    gold = {
        (film, head, value) for film, own in FILMS.items() for head, all_ in own.items() for value in all_
    }
    told = {triplet for triplet in gold if triplet[:2] != ("Evita", "genre")}
    told |= {("Evita", "genre", value) for value in said}
    precision, recall = len(gold & told) / len(told), len(gold & told) / len(gold)
    expected = (precision, recall, 2 * precision * recall / (precision + recall))
    shown = show(said)
    assert shown.scores["paper"] == [round(100 * value, 1) for value in expected]
    assert show(said, -1).scores["paper"] == shown.scores["paper"], "the order of values"
    extra, right = OTHER in said, set(said) & set(GENRES)
    state = "wrong" if extra else "right" if len(right) == len(GENRES) else "partial"
    assert shown.states == [["found", "right", state], ["found", "right", "right"]]


def test_the_viewer_has_every_value_of_a_cell_with_the_facts_behind_it() -> None:
    shown = show_table_item(ITEM)
    assert {
        row.label: dict(zip(shown.headers, (cell.values for cell in row.cells), strict=True))
        for row in shown.rows
    } == FILMS
    assert [[cell.facts for cell in row.cells] for row in shown.rows] == [
        [("Evita-f",)] * 2, [("Hey Ram-f",)] * 2,
    ]  # fmt: skip
