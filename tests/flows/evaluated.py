"""Check that figures of `benchloom evaluate` keep the keys, pointers and values of earlier versions."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from flows.evaluation import EvaluationRun, write_artifacts, write_figures
from tasks.reports.own_evaluation import Evaluation
from tasks.reports.tables import round_figures
from tasks.systems.entries import CallableEntry
from tasks.systems.evaluation import EvaluationOptions, OwnDataset

ENTRY = CallableEntry(kind="callable", version="1", function="stranger:answer")
ROOT = Path(__file__).parents[2]
NOTHING = OwnDataset("key", {}, {}, (), ())
OPTIONS = EvaluationOptions(Path("mine"), "ours")
FOLDER = Path(__file__).parent / "evaluations"


def read_kept(flow: str) -> dict[str, Any]:
    """Read a figures.json that an earlier version wrote with these tests' fake endpoints."""
    kept: dict[str, Any] = json.loads((FOLDER / f"{flow}.json").read_text(encoding="utf-8"))
    return kept


CHANCE = {"low", "high", "error", "p_value", "p_holm", "clusters"}
"""Fields that earlier versions reported for a difference over three clusters."""
BESIDE = {"interval", "why"}
"""Fields that earlier versions reported for a cell over three clusters."""


def without_chance(value: Any) -> Any:
    """Remove the intervals and p values of differences and cells, at every depth."""
    if isinstance(value, dict):
        left_out = BESIDE if value.keys() >= {"n", "failed", "of"} else CHANCE if "n_a" in value else set()
        return {name: without_chance(part) for name, part in value.items() if name not in left_out}
    return value


def assert_as_kept(figures: dict[str, Any], flow: str) -> None:
    """Assert that figures have every stored key with its value; the wording of lines may differ."""
    kept: Any = round_figures(read_kept(flow))  # ragcheck did not round the share of canaries
    bases, left_out = kept.pop("bases"), kept.pop("left_out")
    assert len(figures["left_out"]) == len(left_out)
    now, kept = without_chance(figures), without_chance(kept)
    other = {name: (now.get(name), value) for name, value in kept.items() if now.get(name) != value}
    assert not other, other
    assert {pointer: figures["bases"][pointer] for pointer in bases} == bases


def read_default(_: str, model: Any) -> Any:
    """Return the defaults of a section that params.yaml does not set."""
    return model()


def measure_rows(
    evaluation: Evaluation,
    rows: Mapping[str, tuple[type, Sequence[Any]]],
    out: Path,
    read: Any = read_default,
) -> dict[str, Any]:
    """Write rows like the stages, and return their figures like `benchloom evaluate`."""
    run = EvaluationRun(ROOT, "flow", evaluation, {}, replace(OPTIONS, out=out), ENTRY, NOTHING)
    write_artifacts(run, rows, ())
    assert evaluation.measure is not None
    given = {name: written for name, (_, written) in rows.items()}
    return write_figures(run, evaluation.measure(given, OPTIONS, read), ())
