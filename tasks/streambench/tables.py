"""Declare Tables 2 to 11 and the tables of Figures 2 and 4 of the StreamBench paper.

The tables are in sections 4.3 and 5 and in appendices B to E.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from statistics import fmean

from tasks.lineage.selection import CellValue
from tasks.reports.declared import Measure, Slice, Table, Where, by
from tasks.reports.tables import Cell, FigureTable, Line
from tasks.streambench.build.items import StreamItem, read_object
from tasks.streambench.measures import (
    ERROR,
    RIGHT,
    RIGHT_IF_RUN,
    TOKENS,
    TOKENS_BY_MODEL,
    average_over,
    average_value,
    compare_gain,
    count_steps,
    derive,
    leave_out,
    list_shared,
)
from tasks.streambench.scored_steps import (
    MAM,
    SELF_STREAM,
    ZERO_SHOT,
    ScoredStep,
    StreamRuns,
    list_run_names,
    name_method,
)
from tasks.streambench.solve.stream_step import READ_AS

ALL = "all"
MODEL_NUMBERS, TOKENS_NUMBERS = ("4", "5", "6"), ("8", "9", "10")
GAINED = (ZERO_SHOT, SELF_STREAM)
"""The two methods in StreamBench's Tables 3 and 11."""
ABLATED = ("grow_prompt", "mem_prompt")
USES = {"all": "use all", "correct": "only correct", "incorrect": "only incorrect"}
# Maximum number of columns in the table of accuracy by kind of item.
MOST_KINDS = 12
STRATA: Mapping[str, str] = {"sql": "db_id", "ds1000": "library", "toolbench": "api", "hotpotqa": "type"}
"""Kind of items -> the field of `details` by which tables group the items."""
BY_GROUP, BY_MODEL = ("", "method"), ("model", "method")
"""Names of the label columns in tables by method, and in tables by model and method."""
FAILED_NOTE = (
    "Steps that failed or could not be judged count as wrong. The number of these steps is beside each mean."
)
TOKENS_NOTE = (
    "Only calls that answer an item are counted. Calls to the judge and the embedder, and calls for "
    "unscored answers, are not counted. Each total is the sum over a stream, averaged over seeds."
)
READINGS_NOTE = (
    "The feedback used the stream's rule for parsing replies. The other columns use other rules to parse the "
    "same replies. If the feedback had used another rule, a method that learns would have sent different "
    "prompts."
)
ESTIMATED = "The token counts of some calls are estimates, because their provider returned none."
StepSlices = Sequence[Slice[ScoredStep]]


def tabulate_steps(runs: StreamRuns) -> dict[str, FigureTable]:
    """Return all tables of accuracy, by key, in page order."""
    datasets = slice_datasets(runs)
    return {
        "means": declare_means(
            slice_methods(runs), datasets, average_over(RIGHT, find_dataset(runs)), tell_shared(runs.steps)
        ).fill(runs.steps),
        "gains": tabulate_gains(runs, datasets),
        **{
            f"model-{model}": declare_model(place, model, slice_model(runs, model), datasets).fill(runs.steps)
            for place, model in enumerate(runs.models)
        },
        "memories": declare_memories(runs).fill(runs.steps),
        "uses": declare_uses(runs).fill(runs.steps),
        "seeds": tabulate_seeds(runs),
        "kinds": tabulate_kinds(runs),
        "values": declare_values(runs).fill(runs.steps),
        "readings": tabulate_readings(runs),
    }


def choose_tables(tables: Mapping[str, FigureTable], *keys: str) -> dict[str, FigureTable]:
    """Select tables by key, ignoring the model: `pairs` also selects `pairs-agent`."""
    return {key: table for key, table in tables.items() if key.partition("-")[0] in keys}


def list_by_model(tables: Mapping[str, FigureTable], models: Sequence[str]) -> dict[str, FigureTable]:
    """Map each model to its accuracy table; the empty key maps to StreamBench's Table 2, over all models.

    Tables for single models are included only if there are several models.
    """
    by_model = {model: tables[f"model-{model}"] for model in models} if len(models) > 1 else {}
    return {"": tables["means"], **by_model}


