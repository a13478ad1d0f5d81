"""Apply GRAMMAR-Eval's rules to judged answers: tag groups and attribute wrong answers (section 4.3).

The rules are the rules of the metric (tasks/scoring/grammar.py), in open and in closed mode. Each wrong
answer is attributed to a module by each of the paper's rules. The rule `sufficiency`, which is not in the
paper, attributes the answer by the facts that the retrieved documents state. Rows of one SQL template share
their texts, so the bootstrap resamples them together, as one cluster.
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
"""Pages warn about intervals from fewer clusters than this, because such intervals are too narrow."""
TEMPLATES = "SQL templates"
"""The name of the clusters on pages."""

Mode = Literal["open", "closed"]
MODES: tuple[Mode, ...] = ("open", "closed")
"""In closed mode, an answer counts as incorrect unless the system retrieved every true document."""
RULES = ("siblings", "siblings_overlap", "gold", "gold_contained")
"""The context rules. Each rule says when the ids that a row retrieved make its context sufficient.

- `siblings`: the ids equal the ids that a correct row of the group retrieved;
- `siblings_overlap`: the ids include an id that a correct row of the group retrieved;
- `gold`: the ids equal the true ids;
- `gold_contained`: the ids include all true ids.
"""
SETS = ("balanced", "unbalanced")
GAP, ROBUST, NON_ROBUST = "gap", "robust", "non-robust"
"""The tags of a group: no correct answer, only correct answers, or both kinds."""
DATABASE, RETRIEVAL, MODEL, JUDGE = "database", "retrieval", "model", "judge"
MODULES = (DATABASE, RETRIEVAL, MODEL, JUDGE)
"""The modules at fault. Only the rule `sufficiency` can name the judge."""
SUFFICIENCY = "sufficiency"
ATTRIBUTIONS = (SUFFICIENCY, *RULES)
"""The rules that attribute wrong rows to modules."""
Rate = float | int | None
ContextRates = dict[str, dict[str, Rate] | None]
"""Accuracy and robustness by context rule; None if the rule cannot decide for every row."""
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
"""The 95% intervals of a report's rates, each as (low, high)."""


class RateSize(TypedDict):
    """The denominator of a rate: `n` rows or groups from `clusters` clusters. `of` is the unit of `n`."""

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
"""The rates that the metric `grammar` computes over some rows, in the form of figures.json."""


@dataclass(frozen=True)
class JudgedRow:
    """A question with its judgement and the ids of its documents.

    - `judgement` is None if the answer is unscored.
    - `retrieved` is None if the system does not report the retrieved documents.
    - `true` is None if the true documents are unknown.
    - `balanced` and `unbalanced` say which sets contain the question.
    - `template` is the SQL template; empty if unknown.
    - `enough` is whether the retrieved documents state all facts that the answer needs; None if unknown. -
      `obtainable` is whether the whole corpus states all these facts; None if unknown.
    - `holds` is whether the response contains the true answer, whatever the judgement.
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
        """Return whether the row belongs to the balanced set, or for any other name to the unbalanced set."""
        return self.balanced if name == "balanced" else self.unbalanced


@dataclass(frozen=True)
class TaggedRow:
    """A scored row with its group's tag.

    `retrieves` is whether the system retrieves documents and reports them. If not, the rule `sufficiency`
    names no module. `sufficient` maps each context rule to whether the row's context is sufficient, or to
    None if the rule cannot decide.
    """

    judged: JudgedRow
    correct: bool
    tag: str
    retrieves: bool
    sufficient: Mapping[str, bool | None]

    def has_context(self, rule: str) -> bool | None:
        """Return whether the row's context is sufficient by a rule; None if the rule cannot decide."""
        return self.judged.enough if rule == SUFFICIENCY else self.sufficient[rule]

    def find_module(self, rule: str) -> str | None:
        """Return the module at fault in a wrong row; None if the row is correct or the rule cannot decide."""
        if self.correct:
            return None
        if rule == SUFFICIENCY:
            return find_cause(self.judged) if self.retrieves else None
        if self.tag == GAP:
            return DATABASE
        enough = self.sufficient[rule]
        return None if enough is None else MODEL if enough else RETRIEVAL


