"""Compute every table of an evaluation by loops over its steps, without importing tested code."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import combinations
from math import comb, sqrt
from statistics import mean, stdev
from typing import Any, Protocol

import numpy as np
import pytest

TITLES = {
    "zero_shot": "Zero-Shot",
    "few_shot": "Few-Shot",
    "chain": "CoT",
    "self_refine": "Self-Refine",
    "grow_prompt": "GrowPrompt",
    "mem_prompt": "MemPrompt",
    "self_stream_icl": "Self-StreamICL",
    "mam_stream_icl": "MAM-StreamICL",
    "mem_prompt-correct": "MemPrompt (only correct)",
    "mem_prompt-incorrect": "MemPrompt (only incorrect)",
    "mam_stream_icl-store_on_turn-agent": "MAM-StreamICL (memory of agent, store on turn)",
    "mam_stream_icl-shadow-second_agent": "MAM-StreamICL (memory of second_agent, shadow)",
}
NON_STREAMING = ("zero_shot", "few_shot", "chain", "self_refine")
KIND_FIELDS = {"sql": "db_id", "ds1000": "library", "toolbench": "api", "hotpotqa": "type"}
Tables = dict[str, dict[tuple[str, ...], list[float | None]]]


class Evaluated(Protocol):
    """The artifacts of an evaluation."""

    @property
    def entry(self) -> Any: ...
    @property
    def items(self) -> Iterable[Any]: ...
    @property
    def steps(self) -> Iterable[Any]: ...
    @property
    def calls(self) -> Iterable[Any]: ...


class PlainRuns:
    """Steps by method, model (joined names for methods with a shared memory) and seed, in order."""

    def __init__(self, made: Evaluated) -> None:
        self.items = {item.id: item for item in made.items}
        calls = {call.id: call for call in made.calls}
        found: dict[tuple[str, str], dict[int, list[Any]]] = {}
        for step in sorted(made.steps, key=lambda step: step.position):
            own = found.setdefault((step.method, " + ".join(step.agents)), {})
            own.setdefault(step.seed, []).append(step)
        self.methods = [choice.label for choice in made.entry.methods]
        self.runs = {
            (method, model): found[method, model]
            for method in self.methods
            for model in sorted(model for result, model in found if result == method)
        }
        self.main = [method for method in self.methods if "-" not in method]
        self.models = list(dict.fromkeys(name for _, model in self.runs for name in model.split(" + ")))
        self.seeds = sorted({seed for run in self.runs.values() for seed in run})
        self.length = max(len(steps) for run in self.runs.values() for steps in run.values())
        used = {step.item for run in self.runs.values() for steps in run.values() for step in steps}
        self.used = [item for item in self.items.values() if item.id in used]
        self.datasets = sorted({item.dataset for item in self.used})
        self.tokens = {
            step.id: (
                sum(calls[key].prompt_tokens for key in step.calls),
                sum(calls[key].completion_tokens for key in step.calls),
            )
            for step in made.steps
        }

    def models_of(self, method: str) -> list[str]:
        return [model for run, model in self.runs if run == method]

    def compare_over(self, method: str) -> list[str]:
        """List the models for a method's mean: the models of all methods, or joint runs of these models."""
        single = [m for m in self.main if not any(" + " in model for model in self.models_of(m))]
        shared = [model for model in self.models if all(model in self.models_of(m) for m in single)]
        if method in single:
            return shared
        return [models for models in self.models_of(method) if sorted(models.split(" + ")) == sorted(shared)]

    def systems_of(self, model: str) -> list[tuple[str, str]]:
        """List the methods that use a model, with all models of the methods."""
        return [(m, models) for m, models in self.runs if model in models.split(" + ")]

    def rate(self, method: str, model: str, keep: Callable[[Any], bool] = lambda step: True) -> float | None:
        own = self.runs.get((method, model))
        return own and mean(mean(float(s.bit) for s in steps if keep(s)) for steps in own.values())

    def rates(self, method: str, models: Sequence[str]) -> list[float | None]:
        """Return the rate over all steps and, if there are several datasets, over each dataset."""
        kept: list[Callable[[Any], bool]] = [lambda step: True]
        if len(self.datasets) > 1:
            kept += [lambda step, name=name: self.items[step.item].dataset == name for name in self.datasets]
        return [mean(self.rate(method, model, keep) or 0 for model in models) for keep in kept]


