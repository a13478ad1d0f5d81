"""The page of an evaluation: charts, tables, each step with its prompt, figures that lead to rows."""

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tasks.artifacts.rows import Counts
from tasks.errors import BadInput
from tasks.lineage.figures import list_figures
from tasks.lineage.records import FileRecord, Graph, StageRecord
from tasks.lineage.walk import Lineage
from tasks.reports.site import write_index
from tasks.streambench.publish.curves import CurvePoint
from tasks.streambench.publish.evaluation_page import evaluation_page
from tasks.streambench.publish.figure_file import read_stream_figures
from tasks.streambench.publish.line_charts import MOST_POINTS, list_ticks, thin_out
from tests.reports.figure_folders import place_figures
from tests.streambench.made_evaluation import EVIL, MadeEvaluation, make_evaluation, write_evaluation

DATA = "data/streambench/sample"


@pytest.fixture(scope="module")
def made() -> MadeEvaluation:
    return make_evaluation()


@pytest.fixture(scope="module")
def page(made: MadeEvaluation, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out, counts = write_evaluation(tmp_path_factory.mktemp("project"), made)
    assert counts == Counts(len(made.steps), len(made.steps), {})
    return out


def read_data(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8").partition(",")[2].removesuffix(");\n"))


def test_every_step_is_in_the_index_and_whole_in_its_runs_file(page: Path, made: MadeEvaluation) -> None:
    index = read_data(page / "rows.js")
    assert len(index["steps"]) == len(made.steps)
    by_id = {step.id: step for step in made.steps}
    files = {run["file"]: read_data(page / f"{run['file']}.js") for run in index["runs"]}
    for row_id, run, position, item, agent, outcome, bit in index["steps"]:
        step, shown = by_id[row_id], files[index["runs"][run]["file"]]["steps"][row_id]
        assert (index["runs"][run]["run"], position, agent) == (step.run, step.position, step.agent)
        assert (index["items"][item]["id"], index["outcomes"][outcome]) == (step.item, step.outcome)
        assert (bit, shown["answer"], shown["words"]) == (int(step.bit), step.answer, step.words)
        assert [index["items"][entry[0]]["id"] for entry in shown["shown"]] == [s.item for s in step.shown]
        assert [entry[1:] for entry in shown["shown"]] == [[s.position, s.distance] for s in step.shown]


def test_a_runs_file_has_the_prompts_of_its_steps_alone(page: Path, made: MadeEvaluation) -> None:
    index = read_data(page / "rows.js")
    run = index["runs"][-1]
    calls = read_data(page / f"{run['file']}.js")["calls"]
    own = [step for step in made.steps if step.run == run["run"]]
    assert set(calls) == {key for step in own for key in step.calls}
    texts = {item.id: item.text for item in made.items}
    (step,) = [step for step in own if step.calls and step.position == 7]
    assert calls[step.calls[0]]["messages"] == [{"role": "user", "content": f"{texts[step.item]}\n{EVIL}"}]


def test_no_text_is_markup_and_nothing_is_loaded_from_elsewhere(page: Path) -> None:
    for file in page.iterdir():
        text = file.read_text(encoding="utf-8")
        assert EVIL not in text, file.name
        assert "://" not in text, file.name


def test_the_page_has_every_table_and_warns_at_its_head(page: Path) -> None:
    html = (page / "index.html").read_text(encoding="utf-8")
    for key in ("means", "gains", "model-agent", "memories", "uses", "seeds", "times", "regrets"):
        assert f'id="table-{key}"' in html
    for title in ("Table 2", "Table 3", "Table 4", "Table 5", "Table 7", "Table 8", "Table 9", "Table 11"):
        assert f"<strong>{title}</strong>" in html
    assert html.index("40 steps are few") < html.index("<h1>")
    assert html.count('class="chart curves"') == 6
    assert "MAM-StreamICL (agent + second_agent)" in html
    assert html.count('class="band') > 6


def test_the_front_page_takes_it(page: Path, tmp_path: Path) -> None:
    write_index([page], tmp_path / "index.html")
    assert "MAM-StreamICL is right most often" in (tmp_path / "index.html").read_text(encoding="utf-8")


def record_stages() -> Graph:
    """Record the stages as dvc.lock would."""
    trial = f"{DATA}/trial"
    outs = {
        "items": [f"{DATA}/items.parquet"],
        "steps": [f"{trial}/steps.parquet", f"{trial}/steps.calls.parquet"],
        "scores": [f"{trial}/scores.parquet"],
        "curves": [f"{trial}/curves.parquet"],
        "evaluation_page": ["data/reports/streambench/trial"],
    }
    made: list[StageRecord] = []
    before: tuple[FileRecord, ...] = ()
    for name, paths in outs.items():
        own = tuple(FileRecord(path) for path in paths)
        made.append(StageRecord(name, f"benchloom stage streambench.{name} trial", before, own))
        before = (*before, *own)
    return Graph(tuple(made))


def test_every_figure_leads_to_its_rows_and_those_to_their_calls(page: Path) -> None:
    root = page.parents[3]
    path = page.relative_to(root).as_posix() + "/report.json"
    record = json.loads((root / path).read_text(encoding="utf-8"))
    lineage = Lineage(root, record_stages())
    again = 0
    figures = list(list_figures(record))
    assert len(figures) > 500
    for figure in [*figures[:5], *figures[5::9]]:
        node = lineage.trace_figure(path, figure.pointer, first=0)
        assert node.summary["rows"], figure.label
        again += node.summary["again"] is not None
    assert again > 15
    first = lineage.trace_figure(path, "/figures/0")
    row = next(parent for parent in first.parents if parent.kind == "row")
    assert row.reference.startswith(f"{DATA}/trial/scores.parquet#")
    kinds = {parent.kind for parent in row.parents} | {p.kind for one in row.parents for p in one.parents}
    assert {"row", "call"} <= kinds
    wrong = [gap for gap in lineage.gaps if "its rows come to" in gap.what or "which rows" in gap.what]
    assert wrong == []


@pytest.mark.parametrize("text", ["{", "{}", '{"tables": {"means": {}}}'])
def test_figures_of_another_form_are_bad_input(tmp_path: Path, text: str) -> None:
    path = tmp_path / "evaluation_figures.json"
    path.write_text(text)
    with pytest.raises(BadInput):
        read_stream_figures(path)


def test_the_same_artifacts_give_the_same_bytes(made: MadeEvaluation, page: Path, tmp_path: Path) -> None:
    figures = page.parents[3] / DATA / "trial/evaluation_figures.json"
    again = tmp_path / "data/reports/streambench/trial"  # a page says where in its project it stands
    again.parent.mkdir(parents=True)
    evaluation_page(
        made.items[::-1], made.steps[::-1], made.calls[::-1], made.scores[::-1], made.curves[::-1], figures,
        made.entry, "trial", again,
        **place_figures(again, "metrics", "bars", "lines"),
    )  # fmt: skip
    assert {file.name: file.read_bytes() for file in page.iterdir()} == {
        file.name: file.read_bytes() for file in again.iterdir()
    }


def test_a_long_curve_keeps_its_ends_and_at_most_so_many_points() -> None:
    curve = [CurvePoint("", "m", ("a",), t, 1, 0.5, None, 0.0, 0.0, ()) for t in range(1, 2148)]
    thin = thin_out(curve)
    assert (len(thin), thin[0].position, thin[-1].position) == (MOST_POINTS, 1, 2147)
    positions = [point.position for point in thin]
    assert max(b - a for a, b in pairwise(positions)) <= 10
    assert thin_out(curve[:40]) == curve[:40]


@pytest.mark.parametrize(
    ("ends", "ticks"),
    [((0, 1), [0, 0.25, 0.5, 0.75, 1]), ((1, 40), [10, 20, 30, 40]), ((-3, 17), [0, 5, 10, 15])],
)
def test_ticks_are_round_numbers(ends: tuple[float, float], ticks: list[float]) -> None:
    assert list_ticks(*ends) == pytest.approx(ticks)
