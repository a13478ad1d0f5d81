"""A nightly run: ask the evaluated systems again under a new label, and compare with the last accepted night.

Nights are outside of the graph: their artifacts are under data/nightly/LABEL, dvc.lock does not change, and
the datasets are used as they are. A night that is run again under its label continues from the ledger.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import takewhile
from pathlib import Path

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from flows.discovery import list_evaluating, list_stages
from flows.run.binding import Places, bind, find_function, row_type_of
from flows.run.failures import Interrupted
from flows.run.node import Node
from flows.run.runner import Run
from flows.run.selection import order_nodes
from flows.settings import get_section, parse_section
from flows.stage import Scope
from tasks.artifacts.parquet import read_rows
from tasks.errors import BadInput
from tasks.files import write_text
from tasks.judging.nights import AlarmRule, Night, compare_nights
from tasks.judging.scored import Scored

FOLDER = "data/nightly"
HISTORY = "nights.json"
EPOCH = "evaluation"
"""The section of params.yaml with the night's label; a stage that reads it belongs to evaluation."""
LABEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


class Nightly(BaseModel):
    """`nightly` in params.yaml."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    assessments: tuple[str, ...] = ()
    """Entries to evaluate, by name (`films-weak`), or by full name if several sections have one of that name
    (`ragcheck.correctness.mtrag`)."""
    cron: str = "0 3 * * *"
    """The schedule of `nightly serve` and `nightly deploy`, in local time."""
    alarm: AlarmRule = AlarmRule()


@dataclass(frozen=True)
class EvaluatedEntry:
    """An entry that evaluates systems. name: as `nightly` names it; key: in its scope's section."""

    name: str
    scope: Scope
    key: str


def read_nightly(params: Mapping[str, object]) -> Nightly:
    """Read `nightly` of params.yaml. Raises BadInput if it names no entry."""
    nightly = parse_section(params, "nightly", Nightly)
    if not nightly.assessments:
        there = ", ".join(list_evaluations(params)) or "none yet"
        raise BadInput("params.yaml: nightly.assessments", f"is empty: name what to ask (there: {there})")
    for name in nightly.assessments:
        find_evaluation(params, name)
    return nightly


def list_evaluations(params: Mapping[str, object]) -> list[str]:
    """List the entries that evaluate systems, sorted, by full name if the name is ambiguous."""
    scopes = list_evaluating()
    entries = [(scope.over, str(key)) for scope in scopes for key in get_section(params, scope.over)]
    counts = Counter(key for _, key in entries)
    return sorted(f"{over}.{key}" if counts[key] > 1 else key for over, key in entries)


def find_evaluation(params: Mapping[str, object], name: str) -> EvaluatedEntry:
    """Find the entry of a name. Raises BadInput if there is none, or more than one."""
    found = [
        EvaluatedEntry(name, scope, str(key))
        for scope in list_evaluating()
        for key in get_section(params, scope.over)
        if name in (key, f"{scope.over}.{key}")
    ]
    if len(found) == 1:
        return found[0]
    there = ", ".join(list_evaluations(params)) or "none yet"
    what = f"several sections have a {name!r}" if found else f"no assessment {name!r}"
    raise BadInput("params.yaml: nightly.assessments", f"{what} (there: {there})")


def run_night(run: Run, nightly: Nightly, label: str) -> list[Night]:
    """Run every evaluation of a night, compare it, and write data/nightly/LABEL and the history.

    run: its parameters have `evaluation.as_of`, the label. Raises BadInput if an upstream artifact is not up
    to date, and whatever a stage raises.
    """
    if not LABEL.fullmatch(label):
        raise BadInput(f"--as-of {label}", "is no label: letters, digits, dots, dashes, 64 at most")
    folder = run.root / FOLDER / label
    evaluations = [find_evaluation(run.params, name) for name in nightly.assessments]
    chosen = [select_night(run.recorder.nodes, evaluation) for evaluation in evaluations]
    check_upstream(run, {name for names in chosen for name in names})
    nights = []
    for evaluation, names in zip(evaluations, chosen, strict=True):
        for name in names:
            run_stage(run, run.recorder.nodes[name], folder)
        nights.append(record_night(run, evaluation, names, label, nightly.alarm))
    return nights


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
        asks = any(key.split(".")[0] == EPOCH for key in nodes[name].params)
        if asks or set(nodes[name].upstream) & set(chosen):
            chosen.append(name)
    if not chosen:
        raise BadInput("dvc.yaml", f"no stage of {evaluation.name!r} depends on {EPOCH!r} in params.yaml")
    return chosen


