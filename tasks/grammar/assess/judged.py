"""Judged rows as GRAMMAR-Eval sees them: correct or not, their group's tag, whether their context was enough.

The rules themselves are the metric's (tasks/scoring/grammar.py); here they are applied to a stage's rows, in
open and in closed mode, and each wrong row is put down to a module (section 4.3).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from tasks.scoring.grammar import Grammar, GroupAccumulator
from tasks.scoring.running import Bootstrap, compute_figures

Mode = Literal["open", "closed"]
MODES: tuple[Mode, ...] = ("open", "closed")
"""closed: an answer whose retrieval brought no true document is taken as Incorrect, before tagging."""
RULES = ("siblings", "siblings_overlap", "gold", "gold_contained")
"""When a row's context was enough: its ids equal a correct sibling's, share one with them, equal the
true ones, or hold all of them."""
SETS = ("balanced", "unbalanced")
GAP, ROBUST, NON_ROBUST = "gap", "robust", "non-robust"
DATABASE, RETRIEVAL, MODEL = "database", "retrieval", "model"
MODULES = (DATABASE, RETRIEVAL, MODEL)


@dataclass(frozen=True)
class JudgedRow:
    """One text query, answered and judged.

    judgement: Correct, Incorrect, or None where it is unscored. retrieved: None where the system does not
    show it. true: None where the true documents are not known.
    """

    id: str
    group: str
    criterion: str
    judgement: str | None
    retrieved: frozenset[str] | None
    true: frozenset[str] | None
    balanced: bool = True
    unbalanced: bool = True

    def is_in(self, name: str) -> bool:
        """Tell whether the row is of the balanced or the unbalanced set."""
        return self.balanced if name == "balanced" else self.unbalanced


@dataclass(frozen=True)
class TaggedRow:
    """A scored row. sufficient: rule -> whether its context was enough, None where that cannot be told."""

    judged: JudgedRow
    correct: bool
    tag: str
    sufficient: Mapping[str, bool | None]

    def find_module(self, rule: str) -> str | None:
        """Name the module that a wrong row is put down to; None for a correct one, or if none can be told."""
        if self.correct:
            return None
        if self.tag == GAP:
            return DATABASE
        enough = self.sufficient[rule]
        return None if enough is None else MODEL if enough else RETRIEVAL


def measure(rows: Sequence[JudgedRow], mode: Mode, intervals: Bootstrap | None = None) -> dict[str, Any]:
    """Compute the metric's figures, and those of the two wider context rules beside its own.

    Context figures are None where the system shows nothing retrieved. Raises ArithmeticError where
    accuracy is not R (1 - lambda), which would be a fault of ours.
    """
    strict = _tally(rows, closed=mode == "closed")
    figures = compute_figures(strict.sample(), intervals)
    check_identity(figures)
    correct = _list_correct(rows, strict)
    for name, rule, widened in (
        ("siblings_overlap", "siblings", _join_siblings(rows, correct)),
        ("gold_contained", "gold", _join_true(rows, correct)),
    ):
        wide = compute_figures(_tally(widened).sample(), intervals)
        figures["context"][name] = wide["context"][rule]
        if intervals is not None:
            figures["ci"]["context"][name] = wide["ci"]["context"][rule]
    if not shows_retrieval(rows):
        figures["context"] = dict.fromkeys(RULES)
        if intervals is not None:
            figures["ci"]["context"] = dict.fromkeys(RULES)
    return figures


def check_identity(figures: Mapping[str, Any]) -> float:
    """Give the distance of accuracy from R (1 - lambda) (Eq. 3). Raises ArithmeticError where there is any.

    Where all rows are in gap groups R has no value, and accuracy must be 0.
    """
    accuracy, share = figures["accuracy"], figures["lambda"]
    if accuracy is None:
        return 0.0
    distance = abs(accuracy - (figures["robustness"] or 0) * (1 - share))
    if distance > 1e-9:
        raise ArithmeticError(f"accuracy {accuracy} is not R (1 - lambda): {figures['robustness']}, {share}")
    return float(distance)


def tag_rows(rows: Sequence[JudgedRow], mode: Mode) -> list[TaggedRow]:
    """Tag the scored rows of a set, in their order; a group is tagged by its scored rows alone."""
    strict = _tally(rows, closed=mode == "closed")
    correct = _list_correct(rows, strict)
    shown = shows_retrieval(rows)
    sufficient = {
        "siblings": _list_context(strict, "siblings"),
        "siblings_overlap": _list_context(_tally(_join_siblings(rows, correct)), "siblings"),
        "gold": _list_context(strict, "gold"),
        "gold_contained": _list_context(_tally(_join_true(rows, correct)), "gold"),
    }
    tags = tag_groups((row.group, right) for row, right in zip(rows, correct, strict=True))
    return [
        TaggedRow(
            row, right, tags[row.group], {rule: sufficient[rule][n] if shown else None for rule in RULES}
        )
        for n, (row, right) in enumerate(zip(rows, correct, strict=True))
        if right is not None
    ]


def tag_groups(rows: Iterable[tuple[str, bool | None]]) -> dict[str, str]:
    """Tag groups by their scored rows: gap (none correct), robust (all), non-robust (some)."""
    outcomes: defaultdict[str, set[bool]] = defaultdict(set)
    for group, correct in rows:
        if correct is not None:
            outcomes[group].add(correct)
    return {
        group: NON_ROBUST if len(seen) == 2 else ROBUST if True in seen else GAP
        for group, seen in outcomes.items()
    }


def shows_retrieval(rows: Iterable[JudgedRow]) -> bool:
    """Tell whether the system retrieves at all, and showed for every scored row what.

    Of a model alone no context rule can speak: there is no retriever to blame or to clear.
    """
    shown = [row.retrieved for row in rows if row.judgement is not None]
    return None not in shown and any(shown)


def _tally(rows: Iterable[JudgedRow], *, closed: bool = False) -> GroupAccumulator:
    metric = Grammar(closed=closed)
    tally = metric.make_accumulator("")
    for row in rows:
        known = row.true is not None and row.retrieved is not None
        item = metric.read(
            {
                "group": row.group,
                "judgement": row.judgement,
                "retrieved_document_ids": sorted(row.retrieved or ()),
                "true_document_ids": sorted(row.true or ()) if known else None,
            }
        )
        tally.add(item, metric.score_item(item, ""))
    return tally


def _list_correct(rows: Sequence[JudgedRow], tally: GroupAccumulator) -> list[bool | None]:
    return [
        None if values["accuracy"] is None else bool(values["accuracy"]) for values in tally.item_values()
    ]


def _list_context(tally: GroupAccumulator, rule: str) -> list[bool | None]:
    found = [values["context"][rule] for values in tally.item_values()]
    return [None if context is None else bool(context["accuracy"]) for context in found]


def _settle(row: JudgedRow, correct: bool | None) -> JudgedRow:
    """Write the outcome of closed mode into the judgement, so that widened ids cannot undo it."""
    return replace(row, judgement=None if correct is None else "Correct" if correct else "Incorrect")


def _join_siblings(rows: Sequence[JudgedRow], correct: Sequence[bool | None]) -> list[JudgedRow]:
    """Give each wrong row the ids of the first correct sibling that shares one with it."""
    right: defaultdict[str, list[frozenset[str]]] = defaultdict(list)
    for row, outcome in zip(rows, correct, strict=True):
        if outcome:
            right[row.group].append(row.retrieved or frozenset())
    settled = []
    for row, outcome in zip(rows, correct, strict=True):
        own = row.retrieved or frozenset()
        fit = None if outcome else next((ids for ids in right[row.group] if ids & own), None)
        settled.append(_settle(row if fit is None else replace(row, retrieved=fit), outcome))
    return settled


def _join_true(rows: Sequence[JudgedRow], correct: Sequence[bool | None]) -> list[JudgedRow]:
    """Take a row that retrieved all its true documents as one that retrieved just these."""
    return [
        _settle(
            replace(row, retrieved=row.true)
            if row.true and row.retrieved is not None and row.true <= row.retrieved
            else row,
            outcome,
        )
        for row, outcome in zip(rows, correct, strict=True)
    ]