def group(method: str) -> str:
    return "Non-streaming" if method in NON_STREAMING else "Streaming"


def compute_tables(made: Evaluated) -> Tables:
    runs = PlainRuns(made)
    tables: Tables = {
        "means": {(group(m), TITLES[m]): compute_mean(runs, m) for m in runs.main},
        "gains": {},
        "memories": compute_memories(runs),
        "uses": compute_uses(runs),
        "seeds": {(model, TITLES[m]): compute_seeds(runs, run) for (m, model), run in runs.runs.items()},
        "kinds": compute_kinds(runs),
        "values": compute_values(runs),
        "readings": compute_readings(runs),
        "times": {},
        "regrets": {},
        "tokens-gains": {},
        "tokens-means": {
            (group(m), TITLES[m]): compute_tokens(runs, [(m, model) for model in own])
            if (own := runs.compare_over(m))
            else [None] * 4
            for m in runs.main
        },
    }
    for model in runs.models:
        alone = [m for m in runs.main if (m, model) in runs.runs]
        tables[f"model-{model}"] = {(group(m), TITLES[m]): runs.rates(m, [model]) for m in alone}
        zero = runs.rate("zero_shot", model)
        for m in (m for m in ("zero_shot", "self_stream_icl") if m in alone):
            rates = runs.rates(m, [model])
            gain = None if m == "zero_shot" or zero is None else (rates[0] or 0) - zero
            tables["gains"][model, TITLES[m]] = [*rates, gain]
            tables["tokens-gains"][model, TITLES[m]] = compute_tokens(runs, [(m, model)])
        tables[f"tokens-{model}"] = compute_costs(runs, model)
        tables[f"pairs-{model}"] = compute_pairs(runs, model)
    compute_curves(runs, tables)
    return tables


def compute_mean(runs: PlainRuns, method: str) -> list[float | None]:
    """Return a method's mean rate over the models that all methods share; None if it has other models."""
    models = runs.compare_over(method)
    return (
        runs.rates(method, models) if models else [None for _ in runs.rates(method, runs.models_of(method))]
    )


def compute_costs(runs: PlainRuns, model: str) -> Any:
    lines: dict[tuple[str, ...], list[float | None]] = {}
    for method, models in runs.systems_of(model):
        label, cost = (group(method), TITLES[method]), compute_tokens(runs, [(method, models)])
        if method not in runs.main:
            continue
        if models == model:
            lines[label] = cost
            continue
        turns = runs.runs[method, models].values()
        means = [mean(average_agents(runs, steps, n) for steps in turns) for n in (0, 1)]
        lines[label[0], f"{label[1]}, this model's turns"] = cost
        lines[label[0], f"{label[1]}, mean over its models"] = [*means, None, None]
    return lines


def compute_memories(runs: PlainRuns) -> Any:
    lines: dict[tuple[str, ...], list[float | None]] = {}
    for method, memory in (("zero_shot", "none"), ("self_stream_icl", "single agent")):
        lines[TITLES[method], memory, "single agent"] = [runs.rate(method, m) for m in runs.models]
    for rule in ("store_on_turn", "shadow"):
        chosen = {m: f"mam_stream_icl-{rule}-{m}" for m in runs.models}
        if any(label in runs.methods for label in chosen.values()):
            title = f"MAM-StreamICL (ablation, {rule.replace('_', ' ')})"
            lines[title, "single agent", "multi agent"] = [
                runs.rate(chosen[m], " + ".join(runs.models)) for m in runs.models
            ]
    whole = runs.rate("mam_stream_icl", " + ".join(runs.models))
    lines["MAM-StreamICL", "multi agent", "multi agent"] = [whole for _ in runs.models]
    return lines


def compute_uses(runs: PlainRuns) -> Any:
    lines: dict[tuple[str, ...], list[float | None]] = {}
    for model in runs.models:
        for method in ("grow_prompt", "mem_prompt"):
            shown = [runs.rate(f"{method}{use}", model) for use in ("", "-correct", "-incorrect")]
            if any(rate is not None for rate in shown):
                lines[model, TITLES[method]] = [*shown, runs.rate("zero_shot", model)]
    return lines


