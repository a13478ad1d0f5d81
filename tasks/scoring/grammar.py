"""GRAMMAR-Eval: accuracy and robustness over groups of equivalent questions (GRAMMAR, section 4.3)."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from typing import ClassVar, NamedTuple, TypedDict

import numpy as np
import numpy.typing as npt

from tasks.scoring.correctness import Correctness
from tasks.scoring.items import ID_TYPES, BadItem, Record, describe_type
from tasks.scoring.label import UnknownLabel, score_label
from tasks.scoring.metric import (
    SKIPPED,
    Accumulator,
    FloatArray,
    IntArray,
    Metric,
    Score,
    count_kinds,
    divide,
)

SCORED = Score({})
DIGEST_BYTES = 16
"""Number of bytes in a digest."""

BoolArray = npt.NDArray[np.bool_]
Ids = frozenset[str | int]


class JudgedQuery(NamedTuple):
    """The judgement on the answer to a question, and the comparison of retrieved and true documents.

    `correct`: None if the answer was not judged. `retrieved`: a digest of the set of retrieved ids.
    `matches`: whether the retrieved and true ids are the same set; None if the true ids are unknown.
    """

    group: str | int
    correct: bool | None
    retrieved: bytes
    matches: bool | None


@dataclass(frozen=True)
class Grammar(Metric[JudgedQuery]):
    """Rates over semantic groups (phrasings of the same question): gap, robust and non-robust groups.

    A gap group has no correct row, a robust group has only correct rows, and a non-robust group has both
    correct and wrong rows. Unscored rows, and groups without scored rows, are ignored.

    - accuracy = correct / rows.
    - robustness R = correct / (rows - rows in gap groups) (GRAMMAR, Eq. 2).
    - retrieval_db_accuracy = 1 - gap groups / groups (GRAMMAR, Eq. 1).
    - lambda = rows in gap groups / rows (GRAMMAR, Eq. 3), so that accuracy = R (1 - lambda).
    - Names of group counts end in `_groups`.

    The figures context.gold and context.siblings are accuracy and R, computed from the rows with sufficient
    retrieval instead of the correct rows. The judgement still determines gap groups, and R is the share of
    sufficient rows outside gap groups. Two rules determine whether the retrieval of a row is sufficient:

    - gold: the retrieved ids equal the true ids, as sets. The figures are null if a scored row has null true
      ids.
    - siblings: a correct row is sufficient. A wrong row in a gap group is not sufficient. A wrong row in a
      non-robust group is sufficient if a correct row in its group has the same set of retrieved ids.

    `closed`: if the retrieval of a correct row missed a true document, the row counts as incorrect, because
    the model must have known the missing facts. This change happens before groups are classified. Rows with
    null true ids keep their judgement.
    """

    name: ClassVar[str] = "grammar"
    columns: ClassVar[tuple[str, ...]] = (
        "id",
        "group",
        "judgement",
        "retrieved_document_ids",
        "true_document_ids",
    )
    texts: ClassVar[frozenset[str]] = frozenset({"id", "group", "query", "judgement"})

    closed: bool = False

    def read(self, record: Record) -> JudgedQuery:
        """Read group, judgement and both lists of ids. Raises BadItem if a value is not valid."""
        group = record.get("group")
        if group is None or type(group) not in ID_TYPES:
            raise BadItem(f"group is {describe_type(group)}; expected text or a whole number")
        retrieved = read_ids(record, "retrieved_document_ids")
        true = None if record.get("true_document_ids") is None else read_ids(record, "true_document_ids")
        score = score_label(read_judgement(record))
        correct = None if score is None else score == 1
        if correct and self.closed and true is not None and not true <= retrieved:
            correct = False
        return JudgedQuery(group, correct, digest_ids(retrieved), None if true is None else retrieved == true)

    def make_accumulator(self, rule: str) -> GroupAccumulator:
        """Return an empty accumulator."""
        return GroupAccumulator()

    def score_item(self, item: JudgedQuery, rule: str) -> Score:
        """Return SCORED for a judged row, otherwise SKIPPED; the rates depend on the row's whole group."""
        return SKIPPED if item.correct is None else SCORED


def read_judgement(record: Record) -> Correctness | None:
    """Read the judgement; None if it is missing. Raises BadItem if the value is unknown."""
    judgement = record.get("judgement")
    if judgement is None:
        return None
    try:
        return Correctness(judgement)
    except UnknownLabel as error:
        raise BadItem(f"judgement is {judgement!r:.40}; expected {', '.join(Correctness)} or null") from error


def read_ids(record: Record, field: str) -> Ids:
    """Read a list of document ids as a set. Raises BadItem if the field is not a list of ids."""
    ids = record.get(field)
    if not isinstance(ids, list):
        raise BadItem(f"{field} is {describe_type(ids)}; expected a list of document ids")
    if not ID_TYPES.issuperset(map(type, ids)):
        wrong = next(given for given in ids if type(given) not in ID_TYPES)
        raise BadItem(f"{field} contains {describe_type(wrong)}; expected text or a whole number")
    return frozenset(ids)


def digest_ids(ids: Ids) -> bytes:
    """Return a digest of a set of ids, so that the sets of a million rows fit into memory."""
    try:
        ordered = sorted(ids)
    except TypeError:  # texts and numbers are mixed
        ordered = sorted(ids, key=repr)
    return blake2b(repr(ordered).encode(), digest_size=DIGEST_BYTES).digest()


class RowValues(TypedDict):
    """A row's scores.

    `accuracy`: 1 if the row is correct, 0 if not, None if unscored. `context`: rule -> whether the retrieval
    is sufficient, as {"accuracy": 1} or {"accuracy": 0}; None if unknown.
    """

    accuracy: int | None
    context: dict[str, dict[str, int] | None]


