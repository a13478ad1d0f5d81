"""Tests of the page for several streams: each cell against a plain computation, and the cell's rows."""

import json
from pathlib import Path
from statistics import mean
from typing import Any

import pytest

from tasks.artifacts.rows import Counts
from tasks.errors import BadInput
from tasks.lineage.figures import list_figures
from tasks.lineage.walk import Lineage
from tasks.settings import read_nested
from tasks.streambench.entries import StreamOverview
from tests.streambench.made_evaluation import EVIL, MODELS, MadeEvaluation
from tests.streambench.made_overview import (
    DIAGNOSES,
    FURTHER,
    flatten,
    make_evaluations,
    show_overview,
    write_overview,
)
from tests.streambench.plain_tables import TITLES as NAMES

COLUMNS = ["films", "flights", "ddxplus"]
TITLES = {**NAMES, "grow_prompt": "GrowPrompt"}
MAIN = ["zero_shot", "few_shot", "grow_prompt", "mem_prompt", "self_stream_icl", "mam_stream_icl"]


@pytest.fixture(scope="module")
def evaluations() -> dict[str, MadeEvaluation]:
    return make_evaluations()


@pytest.fixture(scope="module")
def page(evaluations: dict[str, MadeEvaluation], tmp_path_factory: pytest.TempPathFactory) -> Path:
    out, counts = write_overview(tmp_path_factory.mktemp("project"), evaluations)
    twice = 80  # zero-shot by the first model over both seeds, from `first`; the run in `second` is omitted
    read = sum(len(made.steps) for made in evaluations.values())
    assert counts == Counts(read, read - twice, {"shown by another evaluation": twice})
    return out


@pytest.fixture(scope="module")
def tables(page: Path) -> dict[str, Any]:
    record = json.loads((page / "report.json").read_text(encoding="utf-8"))
    return {
        table["key"]: {line["label"]: line["cells"] for line in table["lines"]} for table in record["tables"]
    }


def list_bits(
    evaluations: dict[str, MadeEvaluation], method: str, dataset: str, model: str | None = None
) -> dict[tuple[str, int, str], int]:
    """Return (models, seed, item) -> bit for a method's steps, from the first evaluation with the step."""
    bits: dict[tuple[str, int, str], int] = {}
    for made in evaluations.values():
        datasets = {item.id: item.dataset for item in made.items}
        for step in made.steps:
            if (
                step.method == method
                and datasets[step.item] == dataset
                and (not model or step.agents == (model,))
            ):
                bits.setdefault(("+".join(step.agents), step.seed, step.item), int(step.bit))
    return bits


def expect(bits: dict[tuple[str, int, str], int]) -> float | str:
    return pytest.approx(mean(bits.values()), rel=1e-9) if bits else "not run"


def read(cells: list[Any]) -> list[Any]:
    assert [cell["step"] for cell in cells] == COLUMNS
    return [cell.get("value", cell.get("why")) for cell in cells]


def test_table_2_has_a_line_a_method_and_a_column_a_dataset(
    evaluations: dict[str, MadeEvaluation], tables: dict[str, Any]
) -> None:
    groups = ["Non-streaming"] * 2 + ["Streaming"] * 4
    assert list(tables["means"]) == [f"{group} · {TITLES[m]}" for group, m in zip(groups, MAIN, strict=True)]
    turns = "alternates between agent and second_agent, but the other methods use other models"
    for method, cells in zip(MAIN, tables["means"].values(), strict=True):
        # GrowPrompt was run only with the first model, on the two datasets of the first stream.
        wanted = [
            list_bits(evaluations, method, dataset, None if dataset == "ddxplus" else MODELS[0])
            for dataset in COLUMNS
        ]
        if method == MAIN[-1]:
            assert read(cells) == [
                turns if dataset != "ddxplus" else expect(wanted[n]) for n, dataset in enumerate(COLUMNS)
            ]
            continue
        assert read(cells) == [expect(bits) for bits in wanted], method
        assert [cell["n"] for cell in cells if "n" in cell] == [len(bits) for bits in wanted if bits]
        assert all(c["interval"][0] <= c["value"] <= c["interval"][1] for c in cells if "value" in c)


def test_tables_4_and_5_have_one_model_each_and_table_3_its_gain(
    evaluations: dict[str, MadeEvaluation], tables: dict[str, Any]
) -> None:
    for model in MODELS:
        own = {label.rpartition(" · ")[2]: read(cells) for label, cells in tables[f"model-{model}"].items()}
        alone = [m for m in MAIN[:-1] if m != "grow_prompt" or model == MODELS[0]]
        assert own == {
            TITLES[m]: [expect(list_bits(evaluations, m, dataset, model)) for dataset in COLUMNS]
            for m in alone
        }
        for method in ("zero_shot", "self_stream_icl"):
            assert read(tables["gains"][f"{model} · {TITLES[method]}"]) == own[TITLES[method]]
    assert len(tables["gains"]) == 2 * len(MODELS)


