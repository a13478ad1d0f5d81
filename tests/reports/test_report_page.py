"""Tests of a page with every part and block: record, tables, and viewer in Chromium."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from tasks.lineage.derivation import Derivation
from tasks.lineage.selection import Selection
from tasks.reports import blocks
from tasks.reports.calls import ShownCall
from tasks.reports.charts import Axis, Bar, Bars, Point, Scale, Series, draw_lines, draw_scatter
from tasks.reports.declared import Measure, Slice, Table, Where, by, tabulate
from tasks.reports.frame import PAGES
from tasks.reports.page import ASSESSMENTS, Headline, Page
from tasks.reports.parts import (
    Browse,
    Charts,
    Facts,
    Folded,
    FormLink,
    Head,
    PagePart,
    Parts,
    TableBlock,
    TextBlock,
)
from tasks.reports.plurals import agree
from tasks.reports.report_page import Form, write_page
from tasks.reports.tables import Cell, leave_empty, rate_cell
from tasks.reports.viewer import Filter, FilterChoice, ViewedRow, Viewer
from tests.browser.watch import Complaints, open_chromium


@dataclass(frozen=True)
class Outcome:
    system: str
    kind: str
    right: bool | None


OUTCOMES = [
    Outcome("good", "simple", True),
    Outcome("good", "simple", True),
    Outcome("good", "hard", False),
    Outcome("bad", "simple", False),
    Outcome("bad", "hard", None),
]


def rate(outcomes: Sequence[Outcome], where: Where) -> Cell:
    derivation = Derivation("share", (Selection("scores", where),), "right", hit=True)
    return rate_cell([outcome.right for outcome in outcomes], "answers", derivation)


def count(outcomes: Sequence[Outcome], where: Where) -> Cell:
    return Cell(
        len(outcomes),
        len(outcomes),
        0,
        None,
        "answers",
        basis=Derivation("count", (Selection("scores", where),)),
    )


def empty(why: str) -> Cell:
    return leave_empty(why, "answers")


RIGHT = Measure("right", rate, empty, "share")
NUMBER = Measure("number", count, empty, "count")
SYSTEMS = (
    *by(lambda outcome: outcome.system, {"good": "good", "bad": "bad"}, "system"),
    Slice("other", why="not run"),
)
TABLE = Table[Outcome](
    "1",
    "By kind",
    ("system",),
    SYSTEMS,
    (RIGHT, NUMBER),
    by(lambda outcome: outcome.kind, {"simple": "simple", "hard": "hard"}, "kind"),
)


def test_a_declared_table_measures_each_cell_over_its_own_outcomes():
    filled = TABLE.fill(OUTCOMES)
    assert filled.columns == ("simple: right", "simple: number", "hard: right", "hard: number")
    assert (filled.forms, filled.group) == (("share", "count") * 2, 2)
    good, bad, other = filled.lines
    assert [(cell.value, cell.n, cell.failed) for cell in good.cells] == [
        (1, 2, 0),
        (2, 2, 0),
        (0, 1, 0),
        (1, 1, 0),
    ]
    assert [(cell.value, cell.failed, cell.why) for cell in bad.cells][2] == (
        None,
        1,
        "no value: 1 answer failed",
    )
    assert {cell.why for cell in other.cells} == {"not run"}
    assert good.cells[2].basis == Derivation(
        "share", (Selection("scores", {"system": "good", "kind": "hard"}),), "right", hit=True
    )


@pytest.mark.parametrize(
    ("plural", "singular"),
    [
        ("rows outside gap groups", "row outside gap groups"),
        ("answers that the method judges correct", "answer that the method judges correct"),
        ("imperfect steps", "imperfect step"),
        ("SQL templates", "SQL template"),
        ("rows, 8 SQL templates", "row, 8 SQL templates"),
        ("gold queries", "gold query"),
        ("boxes", "box"),
        ("classes", "class"),
        ("bus stops", "bus stop"),
        ("series", "series"),
        ("people", "person"),
        ("", ""),
    ],
)
def test_a_phrase_agrees_with_its_number(plural, singular):
    assert [agree(plural, n) for n in (0, 1, 2, 21)] == [plural, singular, plural, plural]


def test_the_number_of_items_below_a_figure_agrees_with_their_noun():
    show = PAGES.from_string("{% import 'tables.html' as tables %}{{ tables.show_base(cell) }}")
    assert "n = 1 answer<" in show.render(cell=Cell(1.0, 1, 0, None, "answers"))
    assert "n = 2 answers, 1 failed<" in show.render(cell=Cell(0.5, 2, 1, None, "answers"))
    assert "n = 1<" in show.render(cell=Cell(1.0, 1, 0, None, "interactions"))


def test_one_measure_and_no_columns_name_the_columns_alone():
    assert Table[Outcome]("", "", ("system",), SYSTEMS, (RIGHT, NUMBER)).fill(OUTCOMES).columns == (
        "right",
        "number",
    )
    filled = Table[Outcome]("", "", ("system",), SYSTEMS, (RIGHT,), TABLE.columns).fill(OUTCOMES)
    assert (filled.columns, filled.group, filled.forms) == (("simple", "hard"), 1, ("share",))


def test_figures_that_are_computed_elsewhere_are_tabulated_by_columns():
    table = tabulate(
        ("part", "mode"),
        [(("a", "open"), 2), (("b", "closed"), 3)],
        {"n": lambda n: Cell(n, n, 0, None, ""), "twice": lambda n: Cell(2 * n, n, 0, None, "")},
        forms=("count",),
    )
    assert table.columns == ("n", "twice")
    assert [(line.label, [cell.value for cell in line.cells]) for line in table.lines] == [
        (("a", "open"), [2, 4]),
        (("b", "closed"), [3, 6]),
    ]
    assert tabulate(("part",), [("a", 1)], {}).lines[0].label == ("a",)


NARROWS = [["kind=simple", "", "", ""], [""] * 4, [""] * 4]


def make_parts(artifact: Path) -> Parts:
    lines = [
        Series("good", [Point(step, step / 10, (step / 12, step / 9)) for step in range(1, 6)], 0, "50%"),
        Series("bad", [Point(step, step / 20) for step in range(1, 6)], 1, "25%"),
    ]
    table = TABLE.fill(OUTCOMES)
    cell = table.lines[0].cells[0]
    # The record does not contain these figures, so a value is a link instead of a button.
    linked = TableBlock({"linked": table}, pointers={"linked": [[""] * 4] * 3}, narrows={"linked": NARROWS})
    every = [
        blocks.heading("Question", ("simple", blocks.OFF)),
        blocks.text("Which one?", "question"),
        blocks.title("The title again", ("simple", blocks.OFF)),
        blocks.rows(["aaaaaaaa", "b"]),
        blocks.dim("A remark."),
        blocks.code("SELECT name FROM films WHERE id = [films.id]", sql=True, slots=True),
        blocks.tags(("Correct", blocks.GOOD), beside="by the judge"),
        blocks.table(("name", "year"), [("Heat", 1995), (None, 2)], total=9, beside="as the agent saw them"),
        blocks.items(["plain", ("linked", "hard", blocks.BAD, "#question=b")]),
        blocks.facts({"System": "good"}),
        blocks.fold(
            "Query 1", [blocks.text("inside")], ("error", blocks.BAD), style="query", anchor="query-1"
        ),
        blocks.group("step", [blocks.text("thought")], "plan"),
        blocks.links([("Yes.", [("query 1", "query-1")]), ("No.", [])]),
        blocks.marked("the red fox", ["red"]),
        blocks.marked("a tired tire is tired", ["tire"], whole=True),
        blocks.passages("Retrieved", [("Film", "score 1", [("true document", blocks.GOOD)], "text of it")]),
        blocks.shared("document"),
        blocks.stored("run-1", "a"),
        blocks.calls("Calls", ["k1", "missing"]),
        blocks.ids(question="a"),
        blocks.component("unknown", {}),
    ]
    rows = [
        ViewedRow(
            "aaaaaaaa",
            "Which one?",
            ("simple", {"open": "gap", "closed": "robust"}),
            (("simple", ""),),
            every,
            vary=(("mode",), {"open": (("Correct", "good"),), "closed": (("Incorrect", "bad"),)}),
        ),
        ViewedRow("b", "Another", ("hard", {"open": "robust"}), (), [blocks.text("unheard of")]),
    ]
    viewer = Viewer(
        "question",
        "questions",
        "words of a question",
        "Choose a question.",
        (
            Filter("kind", "Kind"),
            FilterChoice("mode", "Mode", (("open", "open"), ("closed", "closed")), "open"),
            Filter("tag", "Tag", varies=("mode",)),
        ),
        rows,
        artifact,
        shared={"document": [blocks.text("A shared document.")]},
        files={"run-1": {"a": [blocks.text("A stored step.")]}},
        walk=True,
    )
    return [
        PagePart(
            "means",
            "Means",
            "Means",
            [TextBlock("Over all."), Head("By kind"), TableBlock({"1": table}), linked],
            "MRR",
        ),
        PagePart(
            "drawn",
            "Drawn",
            "Drawn",
            [
                Charts(
                    [
                        draw_lines("Over time", lines, Axis("step"), Axis(top=1, form="share")),
                        draw_lines(
                            "By dataset",
                            lines,
                            Axis(categories=("a", "a long name of a dataset", "c", "d", "e", "f")),
                            Axis(top=1),
                            marks=True,
                        ),
                        draw_scatter("Queries", [Point(1, 1), Point(1, 1)], Axis("queries"), Axis()),
                        Scale("Quality", [("good", cell), ("none", leave_empty("not run"))], form="share"),
                        Bars("Groups", ("gap", "robust"), [Bar("all", (3, 5))], tones={"gap": "warn"}),
                    ]
                )
            ],
        ),
        PagePart("empty", "Empty", "Empty", []),
        Browse("Questions", viewer),
        PagePart(
            "about",
            "About",
            "About",
            [
                Facts([("System", "good"), ("None", "")]),
                FormLink("to_label.csv", "Form", "Fill it in."),
                Folded("More", [TableBlock({"2": TABLE.fill([])}, folded=False)]),
            ],
        ),
    ]


SHOWN = (
    "Which one?",
    "A remark.",
    "A shared document.",
    "A stored step.",
    "2 of 9 rows shown, as the agent saw them",
    "This page does not contain the call missing.",
    "This page lacks the component unknown.",
    "1 of 2 listed",
)
CALL = ShownCall(
    id="k1", stage="s", role="judge", model="m", prompt="judge", prompt_digest="d", attempt=0, epoch="",
    messages=[{"role": "user", "content": "Hi"}], decoding="{}", text="Yes", prompt_tokens=1,
    completion_tokens=2, parsed=True, problem="",
)  # fmt: skip


def write_example(folder: Path) -> Path:
    out = folder / "data" / "reports" / "toy" / "sample"
    page = Page(
        ASSESSMENTS, "toy", "sample", "A toy", "Of everything.", [Headline("answers", 5)], ["Few answers."]
    )
    write_page(
        out,
        page,
        make_parts(folder / "data" / "toy" / "scores.parquet"),
        calls={"k1": CALL},
        metrics=folder / "data" / "metrics" / "toy" / "sample",
        form=Form("to_label.csv", "id,label\n"),
    )
    return out


def test_a_page_records_the_tables_of_all_parts(tmp_path):
    record = json.loads((write_example(tmp_path) / "report.json").read_text())
    assert [table["key"] for table in record["tables"]] == ["1", "2"]
    cell = record["tables"][0]["lines"][0]["cells"][0]
    assert (cell["step"], cell["value"], cell["n"], cell["basis"]["measure"]) == (
        "simple: right",
        1,
        2,
        "share",
    )
    assert record["tables"][0]["lines"][2]["cells"][0] == {"step": "simple: right", "why": "not run"}


@pytest.mark.browser
def test_the_viewer_draws_every_block_filters_by_choices_and_walks(tmp_path):
    out = write_example(tmp_path)
    complaints = Complaints("file:")
    with open_chromium() as browser:
        page = browser.new_page()
        complaints.hear(page)
        page.goto(f"{(out / 'index.html').as_uri()}#question=aaaaaaaa")
        page.wait_for_selector("#detail .call")
        shown = page.inner_text("#detail")
        for words in SHOWN:
            assert words in shown, words
        assert page.locator("#detail mark").all_inner_texts() == ["red", "tire"]
        page.click("#detail .bears")
        assert page.get_attribute("#query-1", "open") is not None
        assert "Correct" in page.inner_text("#list li:first-child")
        page.select_option("#by-mode", "closed")
        assert "Incorrect" in page.inner_text("#list li:first-child")
        page.select_option("#by-tag", "robust")
        assert page.inner_text("#found") == "1 of 2 questions"
        page.select_option("#by-tag", "")
        page.fill("#find", "a shared document")
        page.wait_for_selector("text=1 of 2 questions")
        page.fill("#find", "run-1")
        page.wait_for_selector("text=0 of 2 questions")
        page.fill("#find", "")
        page.wait_for_selector("text=2 of 2 questions")
        page.click("[data-walk='1']")
        page.wait_for_selector("#detail >> text=unheard of")
        page.fill("#find", "missing")  # a call's key, which the search ignores
        page.wait_for_selector("text=0 of 2 questions")
        page.click("[data-narrow]")
        assert page.input_value("#by-kind") == "simple"
        assert page.inner_text("#found") == "1 of 2 questions"
        assert complaints.lines == []
