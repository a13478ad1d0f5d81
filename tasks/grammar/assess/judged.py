"""Apply GRAMMAR-Eval's rules to judged answers: tag groups and attribute wrong answers (section 4.3).

The metric (tasks/scoring/grammar.py) computes the rates, in open and in closed mode. Each of the paper's
rules attributes each wrong answer to a module. The rule `sufficiency`, which is not in the paper, attributes
wrong answers based on the facts that the retrieved documents state. Rows of one SQL template share texts, so
the bootstrap resamples these rows together, as one cluster.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NotRequired, TypedDict, cast

from tasks.scoring.correctness import Correctness
from tasks.scoring.grammar import Grammar, GroupAccumulator
from tasks.scoring.label import score_label
from tasks.scoring.running import Bootstrap, compute_figures, count_units
from tasks.scoring.statistics import number_clusters

FEW = 20
"""The minimum number of clusters for an interval without a warning. With fewer clusters, intervals are too
narrow."""
TEMPLATES = "SQL templates"
"""The name of the clusters on pages."""

Mode = Literal["open", "closed"]
MODES: tuple[Mode, ...] = ("open", "closed")
"""The modes. In open mode, the judgement alone decides whether an answer is correct.

In closed mode, an answer is also incorrect if the system did not retrieve every true document.
"""
RULES = ("siblings", "siblings_overlap", "gold", "gold_contained")
"""The context rules. The context of a row is sufficient in these cases:

- `siblings`: the row and a correct row of its group retrieved the same document ids;
- `siblings_overlap`: the row and a correct row of its group retrieved a common document id;
- `gold`: the row retrieved exactly the ids of the true documents;
- `gold_contained`: the row retrieved the ids of all true documents.
"""
SETS = ("balanced", "unbalanced")
GAP, ROBUST, NON_ROBUST = "gap", "robust", "non-robust"
"""A group's tag: gap if no scored answer is correct, robust if every one is, otherwise non-robust."""
DATABASE, RETRIEVAL, MODEL, JUDGE = "database", "retrieval", "model", "judge"
MODULES = (DATABASE, RETRIEVAL, MODEL, JUDGE)
"""The modules at fault. Only the rule `sufficiency` can name the judge."""
SUFFICIENCY = "sufficiency"
ATTRIBUTIONS = (SUFFICIENCY, *RULES)
"""The rules that attribute wrong rows to modules."""
REQUIREMENTS = {
    SUFFICIENCY: "requires retrieved documents that state every fact",
    "siblings": "requires the same retrieved documents as for a correctly answered phrasing",
    "siblings_overlap": "requires a retrieved document in common with a correctly answered phrasing",
    "gold": "requires exactly the true documents",
    "gold_contained": "requires all true documents",
}
"""Each rule's condition for sufficient documents, as displayed on pages."""
Rate = float | int | None
ContextRates = dict[str, dict[str, Rate] | None]
"""Accuracy and robustness by context rule; None if the rule is undecided for some row."""
RateIntervals = TypedDict(
    "RateIntervals",
    {
        "accuracy": list[float] | None,
        "robustness": list[float] | None,
        "retrieval_db_accuracy": list[float] | None,
        "lambda": list[float] | None,
        "context": dict[str, dict[str, list[float] | None] | None],
    },
)
"""The 95% intervals of a report's rates, as (low, high)."""


class RateSize(TypedDict):
    """A rate's denominator. `n` counts rows or groups, as `of` states."""

    n: int
    of: str
    clusters: int


RateReport = TypedDict(
    "RateReport",
    {
        "accuracy": Rate,
        "robustness": Rate,
        "retrieval_db_accuracy": Rate,
        "gap_groups": int,
        "robust_groups": int,
        "non_robust_groups": int,
        "lambda": Rate,
        "context": ContextRates,
        "over": dict[str, "RateSize"],
        "ci": NotRequired[RateIntervals],
    },
)
"""The rates that the metric `grammar` computes for some rows, in the format of figures.json."""


@dataclass(frozen=True)
class JudgedRow:
    """A question with its judgement and the ids of its documents.

    - `judgement` is None if the answer is unscored.
    - `retrieved` is None if the system does not report the retrieved documents.
    - `true` is None if the true documents are unknown.
    - `balanced` and `unbalanced` state whether these sets contain the question.
    - `template` is the id of the SQL template; empty if unknown.
    - `enough` states whether the retrieved documents state all facts that the answer needs; None if unknown.
    - `obtainable` states whether the whole corpus states all facts that the answer needs; None if unknown.
    - `holds` states whether a text search finds the true answer in the response; false if a rule judged the
      answer.
    """

    id: str
    group: str
    criterion: str
    judgement: Correctness | None
    retrieved: frozenset[str] | None
    true: frozenset[str] | None
    balanced: bool = True
    unbalanced: bool = True
    template: str = ""
    enough: bool | None = None
    obtainable: bool | None = None
    holds: bool = False

    @property
    def scored(self) -> bool:
        """Return whether the judgement has a score."""
        return score_label(self.judgement) is not None

    @property
    def cluster(self) -> str:
        """The row's cluster in the bootstrap: its SQL template, or its group if the template is unknown."""
        return self.template or self.group

    def is_in(self, name: str) -> bool:
        """Return whether the set with this name, `balanced` or `unbalanced`, contains the row."""
        return self.balanced if name == "balanced" else self.unbalanced