def sum_tokens(
    evaluations: dict[str, MadeEvaluation], method: str, dataset: str, model: str | None = None
) -> list[Any]:
    """Return a method's input and output tokens, summed over a dataset's items and averaged over runs."""
    sums: dict[tuple[str, int], list[int]] = {}
    counted = set()
    for made in evaluations.values():
        datasets = {item.id: item.dataset for item in made.items}
        scores = {score.id: score for score in made.scores}
        for step in made.steps:
            place = "+".join(step.agents), step.seed, step.item
            asked = step.method == method and datasets[step.item] == dataset
            if asked and place not in counted and (model is None or step.agents == (model,)):
                counted.add(place)
                of_run = sums.setdefault(place[:2], [0, 0])
                of_run[0] += scores[step.id].tokens_in
                of_run[1] += scores[step.id].tokens_out
    if not sums:
        return ["not run"] * 2
    return [pytest.approx(mean(of_run[way] for of_run in sums.values())) for way in (0, 1)]


def test_tables_8_to_11_have_the_tokens_of_each_dataset(
    evaluations: dict[str, MadeEvaluation], tables: dict[str, Any]
) -> None:
    def show(cells: list[Any]) -> list[Any]:
        assert [cell["step"] for cell in cells] == [f"{c}, {way}" for c in COLUMNS for way in ("in", "out")]
        return [cell.get("value", cell.get("why")) for cell in cells]

    def want(method: str, model: str | None = None) -> list[Any]:
        return [value for dataset in COLUMNS for value in sum_tokens(evaluations, method, dataset, model)]

    own = {label.rpartition(" · ")[2]: show(cells) for label, cells in tables["tokens-means"].items()}
    turns = "alternates between agent and second_agent, but the other methods use other models"
    # Both models on the third dataset, only the first model on other datasets, as in table 2.
    shared = {m: [*want(m, MODELS[0])[:4], *want(m)[4:]] for m in MAIN}
    shared[MAIN[-1]][:4] = [turns] * 4
    assert own == {TITLES[m]: cells for m, cells in shared.items()}
    for model in MODELS:
        alone = [m for m in MAIN[:-1] if m != "grow_prompt" or model == MODELS[0]]
        table = tables[f"tokens-{model}"]
        assert {label.rpartition(" · ")[2]: show(cells) for label, cells in table.items()} == {
            TITLES[m]: want(m, model) for m in alone
        }
        for method in ("zero_shot", "self_stream_icl"):
            assert show(tables["tokens-gains"][f"{model} · {TITLES[method]}"]) == want(method, model)
    assert len(tables["tokens-gains"]) == 2 * len(MODELS)


def test_differences_are_over_the_seeds_and_items_that_both_have(
    evaluations: dict[str, MadeEvaluation], tables: dict[str, Any]
) -> None:
    seen = 0
    for model in MODELS:
        for method in MAIN[1:-1]:
            cells = tables["differences"].get(f"{model} · {TITLES[method]}", [{}] * len(COLUMNS))
            for dataset, cell in zip(COLUMNS, cells, strict=True):
                own, base = (list_bits(evaluations, m, dataset, model) for m in (method, "zero_shot"))
                if own:
                    pairs = [bit - base[place] for place, bit in own.items()]
                    assert cell["value"] == pytest.approx(mean(pairs), abs=1e-9), (model, method, dataset)
                    assert cell["n"] == len(own)
                    assert cell["interval"][0] <= cell["value"] <= cell["interval"][1]
                    seen += 1
    assert seen == 3 * 2 * 2 + 2 + 2  # three methods, GrowPrompt by one model, diagnoses by one method


def test_what_is_joined_is_counted_and_what_is_not_shown_is_said(page: Path, tables: dict[str, Any]) -> None:
    counted = {label: [cell["value"] for cell in cells] for label, cells in tables["joined"].items()}
    assert counted["ddxplus · ddxplus · patients · diagnoses"][:5] == [40, 1, 2, 5, 200]
    assert counted["films · sql · sample · second"][:5] == [20, 1, 1, 1, 20]
    assert len(counted) == 5
    html = (page / "index.html").read_text(encoding="utf-8")
    for dataset in ("films", "flights"):
        assert (
            f"Zero-Shot (agent) of second on {dataset} is not shown, because first also has this run." in html
        )
    assert 'href="../../streambench/diagnoses/index.html"' in html
    assert html.index("diagnoses: With only 40 steps") < html.index("<h1>")
    for title in ("Table 2", "Table 3", "Table 4", "Table 5", "Table 8", "Table 9", "Table 11"):
        assert f"<strong>{title}</strong>" in html
    assert EVIL not in html