def compute_seeds(runs: PlainRuns, own: dict[int, list[Any]]) -> list[float | None]:
    rates = {seed: mean(float(step.bit) for step in steps) for seed, steps in own.items()}
    error = stdev(rates.values()) / sqrt(len(rates)) if len(rates) > 1 else None
    return [mean(rates.values()), error, *(rates.get(seed) for seed in runs.seeds)]


def compute_kinds(runs: PlainRuns) -> Any:
    def read(item: Any) -> str:
        if item.kind == "ddxplus":
            return str(item.gold)
        return str(json.loads(item.details).get(KIND_FIELDS[item.kind], ""))

    counted = Counter(kind for item in runs.used if (kind := read(item)))
    shown = sorted(counted, key=lambda kind: (-counted[kind], kind))[:12]
    if len(counted) < 2:
        return {}
    return {
        (model, TITLES[method]): [
            runs.rate(method, model, lambda step, kind=kind: read(runs.items[step.item]) == kind)
            for kind in shown
        ]
        for method, model in runs.runs
    }


def compute_values(runs: PlainRuns) -> Any:
    values = {
        system: [
            {
                name: value
                for name, value in json.loads(step.values).items()
                if not name.startswith("reading.")
            }
            for steps in run.values()
            for step in steps
        ]
        for system, run in runs.runs.items()
    }
    names = sorted({name for value in values.values() for answer in value for name in answer})
    return {
        (model, TITLES[method]): [
            mean_or_none(answer[name] for answer in value if name in answer) for name in names
        ]
        for (method, model), value in values.items()
    }


def compute_readings(runs: PlainRuns) -> Any:
    """Return the rate of all steps by each reading, and the number of steps with different readings."""
    steps = {
        system: [step for answer in run.values() for step in answer] for system, run in runs.runs.items()
    }
    values = {step.id: json.loads(step.values) for scored in steps.values() for step in scored}
    names = sorted({name for value in values.values() for name in value if name.startswith("reading.")})
    found: Any = {}
    for (method, model), method_steps in steps.items() if names else ():
        rates = [[values[step.id].get(name, float(step.bit)) for step in method_steps] for name in names]
        shares = [None if None in bits else mean(bits) for bits in rates]
        differ = sum(any(name in values[step.id] for name in names) for step in method_steps)
        found[model, TITLES[method]] = [*shares, differ]
    return found


def mean_or_none(values: Iterable[float]) -> float | None:
    own = list(values)
    return mean(own) if own else None


def compute_tokens(runs: PlainRuns, systems: Sequence[tuple[str, str]]) -> list[float | None]:
    made = [steps for system in systems for steps in runs.runs[system].values()]
    sums = [[sum(runs.tokens[s.id][n] for s in steps) for steps in made] for n in (0, 1)]
    return [mean(sums[0]), mean(sums[1]), *(mean(listed_sum) / len(made[0]) for listed_sum in sums)]


def average_agents(runs: PlainRuns, steps: Sequence[Any], n: int) -> float:
    costs: list[float] = []
    for agent in steps[0].agents:
        turns = [runs.tokens[step.id][n] for step in steps if step.agent == agent]
        costs.append(len(steps) * sum(turns) / len(turns))
    return sum(costs) / len(costs)