@dataclass(frozen=True)
class TaggedRow:
    """A scored row with its group's tag.

    `retrieves` states whether the system retrieves documents and reports them. If `retrieves` is False, the
    rule `sufficiency` names no module. `sufficient` states for each context rule whether the row's context is
    sufficient, or None if undecided.
    """

    judged: JudgedRow
    correct: bool
    tag: str
    retrieves: bool
    sufficient: Mapping[str, bool | None]

    def has_context(self, rule: str) -> bool | None:
        """Return whether the row's context is sufficient according to a rule, or None if undecided."""
        return self.judged.enough if rule == SUFFICIENCY else self.sufficient[rule]

    def find_module(self, rule: str) -> str | None:
        """Return the module at fault in a wrong row; None for a correct row or an undecided module."""
        if self.correct:
            return None
        if rule == SUFFICIENCY:
            return find_cause(self.judged) if self.retrieves else None
        if self.tag == GAP:
            return DATABASE
        enough = self.sufficient[rule]
        return None if enough is None else MODEL if enough else RETRIEVAL


def find_cause(row: JudgedRow) -> str | None:
    """Return the module at fault in a wrong row according to the rule `sufficiency`, or None if unknown.

    The first matching case decides:

    - the judge, if the response contains the true answer but was judged incorrect;
    - the model, if the retrieved documents state all facts that the answer needs;
    - the database, if the whole corpus does not state all facts that the answer needs;
    - otherwise, the retrieval.

    For an answer that is incorrect only in closed mode, a true document was not retrieved, so only the
    database or the retrieval can be at fault.
    """
    if row.judgement is Correctness.INCORRECT:
        if row.holds:
            return JUDGE
        if row.enough is not False:
            return MODEL if row.enough else None
    return None if row.obtainable is None else RETRIEVAL if row.obtainable else DATABASE


def measure(rows: Sequence[JudgedRow], mode: Mode, intervals: Bootstrap | None = None) -> RateReport:
    """Compute the metric's rates, and the rates by the rules `siblings_overlap` and `gold_contained`.

    `intervals` configures the bootstrap for 95% intervals, which resamples whole clusters (see
    `settle_interval`). If `intervals` is None, the result contains no intervals. `over` in the result
    contains the denominators by rate. Context rates are None if the system does not report the retrieved
    documents. Raises ArithmeticError if accuracy differs from R (1 - lambda), which is a programming error.
    """
    strict = _accumulate(rows, closed=mode == "closed")
    figures = cast("RateReport", _compute(strict, rows, intervals))
    check_identity(figures)
    correct = _list_correct(rows, strict)
    # The metric tests whether sets of ids are equal. With replaced ids, this test applies the wider rules.
    for name, rule, widened in (
        ("siblings_overlap", "siblings", _join_siblings(rows, correct)),
        ("gold_contained", "gold", _join_true(rows, correct)),
    ):
        wide = _compute(_accumulate(widened), rows, intervals)
        figures["context"][name] = wide["context"][rule]
        if intervals is not None:
            figures["ci"]["context"][name] = wide["ci"]["context"][rule]
    if not shows_retrieval(rows):
        figures["context"] = dict.fromkeys(RULES)
        if intervals is not None:
            figures["ci"]["context"] = dict.fromkeys(RULES)
    return figures


def _compute(
    accumulator: GroupAccumulator, rows: Sequence[JudgedRow], intervals: Bootstrap | None
) -> dict[str, Any]:
    clusters_of = {row.group: row.cluster for row in rows if row.scored}
    clusters = number_clusters(
        clusters_of[str(group)] for group in accumulator.groups if group in clusters_of
    )
    sample = accumulator.rows.gather(merge=False)
    figures = compute_figures(sample, intervals, clusters)
    counted = count_units(sample, clusters)
    sizes = sample.kinds[:, 0].astype(int)
    kept = sample.denominators()["robustness"]
    for name, n, of in (
        ("accuracy", sizes.sum(), "rows"),
        ("robustness", sizes[kept].sum(), "rows outside of gap groups"),
        ("retrieval_db_accuracy", len(sizes), "groups"),
        ("lambda", sizes.sum(), "rows"),
    ):
        figures.setdefault("over", {})[name] = RateSize(n=int(n), of=of, clusters=counted[name])
    return figures