def slice_steps(label: tuple[str, ...], steps: Iterable[ScoredStep]) -> Slice[ScoredStep]:
    """Return a slice with all steps of the runs that `steps` belong to."""
    runs = frozenset(step.run for step in steps)
    return Slice(label, lambda scored: scored.run in runs)


def slice_systems(runs: StreamRuns) -> StepSlices:
    """Return a row for each system, including ablations."""
    return [slice_steps((system.models, system.title), steps) for system, steps in runs.systems.items()]


def slice_methods(runs: StreamRuns) -> StepSlices:
    """Return a row for each method, over all its models."""
    found = {choice: [run for run in runs.select() if run.choice == choice] for choice in runs.choices}
    return [
        slice_steps((runs.name_group(choice), name_method(choice)), runs.list_steps(systems))
        for choice, systems in found.items()
        if systems
    ]


def slice_model(runs: StreamRuns, model: str) -> StepSlices:
    """Return a row for each method, restricted to runs with only this model."""
    return [
        slice_steps((runs.name_group(system.choice), system.title), runs.systems[system])
        for system in runs.select(model=model)
        if not system.shared
    ]


def slice_gained(runs: StreamRuns) -> StepSlices:
    """Return the rows of StreamBench's Tables 3 and 11: each model with Zero-Shot and Self-StreamICL."""
    return [
        slice_steps((model, steps[0].system.title), steps)
        for model in runs.models
        for method in GAINED
        if (steps := runs.find_steps(method, model))
    ]


def slice_datasets(runs: StreamRuns) -> StepSlices:
    """Return a column of all steps, and a column for each dataset if there are several datasets."""
    if len(runs.datasets) == 1:
        return [Slice(runs.datasets[0])]
    return [
        Slice(ALL),
        *by(lambda scored: scored.item.dataset, {name: name for name in runs.datasets}, "dataset"),
    ]


def find_dataset(runs: StreamRuns) -> Callable[[Where], Sequence[ScoredStep]]:
    """Return a function that maps a column's condition to its steps, over all methods and models."""

    def find(where: Where) -> Sequence[ScoredStep]:
        dataset = where.get("dataset")
        return [scored for scored in runs.steps if dataset in (None, scored.item.dataset)]

    return find


def declare_means(
    rows: StepSlices, columns: StepSlices, right: Measure[ScoredStep], shared: str
) -> Table[ScoredStep]:
    """Declare StreamBench's Table 2.

    shared: a sentence that names the models in the means, from `tell_shared`.
    """
    notes = (
        f"{shared} A method with a shared memory alternates between its models in a single run. "
        f"{FAILED_NOTE}",
        "The interval of a single run is a Wilson interval. The interval over several runs is from a "
        "bootstrap that resamples whole items.",
    )
    return Table("2", "Correct steps, mean over models", BY_GROUP, rows, (right,), columns, notes)


def declare_model(
    place: int, model: str, rows: StepSlices, columns: StepSlices, right: Measure[ScoredStep] = RIGHT
) -> Table[ScoredStep]:
    """Declare a table for one model: StreamBench's Tables 4 to 6, and tables of other models."""
    number = number_model(MODEL_NUMBERS, place)
    return Table(number, f"Correct steps, {model}", BY_GROUP, rows, (right,), columns, (FAILED_NOTE,))


def number_model(numbers: Sequence[str], place: int) -> str:
    """Return the number of a model's table; extra models get the last number and a letter, such as `10b`."""
    beyond = place - len(numbers)
    return numbers[place] if beyond < 0 else f"{numbers[-1]}{chr(ord('b') + beyond % 25)}"


