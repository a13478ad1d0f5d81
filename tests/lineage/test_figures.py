import json

import pytest

from tasks.artifacts.parquet import write_rows
from tasks.artifacts.rows import Dropped
from tasks.errors import BadInput
from tasks.grammar.publish.report import report
from tasks.lineage.derivation import Derivation, is_same_figure, measure_rows, read_derivation
from tasks.lineage.figures import find_figure, list_figures
from tasks.lineage.records import FileRecord, Graph, StageRecord
from tasks.lineage.selection import Selection, select_rows
from tasks.lineage.walk import Lineage
from tests.grammar.sample import STEMS, write_sample

OUT = "data/reports/grammar/films"


@pytest.fixture
def sample(tmp_path):
    made = write_sample(tmp_path)
    report(
        **made.page_inputs(),
        database=made.entry,
        settings={},
        out=tmp_path / OUT,
        metrics=tmp_path / "metrics",
    )
    return made


@pytest.fixture
def lineage(sample, tmp_path):
    deps = [
        FileRecord(f"data/grammar/films/{stem}{kind}.parquet")
        for stem in STEMS
        for kind in ("", ".dropped", ".calls")
    ]
    stage = StageRecord("grammar-report@films", "x", tuple(deps), (FileRecord(OUT, "rr.dir"),))
    return Lineage(tmp_path, Graph((stage,)))


def list_all(tmp_path):
    return list(list_figures(json.loads((tmp_path / OUT / "report.json").read_text())))


def test_every_number_of_a_report_is_a_figure_that_its_rows_come_to(lineage, tmp_path):
    text = (tmp_path / OUT / "report.json").read_text()
    figures = list_all(tmp_path)

    assert len(figures) == text.count('"value":') > 30
    for figure in figures:
        node = lineage.trace_figure(f"{OUT}/report.json", figure.pointer, first=0)
        assert node.summary["again"] == figure.value
    assert [gap for gap in lineage.gaps if "report.json" in gap.at] == []


def test_a_figure_leads_to_its_rows_and_one_of_them_on_to_its_calls(sample, lineage):
    node = lineage.trace_figure(f"{OUT}/report.json", "/figures/0/value")

    (part,) = node.summary["rows"]
    assert part["artifact"] == "data/grammar/films/balanced.parquet"
    assert part["ids"] == sorted(question.id for question in sample.questions)
    assert part["count"] == node.summary["value"] == len(sample.questions)
    assert node.parents[0].reference.endswith(f"#{part['ids'][0]}")

    wanted = part["ids"][3]
    chosen = lineage.trace_figure(f"{OUT}/report.json", "/figures/0", row=wanted[:8])
    assert chosen.parents[0].reference.endswith(wanted)
    every = lineage.trace_figure(f"{OUT}/report.json", "/figures/0", first=None)
    assert sum(parent.kind == "row" for parent in every.parents) == len(sample.questions)


def test_a_row_that_a_figure_does_not_count_is_refused(lineage):
    with pytest.raises(BadInput, match="0 rows have"):
        lineage.trace_figure(f"{OUT}/report.json", "/figures/0", row="feedfeed")


def test_a_figure_that_its_rows_do_not_come_to_is_a_gap(lineage, tmp_path):
    path = tmp_path / OUT / "report.json"
    record = json.loads(path.read_text())
    record["figures"][0]["value"] += 1
    path.write_text(json.dumps(record))

    lineage.trace_figure(f"{OUT}/report.json", "/figures/0")

    assert lineage.gaps[0].what == "is 15, but recomputing it from its rows gives 14"


def test_a_figure_without_a_basis_or_an_artifact_is_a_gap(lineage, tmp_path):
    path = tmp_path / OUT / "report.json"
    derivation = Derivation("count", (Selection("lost"),)).to_json()
    path.write_text(json.dumps({"n": 3, "figures": [{"label": "x", "value": 1, "basis": derivation}]}))

    assert lineage.trace_figure(f"{OUT}/report.json", "/n").summary["measure"] is None
    lineage.trace_figure(f"{OUT}/report.json", "/figures/0")

    told = [gap.what for gap in lineage.gaps if "report.json" in gap.at]
    assert told == [
        "does not record the rows from which it was computed",
        "comes from lost.parquet, which does not exist",
    ]


def test_a_pointer_to_no_figure_says_what_there_is(sample, tmp_path):
    with pytest.raises(BadInput, match="/figures/2 is SQL templates"):
        find_figure(tmp_path / OUT / "report.json", "/figures")
    with pytest.raises(BadInput, match="is not a figure"):
        find_figure(tmp_path / OUT / "report.json", "/figures/99")
    (tmp_path / "no.json").write_text("{")
    with pytest.raises(BadInput, match="is not a report"):
        find_figure(tmp_path / "no.json", "/n")


def test_pointers_escape_what_json_pointers_escape():
    (found,) = list_figures({"a/b": {"c~d": {"value": 1}}})

    assert found.pointer == "/a~1b/c~0d"


def test_measures_follow_from_rows(tmp_path):
    # a: x x y, b: x (row 1 repeated); the details have lengths 1, 2, 3 and 1
    write_rows(tmp_path / "a.parquet", Dropped, [Dropped(str(n), "xxy"[n - 1], "d" * n) for n in (1, 2, 3)])
    write_rows(tmp_path / "b.parquet", Dropped, [Dropped("1", "x", "d")])

    def measure(name, once=False, **where):
        parts = [
            select_rows(tmp_path / f"{stem}.parquet", Selection(stem, where), "reason") for stem in ("a", "b")
        ]
        return measure_rows(Derivation(name, (), "reason", once), parts)

    assert (measure("count"), measure("count", once=True), measure("count", reason="x")) == (4, 3, 3)
    assert (measure("distinct"), measure("distinct", detail="d")) == (2, 1)
    assert measure("robustness") is None


def test_sums_and_means_leave_out_what_is_missing():
    class Part:
        ids = ("1", "2", "3")
        values = (0.5, None, 1.0)

    assert measure_rows(Derivation("mean", (), "x"), [Part]) == 0.75
    assert measure_rows(Derivation("sum", (), "x"), [Part]) == 1.5
    assert measure_rows(Derivation("mean", (), "x"), []) is None
    assert is_same_figure(1 / 3, 0.3333333333)
    assert not is_same_figure(1 / 3, 0.333333)
    assert not is_same_figure(0, None)


def test_a_basis_reads_back_and_nonsense_is_refused():
    derivation = Derivation(
        "sum", (Selection("films/balanced", {"criterion": "short"}),), "tokens", once=True
    )

    assert read_derivation(json.loads(json.dumps(derivation.to_json()))) == derivation
    with pytest.raises(ValueError, match="not a valid basis"):
        read_derivation({"measure": "count", "rows": 3})
