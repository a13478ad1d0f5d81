"""Implement `benchloom evaluate streambench`: evaluate your system on your stream with several methods."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path

from tasks.artifacts.rows import Origin, make_id
from tasks.errors import BadInput
from tasks.lineage.derivation import Derivation
from tasks.lineage.selection import Selection
from tasks.reports.own_evaluation import Evaluation, Measured, OwnRows, warn_few
from tasks.reports.printed import Printed, PrintedColumn, Rows
from tasks.reports.tables import Cell, mean_cell
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
from tasks.systems.entries import SystemEntry
from tasks.systems.evaluation import EvaluationOptions, OwnDataset, ReadSection

STAGE = "streambench.system_steps"
STREAMS = "streambench.streams"
STEPS = Selection("steps")


def read_own(options: EvaluationOptions, entry: SystemEntry, read: ReadSection) -> OwnDataset:
    """Return the user's dataset and settings. Raises BadInput if the dataset or a setting is invalid."""
    params = read(STAGE, OwnLimits)
    folder = check_folder(options.dataset)
    stream = Stream(
        datasets=(folder.name,),
        order=params.order,
        reading=params.reading,
        seeds=params.seeds,
        rule=params.rule,
        options=params.options,
    )
    found = read_items(folder.parent, stream)
    ordered = sorted(found.rows, key=lambda item: item.id)[: options.limit]
    items = [replace(item, origin=(Origin("file", ITEMS),)) for item in ordered]
    find_environment(items[0].kind)
    shots = read_shots(folder.parent, stream).rows
    # Newer settings are part of the key only if they differ from the default, so that old keys remain valid.
    fields = OwnLimits.model_fields
    usual = {name for name in ("order", "reading") if getattr(params, name) == fields[name].default}
    settings = entry.model_dump(mode="json"), params.model_dump(mode="json", exclude=usual)
    texts = [{name: value for name, value in asdict(shot).items() if value is not None} for shot in shots]
    asked = [[asdict(item) for item in items], texts]
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
            "sequence": (SequencePlace, order_items(items, folder.parent, stream, key).rows),
            "shots": (StreamShot, shots),
        },
        (STAGE,),
        [f"item {row.id}: left out: {row.reason}: {row.detail}" for row in found.dropped],
        about={"items": len(items), "kind": items[0].kind},
        settings={f"{STREAMS}.{key}": stream.model_dump(mode="json")},
        kept=("items", "sequence"),
    )


def check_folder(folder: Path) -> Path:
    """Return the absolute path of a dataset's folder. Raises BadInput if the path is not a folder."""
    if not folder.is_dir():
        raise BadInput(
            folder,
            "is not a folder",
            hint="give a folder with items.jsonl and dataset.json; see docs/streambench.md",
        )
    whole = folder.resolve()
    if whole.parent == whole.parent.parent:
        raise BadInput(whole, "is at the root of the file system", hint="move the dataset into a folder")
    return whole


def measure(rows: OwnRows, options: EvaluationOptions, read: ReadSection) -> Measured:
    """Return an evaluation's figures, with one line for each step without an answer or a verdict."""
    steps: Sequence[StreamStep] = rows["steps"]
    runs: dict[str, list[StreamStep]] = {}
    for step in sorted(steps, key=lambda step: (step.method, step.seed, step.position)):
        runs.setdefault(step.method, []).append(step)
    failed = sorted((step for step in steps if step.failed), key=lambda step: (step.run, step.position))
    items, reasons = len(rows["items"]), tuple(sorted({step.failed for step in failed}))
    warning = f"{len(failed)} of {len(steps)} steps have no answer or no verdict. These steps count as wrong."
    figures = {
        "warnings": [*warn_few(items), *([warning] if failed else [])],
        "counts": {
            "items": Derivation("count", (Selection("items"),)),
            "steps": Derivation("count", (STEPS,)),
            "right": Derivation("sum", (STEPS,), "bit"),
            "failed": Derivation("count", (Selection("steps", {"answer": None}),)),
            "unjudged": sum(step.answer is not None for step in failed),
        },
        "methods": {method: measure_method(run, items, reasons) for method, run in runs.items()},
    }
    unjudged = Derivation("steps with an answer alone", (Selection("steps", {"failed": reasons}),))
    lines = [f"{step.run}, step {step.position} (item {step.item}): {step.failed}" for step in failed]
    return Measured(figures, lines, {"/counts/unjudged": unjudged})


def measure_method(steps: Sequence[StreamStep], items: int, reasons: tuple[str, ...]) -> dict[str, object]:
    """Return a method's accuracy (overall and per half), failures, seeds and final memory size.

    Failed and unjudged steps count as wrong. reasons: the distinct failure reasons of all steps.
    """
    half, where = items // 2, {"method": steps[0].method}
    rows = Selection("steps", where)

    def rate(chosen: Sequence[StreamStep], part: str = "", *, interval: bool = False) -> Cell:
        derivation = Derivation(f"mean over {part}" if part else "mean", (rows,), "bit")
        return mean_cell(
            [float(step.bit) for step in chosen], "steps", interval=interval, derivation=derivation
        )

    return {
        "accuracy": rate(steps, interval=True),
        "first_half": rate([step for step in steps if step.position <= half], "the first half"),
        "second_half": rate([step for step in steps if step.position > half], "the second half"),
        "failed": Derivation("count", (Selection("steps", {**where, "failed": reasons}),)),
        "seeds": Derivation("distinct", (rows,), "seed"),
        "memory": Derivation("mean", (Selection("steps", {**where, "position": items}),), "memory_size"),
    }


EVALUATION = Evaluation(
    read_own,
    measure,
    (
        Printed(
            ("method",),
            (Rows("/methods/*", ("{0}",)),),
            (
                PrintedColumn("seeds", "seeds"),
                PrintedColumn("n", "accuracy/n"),
                PrintedColumn("failed", "failed"),
                PrintedColumn("accuracy", "accuracy", scale=100, digits=1),
                PrintedColumn("first half", "first_half", scale=100, digits=1),
                PrintedColumn("second half", "second_half", scale=100, digits=1),
                PrintedColumn("memory", "memory"),
            ),
            "{items} items, {steps} steps, {right} right, {failed} without an answer, "
            "{unjudged} without a verdict",
        ),
    ),
)
