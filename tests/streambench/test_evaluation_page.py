"""Tests of an evaluation's page: charts, tables, steps with prompts, links from figures to rows."""

import json
from pathlib import Path
from typing import Any

import pytest

from tasks.artifacts.rows import Counts
from tasks.errors import BadInput
from tasks.lineage.figures import list_figures
from tasks.lineage.records import FileRecord, Graph, StageRecord
from tasks.lineage.walk import Lineage
from tasks.reports.figures_file import read_figures
from tasks.reports.site import write_index
from tasks.streambench.publish.evaluation_figures import StreamFigures
from tasks.streambench.publish.evaluation_page import evaluation_page
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


def read_files(page: Path) -> dict[str, Any]:
    return {file.stem: read_data(file) for file in page.glob("run-*.js")}


def test_every_step_is_a_row_and_whole_in_its_runs_file(page: Path, made: MadeEvaluation) -> None:
    viewed, files = read_data(page / "rows.js"), read_files(page)
    by_id = {step.id: step for step in made.steps}
    texts = {item.id: item.text for item in made.items}
    assert [name["name"] for name in viewed["filters"]] == ["method", "model", "seed", "outcome"]
    assert len(viewed["rows"]) == len(made.steps)
    for row_id, title, values, tags, (shared, stored), traced, *_ in viewed["rows"]:
        step = by_id[row_id]
        right = "right" if step.bit else "wrong"
        assert values == [step.method, list(step.agents), str(step.seed), [right, step.outcome]]
        assert (title, tags[0][0]) == (texts[step.item], f"step {step.position}")
        assert viewed["shared"][shared[1]][0][1] == texts[step.item]
        assert traced == [["steps", row_id], ["scores", row_id]]
        rows = files[stored[1]]["rows"]
        shown = {block[0]: block[1] for block in reversed(rows[row_id])}  # the first of each kind
        if step.shown:
            assert [entry[:2] for entry in shown["list"]] == [
                [
                    texts[past.item],
                    f"of step {past.position} · correct · squared distance of keys {past.distance:.4f}",
                ]
                for past in step.shown
            ]
            assert {entry[3].removeprefix("#step=") for entry in shown["list"]} <= set(rows)
        assert shown.get("code") == step.answer


def test_a_runs_file_has_the_prompts_of_its_steps_alone_and_their_trace(
    page: Path, made: MadeEvaluation
) -> None:
    name, file = sorted(read_files(page).items())[-1]
    own = [step for step in made.steps if step.id in file["rows"]]
    assert {step.run for step in own} == {own[0].run}, name
    assert set(file["calls"]) == {key for step in own for key in step.calls}
    kinds = {step.id: "failed" if step.answer is None else "right" if step.bit else "wrong" for step in own}
    assert [(row, kind) for row, _, kind in file["trace"]] == [(step.id, kinds[step.id]) for step in own]
    texts = {item.id: item.text for item in made.items}
    (step,) = [step for step in own if step.calls and step.position == 7]
    message = {"role": "user", "content": f"{texts[step.item]}\n{EVIL}"}
    assert file["calls"][step.calls[0]]["messages"] == [message]


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
    assert html.index("With only 40 steps") < html.index("<h1>")
    assert html.count('class="chart curves"') == 6
    assert "MAM-StreamICL (agent + second_agent)" in html
    assert html.count('class="band') > 6


def test_the_front_page_takes_it(page: Path, tmp_path: Path) -> None:
    write_index([page], tmp_path / "index.html")
    assert "MAM-StreamICL has the most correct answers" in (tmp_path / "index.html").read_text(
        encoding="utf-8"
    )


def record_stages() -> Graph:
    """Return records of the stages, as in dvc.lock."""
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
    kinds = {parent.kind for parent in row.parents} | {
        p.kind for parent in row.parents for p in parent.parents
    }
    assert {"row", "call"} <= kinds
    wrong = [gap for gap in lineage.gaps if "recomputing it" in gap.what or "record the rows" in gap.what]
    assert wrong == []


@pytest.mark.parametrize("text", ["{", "{}", '{"tables": {"means": {}}}'])
def test_figures_of_another_form_are_bad_input(tmp_path: Path, text: str) -> None:
    path = tmp_path / "evaluation_figures.json"
    path.write_text(text)
    with pytest.raises(BadInput):
        read_figures(path, StreamFigures)


def test_the_same_artifacts_give_the_same_bytes(made: MadeEvaluation, page: Path, tmp_path: Path) -> None:
    figures = page.parents[3] / DATA / "trial/evaluation_figures.json"
    again = tmp_path / "data/reports/streambench/trial"  # a page contains its path in the project
    again.parent.mkdir(parents=True)
    evaluation_page(
        made.items[::-1], made.steps[::-1], made.calls[::-1], made.scores[::-1], made.curves[::-1], figures,
        made.entry, "trial", again,
        **place_figures(again, "metrics", "bars", "lines"),
    )  # fmt: skip
    assert {file.name: file.read_bytes() for file in page.iterdir()} == {
        file.name: file.read_bytes() for file in again.iterdir()
    }
