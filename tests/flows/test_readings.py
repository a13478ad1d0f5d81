"""Tests that manually checked texts, which the docs report, are in the shipped sample."""

import csv
from collections.abc import Iterator

import pytest

from tasks.artifacts.parquet import read_rows
from tasks.grammar.construct.pairs import Question
from tasks.longform.build.items import LongformItem
from tasks.tanq.build.tanq_item import TanqItem
from tests.flows.sample import ROOT, Sample, make_sample

LONGFORM, TANQ = "data/longform/sample/items.parquet", "data/tanq/sample/items.parquet"


def iterate_marks(name: str) -> Iterator[dict[str, str]]:
    """Yield the lines of a manual check."""
    with (ROOT / "docs/readings" / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        yield from csv.DictReader(file)


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Sample:
    """The sample's questions, replayed."""
    made = make_sample(tmp_path_factory.mktemp("read"))
    made.run(
        "grammar-balanced@films",
        "grammar-balanced@films_by_model",
        "grammar-balanced@flights",
        "grammar-balanced@flights_closed",
        "grammar-balanced@halden",
        "longform-items@sample",
        "tanq-items@sample",
    )
    return made


@pytest.mark.drill
@pytest.mark.parametrize(
    ("reading", "dataset"),
    [
        ("grammar", "films_by_model"),
        ("films", "films"),
        ("flights", "flights"),
        ("flights_closed", "flights_closed"),
        ("halden", "halden"),
    ],
)
def test_questions_from_templates(sample: Sample, reading: str, dataset: str) -> None:
    rows = read_rows(sample.root / f"data/grammar/{dataset}/balanced.parquet", Question)
    shipped = {row.id: (row.question, row.answer, row.sql) for row in rows}
    marks = {
        mark["question_id"]: (mark["question"], mark["answer"], mark["sql"])
        for mark in iterate_marks(reading)
    }
    assert len(marks) == 60
    assert marks == {name: shipped.get(name) for name in marks}


@pytest.mark.drill
def test_long_form_items(sample: Sample) -> None:
    """Items of Spider, which cannot be shipped, refer to another artifact."""
    marks = list(iterate_marks("longform"))
    own = {
        mark["item"]: (mark["database"], mark["text"], mark["reference"])
        for mark in marks
        if mark["artifact"] == LONGFORM
    }
    shipped = read_rows(sample.root / LONGFORM, LongformItem)
    assert own == {item.id: (item.database, item.question, item.reference) for item in shipped}
    others = [mark["artifact"] for mark in marks if mark["artifact"] != LONGFORM]
    assert others == ["data/longform/many/items.parquet"] * 9


@pytest.mark.drill
def test_questions_with_tables(sample: Sample) -> None:
    """Check the first forty questions by id."""
    marks = {
        mark["item"]: (mark["kind"], mark["text"], mark["answer_table"].split(" / "))
        for mark in iterate_marks("tanq")
    }
    shipped = sorted(read_rows(sample.root / TANQ, TanqItem), key=lambda item: item.id)[:40]
    assert marks == {item.id: (item.kind, item.question, item.answer_table.split("\n")) for item in shipped}
