"""Every table of an evaluation once more, by loops over its steps; imports nothing that is tested."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations
from math import comb, sqrt
from statistics import mean, stdev
from typing import Any

import numpy as np

from tests.streambench.made_evaluation import MODELS, SEEDS, MadeEvaluation

TITLES = {
    "zero_shot": "Zero-Shot",
    "few_shot": "Few-Shot",
    "mem_prompt": "MemPrompt",
    "self_stream_icl": "Self-StreamICL",
    "mam_stream_icl": "MAM-StreamICL",
    "mem_prompt-correct": "MemPrompt (only correct)",
    "mem_prompt-incorrect": "MemPrompt (only incorrect)",
    "mam_stream_icl-store_on_turn-agent": "MAM-StreamICL (memory of agent, store on turn)",
    "mam_stream_icl-shadow-second_agent": "MAM-StreamICL (memory of second_agent, shadow)",
}
MAIN = tuple(TITLES)[:5]
BOTH = " + ".join(MODELS)
Tables = dict[str, dict[tuple[str, ...], list[float | None]]]


class PlainRuns:
    """Steps by method, model (or both, for methods that share a memory) and seed, in order."""

    def __init__(self, made: MadeEvaluation) -> None:
        self.items = {item.id: item for item in made.items}
        calls = {call.id: call for call in made.calls}
        self.runs: dict[tuple[str, str], dict[int, list[Any]]] = {}
        for step in sorted(made.steps, key=lambda step: step.position):
            own = self.runs.setdefault((step.method, " + ".join(step.agents)), {})
            own.setdefault(step.seed, []).append(step)
        self.tokens = {
            step.id: (
                sum(calls[key].prompt_tokens for key in step.calls),
                sum(calls[key].completion_tokens for key in step.calls),
            )
            for step in made.steps
        }

    def model_of(self, method: str, model: str) -> str:
        return BOTH if method.startswith("mam") else model

    def rate(self, method: str, model: str, keep: Callable[[Any], bool] = lambda step: True) -> float:
        own = self.runs[method, self.model_of(method, model)]
        return mean(mean(float(s.bit) for s in steps if keep(s)) for steps in own.values())

    def rates(self, method: str, models: Sequence[str]) -> list[float | None]:
        kept: list[Callable[[Any], bool]] = [
            lambda step: True,
            *(lambda step, name=name: self.items[step.item].dataset == name for name in ("films", "flights")),
        ]
        return [mean(self.rate(method, model, keep) for model in models) for keep in kept]

    def list_systems(self) -> list[tuple[str, str]]:
        return [
            (method, model) for method in TITLES for model in ([BOTH] if method.startswith("mam") else MODELS)
        ]


def group(method: str) -> str:
    return "Non-streaming" if method in ("zero_shot", "few_shot") else "Streaming"


def compute_tables(made: MadeEvaluation) -> Tables:
    runs = PlainRuns(made)
    tables: Tables = {
        "means": {(group(m), TITLES[m]): runs.rates(m, MODELS) for m in MAIN},
        "gains": {},
        "memories": compute_memories(runs),
        "uses": {
            (model, "MemPrompt"): [
                runs.rate(m, model)
                for m in ("mem_prompt", "mem_prompt-correct", "mem_prompt-incorrect", "zero_shot")
            ]
            for model in MODELS
        },
        "seeds": {(model, TITLES[m]): compute_seeds(runs.runs[m, model]) for m, model in runs.list_systems()},
        "kinds": {(model, TITLES[m]): runs.rates(m, [model])[1:] for m, model in runs.list_systems()},
        "values": compute_values(runs),
        "times": {},
        "regrets": {},
        "tokens-gains": {},
        "tokens-means": {
            (group(m), TITLES[m]): compute_tokens(runs, [(m, model) for model in MODELS]) for m in MAIN
        },
    }
    for model in MODELS:
        tables[f"model-{model}"] = {(group(m), TITLES[m]): runs.rates(m, [model]) for m in MAIN[:-1]}
        zero, own = runs.rates("zero_shot", [model]), runs.rates("self_stream_icl", [model])
        tables["gains"][model, "Zero-Shot"] = [*zero, None]
        tables["gains"][model, "Self-StreamICL"] = [*own, (own[0] or 0) - (zero[0] or 0)]
        tables[f"tokens-{model}"] = {
            (group(m), TITLES[m]): compute_tokens(runs, [(m, model)]) for m in MAIN[:-1]
        }
        turns = runs.runs["mam_stream_icl", BOTH]
        tables[f"tokens-{model}"] |= {
            ("Streaming", "MAM-StreamICL, its turns"): compute_tokens(runs, [("mam_stream_icl", model)]),
            ("Streaming", "MAM-StreamICL, mean over its models"): [
                *(mean(average_agents(runs, steps, n) for steps in turns.values()) for n in (0, 1)),
                None,
                None,
            ],
        }
        for m in ("zero_shot", "self_stream_icl"):
            tables["tokens-gains"][model, TITLES[m]] = compute_tokens(runs, [(m, model)])
        tables[f"pairs-{model}"] = compute_pairs(runs, model)
    compute_curves(runs, tables)
    return tables


def compute_memories(runs: PlainRuns) -> Any:
    whole = runs.rate("mam_stream_icl", BOTH)
    return {
        ("Zero-Shot", "none", "single agent"): [runs.rate("zero_shot", m) for m in MODELS],
        ("Self-StreamICL", "single agent", "single agent"): [runs.rate("self_stream_icl", m) for m in MODELS],
        ("MAM-StreamICL (ablation, store on turn)", "single agent", "multi agent"): [
            runs.rate("mam_stream_icl-store_on_turn-agent", BOTH),
            None,
        ],
        ("MAM-StreamICL (ablation, shadow)", "single agent", "multi agent"): [
            None,
            runs.rate("mam_stream_icl-shadow-second_agent", BOTH),
        ],
        ("MAM-StreamICL", "multi agent", "multi agent"): [whole, whole],
    }


def compute_seeds(own: dict[int, list[Any]]) -> list[float | None]:
    rates = {seed: mean(float(step.bit) for step in steps) for seed, steps in own.items()}
    error = stdev(rates.values()) / sqrt(len(rates)) if len(rates) > 1 else None
    return [mean(rates.values()), error, *(rates.get(seed) for seed in sorted(SEEDS))]


def compute_values(runs: PlainRuns) -> Any:
    import json

    lines = {}
    for method, model in runs.list_systems():
        values = [json.loads(s.values) for steps in runs.runs[method, model].values() for s in steps]
        lines[model, TITLES[method]] = [
            mean(own[name] for own in values if name in own) for name in ("accuracy", "f1")
        ]
    return lines


def compute_tokens(runs: PlainRuns, systems: Sequence[tuple[str, str]]) -> list[float | None]:
    own = {(m, runs.model_of(m, model)) for m, model in systems}
    made = [steps for system in own for steps in runs.runs[system].values()]
    sums = [[sum(runs.tokens[s.id][n] for s in steps) for steps in made] for n in (0, 1)]
    return [mean(sums[0]), mean(sums[1]), *(mean(one) / len(made[0]) for one in sums)]


def average_agents(runs: PlainRuns, steps: Sequence[Any], n: int) -> float:
    costs: list[float] = []
    for agent in MODELS:
        turns = [runs.tokens[step.id][n] for step in steps if step.agent == agent]
        costs.append(len(steps) * sum(turns) / len(turns))
    return sum(costs) / len(costs)


def compute_curves(runs: PlainRuns, tables: Tables) -> None:
    best = {}
    for seed in SEEDS:
        ends = {
            own[seed][0].run: [float(s.bit) for s in own[seed]] for own in runs.runs.values() if seed in own
        }
        highest = max(sum(bits) for bits in ends.values())
        best[seed] = ends[min(run for run, bits in ends.items() if sum(bits) == highest)]
    ends_at = {model: mean_curve(runs.runs["zero_shot", model])[-1] for model in MODELS}
    for method, model in runs.list_systems():
        own = runs.runs[method, model]
        curve = mean_curve(own)
        levels: list[float | None] = [0.25, 0.5, 0.75, 0.9]
        levels.append(None if model == BOTH or method == "zero_shot" else ends_at[model])
        tables["times"][model, TITLES[method]] = [
            None if level is None else find_first(curve, level) for level in levels
        ]
        tables["regrets"][model, TITLES[method]] = [
            *(
                mean(sum(best[seed][:t]) - sum(s.bit for s in own[seed][:t]) for seed in own)
                for t in (20, 40)
            ),
            *(mean(own[seed][t - 1].memory_size for seed in own) for t in (20, 40)),
        ]


def mean_curve(own: dict[int, list[Any]]) -> list[float]:
    return [mean(sum(s.bit for s in steps[:t]) / t for steps in own.values()) for t in range(1, 41)]


def find_first(curve: Sequence[float], level: float) -> int | None:
    return next((t for t in range(1, 41) if all(value >= level - 1e-9 for value in curve[t - 1 :])), None)


def compute_pairs(runs: PlainRuns, model: str) -> Any:
    lines: dict[tuple[str, ...], list[float | None]] = {}
    names = {m: TITLES[m] + (f" ({BOTH})" if m.startswith("mam") else "") for m in TITLES}
    for first, second in combinations(TITLES, 2):
        a, b = (runs.runs[m, runs.model_of(m, model)] for m in (first, second))
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
    sums = np.array([sum(a - b for own, a, b in pairs if own == item) for item in items])
    chosen = np.random.default_rng(5).integers(0, len(items), (draws, len(items)))
    totals = sums[chosen].sum(axis=1)
    return float(min(1.0, 2 * (min((totals <= 0).sum(), (totals >= 0).sum()) + 1) / (draws + 1)))


def correct(values: Sequence[float]) -> list[float]:
    """Correct by Holm: the k-th smallest of m times m - k, never below a smaller one, at most 1."""
    order = sorted(range(len(values)), key=lambda n: values[n])
    adjusted, least = [0.0] * len(values), 0.0
    for rank, n in enumerate(order):
        least = max(least, min(1.0, values[n] * (len(values) - rank)))
        adjusted[n] = least
    return adjusted