def count_right(page: Path) -> list[int]:
    """Return the number of correct steps of each run on the page."""
    text = (page / "rows.js").read_text(encoding="utf-8")
    rows = json.loads(text.partition(",")[2].removesuffix(");\n"))["rows"]
    return [int(blocks[1][1][0].partition(" of ")[0]) for _, _, _, _, blocks, *_ in rows]


def test_every_figure_leads_to_the_scores_of_its_own_evaluations(page: Path) -> None:
    root = page.parents[3]
    path = page.relative_to(root).as_posix() + "/report.json"
    record = json.loads((root / path).read_text(encoding="utf-8"))
    lineage = Lineage(root)
    figures = list(list_figures(record))
    assert [figure.pointer for figure in figures if figure.derivation is None] == []
    assert {figure.label: figure.value for figure in figures[:4]} == {
        "datasets": 3, "methods": 10, "steps": 58 * 20 + 5 * 40, "right": sum(count_right(page)),
    }  # fmt: skip
    for figure in figures:
        node = lineage.trace_figure(path, figure.pointer, first=0)
        assert node.summary["rows"], figure.label
        again = node.summary["again"]
        untold = node.summary["measure"] in ("paired difference", "mean of the runs' sums")
        assert (again is None) is untold, figure.label
    assert [gap for gap in lineage.gaps if "recomputing it" in gap.what] == []
    (zero,) = [
        f for f in figures if f.label.endswith("Non-streaming · Zero-Shot: films") and "mean over" in f.label
    ]
    assert [part.artifact for part in zero.derivation.rows] == ["data/streambench/sample/first/scores"]
    (grown,) = [
        f for f in figures if f.label.endswith("Streaming · GrowPrompt: films") and "mean over" in f.label
    ]
    assert [part.artifact for part in grown.derivation.rows] == ["data/streambench/sample/second/scores"]


def test_columns_of_other_models_and_the_same_dataset_in_two_streams_are_told(
    evaluations: dict[str, MadeEvaluation], tmp_path: Path
) -> None:
    made = evaluations["second"]
    again = MadeEvaluation(
        FURTHER.model_copy(update={"stream": "other"}),
        made.items,
        made.steps,
        made.calls,
        made.scores,
        made.curves,
    )
    out, _ = write_overview(tmp_path, {"first": evaluations["first"], "again": again})
    record = json.loads((out / "report.json").read_text(encoding="utf-8"))
    columns = [cell["step"] for cell in record["tables"][0]["lines"][0]["cells"]]
    assert columns == ["films (other)", "flights (other)", "films (sample)", "flights (sample)"]
    assert any(warning.startswith("The columns cover different models") for warning in record["warnings"])


def test_one_stream_alone_is_a_page_too(evaluations: dict[str, MadeEvaluation], tmp_path: Path) -> None:
    out, counts = write_overview(tmp_path, evaluations, StreamOverview(evaluations=("diagnoses",)))
    assert counts == Counts(200, 200, {})
    record = json.loads((out / "report.json").read_text(encoding="utf-8"))
    assert {
        cell["step"] for table in record["tables"][:-1] for line in table["lines"] for cell in line["cells"]
    } == {"ddxplus", "ddxplus, in", "ddxplus, out"}
    best = max(TITLES, key=lambda m: mean(list_bits(evaluations, m, "ddxplus").values() or [0]))
    assert record["finding"] == f"Most correct answers: {TITLES[best]} on ddxplus."


def test_an_evaluation_that_is_not_there_is_told(
    evaluations: dict[str, MadeEvaluation], tmp_path: Path
) -> None:
    own = {"first": evaluations["first"]}
    with pytest.raises(BadInput, match=r"nothing: is not under streambench.evaluations \(known: first\)"):
        write_overview(tmp_path, own, StreamOverview(evaluations=("nothing",)))
    (tmp_path / "data/streambench/sample/first/scores.parquet").unlink()
    with pytest.raises(BadInput, match="the evaluation has not run"):
        show_overview(tmp_path, own)
    with pytest.raises(BadInput, match="contains no evaluation to show in the overview"):
        show_overview(tmp_path, {})


def test_settings_are_read_as_params_has_them(evaluations: dict[str, MadeEvaluation]) -> None:
    nested = read_nested(flatten(evaluations), "streambench.evaluations")
    assert list(nested) == ["diagnoses", "first", "second"]
    assert nested["second"]["method_seeds"] == {"grow_prompt": [7]}
    assert nested["diagnoses"]["stream"] == DIAGNOSES.stream