def check_upstream(run: Run, chosen: set[str]) -> None:
    """Raise BadInput unless all upstream artifacts are up to date: a night compares systems, not datasets."""
    upstream = {up for name in chosen for up in run.recorder.nodes[name].upstream} - chosen
    stale = sorted(name for name in upstream if run.recorder.explain(name))
    if stale:
        raise BadInput(
            stale[0], "is not up to date, and the night stands on it", hint=f"benchloom run {stale[0]}"
        )


def run_stage(run: Run, node: Node, folder: Path) -> None:
    """Run one stage with its outputs in the night's folder. Raises what it raises, and Interrupted."""
    if run.stopping.is_set():
        raise Interrupted("the night was stopped; the same label goes on from there")
    work = bind(node, run.params, Places(run.root, folder), run.make_ask).call(run.run_coroutine)
    rows = "" if work.rows_out is None else f"  {work.rows_out} rows"
    run.say(f"{node.name:36} ran{rows}")


def record_night(
    run: Run, evaluation: EvaluatedEntry, names: Sequence[str], label: str, rule: AlarmRule
) -> Night:
    """Compare an evaluation's night with the last accepted one, and record the result."""
    history = read_history(run.root)
    own = [night for night in history if night.assessment == evaluation.name]
    # A night that is run again is compared with the same night as before, not with a later one.
    past = list(takewhile(lambda night: night.label != label, own))
    before = next((night.label for night in reversed(past) if night.accepted), None)
    nodes = (run.recorder.nodes[name] for name in names)
    scored = next(node for node in nodes if node.stage == evaluation.scope.evaluates)
    earlier = read_scores(run.root, scored, before) if before else []
    change = compare_nights(earlier, read_scores(run.root, scored, label), rule)
    night = Night(label, evaluation.name, before, not change.alarms, change)
    write_night(run.root, night, history)
    return night


def read_scores(root: Path, node: Node, label: str) -> list[Scored]:
    """Read the scores of a night's items, by the function `list_scored` of the stage's module."""
    module, function = find_function(node)
    path = root / FOLDER / label / node.outs[0].removeprefix("data/")
    scored: list[Scored] = module.list_scored(read_rows(path, row_type_of(function)))
    return scored


def read_history(root: Path) -> list[Night]:
    """Read the history of nights, oldest first. Raises BadInput if the file is malformed."""
    path = root / FOLDER / HISTORY
    if not path.exists():
        return []
    try:
        return TypeAdapter(list[Night]).validate_json(path.read_bytes())
    except ValidationError as error:
        raise BadInput(path, "is no history of nights", hint="move it away to begin anew") from error


def write_night(root: Path, night: Night, history: Sequence[Night]) -> None:
    """Write a night's figures and page, and its entry in the history, replacing an earlier attempt."""
    from tasks.reports.night import write_nights

    folder = root / FOLDER / night.label
    _write_json(folder / f"{night.assessment}.json", asdict(night))
    names = [(earlier.label, earlier.assessment) for earlier in history]
    nights = list(history)
    if (night.label, night.assessment) in names:
        nights[names.index((night.label, night.assessment))] = night
    else:
        nights.append(night)
    _write_json(root / FOLDER / HISTORY, [asdict(own) for own in nights])
    write_nights(root / FOLDER / "index.html", nights)


def _write_json(path: Path, data: object) -> None:
    write_text(path, json.dumps(data, indent=1, sort_keys=True) + "\n")


def describe_night(night: Night) -> str:
    """Describe the result of a night in one line."""
    change = night.change
    mean = "nothing scored" if change.mean is None else f"mean {change.mean:.3f}"
    head = f"{night.assessment}: {mean}, {change.n_scored} of {change.n} scored"
    if change.alarms:
        return f"{head}: ALARM: {'; '.join(change.alarms)}"
    if night.against is None:
        return f"{head}; the first night, accepted"
    if change.difference is None or change.low is None or change.high is None:
        return f"{head}; accepted"
    return (
        f"{head}; {change.difference:+.3f} against {night.against} "
        f"({change.low:+.3f} to {change.high:+.3f}), accepted"
    )
