"""Choose the artifacts of an entry of params.yaml to publish, according to the flows' declarations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchloom.reading import add_short_names
from flows.discovery import find_section_of, find_stage, list_scopes
from flows.run.node import Node
from flows.run.record.recorder import Recorder
from flows.run.record.staleness import NEVER
from flows.run.selection import order_nodes, select_nodes
from flows.stage import CONTRACTS, Scope
from tasks.artifacts.parquet import count_rows
from tasks.errors import BadInput

ROWS = ".parquet"


@dataclass(frozen=True)
class Choice:
    """The artifacts of an entry to publish.

    `entry`: full name, for example `databases.films`. `lead`: the stage that writes the dataset's main rows.
    `stages`: the stages whose artifacts are published, upstream first. `left_out`: artifact -> why the
    artifact is not published.
    """

    entry: str
    lead: Node
    stages: tuple[Node, ...]
    left_out: Mapping[str, str]

    @property
    def sets(self) -> tuple[Node, ...]:
        """The stages whose artifacts become the dataset's configurations, the lead first."""
        return self.lead, *(node for node in self.stages if node is not self.lead)

    @property
    def folder(self) -> str:
        """The folder of the entry's artifacts."""
        return str(Path(self.lead.artifact).parent)


def choose(recorder: Recorder, name: str) -> Choice:
    """Choose the artifacts of an entry, given the entry's name in params.yaml or a unique short name.

    A dataset's lead is the stage that writes the questions; an evaluation's lead is the stage that writes the
    scores. Raises BadInput for an unknown name, or if a chosen artifact or one of its inputs is not fresh.
    """
    entries = list_entries(recorder.nodes)
    entry = find_entry(entries, name)
    nodes = entries[entry]
    lead = find_lead(find_scope(nodes[0]), nodes)
    if lead is None:
        raise BadInput(name, "has no artifact with rows in dvc.yaml", hint="run `benchloom graph`")
    contracts = [node for node in nodes if any(Path(out).name == CONTRACTS for out in node.outs)]
    check_fresh(recorder, name, (lead, *contracts))
    kept, left_out = list[Node](), dict[str, str]()
    for node in nodes:
        if not node.artifact.endswith(ROWS):
            continue
        if recorder.explain(node.name) == [NEVER]:
            left_out[node.artifact] = "its stage has not run"
            continue
        check_fresh(recorder, name, (node,))
        if node is lead or count_rows(recorder.root / node.artifact):
            kept.append(node)
        else:
            left_out[node.artifact] = "no rows"
    return Choice(entry, lead, tuple(kept), left_out)


def list_entries(nodes: Mapping[str, Node]) -> dict[str, list[Node]]:
    """Return the datasets and evaluations in params.yaml: entry -> its stages in order."""
    found: dict[str, list[Node]] = {}
    scopes = {scope.over for scope in list_scopes() if scope.over and (scope.samples or scope.evaluates)}
    for name in order_nodes(nodes):
        node = nodes[name]
        section = find_section_of(node.stage) if node.stage else ""
        if node.key and section in scopes:
            found.setdefault(f"{section}.{node.key}", []).append(node)
    return found


def find_entry(entries: Mapping[str, Sequence[Node]], name: str) -> str:
    """Return an entry's full name. Raises BadInput, with the known entries, if there is no such entry."""
    names = add_short_names({entry: entry for entry in entries})
    if name in names:
        return names[name]
    there = ", ".join(sorted(entries)) or "none; create them with `benchloom run`"
    several = [entry for entry in entries if entry.rpartition(".")[2] == name]
    what = "is ambiguous" if several else "is neither a dataset nor an evaluation of params.yaml"
    raise BadInput(name, what, hint=f"known: {', '.join(several) or there}")


def find_scope(node: Node) -> Scope:
    """Return the `Scope` that declares a stage. Raises BadInput for an undeclared stage."""
    declared = find_stage(node.stage)
    if declared is None:
        raise BadInput(node.name, "is not declared by a flow")
    return declared.scope


def find_lead(scope: Scope, nodes: Sequence[Node]) -> Node | None:
    """Find the stage that writes a dataset's questions or an evaluation's scores; None if no stage does."""
    return next(
        (
            node
            for node in nodes
            if (scope.samples and Path(node.artifact).name == f"{scope.samples}{ROWS}")
            or (scope.evaluates and node.stage == scope.evaluates)
        ),
        None,
    )


def check_fresh(recorder: Recorder, name: str, wanted: Sequence[Node]) -> None:
    """Raise BadInput, with the command to run, if a stage or one of its inputs is not fresh."""
    names = [node.name for node in wanted]
    for stage in select_nodes(recorder.nodes, names):
        why = recorder.explain(stage)
        if why:
            raise BadInput(
                name,
                f"is not up to date: {stage} ({'; '.join(why)})",
                hint=f"run benchloom run {' '.join(names)}",
            )
