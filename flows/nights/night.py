"""A night: what is evaluated is asked anew under a label of its own, and compared with the last good night.

Nothing of it is the graph's: a night's artifacts lie under data/nightly/LABEL, dvc.lock stays as it is,
and construction is read as it stands. The same label goes on where it was stopped, from the ledger.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import takewhile
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

from flows.run.binding import Places, bind
from flows.run.recorder import Node
from flows.run.runner import Interrupted, Run
from flows.run.selection import order_nodes
from flows.settings import parse_section
from tasks.errors import BadInput
from tasks.files import write_text
from tasks.judging.nights import AlarmRule, Change, Scored, compare_nights

FOLDER = "data/nightly"
HISTORY = "nights.json"
EPOCH = "evaluation"
"""The section of params.yaml that makes a stage one of evaluation: it holds the night's label."""
LABEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


class Nightly(BaseModel):
    """`nightly` in params.yaml."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    assessments: tuple[str, ...] = ()
    """Names of `assessments` that a night asks anew."""
    cron: str = "0 3 * * *"
    """When `nightly serve` and `nightly deploy` run one, in the machine's time."""
    alarm: AlarmRule = AlarmRule()


@dataclass(frozen=True)
class Night:
    """One assessment in one night, beside the accepted night that it was compared with."""

    label: str
    assessment: str
    against: str | None
    accepted: bool
    change: Change


def read_nightly(params: Mapping[str, Any]) -> Nightly:
    """Read `nightly` of params.yaml. Raises BadInput where it names nothing to ask."""
    nightly = parse_section(params, "nightly", Nightly)
    place, known = "params.yaml: nightly.assessments", sorted(params.get("assessments") or {})
    there = ", ".join(known) or "none yet"
    if not nightly.assessments:
        raise BadInput(place, f"is empty: name what to ask (there: {there})")
    for name in nightly.assessments:
        if name not in known:
            raise BadInput(place, f"no assessment {name!r} (there: {there})")
    return nightly


def run_night(run: Run, nightly: Nightly, label: str) -> list[Night]:
    """Ask every assessment of a night anew, compare, and write data/nightly/LABEL and the history.

    run: its params hold `evaluation.as_of`, the label. Raises BadInput where something that the night
    stands on is not up to date, and whatever a stage raises.
    """
    if not LABEL.fullmatch(label):
        raise BadInput(f"--as-of {label}", "is no label: letters, digits, dots, dashes, 64 at most")
    folder = run.root / FOLDER / label
    chosen = [select_night(run.recorder.nodes, name) for name in nightly.assessments]
    check_ground(run, {name for names in chosen for name in names})
    nights = []
    for assessment, names in zip(nightly.assessments, chosen, strict=True):
        for name in names:
            run_stage(run, run.recorder.nodes[name], folder)
        nights.append(settle_night(run, assessment, names, label, nightly.alarm))
    return nights


def select_night(nodes: Mapping[str, Node], assessment: str) -> list[str]:
    """List the stages of an assessment that a night runs: those that ask, and those that read them."""
    own = [name for name in order_nodes(nodes) if nodes[name].key == assessment]
    chosen: list[str] = []
    for name in own:
        asks = any(key.split(".")[0] == EPOCH for key in nodes[name].params)
        if asks or set(nodes[name].upstream) & set(chosen):
            chosen.append(name)
    if not chosen:
        raise BadInput("dvc.yaml", f"no stage of {assessment!r} depends on {EPOCH!r} in params.yaml")
    return chosen


def check_ground(run: Run, chosen: set[str]) -> None:
    """Hold that what the night stands on is up to date: a night compares systems, not datasets."""
    ground = {up for name in chosen for up in run.recorder.nodes[name].upstream} - chosen
    stale = sorted(name for name in ground if run.recorder.explain(name))
    if stale:
        raise BadInput(
            stale[0], "is not up to date, and the night stands on it", hint=f"benchloom run {stale[0]}"
        )


def run_stage(run: Run, node: Node, folder: Path) -> None:
    """Run one stage into the night's folder. Raises what it raises, and Interrupted."""
    if run.stopping.is_set():
        raise Interrupted("the night was stopped; the same label goes on from there")
    work = bind(node, run.params, Places(run.root, folder), run.make_ask).call(run.run_coroutine)
    rows = "" if work.rows_out is None else f"  {work.rows_out} rows"
    run.say(f"{node.name:36} ran{rows}")


def settle_night(run: Run, assessment: str, names: Sequence[str], label: str, rule: AlarmRule) -> Night:
    """Compare an assessment's night with the last accepted one, and write both down."""
    history = read_history(run.root)
    own = [each for each in history if each["assessment"] == assessment]
    # A night that is run again is held against what it was held against then, not against a later one.
    past = list(takewhile(lambda each: each["label"] != label, own))
    before = next((each["label"] for each in reversed(past) if each["accepted"]), None)
    outs = [out for name in names for out in run.recorder.nodes[name].outs]
    earlier = read_scores(run.root, outs, before) if before else []
    change = compare_nights(earlier, read_scores(run.root, outs, label), rule)
    night = Night(label, assessment, before, not change.alarms, change)
    write_night(run.root, night, history)
    return night


def read_scores(root: Path, outs: Sequence[str], label: str) -> list[Scored]:
    """Read what a night's judge said of each item, from its `judgements.parquet`."""
    from tasks.artifacts.parquet import read_rows
    from tasks.grammar.assessment_rows import Judgement

    paths = [out for out in outs if out.endswith("/judgements.parquet")]
    if len(paths) != 1:
        raise BadInput("dvc.yaml", "a night needs one artifact judgements.parquet of each assessment")
    rows = read_rows(root / FOLDER / label / paths[0].removeprefix("data/"), Judgement)
    marks = {"Correct": 1.0, "Incorrect": 0.0}
    return [Scored(each.question, each.group, marks.get(each.judgement or "")) for each in rows]


def read_history(root: Path) -> list[dict[str, Any]]:
    """Read the nights so far, oldest first."""
    path = root / FOLDER / HISTORY
    if not path.exists():
        return []
    try:
        history = json.loads(path.read_text(encoding="utf-8"))
        return [each for each in history if each["label"] and each["assessment"] and "accepted" in each]
    except (ValueError, TypeError, KeyError) as error:
        raise BadInput(path, "is no history of nights", hint="move it away to begin anew") from error


def write_night(root: Path, night: Night, history: list[dict[str, Any]]) -> None:
    """Write a night's own figures, its page, and its line of the history, in the place of an earlier try."""
    from tasks.reports.night import write_page

    own = asdict(night)
    folder = root / FOLDER / night.label
    write_text(folder / f"{night.assessment}.json", json.dumps(own, indent=1, sort_keys=True) + "\n")
    names = [(each["label"], each["assessment"]) for each in history]
    nights = list(history)
    if (night.label, night.assessment) in names:
        nights[names.index((night.label, night.assessment))] = own
    else:
        nights.append(own)
    write_text(root / FOLDER / HISTORY, json.dumps(nights, indent=1, sort_keys=True) + "\n")
    write_page(root / FOLDER / "index.html", nights)


def describe_night(night: Night) -> str:
    """Say in one line what a night came to."""
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
