"""Table 7 and Figures 2 and 4: memories, past steps that are shown, and orders of the stream (section 5)."""

from __future__ import annotations

from tasks.streambench.publish.accuracy_tables import find_steps
from tasks.streambench.publish.curves import measure_error
from tasks.streambench.publish.stream_cells import (
    NOT_RUN,
    StreamCell,
    StreamLine,
    StreamTable,
    count_steps,
    derive,
    leave_out,
    rate_right,
)
from tasks.streambench.publish.stream_runs import (
    MAM,
    SELF_STREAM,
    ZERO_SHOT,
    StreamRuns,
    list_run_names,
    name_method,
)

USES = ("all", "correct", "incorrect")
ABLATED = ("grow_prompt", "mem_prompt")


def tabulate_memories(runs: StreamRuns) -> StreamTable:
    """Make Table 7: whose right answers are remembered, and who answers (appendix D).

    One run for each chosen agent, in that agent's column.
    """
    lines = [
        StreamLine(
            (title, "none" if method == ZERO_SHOT else "single agent", "single agent"),
            tuple(rate_right(find_steps(runs, method, model)) for model in runs.models),
        )
        for method, title in ((ZERO_SHOT, "Zero-Shot"), (SELF_STREAM, "Self-StreamICL"))
    ]
    chosen = [system for system in runs.systems if system.choice.memory_of is not None]
    for rule in dict.fromkeys(system.choice.memory_rule for system in chosen):
        cells = [
            rate_right(
                runs.list_steps(
                    system
                    for system in chosen
                    if system.choice.memory_of == model and system.choice.memory_rule == rule
                )
            )
            for model in runs.models
        ]
        name = f"MAM-StreamICL (ablation, {rule.replace('_', ' ')})"
        lines.append(StreamLine((name, "single agent", "multi agent"), tuple(cells)))
    whole = rate_right(runs.list_steps(runs.select(method=MAM)))
    lines.append(
        StreamLine(("MAM-StreamICL", "multi agent", "multi agent"), tuple(whole for _ in runs.models))
    )
    return StreamTable(
        "7",
        "Whose memory, and who answers",
        ("share",),
        ("method", "memory", "inference"),
        runs.models,
        tuple(StreamLine(line.label, tuple(map(_say_not_run, line.cells))) for line in lines),
        (
            "Ablation: the agents take turns, and the memory holds the right answers of the column's agent "
            "alone. Store on turn: what it answers when it is its turn; shadow: it answers every step, "
            "unscored.",
        ),
    )


def tabulate_uses(runs: StreamRuns) -> StreamTable:
    """Make Figure 2's table: all, only the right or only the wrong past steps shown (section 5.1.1)."""
    lines = []
    for model in runs.models:
        for method in ABLATED:
            systems = runs.select(model=model, method=method, ablated=None)
            if systems:
                title = name_method(systems[0].choice).partition(" (")[0]
                cells = [
                    rate_right(runs.list_steps(s for s in systems if s.choice.use == use)) for use in USES
                ]
                cells.append(rate_right(find_steps(runs, ZERO_SHOT, model)))
                lines.append(StreamLine((model, title), tuple(map(_say_not_run, cells))))
    return StreamTable(
        "",
        "Figure 2: which past steps are shown",
        ("share",),
        ("model", "method"),
        ("use all", "only correct", "only incorrect", "Zero-Shot"),
        tuple(lines),
        ("Filtered after the steps to show were selected: fewer than k may be left.",),
    )


def tabulate_seeds(runs: StreamRuns) -> StreamTable:
    """Make Figure 4's table: mean and standard error over seeds (section 5.2, appendix C)."""
    seeds = tuple(sorted({one.step.seed for one in runs.list_steps(runs.systems)}))
    lines = []
    for system in runs.systems:
        steps = runs.systems[system]
        cells = [rate_right([one for one in steps if one.step.seed == seed]) for seed in seeds]
        values = [cell.value for cell in cells if cell.value is not None]
        error = measure_error(values)
        basis = derive("standard error over runs", list_run_names(steps), "score")
        lines.append(
            StreamLine(
                (system.models, system.title),
                (
                    rate_right(steps),
                    count_steps(error, steps, None, basis, "" if error is not None else "one seed"),
                    *map(_say_not_run, cells),
                ),
            )
        )
    return StreamTable(
        "",
        "Figure 4: orders of the stream",
        ("share",),
        ("model", "method"),
        ("mean", "standard error", *(f"seed {seed}" for seed in seeds)),
        tuple(lines),
        ("Each seed is another order of the same items. The standard error is over seeds (n - 1).",),
    )


def _say_not_run(cell: StreamCell) -> StreamCell:
    return cell if cell.value is not None or cell.n else leave_out(NOT_RUN)
