"""Synthetic evaluations of two streams, and the page that combines them."""

from __future__ import annotations

from pathlib import Path

from tasks.artifacts.rows import Counts
from tasks.streambench.entries import StreamEvaluation, StreamOverview
from tasks.streambench.publish.overview_page import overview_page
from tests.reports.figure_folders import place_figures
from tests.streambench.made_evaluation import (
    ENTRY,
    MODELS,
    MadeEvaluation,
    make_evaluation,
    write_artifacts,
)

FURTHER = StreamEvaluation(
    stream="sample",
    methods=("zero_shot", "grow_prompt"),
    models=MODELS[:1],
    method_seeds={"grow_prompt": (7,)},
)
DIAGNOSES = StreamEvaluation(
    stream="patients", methods=("self_stream_icl", "zero_shot", "mam_stream_icl"), models=MODELS
)


def make_evaluations() -> dict[str, MadeEvaluation]:
    """Return three evaluations: films and flights twice (one common method), diagnoses by three methods."""
    return {
        "diagnoses": make_evaluation("ddxplus", ("ddxplus",), DIAGNOSES, (42,)),
        "first": make_evaluation(entry=ENTRY),
        "second": make_evaluation(entry=FURTHER),
    }


def flatten(evaluations: dict[str, MadeEvaluation]) -> dict[str, object]:
    """Return the evaluations' entries as settings of a stage."""
    found: dict[str, object] = {}
    for name, made in evaluations.items():
        for field, value in made.entry.model_dump(mode="json").items():
            nested = value if isinstance(value, dict) and value else {"": value}
            found |= {
                f"streambench.evaluations.{name}.{field}{'.' if key else ''}{key}": inner
                for key, inner in nested.items()
                if inner is not None and inner != {}
            }
    return found


def write_overview(
    folder: Path, evaluations: dict[str, MadeEvaluation], entry: StreamOverview | None = None
) -> tuple[Path, Counts]:
    """Write all artifacts and the page; return the page's folder."""
    for name, made in evaluations.items():
        write_artifacts(folder, made, name)
    return show_overview(folder, evaluations, entry)


def show_overview(
    folder: Path, evaluations: dict[str, MadeEvaluation], entry: StreamOverview | None = None
) -> tuple[Path, Counts]:
    """Write the page of existing artifacts; return its folder."""
    out = folder / "data/reports/streambench-overviews/all"
    out.parent.mkdir(parents=True, exist_ok=True)
    counts = overview_page(
        folder / "data/streambench",
        entry or StreamOverview(),
        flatten(evaluations),
        "all",
        out,
        **place_figures(out, "metrics", "bars"),
    )
    return out, counts
