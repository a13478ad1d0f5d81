import json
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

from tasks.artifacts.parquet import write_rows
from tasks.artifacts.rows import Counts, Origin
from tasks.errors import BadInput
from tasks.longform.build.conclude import Conclusion
from tasks.longform.build.construct import SyntheticDatabase
from tasks.longform.build.control import ControlledQuestion
from tasks.longform.build.designs import FigureDesign
from tasks.longform.build.foci import Focus, FocusMeasure
from tasks.longform.build.statement import Claim
from tasks.longform.entries import AgentEvaluation
from tasks.longform.figures import FigureSeries, draw_agents, draw_models, tabulate_figures
from tasks.longform.judge.error_types import ErrorLabel
from tasks.longform.judge.reference_verdicts import ReferenceVerdict
from tasks.longform.labels import ErrorType, Verdict
from tasks.longform.publish.evaluation_page import PageFigures, evaluation_page
from tasks.longform.solve.interaction import AgentStep, Interaction
from tasks.models.calls import Call
from tasks.reports.figures_file import read_figures
from tests.longform.scripted_judges import SCRIPT, make_interaction, make_item, make_query, make_review
from tests.reports.figure_folders import place_figures

EVIL = "<script>alert('gulls')</script>"
CELL = {"value": 0.5, "n": 4, "failed": 1, "interval": [0.15, 0.85], "of": "interactions", "why": ""}
CALLS = ("interactions", "reference_verdicts", "reviews", "meta_reviews", "revisions", "error_types")
ENTRY = AgentEvaluation(set="lights", agents=("sequential", "guess"))


def make_call(key: str, text: str = EVIL) -> Call:
    values: dict[str, Any] = {field.name: "" for field in fields(Call)}
    return Call(**{
        **values, "id": key, "stage": "interactions", "role": "agent", "model": "small",
        "prompt": "agent_plan", "sample": 0, "attempt": 0,
        "messages": json.dumps([{"role": "user", "content": text}]), "text": text,
        "decoding": "{}", "constraint": "{}", "prompt_tokens": 900, "completion_tokens": 41,
        "estimated": False, "parsed": True,
    })  # fmt: skip


def make_table(number: str, columns: list[str], *lines: tuple[list[str], list[Any]]) -> dict[str, Any]:
    return {
        "number": number, "title": f"Title of {number} {EVIL}", "heads": ["model", "agent"],
        "columns": columns, "lines": [{"label": label, "cells": cells} for label, cells in lines],
        "notes": ["A note."],
    }  # fmt: skip


def make_point(queries: int, quality: float) -> dict[str, Any]:
    where = {"interaction": "x1", "model": "agent", "agent": "sequential"}
    return {**where, "valid_queries": queries, "quality": quality}


def make_figures() -> dict[str, Any]:
    empty = {
        **CELL,
        "value": None,
        "n": 0,
        "failed": 0,
        "interval": None,
        "why": "no plan",
    }
    score = {**CELL, "value": 3.25, "interval": [2.0, 4.5]}
    words = {**CELL, "value": 24.5, "interval": None}
    quality = ["match rate (C)", "mean score, 1 to 5 (I)", "plan, words (C)"]
    lines = (
        (["agent", "sequential"], [CELL, score, words]),
        (["agent", "guess"], [{**CELL, "value": 0.0}, score, empty]),
    )
    scatters = {
        "conclusive": {
            "points": [make_point(2, 1.0)],
            "n": 1,
            "failed": 1,
            "pearson": None,
            "spearman": None,
            "why": "1 points, but a correlation needs at least 3",
        },
        "interpretive": {
            "points": [make_point(n, n + 1.0) for n in (0, 1, 3)],
            "n": 3,
            "failed": 0,
            "pearson": 0.75,
            "spearman": 1.0,
            "why": "",
            "pearson_interval": [-0.25, 1.0],
            "spearman_interval": None,
        },
    }
    bar = {"model": "agent", "agent": "sequential", "match_rate": CELL, "mean_score": score}
    idle = {**bar, "agent": "iterative", "mean_score": empty}
    panels = [{"model": "agent", "bars": [bar], "guess": {**bar, "agent": "guess"}, "never_queried": [idle]}]
    models = [{"model": "agent", "bar": bar, "guess": bar, "steps": {"IP": CELL, "all": empty}}]
    return {
        "evaluation": "small", "counts": {"interactions": 3},
        "roles": {"agent": "small-model"},
        "warnings": [f"one model wrote the references, answered and judged {EVIL}"],
        "tables": {
            "2": make_table("2", quality, *lines),
            "4": make_table("4", []),
            "errors": make_table("errors", ["agent, sequential"], (["IP", "other"], [{**CELL, "value": 2}])),
        },
        "figures": {"2": panels, "3": scatters, "4": models},
    }  # fmt: skip


