"""Join steps with their scores and items, grouped by method and models."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from tasks.scoring.outcome import Outcome
from tasks.streambench.build.items import StreamItem
from tasks.streambench.entries import MethodChoice, StreamEvaluation
from tasks.streambench.score.scores import StepScore
from tasks.streambench.solve.stream_step import StreamStep

ZERO_SHOT, SELF_STREAM, MAM = "zero_shot", "self_stream_icl", "mam_stream_icl"
TITLES: Mapping[str, str] = {
    ZERO_SHOT: "Zero-Shot",
    "few_shot": "Few-Shot",
    "chain": "CoT",
    "self_refine": "Self-Refine",
    "grow_prompt": "GrowPrompt",
    "mem_prompt": "MemPrompt",
    SELF_STREAM: "Self-StreamICL",
    MAM: "MAM-StreamICL",
}
"""Method -> name in the StreamBench paper. Tables show user-defined methods under their own names."""
WITHOUT_STATE = (ZERO_SHOT, "few_shot", "chain", "self_refine")
NON_STREAMING, STREAMING = "Non-streaming", "Streaming"


@dataclass(frozen=True)
class StreamSystem:
    """A method with one model, or with several models that share a memory. choice: the method's settings."""

    choice: MethodChoice
    agents: tuple[str, ...]

    @property
    def shared(self) -> bool:
        """Whether several models alternate and share a memory."""
        return len(self.agents) > 1

    @property
    def ablated(self) -> bool:
        """Whether the system is an ablation, which appears only in StreamBench's Figure 2 or Table 7."""
        return self.choice.use != "all" or self.choice.memory_of is not None

    @property
    def title(self) -> str:
        """The method's name in tables."""
        return name_method(self.choice)

    @property
    def models(self) -> str:
        """The names of the system's models, joined with ` + ` for tables."""
        return " + ".join(self.agents)


@dataclass(frozen=True)
class ScoredStep:
    """A step of a run with its score, its item and its system.

    - run: the run's name, unique over all columns.
    - column: the title of the column in an overview; otherwise empty.
    """

    step: StreamStep
    score: StepScore
    item: StreamItem
    system: StreamSystem
    run: str
    column: str = ""

    @property
    def failed(self) -> bool:
        """Whether the step has no answer."""
        return self.score.failed

    @property
    def unjudged(self) -> bool:
        """Whether the step's answer has no verdict."""
        return self.step.outcome == Outcome.UNJUDGED


@dataclass(frozen=True)
class StreamRuns:
    """All runs of an evaluation. systems: in the order of the entry's methods, then of its models."""

    systems: Mapping[StreamSystem, Sequence[ScoredStep]]

    @cached_property
    def models(self) -> tuple[str, ...]:
        """The names of the models, in order of first appearance in `systems`."""
        return tuple(dict.fromkeys(agent for system in self.systems for agent in system.agents))

    @cached_property
    def datasets(self) -> tuple[str, ...]:
        """The names of all datasets, sorted."""
        return tuple(sorted({scored.item.dataset for scored in self.steps}))

    @cached_property
    def choices(self) -> tuple[MethodChoice, ...]:
        """The methods with their ablations, in the order of `systems`."""
        return tuple(dict.fromkeys(system.choice for system in self.systems))

    @cached_property
    def steps(self) -> Sequence[ScoredStep]:
        """All steps, in the order of `systems`, then by seed and position."""
        return self.list_steps(self.systems)

    def list_steps(self, systems: Iterable[StreamSystem]) -> list[ScoredStep]:
        """Return the steps of the given systems, sorted for each system by seed, then by position."""
        return [scored for system in systems for scored in self.systems[system]]

    def select(
        self, *, model: str | None = None, method: str | None = None, ablated: bool | None = False
    ) -> list[StreamSystem]:
        """Return the systems that match all filters; a filter that is None matches every system."""
        return [
            system
            for system in self.systems
            if (model is None or model in system.agents)
            and (method is None or system.choice.method == method)
            and (ablated is None or system.ablated == ablated)
        ]

    def find_steps(self, method: str, model: str) -> list[ScoredStep]:
        """Return the steps of a method's runs with only this model, without ablations."""
        return self.list_steps(
            choice for choice in self.select(method=method, model=model) if not choice.shared
        )

    def name_group(self, choice: MethodChoice) -> str:
        """Return a method's group, `STREAMING` or `NON_STREAMING`.

        A user-defined method is streaming if it stored an entry in any step.
        """
        if choice.method in TITLES:
            return NON_STREAMING if choice.method in WITHOUT_STATE else STREAMING
        own = self.list_steps(system for system in self.systems if system.choice == choice)
        return (
            STREAMING
            if any(scored.step.memory_size or scored.step.stored for scored in own)
            else NON_STREAMING
        )


def gather_runs(
    items: Iterable[StreamItem],
    steps: Iterable[StreamStep],
    scores: Iterable[StepScore],
    entry: StreamEvaluation,
) -> StreamRuns:
    """Join an evaluation's steps with their scores and items."""
    by_id = {item.id: item for item in items}
    scored = {score.id: score for score in scores}
    choices = {choice.label: choice for choice in entry.methods}
    ranks = {label: rank for rank, label in enumerate(choices)}
    groups: defaultdict[tuple[str, tuple[str, ...]], list[StreamStep]] = defaultdict(list)
    for step in sorted(steps, key=lambda step: (step.seed, step.position)):
        groups[step.method, step.agents].append(step)

    def rank(key: tuple[str, tuple[str, ...]]) -> tuple[int, str, list[int], tuple[str, ...]]:
        places = [
            entry.models.index(agent) if agent in entry.models else len(entry.models) for agent in key[1]
        ]
        return ranks.get(key[0], len(ranks)), key[0], places, key[1]

    systems = {
        StreamSystem(choices.get(key[0]) or MethodChoice(method=key[0]), key[1]): groups[key]
        for key in sorted(groups, key=rank)
    }
    return StreamRuns(
        {
            system: [ScoredStep(step, scored[step.id], by_id[step.item], system, step.run) for step in made]
            for system, made in systems.items()
        }
    )


def name_method(choice: MethodChoice) -> str:
    """Return a method's name in tables, such as `MemPrompt (only correct)`."""
    title = TITLES.get(choice.method, choice.method)
    more = [] if choice.use == "all" else [f"only {choice.use}"]
    if choice.memory_of is not None:
        more.append(f"memory of {choice.memory_of}, {choice.memory_rule.replace('_', ' ')}")
    return f"{title} ({', '.join(more)})" if more else title


def list_run_names(steps: Iterable[ScoredStep]) -> list[str]:
    """Return the distinct names of the steps' runs, in order of first appearance."""
    return list(dict.fromkeys(scored.step.run for scored in steps))
