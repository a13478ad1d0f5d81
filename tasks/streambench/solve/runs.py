"""List the runs of an evaluation (method, agents, seed), and order the items of each run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from tasks.errors import BadInput, StageFailed
from tasks.streambench.build.items import StreamItem
from tasks.streambench.build.sequence import SequencePlace
from tasks.streambench.entries import KIND_K, MethodChoice
from tasks.streambench.method import StreamMethod
from tasks.streambench.methods.finding import find_method

DEFAULT_K = 16
"""Default for k, the maximum number of examples in a prompt (StreamBench, appendix A)."""
Places = Sequence[tuple[SequencePlace, StreamItem]]
StreamOrders = Mapping[int, Places]
"""Seed -> the ordered positions with their items."""


@dataclass(frozen=True)
class StreamRun:
    """A run of a method with its agents over a stream, for one seed."""

    choice: MethodChoice
    method: type[StreamMethod]
    agents: tuple[str, ...]
    seed: int
    k: int

    @cached_property
    def name(self) -> str:
        """The run's name in rows."""
        return f"{self.choice.label}|{'+'.join(self.agents)}|{self.seed}"


def order_items(
    items: Sequence[StreamItem], sequence: Sequence[SequencePlace], steps: int | None, *, whole: bool = True
) -> StreamOrders:
    """Map each seed to its ordered items, up to position `steps`; None for all positions.

    whole: False in a preview with only some items. Raises StageFailed if a position has no item, or if the
    items are of several kinds.
    """
    if not items or not sequence:
        raise StageFailed("streambench: the stream has no items")
    if len(kinds := sorted({item.kind for item in items})) > 1:
        raise StageFailed(f"streambench: the stream has items of several kinds: {', '.join(kinds)}")
    by_id = {item.id: item for item in items}
    found: dict[int, list[tuple[SequencePlace, StreamItem]]] = {}
    for place in sorted(sequence, key=lambda place: place.position):
        item = by_id.get(place.item)
        if item is None and whole:
            raise StageFailed(
                f"streambench: position {place.position} in the order for seed {place.seed} has no item"
            )
        if item is not None and (steps is None or place.position <= steps):
            found.setdefault(place.seed, []).append((place, item))
    return found


def list_runs(
    methods: Iterable[MethodChoice],
    models: Sequence[str],
    orders: StreamOrders,
    kind: str,
    *,
    k: int | None = None,
    seeds: Sequence[int] | None = None,
    method_seeds: Mapping[str, Sequence[int]] | None = None,
    method_models: Mapping[str, Sequence[str]] | None = None,
) -> list[StreamRun]:
    """Return one run per method, model and seed; a run of a method with a shared memory uses all models.

    Raises BadInput for an unknown method, seed or label.
    """
    choices, own_seeds, own_models = list(methods), method_seeds or {}, method_models or {}
    labels = {choice.label for choice in choices}
    for given, names in (("method_seeds", own_seeds.keys()), ("method_models", own_models.keys())):
        if unknown := sorted(names - labels):
            raise BadInput(f"streambench: {given}", f"no method has the label {unknown[0]}")
    runs = []
    for choice in choices:
        method = find_method(choice)
        named = tuple(own_models.get(choice.label, models))
        together = [named] if method.shares_memory else [(model,) for model in named]
        for seed in own_seeds.get(choice.label, seeds or sorted(orders)):
            if seed not in orders:
                there = ", ".join(map(str, sorted(orders)))
                raise BadInput(
                    "streambench: seeds", f"the stream has no order for seed {seed} (known: {there})"
                )
            size = k or KIND_K.get(kind, DEFAULT_K)
            runs += [StreamRun(choice, method, agents, seed, size) for agents in together]
    return runs
