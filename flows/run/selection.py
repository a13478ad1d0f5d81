"""Resolve the targets of a command to stages, and add their upstream stages."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from graphlib import TopologicalSorter
from pathlib import Path
from typing import NoReturn

from flows.discovery import find_flow, find_section_of, list_flows
from flows.run.node import Node
from flows.run.outcomes import load_outcome
from tasks.errors import BadInput

NAMED = 12
"""Maximum number of names per kind in an error message."""


def order_nodes(nodes: Mapping[str, Node]) -> list[str]:
    """Sort stages topologically; among independent stages, sort by longest downstream chain.

    Stages whose downstream chains have the same length are sorted by name.
    """
    sorter = TopologicalSorter({name: nodes[name].upstream for name in nodes})
    below = dict.fromkeys(nodes, 0)
    for name in reversed(list(sorter.static_order())):
        for upstream in nodes[name].upstream:
            below[upstream] = max(below[upstream], below[name] + 1)
    return sorted(nodes, key=lambda name: (-below[name], name))


def select_nodes(nodes: Mapping[str, Node], targets: Sequence[str]) -> list[str]:
    """Return the stages that `select_matches` selects and their upstream stages, in topological order."""
    chosen = set(select_matches(nodes, targets))
    todo = list(chosen)
    while todo:
        for upstream in nodes[todo.pop()].upstream:
            if upstream not in chosen:
                chosen.add(upstream)
                todo.append(upstream)
    return [name for name in order_nodes(nodes) if name in chosen]


def select_failed(root: Path, nodes: Mapping[str, Node], names: Sequence[str]) -> list[str]:
    """Return the stages in `names` whose last run failed or was stopped, and their upstream stages."""
    last = {name: load_outcome(root, name) for name in names}
    failed = [name for name, outcome in last.items() if outcome and outcome.state in ("failed", "skipped")]
    return select_nodes(nodes, failed) if failed else []


def select_matches(nodes: Mapping[str, Node], targets: Sequence[str]) -> list[str]:
    """Return the stages that the targets select, in topological order; without targets, all stages.

    A target is a flow (`grammar`), a stage (`grammar.fill_in`), a stage for one entry
    (`grammar-fill-in@films`), an entry of params.yaml (`films`, `databases.films`), or an artifact's path.
    Raises BadInput for anything else.
    """
    chosen: set[str] = set()
    for target in targets:
        matches = [name for name in nodes if _matches(nodes[name], target)]
        if not matches:
            _refuse_target(nodes, target)
        chosen.update(matches)
    return [name for name in order_nodes(nodes) if name in chosen or not targets]


def select_again(nodes: Mapping[str, Node], names: Sequence[str], targets: Sequence[str]) -> frozenset[str]:
    """Return the stages of a run that repeat their calls.

    `names`: the run's stages. `targets`: see `select_matches`. Selected stages that call no model are
    ignored. Raises BadInput if a target selects no stage that calls a model, or if a selected stage that
    calls a model is not in the run.
    """
    found: set[str] = set()
    for target in targets:
        asking = [name for name in select_matches(nodes, [target]) if nodes[name].asks]
        if not asking:
            raise BadInput(f"--ask-again {target}", "calls no model, so there is no call to repeat")
        if lost := [name for name in asking if name not in names]:
            raise BadInput(
                f"--ask-again {target}", f"{lost[0]} is not a stage of this run; add it to the targets"
            )
        found.update(asking)
    return frozenset(found)


def explain_nothing() -> str:
    """Return a message that explains why a project has no stages."""
    sections = ", ".join(scope.over for flow in list_flows() for scope in flow.list_scopes() if scope.over)
    return f"params.yaml has no entries to run: add an entry to one of these sections: {sections}"


def _refuse_target(nodes: Mapping[str, Node], target: str) -> NoReturn:
    if flow := find_flow(target):
        sections = ", ".join(scope.over for scope in flow.list_scopes() if scope.over)
        raise BadInput(
            target,
            "has no entries to run",
            hint=f"add an entry to one of these sections of params.yaml: {sections}",
        )
    block, at, key = target.partition("@")
    entries = sorted({f"{find_section_of(node.stage)}.{node.key}" for node in nodes.values() if node.key})
    if at:
        named = [entry for entry in entries if not block or f"{block}@{entry.partition('.')[2]}" in nodes]
        near = difflib.get_close_matches(key, [entry.partition(".")[2] for entry in named], n=1)
        meant = f"did you mean {f'{block}@' if block else ''}{near[0]}? " if near else ""
        if named:
            raise BadInput(target, f"there is no entry {key!r}", hint=f"{meant}known: {_cut(named)}")
    raise BadInput(
        target, "is not a flow, stage, entry or artifact in dvc.yaml", hint=_suggest(nodes, target, entries)
    )


def _matches(node: Node, target: str) -> bool:
    flow = find_flow(target)
    if flow is not None:
        return flow.find(node.stage) is not None
    block, _, key = node.name.partition("@")
    entry = {key, f"{find_section_of(node.stage)}.{key}"} if key else set()
    return target in {node.name, block, node.stage, *entry} or target.rstrip("/") in node.outs


def _suggest(nodes: Mapping[str, Node], target: str, entries: Sequence[str]) -> str:
    """Return a hint with the most similar name and the known names; long lists are truncated."""
    flows = [flow.name for flow in list_flows()]
    stages = sorted({node.name.partition("@")[0] for node in nodes.values()})
    names = [*flows, *entries, *(entry.partition(".")[2] for entry in entries), *stages, *nodes]
    near = difflib.get_close_matches(target, names, n=1)
    meant = f"did you mean {near[0]}? " if near else ""
    there = {"flows": flows, "entries": entries, "stages": stages}
    listed = [f"{kind}: {_cut(found)}" for kind, found in there.items() if found]
    return f"{meant}{'; '.join(listed)}; benchloom status --all lists all stages"


def _cut(names: Sequence[str]) -> str:
    """Join the first 12 names, and append the number of remaining names."""
    rest = len(names) - NAMED
    return ", ".join(names[:NAMED]) + (f" and {rest} more" if rest > 0 else "")
