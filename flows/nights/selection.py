"""Which stages a night runs: those of its entries that ask, what stands on them, the datasets' contracts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from flows.discovery import find_stage, list_stages
from flows.night_settings import EvaluatedEntry
from flows.run.node import Node
from flows.run.record.recorder import Recorder
from flows.run.selection import order_nodes
from flows.stage import CONTRACTS, EVALUATION
from tasks.errors import BadInput


def select_night(nodes: Mapping[str, Node], evaluation: EvaluatedEntry) -> list[str]:
    """List the stages of an evaluation that a night runs: those that ask models, and those downstream."""
    stages = {stage.name for stage in list_stages() if stage.scope.over == evaluation.scope.over}
    own = [
        name
        for name in order_nodes(nodes)
        if nodes[name].key == evaluation.key and nodes[name].stage in stages
    ]
    chosen: list[str] = []
    for name in own:
        asks = any(key.split(".")[0] == EVALUATION for key in nodes[name].params)
        if asks or set(nodes[name].upstream) & set(chosen):
            chosen.append(name)
    if not chosen:
        raise BadInput(
            "dvc.yaml", f"no stage of {evaluation.name!r} depends on {EVALUATION!r} in params.yaml"
        )
    return chosen


def select_nights(nodes: Mapping[str, Node], evaluations: Iterable[EvaluatedEntry]) -> list[str]:
    """List the stages of all evaluations of a night, in order."""
    chosen = {name for evaluation in evaluations for name in select_night(nodes, evaluation)}
    return [name for name in order_nodes(nodes) if name in chosen]


def select_contracts(nodes: Mapping[str, Node], chosen: Sequence[str]) -> list[str]:
    """List the stages that hold the datasets of chosen stages to their contracts, in order."""
    ground = set(list_ground(nodes, chosen))
    return [
        name
        for name in order_nodes(nodes)
        if (stage := find_stage(nodes[name].stage)) is not None
        and stage.out == CONTRACTS
        and ground & set(nodes[name].upstream)
    ]


def list_ground(nodes: Mapping[str, Node], chosen: Iterable[str]) -> list[str]:
    """List the stages that chosen ones stand on directly, without these, sorted."""
    names = set(chosen)
    return sorted({up for name in names for up in nodes[name].upstream} - names)


def check_ground(recorder: Recorder, chosen: Sequence[str]) -> None:
    """Raise BadInput unless what a night stands on is up to date: it compares systems, not datasets."""
    stale = [
        (name, found) for name in list_ground(recorder.nodes, chosen) if (found := recorder.explain(name))
    ]
    if stale:
        name, reasons = stale[0]
        raise BadInput(
            name,
            f"is not up to date in what is committed ({reasons[0]}), and the night stands on it",
            hint=f"benchloom run {name}, then commit dvc.lock",
        )