def check_identity(figures: RateReport) -> float:
    """Return |accuracy - R (1 - lambda)| (Eq. 3). Raises ArithmeticError if the result exceeds 1e-9.

    If all rows are in gap groups, R is undefined and accuracy must be 0.
    """
    accuracy, robustness, share = figures["accuracy"], figures["robustness"], figures["lambda"]
    if accuracy is None or share is None:
        return 0.0
    distance = abs(accuracy - (robustness or 0) * (1 - share))
    if distance > 1e-9:
        raise ArithmeticError(
            f"accuracy {accuracy} is not R (1 - lambda) for R = {robustness} and lambda = {share}"
        )
    return float(distance)


def tag_rows(rows: Sequence[JudgedRow], mode: Mode) -> list[TaggedRow]:
    """Return the scored rows of a set with tags, in the same order; unscored rows do not affect tags."""
    strict = _accumulate(rows, closed=mode == "closed")
    correct = _list_correct(rows, strict)
    shown = shows_retrieval(rows)
    sufficient = {
        "siblings": _list_context(strict, "siblings"),
        "siblings_overlap": _list_context(_accumulate(_join_siblings(rows, correct)), "siblings"),
        "gold": _list_context(strict, "gold"),
        "gold_contained": _list_context(_accumulate(_join_true(rows, correct)), "gold"),
    }
    tags = tag_groups((row.group, right) for row, right in zip(rows, correct, strict=True))
    return [
        TaggedRow(
            row,
            right,
            tags[row.group],
            shown,
            {rule: sufficient[rule][n] if shown else None for rule in RULES},
        )
        for n, (row, right) in enumerate(zip(rows, correct, strict=True))
        if right is not None
    ]


def tag_groups(rows: Iterable[tuple[str, bool | None]]) -> dict[str, str]:
    """Return each group's tag: gap if no row is correct, robust if every row is, otherwise non-robust.

    `rows` contains (group, correct) pairs; `correct` is None for an unscored row. Groups without a scored row
    are left out.
    """
    outcomes: defaultdict[str, set[bool]] = defaultdict(set)
    for group, correct in rows:
        if correct is not None:
            outcomes[group].add(correct)
    return {
        group: NON_ROBUST if len(seen) == 2 else ROBUST if True in seen else GAP
        for group, seen in outcomes.items()
    }


def shows_retrieval(rows: Iterable[JudgedRow]) -> bool:
    """Return whether the system retrieves documents, and reported them for every scored row.

    If False, as for a model without retrieval, no context rule applies.
    """
    shown = [row.retrieved for row in rows if row.scored]
    return None not in shown and any(shown)


def _accumulate(rows: Iterable[JudgedRow], *, closed: bool = False) -> GroupAccumulator:
    metric = Grammar(closed=closed)
    accumulator = metric.make_accumulator("")
    for row in rows:
        # Without the retrieved ids, closed mode would count every row with true documents as incorrect.
        known = row.true is not None and row.retrieved is not None
        item = metric.read(
            {
                "group": row.group,
                "judgement": row.judgement,
                "retrieved_document_ids": sorted(row.retrieved or ()),
                "true_document_ids": sorted(row.true or ()) if known else None,
            }
        )
        accumulator.add(item, metric.score_item(item, ""))
    return accumulator


def _list_correct(rows: Sequence[JudgedRow], accumulator: GroupAccumulator) -> list[bool | None]:
    return [
        None if values["accuracy"] is None else bool(values["accuracy"])
        for values in accumulator.item_values()
    ]


def _list_context(accumulator: GroupAccumulator, rule: str) -> list[bool | None]:
    found = [values["context"][rule] for values in accumulator.item_values()]
    return [None if context is None else bool(context["accuracy"]) for context in found]


def _settle(row: JudgedRow, correct: bool | None) -> JudgedRow:
    """Return the row with the mode's outcome as its judgement, which is None for an unscored row.

    The outcome is then fixed, even if the row's retrieved ids are replaced later.
    """
    label = Correctness.CORRECT if correct else Correctness.INCORRECT
    return replace(row, judgement=None if correct is None else label)


def _join_siblings(rows: Sequence[JudgedRow], correct: Sequence[bool | None]) -> list[JudgedRow]:
    """Return the rows with the mode's outcomes, and with replaced document ids in wrong rows.

    A wrong row gets the retrieved ids of a correct row: the first in its group that retrieved at least one of
    the same documents. If no correct row did, the wrong row keeps its ids.
    """
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
    """Return the rows with the mode's outcomes, and with replaced document ids in some rows.

    If a row retrieved all its true documents, the true ids replace the retrieved ids.
    """
    return [
        _settle(
            replace(row, retrieved=row.true)
            if row.true and row.retrieved is not None and row.true <= row.retrieved
            else row,
            outcome,
        )
        for row, outcome in zip(rows, correct, strict=True)
    ]