def compute_curves(runs: PlainRuns, tables: Tables) -> None:
    best = {}
    for seed in runs.seeds:
        ends = {
            run[seed][0].run: [float(s.bit) for s in run[seed]] for run in runs.runs.values() if seed in run
        }
        highest = max(sum(bits) for bits in ends.values())
        best[seed] = ends[min(run for run, bits in ends.items() if sum(bits) == highest)]
    half = max(runs.length // 2, 1)
    for (method, model), run in runs.runs.items():
        curve = mean_curve(run)
        levels: list[float | None] = [0.25, 0.5, 0.75, 0.9]
        zero = runs.runs.get(("zero_shot", model))
        levels.append(None if zero is None or method == "zero_shot" else mean_curve(zero)[-1])
        tables["times"][model, TITLES[method]] = [
            None if level is None else find_first(curve, level) for level in levels
        ]
        tables["regrets"][model, TITLES[method]] = [
            *(
                mean(sum(best[seed][:t]) - sum(s.bit for s in run[seed][:t]) for seed in run)
                for t in (half, runs.length)
            ),
            *(mean(run[seed][t - 1].memory_size for seed in run) for t in (half, runs.length)),
        ]


def mean_curve(own: dict[int, list[Any]]) -> list[float]:
    length = len(next(iter(own.values())))
    return [mean(sum(s.bit for s in steps[:t]) / t for steps in own.values()) for t in range(1, length + 1)]


def find_first(curve: Sequence[float], level: float) -> int | None:
    steps = range(1, len(curve) + 1)
    return next((t for t in steps if all(value >= level - 1e-9 for value in curve[t - 1 :])), None)


def compute_pairs(runs: PlainRuns, model: str) -> Any:
    lines: dict[tuple[str, ...], list[float | None]] = {}
    systems = runs.systems_of(model)
    names = {m: TITLES[m] + (f" ({models})" if models != model else "") for m, models in systems}
    for (first, ones), (second, others) in combinations(systems, 2):
        a, b = runs.runs[first, ones], runs.runs[second, others]
        seeds = sorted({*a} & {*b})
        pairs = []
        for seed in seeds:
            other = {step.item: step.bit for step in b[seed]}
            pairs += [(step.item, int(step.bit), int(other[step.item])) for step in a[seed]]
        only_a, only_b = (sum(p[1:] == wanted for p in pairs) for wanted in ((1, 0), (0, 1)))
        drawn = draw_p(pairs)
        exact = count_p(only_a, only_b) if len(seeds) == 1 else None
        difference = mean(p[1] for p in pairs) - mean(p[2] for p in pairs)
        lines[names[first], names[second]] = [difference, only_a, only_b, exact, drawn]
    return lines


def count_p(only_a: int, only_b: int) -> float:
    n = only_a + only_b
    tail: int = sum(comb(n, k) for k in range(min(only_a, only_b) + 1))
    return min(1.0, 2 * tail / 2.0**n)


def draw_p(pairs: Sequence[tuple[str, int, int]], draws: int = 4000) -> float:
    items = sorted({item for item, _, _ in pairs})
    sums = np.array([sum(a - b for pair, a, b in pairs if pair == item) for item in items])
    chosen = np.random.default_rng(5).integers(0, len(items), (draws, len(items)))
    totals = sums[chosen].sum(axis=1)
    return float(min(1.0, 2 * (min((totals <= 0).sum(), (totals >= 0).sum()) + 1) / (draws + 1)))


def correct(values: Sequence[float]) -> list[float]:
    """Return Holm's correction: the k-th smallest of m p values times m - k, monotone, at most 1."""
    order = sorted(range(len(values)), key=lambda n: values[n])
    adjusted, least = [0.0] * len(values), 0.0
    for rank, n in enumerate(order):
        least = max(least, min(1.0, values[n] * (len(values) - rank)))
        adjusted[n] = least
    return adjusted


NOTHING = -1e6
"""Replacement for None, which approx cannot compare."""


def fill(values: Iterable[float | None]) -> list[float]:
    """Replace None by a number that no cell has."""
    return [NOTHING if value is None else value for value in values]


def read_values(table: Any) -> dict[tuple[str, ...], list[float | None]]:
    return {tuple(line["label"]): [cell["value"] for cell in line["cells"]] for line in table["lines"]}


def assert_cells(found: Any, wanted: Any) -> None:
    """Assert that a table's cells and lines equal the plain computation."""
    cells = read_values(found)
    assert sorted(cells) == sorted(wanted)
    for label, values in wanted.items():
        assert fill(cells[label]) == pytest.approx(fill(values), rel=1e-9, abs=1e-12), label


def assert_pairs(found: Any, wanted: Any) -> None:
    """Assert that pairs equal the plain computation; bootstrap p values may differ by chance."""
    cells = read_values(found)
    assert list(cells) == list(wanted)
    for label, (*counted, drawn) in wanted.items():
        assert fill(cells[label][:4]) == pytest.approx(fill(counted), abs=1e-9), label
        assert cells[label][4] == pytest.approx(drawn, abs=0.04), label
    tested = [p if exact is None else exact for _, _, _, exact, p, _ in cells.values()]
    holm = [line[-1] for line in cells.values()]
    assert holm == pytest.approx(correct([p for p in tested if p is not None]), abs=1e-9)
