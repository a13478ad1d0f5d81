"""Tests of table 7: the viewer's answer with several values in a cell, against a plain computation.

The values share no sequences of letters, so a triplet matches only an equal triplet, and precision and recall
are simple fractions of triplets.
"""

from itertools import combinations
from typing import Any

import pytest

from tasks.tanq.build.tanq_item import FinalCell, FinalColumn, FinalRow, TanqItem
from tasks.tanq.outcomes import TableOutcome
from tasks.tanq.score.scores import score_all
from tasks.tanq.view import encode_answer, encode_prediction
from tests.tanq.scored_items import make_item, make_prediction

FILMS = {
    "Evita": {"duration": ("129",), "genre": ("biographical film", "musical", "drama")},
    "Hey Ram": {"duration": ("186",), "genre": ("crime", "epic")},
}
OTHER = "western"


def make_films() -> TanqItem:
    columns = (FinalColumn("P2047", "duration", "quantity", "min"), FinalColumn("P136", "genre", "item", ""))
    rows = tuple(
        FinalRow(name, name, True, tuple(FinalCell(values, (f"{name}-f",)) for values in column.values()))
        for name, column in FILMS.items()
    )
    lines = ["entity|duration|genre"]
    lines += [
        "|".join([name, *(", ".join(values) for values in column.values())]) for name, column in FILMS.items()
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
"""Possible predictions of Evita's genre: any of its values, with or without another value."""


def show(said: tuple[str, ...], order: int = 1) -> tuple[list[str], Any]:
    """Return a prediction's precision, recall and F1 x100 by the paper's rule, and the answer's states."""
    table = (
        ("entity", "duration", "genre"),
        ("Evita", "129", ", ".join(said[::order])),
        ("Hey Ram", "186", ", ".join(FILMS["Hey Ram"]["genre"])),
    )
    row = make_prediction("films", table)
    (score,) = score_all([ITEM], [row], "predictions")
    shown: Any = encode_prediction(TableOutcome(ITEM, row, score))
    (scores,) = [block[2] for block in shown["blocks"] if block[0] == "table"]
    return {name: rest for name, *rest in scores}["rule of the paper"], shown["states"]


@pytest.mark.parametrize("said", SAID)
def test_scores_and_states_of_several_values_are_a_plain_count_of_triplets(said: tuple[str, ...]) -> None:
    gold = {
        (film, head, value)
        for film, column in FILMS.items()
        for head, all_ in column.items()
        for value in all_
    }
    told = {triplet for triplet in gold if triplet[:2] != ("Evita", "genre")}
    told |= {("Evita", "genre", value) for value in said}
    precision, recall = len(gold & told) / len(told), len(gold & told) / len(gold)
    expected = (precision, recall, 2 * precision * recall / (precision + recall))
    scores, states = show(said)
    assert scores == [f"{100 * value:.1f}" for value in expected]
    assert show(said, -1)[0] == scores, "the order of values"
    extra, right = OTHER in said, set(said) & set(GENRES)
    state = "wrong" if extra else "right" if len(right) == len(GENRES) else "partial"
    assert states == [["found", "right", state], ["found", "right", "right"]]


def test_the_viewer_has_every_value_of_a_cell_with_the_facts_behind_it() -> None:
    shown: Any = encode_answer(ITEM)
    assert {
        label: dict(zip(shown["headers"], (values for values, _ in cells), strict=True))
        for label, _, cells in shown["rows"]
    } == {
        film: {head: ", ".join(values) for head, values in column.items()} for film, column in FILMS.items()
    }
    assert [[facts for _, facts in cells] for *_, cells in shown["rows"]] == [
        [("Evita-f",)] * 2, [("Hey Ram-f",)] * 2,
    ]  # fmt: skip