def tabulate_gains(runs: StreamRuns, datasets: StepSlices) -> FigureTable:
    """Return Table 3: whether each model gains from its own correct answers (StreamBench, section 5.3)."""

    def fill(steps: Sequence[ScoredStep], where: Where) -> Cell:
        system = steps[0].system
        if system.choice.method == ZERO_SHOT:
            return leave_out("the gain is relative to this row")
        return compare_gain(steps, runs.find_steps(ZERO_SHOT, system.models))

    gain = Measure[ScoredStep]("gain over Zero-Shot", fill, leave_out, "difference")
    note = (
        "The gain is computed over the items and seeds that both methods share. The interval of the gain is "
        "from a paired bootstrap."
    )
    rates = Table(
        "3",
        "A model's gain from its own correct answers",
        BY_MODEL,
        slice_gained(runs),
        (RIGHT,),
        datasets,
        (note,),
    )
    return put_beside(rates.fill(runs.steps), replace(rates, measures=(gain,), columns=()).fill(runs.steps))


def put_beside(first: FigureTable, second: FigureTable) -> FigureTable:
    """Return a table with the columns of two tables that have the same rows."""
    lines = zip(first.lines, second.lines, strict=True)
    tables = (first, second)
    return replace(
        first,
        columns=(*first.columns, *second.columns),
        lines=tuple(Line(line.label, (*line.cells, *other.cells)) for line, other in lines),
        forms=tuple(table.form_of(place) for table in tables for place in range(len(table.columns))),
    )


def declare_memories(runs: StreamRuns) -> Table[ScoredStep]:
    """Declare StreamBench's Table 7: accuracy by answering agent and by agent whose answers are stored.

    Each ablation stores the answers of one agent, and is in that agent's column.
    """
    rows = [
        slice_steps(
            (title, memory, "single agent"),
            [scored for model in runs.models for scored in runs.find_steps(method, model)],
        )
        for method, title, memory in (
            (ZERO_SHOT, "Zero-Shot", "none"),
            (SELF_STREAM, "Self-StreamICL", "single agent"),
        )
    ]
    chosen = [system for system in runs.systems if system.choice.memory_of is not None]
    for rule in dict.fromkeys(system.choice.memory_rule for system in chosen):
        title = f"MAM-StreamICL (ablation, {rule.replace('_', ' ')})"
        own = [system for system in chosen if system.choice.memory_rule == rule]
        rows.append(slice_steps((title, "single agent", "multi agent"), runs.list_steps(own)))
    shared = runs.list_steps(runs.select(method=MAM))
    rows.append(slice_steps(("MAM-StreamICL", "multi agent", "multi agent"), shared))
    note = (
        "In the ablations, the agents take turns. Each column is for one agent, and the memory stores only "
        "correct answers of this agent. Store on turn: the memory stores the correct answers that this agent "
        "gives on its turns. Shadow: the agent also answers all other steps to fill the memory, and these "
        "answers are not scored."
    )
    columns = [Slice(model, _remembers(model)) for model in runs.models]
    heads = ("method", "memory", "inference")
    return Table("7", "Memory and answering agents", heads, rows, (RIGHT_IF_RUN,), columns, (note,))


def _remembers(model: str) -> Callable[[ScoredStep], bool]:
    """Return a predicate that tests whether a step is in a model's column of Table 7."""

    def check(one: ScoredStep) -> bool:
        if one.system.choice.memory_of is not None:
            return one.system.choice.memory_of == model
        return one.system.choice.method == MAM or one.system.agents == (model,)

    return check


def declare_uses(runs: StreamRuns) -> Table[ScoredStep]:
    """Declare the table of StreamBench's Figure 2: prompts with all, only correct or only wrong steps."""
    rows = []
    for model in runs.models:
        zero = runs.find_steps(ZERO_SHOT, model)
        for method in ABLATED:
            systems = runs.select(model=model, method=method, ablated=None)
            if systems:
                title = name_method(systems[0].choice).partition(" (")[0]
                rows.append(slice_steps((model, title), [*runs.list_steps(systems), *zero]))
    columns = [
        *(Slice(title, _uses(use)) for use, title in USES.items()),
        Slice[ScoredStep]("Zero-Shot", lambda scored: scored.system.choice.method == ZERO_SHOT),
    ]
    note = (
        "The filter (only correct or only incorrect) applies after k steps are selected, so a prompt can "
        "have fewer than k steps."
    )
    title = "Figure 2: selection of past steps"
    return Table("", title, BY_MODEL, rows, (RIGHT_IF_RUN,), columns, (note,))