def make_interactions() -> list[Interaction]:
    failed = make_query(
        [], sql="SELECT bribe FROM shifts", columns=(), error=f"SqlFailed: no such column {EVIL}"
    )
    several = make_query([["Ruvay", None], [EVIL, 2**60], ["Overmere", 1.5]], n_rows=9)
    steps = ("plan", "Sum the ships."), ("query", several.sql), ("query", failed.sql), ("reasoning", EVIL)
    return [
        make_interaction(1, plan=f"Sum the ships. {EVIL}", queries=(several, failed), answer=f"Yes. {EVIL}",
            steps=tuple(AgentStep(*step) for step in steps), left_out=("6 of 9 rows of query 1",),
            origin=(Origin("row", "items#i1"), Origin("call", "c1"))),
        make_interaction(1, "guess", plan="", queries=(), steps=()),
        make_interaction(2, answer=None, problem="agent_answer: no reply parsed"),
    ]  # fmt: skip


def make_rows() -> dict[str, Any]:
    claim = Claim(f"Ruvay's keepers guide 28. {EVIL}", "SELECT 28", ("ships",), "[[28]]")
    measure = FocusMeasure("shifts.ships", "number of ships", "", "guide more ships", "", 1)
    focus = Focus(
        id="f", table="shifts", table_words="shifts", measures=(measure,), qualities=(),
        group="keepers.island", group_words="island", relation="on {}", groups=("Ruvay", "Skarholm"),
        source="", tables=(), origin=(),
    )  # fmt: skip
    question = ControlledQuestion(
        id="i1", database="lights", seed="", design="typical", focus=focus, groups=("Ruvay",), decoy="",
        quality=None, figures=(FigureDesign("mean", "shifts.ships"),), text=f"At length: {EVIL}", origin=(),
    )  # fmt: skip
    verdict = ReferenceVerdict(
        "v1", "x1-sequential", "i1", "conclusive", Verdict.MATCH, None, f"All there. {EVIL}", "", ()
    )
    reviews = [
        make_review(
            verdict,
            reviewer,
            step,
            rationale=f"Reason {reviewer} of {step}. {EVIL}",
            origin=(Origin("call", "c2"),),
        )
        for step in ("IP", "TE", "IS")
        for reviewer, verdict in enumerate(("Perfect", "Imperfect", None))
    ]
    error = ErrorLabel("e1", "x1-sequential", "i1", "TE", ErrorType.STATISTICS_NOT_COMPUTED, "", ())
    return {
        "items": [make_item(1, claims=(claim,), question=f"Do Ruvay's keepers guide more ships? {EVIL}"),
                  make_item(2, kind="interpretive", database="harbours")],
        "interactions": make_interactions(),
        "reference_verdicts": [verdict],
        "reviews": reviews,
        "meta_reviews": [replace(review, id=f"m{review.id}") for review in reviews if review.reviewer == 0],
        "revisions": [make_review("Perfect", 0, "IP", rationale=""), make_review("Imperfect", 0, "TE")],
        "error_types": [error],
        "control": [question],
        "construct": [SyntheticDatabase("i1", SCRIPT, 2, 4, 5, 2, (True,), ())],
        "conclude": [Conclusion("i1", "Yes, 28 against 14.", (claim,), "plain", ())],
    }  # fmt: skip


def write_example(folder: Path, **more: Any) -> tuple[Path, Counts]:
    figures = folder / "evaluation_figures.json"
    figures.write_text(json.dumps(more.pop("figures", make_figures())), encoding="utf-8")
    calls = {f"{name}_calls": folder / f"{name}.calls.parquet" for name in CALLS}
    for place, path in enumerate(calls.values(), 1):
        write_rows(path, Call, [make_call(f"c{place}")])
    out = folder / "page"
    arguments = {
        **make_rows(),
        **calls,
        "evaluation_figures": figures,
        "entry": ENTRY,
        "key": "small",
        "out": out,
        **place_figures(out, "metrics", "bars"),
    }
    return out, evaluation_page(**{**arguments, **more})