def find_cause(row: JudgedRow) -> str | None:
    """Return the module that a wrong row is attributed to by `sufficiency`; None if it cannot be determined.

    The first matching case decides:

    - the judge, if the response contains the true answer but was judged incorrect;
    - the model, if the retrieved documents state all that the answer needs;
    - the database, if the whole corpus does not state everything that the answer needs;
    - otherwise, the retrieval.

    An answer that is incorrect only in closed mode lacks a true document, so only the database or the
    retrieval can be at fault.
    """
    if row.judgement is Correctness.INCORRECT:
        if row.holds:
            return JUDGE
        if row.enough is not False:
            return MODEL if row.enough else None
    return None if row.obtainable is None else RETRIEVAL if row.obtainable else DATABASE


def measure(rows: Sequence[JudgedRow], mode: Mode, intervals: Bootstrap | None = None) -> RateReport:
    """Compute the metric's rates, and the rates by the two wider context rules.

    `intervals` configures the bootstrap for the 95% intervals, which resamples whole clusters (see
    `settle_interval`). If `intervals` is None, no intervals are computed. `over` in the result maps each rate
    to its denominator. Context rates are None if the system does not report the retrieved documents. Raises
    ArithmeticError if accuracy is not R (1 - lambda), which would be a programming error.
    """
    strict = _accumulate(rows, closed=mode == "closed")
    figures = cast("RateReport", _compute(strict, rows, intervals))
    check_identity(figures)
    correct = _list_correct(rows, strict)
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
    """Return the distance of accuracy from R (1 - lambda) (Eq. 3). Raises ArithmeticError above 1e-9.

    If all rows are in gap groups, R is undefined and accuracy must be 0.
    """
    accuracy, robustness, share = figures["accuracy"], figures["robustness"], figures["lambda"]
    if accuracy is None or share is None:
        return 0.0
    distance = abs(accuracy - (robustness or 0) * (1 - share))
    if distance > 1e-9:
        raise ArithmeticError(f"accuracy {accuracy} is not R (1 - lambda): {robustness}, {share}")
    return float(distance)


def tag_rows(rows: Sequence[JudgedRow], mode: Mode) -> list[TaggedRow]:
    """Tag the scored rows of a set, in their order; unscored rows do not affect a group's tag."""
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
    """Tag groups by their scored rows: gap (none correct), robust (all correct), non-robust (some correct).

    `rows` contains (group, correct) pairs; `correct` is None if the row is unscored. Groups without a scored
    row are left out.
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

    If not, as for a model without retrieval, no context rule applies.
    """
    shown = [row.retrieved for row in rows if row.scored]
    return None not in shown and any(shown)


def _accumulate(rows: Iterable[JudgedRow], *, closed: bool = False) -> GroupAccumulator:
    metric = Grammar(closed=closed)
    accumulator = metric.make_accumulator("")
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
    """Store the outcome of closed mode as the judgement, so that replacing the ids cannot change it."""
    label = Correctness.CORRECT if correct else Correctness.INCORRECT
    return replace(row, judgement=None if correct is None else label)


def _join_siblings(rows: Sequence[JudgedRow], correct: Sequence[bool | None]) -> list[JudgedRow]:
    """Give each wrong row the retrieved ids of the first correct row in its group that shares an id."""
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
    """If a row retrieved all its true documents, reduce the row's retrieved ids to the true ids."""
    return [
        _settle(
            replace(row, retrieved=row.true)
            if row.true and row.retrieved is not None and row.true <= row.retrieved
            else row,
            outcome,
        )
        for row, outcome in zip(rows, correct, strict=True)
    ]