def _uses(use: str) -> Callable[[ScoredStep], bool]:
    return lambda scored: scored.system.choice.use == use and scored.system.choice.method != ZERO_SHOT


def tabulate_seeds(runs: StreamRuns) -> FigureTable:
    """Return the table of Figure 4: mean and standard error over seeds (StreamBench, section 5.2)."""
    seeds: dict[CellValue, str] = {
        seed: f"seed {seed}" for seed in sorted({scored.step.seed for scored in runs.steps})
    }
    note = (
        "Each seed orders the same items differently. The standard error is over seeds (with n - 1 in "
        "the denominator)."
    )
    table = Table(
        "",
        "Figure 4: accuracy by stream order",
        BY_MODEL,
        slice_systems(runs),
        (replace(RIGHT, name="mean"), ERROR),
        notes=(note,),
    )
    columns: StepSlices = by(lambda scored: scored.step.seed, seeds)
    each = replace(table, measures=(RIGHT_IF_RUN,), columns=columns)
    return put_beside(table.fill(runs.steps), each.fill(runs.steps))


def tabulate_kinds(runs: StreamRuns) -> FigureTable:
    """Return the table of accuracy by kind of item, the most frequent kinds first."""
    kind_of = {scored.item.id: read_kind(scored.item) for scored in runs.steps}
    sizes = Counter(kind for kind in kind_of.values() if kind)
    kinds = sorted(sizes, key=lambda kind: (-sizes[kind], kind))
    shown = kinds[:MOST_KINDS]
    more = (
        [f"The table shows the {len(shown)} kinds with the most items, of {len(kinds)} kinds in total."]
        if len(kinds) > len(shown)
        else []
    )
    title = "Correct steps by kind of item"
    if len(kinds) < 2:
        return FigureTable("", title, BY_MODEL, (), (), ("Not shown: all items are of one kind.",))
    columns: StepSlices = by(lambda scored: kind_of[scored.item.id], {kind: kind for kind in shown}, "kind")
    return Table("", title, BY_MODEL, slice_systems(runs), (RIGHT,), columns, tuple(more)).fill(runs.steps)


def read_kind(item: StreamItem) -> str:
    """Return the kind of an item: its database, library, API, type or diagnosis; empty if there is none."""
    if item.kind == "ddxplus":
        return item.gold
    return str(read_object(item.details).get(STRATA.get(item.kind, ""), ""))


def declare_values(runs: StreamRuns) -> Table[ScoredStep]:
    """Declare the table of additional scores, such as F1 for HotpotQA or well-formed calls for ToolBench."""
    values = {scored.step.id: read_values(scored) for scored in runs.steps}
    names = sorted({name for step_values in values.values() for name in step_values})
    return Table(
        "",
        "Other values that the metric reports",
        BY_MODEL,
        slice_systems(runs) if names else (),
        tuple(average_value(name, values) for name in names),
        notes=(
            "`benchloom score` prints the same values. Each value is averaged over the steps for which it is "
            "defined. No value is defined for failed steps.",
        ),
    )


def read_values(one: ScoredStep) -> dict[str, float]:
    """Return a step's scores and prompt metrics by name, without undefined values."""
    values = read_object(one.step.values).items()
    return {
        name: float(value)
        for name, value in values
        if isinstance(value, (int, float)) and not name.startswith(READ_AS)
    }


def read_readings(one: ScoredStep) -> dict[str, float | None]:
    """Return a step's bit under each parsing rule, if the parsed answers differ; None means no verdict."""
    values = read_object(one.step.values).items()
    return {
        name.removeprefix(READ_AS): float(value) if isinstance(value, (int, float)) else None
        for name, value in values
        if name.startswith(READ_AS)
    }