class GroupAccumulator(Accumulator[JudgedQuery]):
    """Collects rows as columns, with a few bytes per row."""

    def __init__(self) -> None:
        self.groups: dict[str | int, int] = {}
        self.group = array("q")
        self.correct = array("b")
        self.matches = array("b")
        self.retrieved = bytearray()

    def add(self, item: JudgedQuery, score: Score) -> None:
        """Add one row; None is stored as -1."""
        self.group.append(self.groups.setdefault(item.group, len(self.groups)))
        self.correct.append(-1 if item.correct is None else item.correct)
        self.matches.append(-1 if item.matches is None else item.matches)
        self.retrieved += item.retrieved

    @cached_property
    def rows(self) -> TaggedQueries:
        """The scored rows as columns."""
        scored = np.asarray(self.correct) >= 0
        retrieved = np.frombuffer(self.retrieved, dtype=f"V{DIGEST_BYTES}")[scored]
        return TaggedQueries(
            scored=scored,
            group=np.asarray(self.group)[scored],
            correct=np.asarray(self.correct)[scored] == 1,
            matches=np.asarray(self.matches)[scored],
            retrieved=np.unique(retrieved, return_inverse=True)[1]
            if len(retrieved)
            else np.zeros(0, np.int64),
        )

    def sample(self) -> GroupSample:
        """Return a sample with the groups as units."""
        return self.rows.gather()

    def item_values(self) -> Iterator[RowValues]:
        """Yield each row's correctness, and whether retrieval suffices under the rules gold and siblings."""
        rows = self.rows
        scored = zip(rows.correct, rows.matches, rows.siblings, strict=True)
        for is_scored in rows.scored:
            if not is_scored:
                yield {"accuracy": None, "context": {"gold": None, "siblings": None}}
                continue
            correct, match, sibling = (int(flag) for flag in next(scored))
            gold = None if match < 0 else {"accuracy": match}
            yield {"accuracy": correct, "context": {"gold": gold, "siblings": {"accuracy": sibling}}}


@dataclass(frozen=True)
class TaggedQueries:
    """Columns with one entry per scored row.

    Only `scored` has an entry for every row: whether the row is scored. `group`: index of the row's group.
    `matches`: 1, 0, or -1 if unknown. `retrieved`: index of the row's set of ids.
    """

    scored: BoolArray
    group: IntArray
    correct: BoolArray
    matches: npt.NDArray[np.int8]
    retrieved: IntArray

    @cached_property
    def siblings(self) -> BoolArray:
        """Whether each row's retrieval is sufficient under the siblings rule."""
        pairs = self.group * (int(self.retrieved.max(initial=0)) + 1) + self.retrieved
        return self.correct | np.isin(pairs, pairs[self.correct])

    def gather(self, *, merge: bool = True) -> GroupSample:
        """Count the rows of each group, and return the counts as a sample.

        `merge`: merge groups with equal counts into one kind; otherwise each scored group is its own kind.
        """
        marks = (np.ones(len(self.group)), self.correct, self.matches == 1, self.siblings)
        sums = np.column_stack([np.bincount(self.group, weights=mark).astype(np.float64) for mark in marks])
        scored = sums[sums[:, 0] > 0]
        kinds, counts = count_kinds(scored) if merge else (scored, np.ones(len(scored), dtype=np.int64))
        return GroupSample(kinds, counts, gold=not (self.matches < 0).any())


@dataclass(frozen=True)
class GroupSample:
    """Distinct groups and their frequencies (`counts`).

    `kinds`: shape (kinds, 4). The columns are the numbers of rows, of correct rows, of rows sufficient under
    the rule gold, and of rows sufficient under the rule siblings. `gold`: whether all true ids are known.
    """

    kinds: FloatArray
    counts: IntArray
    gold: bool

    @property
    def shares(self) -> frozenset[str]:
        """The names of the figures that are not counts of groups."""
        one = np.ones((1, len(self.kinds)))
        return frozenset(name for name in self.figures(one) if not name.endswith("_groups"))

    def denominators(self) -> dict[str, BoolArray]:
        """Return, for figures that exclude gap groups, which groups are in the denominator."""
        kept = self.kinds[:, 1] > 0
        return dict.fromkeys(("robustness", "context.gold.robustness", "context.siblings.robustness"), kept)

    def figures(self, weights: FloatArray) -> dict[str, FloatArray]:
        """Compute the figures for each bootstrap draw; `weights` has shape (draws, kinds)."""
        sizes, correct = self.kinds[:, 0], self.kinds[:, 1]
        gap, robust = correct == 0, correct == sizes
        groups, gaps = weights.sum(axis=1), weights @ gap
        rows, right, match, sibling = (weights @ self.kinds).T
        kept, _, kept_match, kept_sibling = (weights @ (self.kinds * ~gap[:, np.newaxis])).T
        figures = {
            "accuracy": divide(right, rows),
            "robustness": divide(right, kept),
            "retrieval_db_accuracy": divide(groups - gaps, groups),
            "gap_groups": gaps,
            "robust_groups": weights @ robust,
            "non_robust_groups": weights @ ~(gap | robust),
            "lambda": divide(rows - kept, rows),
        }
        if self.gold:
            figures["context.gold.accuracy"] = divide(match, rows)
            figures["context.gold.robustness"] = divide(kept_match, kept)
        else:
            # A figure without a suffix makes the whole object `context.gold` null in the report.
            figures["context.gold"] = np.full(len(weights), np.nan)
        figures["context.siblings.accuracy"] = divide(sibling, rows)
        figures["context.siblings.robustness"] = divide(kept_sibling, kept)
        return figures
