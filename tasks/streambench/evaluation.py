"""`benchloom evaluate streambench`: a system of the user's over a stream of theirs, by some methods."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from tasks.artifacts.rows import Origin, make_id
from tasks.errors import BadInput
from tasks.lineage.bases import escape_pointer
from tasks.lineage.derivation import Derivation
from tasks.lineage.selection import Selection
from tasks.reports.figure_cells import FigureCell, mean_cell, round_figures
from tasks.sources.stream_dataset import ITEMS
from tasks.streambench.build.items import StreamItem
from tasks.streambench.build.items import items as read_items
from tasks.streambench.build.sequence import SequencePlace
from tasks.streambench.build.sequence import sequence as order_items
from tasks.streambench.build.shots import StreamShot
from tasks.streambench.build.shots import shots as read_shots
from tasks.streambench.entries import Stream
from tasks.streambench.environments.finding import find_environment
from tasks.streambench.solve.options import OwnLimits
from tasks.streambench.solve.stream_step import StreamStep
from tasks.systems.capabilities import needs_documents
from tasks.systems.entries import SystemEntry
from tasks.systems.evaluation import Evaluated, EvaluationOptions, OwnDataset, ReadSection, refuse_options

STAGE = "streambench.system_steps"
STREAMS = "streambench.streams"
FEW = 20
"""Items below which figures are warned of."""


def read_own(options: EvaluationOptions, entry: SystemEntry, read: ReadSection) -> OwnDataset:
    """Read and check the stream. Raises BadInput, one line."""
    refuse_options(options, "an item of a stream comes with its context")
    if needs_documents(entry):
        raise BadInput(f"systems.{options.system}", "retrieves from documents, and streams have none")
    params = read(STAGE, OwnLimits)
    folder = check_folder(options.dataset)
    stream = Stream(datasets=(folder.name,), seeds=params.seeds, rule=params.rule, options=params.options)
    found = read_items(folder.parent, stream)
    ordered = sorted(found.rows, key=lambda item: item.id)[: options.limit]
    items = [replace(item, origin=(Origin("file", ITEMS),)) for item in ordered]
    find_environment(items[0].kind)
    shots = read_shots(folder.parent, stream).rows
    settings = entry.model_dump(mode="json"), params.model_dump(mode="json")
    asked = [[asdict(item) for item in items], [asdict(shot) for shot in shots]]
    key = make_id("evaluation", "streambench", options.system, asked, *settings, options.as_of)
    own = {
        "stream": key,
        "system": options.system,
        "files": str(folder.parent),
        **params.model_dump(mode="json", include={"methods", "seeds", "k", "embedder", "judge"}),
    }
    return OwnDataset(
        key,
        {"streambench.systems": own},
        {
            "items": (StreamItem, items),
            "sequence": (SequencePlace, order_items(items, stream, key).rows),
            "shots": (StreamShot, shots),
        },
        (STAGE,),
        [f"item {row.id}: left out: {row.reason}: {row.detail}" for row in found.dropped],
        (),
        {"items": len(items), "kind": items[0].kind},
        settings={f"{STREAMS}.{key}": stream.model_dump(mode="json")},
        kept=("items", "sequence"),
    )


def check_folder(folder: Path) -> Path:
    """Return a dataset's folder, whole. Raises BadInput for what is none."""
    if not folder.is_dir():
        raise BadInput(
            folder, "is no folder", hint="a folder with items.jsonl and dataset.json; see docs/streambench.md"
        )
    whole = folder.resolve()
    if whole.parent == whole.parent.parent:
        raise BadInput(whole, "lies at the root of the disk", hint="put it into a folder")
    return whole


def evaluate(rows: Mapping[str, Sequence[Any]], options: EvaluationOptions, read: ReadSection) -> Evaluated:
    """Compute the figures from the steps. rows: name of the artifact -> its rows."""
    steps: Sequence[StreamStep] = rows["steps"]
    runs: dict[str, list[StreamStep]] = {}
    for step in sorted(steps, key=lambda step: (step.method, step.seed, step.position)):
        runs.setdefault(step.method, []).append(step)
    failed = [step for step in steps if step.failed]
    items = len(rows["items"])
    figures = {
        "warnings": warn_of(items, len(failed), len(steps)),
        "counts": {
            "items": items,
            "steps": len(steps),
            "right": sum(step.bit for step in steps),
            "failed": sum(step.answer is None for step in steps),
            "unjudged": sum(step.answer is not None for step in failed),
        },
        "methods": {method: measure_method(own, items) for method, own in runs.items()},
    }
    rounded = round_figures(figures)
    assert isinstance(rounded, dict)  # noqa: S101 - as it was given
    ordered = sorted(failed, key=lambda step: (step.run, step.position))
    lines = [f"{step.run}, step {step.position} (item {step.item}): {step.failed}" for step in ordered]
    return Evaluated(rounded, lines, derive_counts(runs, items))


def measure_method(steps: Sequence[StreamStep], items: int) -> dict[str, object]:
    """Measure a method: accuracy over all steps (failed ones are wrong), in each half, memory at the end."""
    half = items // 2
    rows = Selection("steps", {"method": steps[0].method})

    def rate(chosen: Sequence[StreamStep], part: str = "", *, interval: bool = False) -> FigureCell:
        basis = Derivation(f"mean over {part}" if part else "mean", (rows,), "bit")
        return mean_cell([float(step.bit) for step in chosen], "steps", interval=interval, basis=basis)

    last = [step.memory_size for step in steps if step.position == items]
    return {
        "accuracy": rate(steps, interval=True),
        "first_half": rate([step for step in steps if step.position <= half], "the first half"),
        "second_half": rate([step for step in steps if step.position > half], "the second half"),
        "failed": sum(bool(step.failed) for step in steps),
        "seeds": len({step.seed for step in steps}),
        "memory": sum(last) / len(last) if last else 0.0,
    }


def derive_counts(runs: Mapping[str, Sequence[StreamStep]], items: int) -> dict[str, Derivation]:
    """Name the rows of the counts, by their places in the figures. runs: method -> its steps."""
    steps = Selection("steps")
    failed = tuple(sorted({step.failed for own in runs.values() for step in own} - {""}))
    derived = {
        "/items": Derivation("count", (Selection("items"),)),
        "/counts/items": Derivation("count", (Selection("items"),)),
        "/counts/steps": Derivation("count", (steps,)),
        "/counts/right": Derivation("sum", (steps,), "bit"),
        "/counts/failed": Derivation("count", (Selection("steps", {"answer": None}),)),
        "/counts/unjudged": Derivation(
            "steps with an answer alone", (Selection("steps", {"failed": failed}),)
        ),
    }
    for method in runs:
        rows, place = {"method": method}, f"/methods/{escape_pointer(method)}"
        last = Selection("steps", {**rows, "position": items})
        derived |= {
            f"{place}/failed": Derivation("count", (Selection("steps", {**rows, "failed": failed}),)),
            f"{place}/seeds": Derivation("distinct", (Selection("steps", rows),), "seed"),
            f"{place}/memory": Derivation("mean", (last,), "memory_size"),
        }
    return derived


def warn_of(items: int, failed: int, steps: int) -> list[str]:
    """Warn of figures over few items, and of failures, which count as wrong."""
    warnings = [f"{items} items are few: read the intervals."] if items < FEW else []
    if failed:
        warnings.append(f"{failed} of {steps} steps have no answer or no verdict: they count as wrong.")
    return warnings