def tabulate_readings(runs: StreamRuns) -> FigureTable:
    """Return the table of accuracy under each rule for parsing the same replies."""
    readings = {scored.step.id: read_readings(scored) for scored in runs.steps}
    names = sorted({name for step_readings in readings.values() for name in step_readings})
    title = "Correct steps by rule for parsing replies"
    if not names:
        return FigureTable(
            "",
            title,
            BY_MODEL,
            (),
            (),
            ("Not shown: every rule for parsing replies gives the same result for every reply.",),
        )

    def rate(name: str) -> Measure[ScoredStep]:
        def fill(steps: Sequence[ScoredStep], where: Where) -> Cell:
            if any(readings[scored.step.id].get(name, 0.0) is None for scored in steps):
                return leave_out("a judge must decide, and no judge was called")
            share = fmean(readings[scored.step.id].get(name, scored.score.score) or 0.0 for scored in steps)
            derivation = derive(f"mean, as {name} reads the replies", list_run_names(steps), "score")
            return count_steps(share, steps, None, derivation)

        return Measure(name, fill, leave_out, "share")

    def count(steps: Sequence[ScoredStep], where: Where) -> Cell:
        differ = sum(bool(readings[scored.step.id]) for scored in steps)
        derivation = derive("replies with another reading", list_run_names(steps), "score")
        return count_steps(differ, steps, None, derivation)

    return Table(
        "",
        title,
        BY_MODEL,
        slice_systems(runs),
        (*map(rate, names), Measure("with another reading", count, leave_out, "count")),
        notes=(READINGS_NOTE,),
    ).fill(runs.steps)


def tabulate_tokens(runs: StreamRuns) -> dict[str, FigureTable]:
    """Return the token tables, by key.

    The tables are StreamBench's Tables 8, 9 and 10 (one per model), Table 11, and a table of means over
    models.
    """
    means = average_tokens_over(
        declare_tokens("", "Tokens, mean over models", BY_GROUP, slice_methods(runs), runs.steps),
        find_dataset(runs),
        tell_shared(runs.steps),
    )
    gained = declare_tokens("11", "Tokens for the runs in Table 3", BY_MODEL, slice_gained(runs), runs.steps)
    by_model = {}
    for place, model in enumerate(runs.models):
        number = number_model(TOKENS_NUMBERS, place)
        table = declare_tokens(number, f"Tokens, {model}", BY_GROUP, (), runs.steps)
        lines: list[Line] = []
        for system in runs.select(model=model):
            steps, group = runs.systems[system], runs.name_group(system.choice)
            titles = ("this model's turns", "mean over its models") if system.shared else ("",)
            for title, measures in zip(titles, (TOKENS, TOKENS_BY_MODEL), strict=False):
                row = slice_steps((group, ", ".join(filter(None, (system.title, title)))), steps)
                lines += replace(table, rows=(row,), measures=measures).fill(steps).lines
        by_model[f"tokens-{model}"] = replace(table.fill(()), lines=tuple(lines))
    return {
        **by_model,
        "tokens-gains": gained.fill(runs.steps),
        "tokens-means": means.fill(runs.steps),
    }


def average_tokens_over(
    table: Table[ScoredStep], find_every: Callable[[Where], Sequence[ScoredStep]], shared: str
) -> Table[ScoredStep]:
    """Return a token table averaged over the models that ran with all methods. shared: see `tell_shared`."""
    measures = tuple(average_over(measure, find_every) for measure in table.measures)
    return replace(table, measures=measures, notes=(shared, *table.notes))


def tell_shared(*parts: Sequence[ScoredStep]) -> str:
    """Return a sentence that names the models that the means include. parts: the steps of each column."""
    shared = {name: ", ".join(list_shared(steps)) for steps in parts for name in [steps[0].column]}
    if len({*shared.values()}) == 1:
        named = next(iter(shared.values())) or "none"
    else:
        named = "; ".join(f"{column}: {models or 'none'}" for column, models in shared.items())
    return f"Means are taken over seeds, and over the models that every method ran with: {named}."


def declare_tokens(
    number: str, title: str, heads: tuple[str, ...], rows: StepSlices, steps: Iterable[ScoredStep]
) -> Table[ScoredStep]:
    """Declare a table of tokens.

    heads: names of the label columns. steps: all steps of the page, to detect estimated token counts.
    """
    notes = (TOKENS_NOTE, *([ESTIMATED] if any(scored.score.estimated for scored in steps) else []))
    return Table(number, title, heads, rows, TOKENS, notes=notes)