def read_data(path: Path) -> Any:
    text = path.read_text(encoding="utf-8")
    return json.loads(text[text.index(",") + 1 : text.rindex(")")])


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out, counts = write_example(tmp_path_factory.mktemp("page"))
    assert counts == Counts(3, 3, {})
    return out


def test_no_text_is_markup(page: Path) -> None:
    for file in (*page.glob("*.html"), *page.glob("*.js")):
        assert EVIL not in file.read_text(encoding="utf-8"), file.name
    assert "\\u003cscript" in (page / "rows.js").read_text(encoding="utf-8")
    assert "&lt;script&gt;" in (page / "index.html").read_text(encoding="utf-8")


def test_the_page_loads_nothing_from_elsewhere(page: Path) -> None:
    for file in page.iterdir():
        assert "://" not in file.read_text(encoding="utf-8"), file.name


def test_every_interaction_is_in_the_viewer(page: Path) -> None:
    data = read_data(page / "rows.js")
    assert (data["noun"], [row[0] for row in data["rows"]]) == (
        "interaction",
        ["x2-sequential", "x1-sequential", "x1-guess"],
    )  # by database, then in the entry's order of agents
    assert set(data["shared"]) == {"i1", "i2"}


def test_people_have_a_form_to_label(page: Path) -> None:
    form = (page / "to_label.csv").read_text(encoding="utf-8-sig")
    assert "Imperfect" in form
    assert "Reason 0 of IP" not in form
    assert 'href="to_label.csv"' in (page / "index.html").read_text(encoding="utf-8")


def test_a_role_is_told_with_its_model(page: Path) -> None:
    html = (page / "index.html").read_text(encoding="utf-8")
    assert "<dt>Models</dt><dd>agent (small-model)</dd>" in html
    assert "<dt>Reviewer</dt><dd>reviewer</dd>" in html


def test_an_empty_cell_says_why(page: Path) -> None:
    html = (page / "index.html").read_text(encoding="utf-8")
    assert '<td class="n none"><span class="dim">no plan</span>' in html
    assert "0.150 to 0.850" in html
    assert "n = 4, 1 failed" in html
    assert "Read these figures with care" in html


def test_a_correlation_that_is_none_says_why(page: Path) -> None:
    html = (page / "index.html").read_text(encoding="utf-8")
    assert html.count('<span class="dim">1 points, but a correlation needs at least 3</span>') == 2
    assert 'aria-label="Pearson: 0.750, 95% interval -0.250 to 1.000, on a scale from -1 to 1"' in html
    assert 'aria-label="Spearman: 1.000, on a scale from -1 to 1"' in html


def test_a_page_without_tables_has_its_viewer(tmp_path: Path) -> None:
    out, _ = write_example(tmp_path, figures={"warnings": [], "tables": {}})
    html = (out / "index.html").read_text(encoding="utf-8")
    assert 'id="tables"' not in html
    assert 'id="browse"' in html


@pytest.mark.parametrize("text", ["{", '{"tables": {"2": {"number": "2"}}}'])
def test_figures_of_another_form_are_bad_input(tmp_path: Path, text: str) -> None:
    path = tmp_path / "figures.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(BadInput):
        read_figures(path, PageFigures)


def test_quality_is_drawn_beside_both_references() -> None:
    scales = draw_agents(read_example().agents)
    assert [(scale.title, scale.bottom, scale.top) for scale in scales] == [
        ("agent: match rate (C)", 0, 1), ("agent: mean score (I)", 1, 5),
    ]  # fmt: skip
    labels = ["sequential", "baseline: agent “guess”", "baseline: agent “iterative” without a query"]
    assert [[label for label, _ in scale.lines] for scale in scales] == [labels, labels]


def test_models_are_drawn_beside_a_guess() -> None:
    scales = draw_models(read_example().models)
    assert {scale.title: [label for label, _ in scale.lines] for scale in scales} == {
        "match rate (C)": ["agent", "agent · guess"], "mean score (I)": ["agent", "agent · guess"],
        "IP Perfect": ["agent"], "all steps Perfect": ["agent"],
    }  # fmt: skip


def read_example() -> FigureSeries:
    return FigureSeries.model_validate(make_figures()["figures"])


def test_the_record_has_a_table_of_each_figure() -> None:
    tables = tabulate_figures(read_example())
    assert list(tables) == ["figure 2", "figure 4", "figure 3"]
    assert tables["figure 3"].columns == ("pearson", "spearman")
    assert [cell.value for cell in tables["figure 3"].lines[1].cells] == [0.75, 1.0]
