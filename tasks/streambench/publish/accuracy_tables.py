"""Tables 2 to 6: how often methods are right (section 4.3, appendix B)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tasks.scoring.statistics import compare_paired
from tasks.streambench.publish.stream_cells import (
    StreamCell,
    StreamLine,
    StreamTable,
    count_steps,
    derive,
    leave_out,
    rate_right,
)
from tasks.streambench.publish.stream_runs import (
    SELF_STREAM,
    ZERO_SHOT,
    ScoredStep,
    StreamRuns,
    list_run_names,
    name_method,
)

ALL = "all"
GAIN = "gain over Zero-Shot"
MODEL_TABLES = ("4", "5", "6")
FAILED_NOTE = "Steps that failed or could not be judged are wrong ones, and counted beside each mean."


def tabulate_means(runs: StreamRuns) -> StreamTable:
    """Make Table 2: each method over all its models; methods that share a memory have one run a seed."""
    lines = []
    for choice in runs.choices:
        systems = [system for system in runs.select() if system.choice == choice]
        if systems:
            label = (runs.name_group(choice), name_method(choice))
            lines.append(StreamLine(label, rate_datasets(runs, runs.list_steps(systems))))
    return StreamTable(
        "2",
        "Right steps, mean over models",
        ("share",),
        ("", "method"),
        list_columns(runs),
        tuple(lines),
        (
            "The mean over models and seeds; a method that shares a memory takes turns between the models, "
            f"and is one run. {FAILED_NOTE}",
            "Intervals: Wilson's of one run; over several runs items are drawn whole.",
        ),
    )


def tabulate_models(runs: StreamRuns) -> dict[str, StreamTable]:
    """Make Tables 4 to 6, and on: one for each model."""
    tables = {}
    for place, model in enumerate(runs.models):
        systems = [system for system in runs.select(model=model) if not system.shared]
        lines = tuple(
            StreamLine(
                (runs.name_group(system.choice), system.title), rate_datasets(runs, runs.systems[system])
            )
            for system in systems
        )
        tables[f"model-{model}"] = StreamTable(
            number_model(MODEL_TABLES, place),
            f"Right steps, {model}",
            ("share",),
            ("", "method"),
            list_columns(runs),
            lines,
            (FAILED_NOTE,),
        )
    return tables


def tabulate_gains(runs: StreamRuns) -> StreamTable:
    """Make Table 3: whether each model gains by its own right answers (section 5.3)."""
    lines = []
    for model in runs.models:
        base = find_steps(runs, ZERO_SHOT, model)
        for method in (ZERO_SHOT, SELF_STREAM):
            own = find_steps(runs, method, model)
            if own:
                gain = compare_gain(own, base) if method == SELF_STREAM else leave_out("of the other line")
                title = runs.select(method=method, model=model)[0].title
                lines.append(StreamLine((model, title), (*rate_datasets(runs, own), gain)))
    return StreamTable(
        "3",
        "What a model gains by its own right answers",
        (*("share" for _ in list_columns(runs)), "difference"),
        ("model", "method"),
        (*list_columns(runs), GAIN),
        tuple(lines),
        ("The gain is over the same items and seeds; its interval is a paired bootstrap's.",),
    )


def rate_datasets(runs: StreamRuns, steps: Sequence[ScoredStep]) -> tuple[StreamCell, ...]:
    """Rate steps over all, and over each dataset where there are several."""
    if len(runs.datasets) == 1:
        return (rate_right(steps),)
    parts = [[one for one in steps if one.item.dataset == dataset] for dataset in runs.datasets]
    return (
        rate_right(steps),
        *(rate_right(part, name) for part, name in zip(parts, runs.datasets, strict=True)),
    )


def list_columns(runs: StreamRuns) -> tuple[str, ...]:
    """Name the columns of `rate_datasets`."""
    return runs.datasets if len(runs.datasets) == 1 else (ALL, *runs.datasets)


def find_steps(runs: StreamRuns, method: str, model: str) -> list[ScoredStep]:
    """List the steps of a method's main run with one model."""
    return runs.list_steps(s for s in runs.select(method=method, model=model) if not s.shared)


def compare_gain(own: Sequence[ScoredStep], base: Sequence[ScoredStep]) -> StreamCell:
    """Compute the mean difference of two methods over the seeds and items that both have."""
    pairs = pair_steps(own, base)
    if not pairs:
        return leave_out("nothing to compare with")
    found = compare_paired(
        [a.score.score for a, _ in pairs],
        [b.score.score for _, b in pairs],
        [a.step.item for a, _ in pairs],
    )
    steps = [a for a, _ in pairs]
    names = [*list_run_names(steps), *list_run_names(b for _, b in pairs)]
    return count_steps(
        found.difference, steps, (found.low, found.high), derive("paired difference", names, "score")
    )


def pair_steps(
    first: Iterable[ScoredStep], second: Iterable[ScoredStep]
) -> list[tuple[ScoredStep, ScoredStep]]:
    """Pair the steps of two methods on the same item in the order of the same seed."""
    others = {(one.step.seed, one.step.item): one for one in second}
    return [
        (one, others[one.step.seed, one.step.item])
        for one in first
        if (one.step.seed, one.step.item) in others
    ]


def number_model(numbers: Sequence[str], place: int) -> str:
    """Choose the number of a model's table; beyond the paper's three a letter goes on."""
    beyond = place - len(numbers)
    return numbers[place] if beyond < 0 else f"{numbers[-1]}{chr(ord('b') + beyond % 25)}"
