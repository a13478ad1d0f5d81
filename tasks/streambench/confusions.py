"""Figure 3: confusion matrices of the answers of each system, where items have labels (section 5.1.2)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tasks.lineage.derivation import Derivation
from tasks.scoring.ddxplus import find_label
from tasks.streambench.measures import derive
from tasks.streambench.scored_steps import ScoredStep, StreamRuns, list_run_names
from tasks.streambench.tables import read_object

MOST_LABELS = 12
OTHER, NONE = "other", "none"
CALL_FIELDS = ("api", "action", "name")


@dataclass(frozen=True)
class ConfusionMatrix:
    """A system's answers by the true label, over all seeds. labels: rows, and columns before other and none.

    counts: by row, as many as columns. n, failed: steps with these labels, and those without an answer.
    """

    title: str
    labels: tuple[str, ...]
    columns: tuple[str, ...]
    counts: tuple[tuple[int, ...], ...]
    n: int
    failed: int
    basis: Derivation


def draw_confusions(runs: StreamRuns) -> list[ConfusionMatrix]:
    """Make a matrix of each system, of the labels that are mistaken most often; none without labels."""
    readers = [find_reader(one.item.kind) for one in runs.steps[:1]]
    reader = readers[0] if readers else None
    if reader is None:
        return []
    everything = runs.steps
    mistaken = Counter(reader(one)[0] for one in everything if not one.step.bit)
    golds = {reader(one)[0] for one in everything}
    ranked = sorted(golds, key=lambda label: (-mistaken[label], _order(label)))
    labels = tuple(sorted(ranked[:MOST_LABELS], key=_order))
    return [
        _draw_matrix(f"{system.title}, {system.models}", runs.systems[system], labels, reader)
        for system in runs.select()
    ]


def find_reader(kind: str) -> Callable[[ScoredStep], tuple[str, str]] | None:
    """Find what reads the true and the answered label of a step; None for kinds without labels."""
    return {"ddxplus": read_diagnoses, "toolbench": read_calls_made}.get(kind)


def read_diagnoses(one: ScoredStep) -> tuple[str, str]:
    """Read the numbers of the true diagnosis and of the answered one."""
    label = None if one.step.answer is None else find_label(one.step.answer)
    gold = find_label(f"{one.item.gold}.") if one.item.gold.isdecimal() else find_label(one.item.gold)
    return str(gold), NONE if label is None else str(label)


def read_calls_made(one: ScoredStep) -> tuple[str, str]:
    """Read the names of the true API and of the called one."""
    return _read_api(one.item.details) or _read_api(one.item.gold) or NONE, _read_api(one.step.answer) or NONE


def _draw_matrix(
    title: str,
    steps: Sequence[ScoredStep],
    labels: Sequence[str],
    read: Callable[[ScoredStep], tuple[str, str]],
) -> ConfusionMatrix:
    read_steps = [(one, *read(one)) for one in steps]
    own = [(one, gold, said) for one, gold, said in read_steps if gold in labels]
    columns = (*labels, OTHER, NONE)
    counted = Counter((gold, said if said in (*labels, NONE) else OTHER) for _, gold, said in own)
    return ConfusionMatrix(
        title,
        tuple(labels),
        columns,
        tuple(tuple(counted[label, column] for column in columns) for label in labels),
        len(own),
        sum(one.failed for one, _, _ in own),
        derive("answers by true label", list_run_names(steps), "score"),
    )


def _read_api(text: str | None) -> str:
    data = read_object(text or "")
    return next((str(data[name]) for name in CALL_FIELDS if data.get(name)), "")


def _order(label: str) -> tuple[int, int, str]:
    return (0, int(label), "") if label.isdecimal() else (1, 0, label)
