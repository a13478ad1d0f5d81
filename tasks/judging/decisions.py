"""People's decisions on rows of artifacts (accept, edit, reject, a rating), and what they come to.

A file has one JSON object a line, an act of one person on one item, sorted by item, person and time. A
person's last act on an item stands; her earlier ones stay as history.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from itertools import combinations
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, ClassVar, Literal

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError

from tasks.artifacts.rows import make_id
from tasks.errors import BadInput
from tasks.files import write_text
from tasks.judging.human_files import read_lines
from tasks.scoring.agreement import Agreement

ACCEPT, EDIT, REJECT = "accept", "edit", "reject"
CHOICES = (ACCEPT, EDIT, REJECT)
EDITABLE = ("text", "question", "answer", "reference")
"""Columns that a person may word anew; where an artifact has several, the first is the main one."""
HINT = "see docs/review.md"


@dataclass(frozen=True)
class Decision:
    """What one person did with one item, once."""

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")

    item: str
    """The row's id."""
    artifact: str
    """The artifact's path below the project's folder."""
    reviewer: str
    at: Annotated[str, Field(pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$")]
    """When, UTC: `2031-11-23T14:05:09.000000Z`."""
    decision: Literal["accept", "edit", "reject", ""]
    """Empty: a rating alone, or with no rating either: she took back what she had decided."""
    seen: str
    """`digest_row` of the row that she saw."""
    edited: dict[str, str] = field(default_factory=dict)
    """The columns that she worded anew; of `edit` alone."""
    rating: Annotated[int, Field(ge=1, le=5, strict=True)] | None = None
    note: str = ""

    def __post_init__(self) -> None:
        """Raise ValueError where an edit has no new text, or what is no edit has one."""
        if (self.decision == EDIT) != bool(self.edited):
            raise ValueError("`edited` goes with the decision edit, and with no other")


State = Literal["accepted", "edited", "rejected", "split", "undecided"]


@dataclass(frozen=True)
class Ruling:
    """What people's decisions on one item come to."""

    state: State
    """`split` where as many keep as reject, or where edits differ and none has more people than another."""
    edited: Mapping[str, str] = field(default_factory=dict)
    """Of `edited`: the new texts by column; columns that are not named stay as they are."""
    people: tuple[str, ...] = ()
    """Who decided, sorted."""
    outdated: tuple[str, ...] = ()
    """Whose decision is on another wording of the row and does not count."""

    @property
    def keeps(self) -> bool:
        """Return whether the item is accepted, as it is or as edited."""
        return self.state in ("accepted", "edited")

    @property
    def text(self) -> str | None:
        """Return the edited text of the main column; None if it stays as it is."""
        return next((self.edited[name] for name in EDITABLE if name in self.edited), None)


@dataclass(frozen=True)
class PairAgreement:
    """How two people agree on the items on which both decided (accept, edit, reject)."""

    first: str
    second: str
    n: int
    agree: float | None
    """The share of items with the same decision, 0 to 1."""
    kappa: float | None
    """Cohen's kappa; None where it is not defined, as if both always decided the same way."""


@dataclass(frozen=True)
class Decisions:
    """All acts on an artifact's items, sorted."""

    history: tuple[Decision, ...] = ()

    @cached_property
    def standing(self) -> dict[str, dict[str, Decision]]:
        """The last act of each person on each item: item -> person -> act."""
        last: dict[str, dict[str, Decision]] = defaultdict(dict)
        for decision in self.history:
            last[decision.item][decision.reviewer] = decision
        return dict(last)

    def decide(self, item: str, row: object = None) -> Ruling:
        """Decide on an item by majority of the people whose decision stands.

        row: the item's row as it now is, a dataclass or a mapping; decisions on another wording of it do not
        count then. Keeping (accept or edit) is compared with rejecting; then, among those who keep, the texts
        against each other, where one edit prevails over as many who accept the text as it is.
        """
        return self.decide_seen(item, None if row is None else digest_row(row))

    def decide_seen(self, item: str, seen: str | None) -> Ruling:
        """Decide as `decide`. seen: `digest_row` of the row; None if decisions on any wording count."""
        acts = [act for _, act in sorted(self.standing.get(item, {}).items()) if act.decision]
        outdated = tuple(act.reviewer for act in acts if seen is not None and act.seen != seen)
        acts = [act for act in acts if act.reviewer not in outdated]
        people = tuple(act.reviewer for act in acts)
        if not acts:
            return Ruling("undecided", outdated=outdated)
        kept = [act.edited for act in acts if act.decision != REJECT]
        if 2 * len(kept) < len(acts):
            return Ruling("rejected", people=people, outdated=outdated)
        edited = _choose_text(kept) if 2 * len(kept) > len(acts) else None
        if edited is None:
            return Ruling("split", people=people, outdated=outdated)
        return Ruling("edited" if edited else "accepted", edited, people, outdated)

    def measure_agreement(self) -> list[PairAgreement]:
        """Measure the agreement of every two people, on items of which both judged the same wording."""
        pairs: dict[tuple[str, str], list[tuple[str, str]]] = defaultdict(list)
        for acts in self.standing.values():
            decided = [(name, act) for name, act in sorted(acts.items()) if act.decision]
            for (first, one), (second, other) in combinations(decided, 2):
                if one.seen == other.seen:
                    pairs[first, second].append((one.decision, other.decision))
        return [_compare(*people, ratings) for people, ratings in sorted(pairs.items())]


def name_decisions(artifact: str) -> str:
    """Name the file of an artifact's decisions, below data/labels/review.

    `data/longform/sample/condense.parquet` -> `longform-sample-condense.jsonl`
    """
    return "-".join(PurePosixPath(artifact).with_suffix("").parts[1:]) + ".jsonl"


def digest_row(row: object) -> str:
    """Hash what is judged of a row (a dataclass or a mapping): a decision on it fits no other wording.

    These are the editable columns, or where there is none, all columns of text but the id.
    """
    values: Mapping[str, Any] = row if isinstance(row, Mapping) else vars(row)
    texts = {name: value for name, value in values.items() if isinstance(value, str) and name != "id"}
    return make_id({name: texts[name] for name in EDITABLE if name in texts} or texts)


def load_decisions(path: Path) -> Decisions:
    """Load a file of decisions; one that is missing or empty holds none.

    Raises BadInput, with the line, for a file that is not what `write_decisions` writes.
    """
    if not path.exists():
        return Decisions()
    adapter, found = TypeAdapter(Decision), []
    for line in read_lines(path, (), HINT):
        if line.record is None:
            raise BadInput(path, line.problem, line=line.number, hint=HINT)
        try:
            found.append(adapter.validate_python(line.record))
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            what = ": ".join([*map(str, first["loc"]), first["msg"]])
            raise BadInput(path, what, line=line.number, hint=HINT) from error
    return Decisions(tuple(sorted(found, key=_by_person)))


def write_decisions(path: Path, decisions: Iterable[Decision]) -> None:
    """Write a file of decisions, sorted; the same decisions give the same bytes."""
    ordered = sorted(decisions, key=_by_person)
    write_text(path, "".join(json.dumps(asdict(act), ensure_ascii=False) + "\n" for act in ordered))


def _by_person(act: Decision) -> tuple[str, ...]:
    return act.item, act.reviewer, act.at, json.dumps(asdict(act), sort_keys=True)


def _choose_text(kept: Sequence[Mapping[str, str]]) -> Mapping[str, str] | None:
    """Return the edits that most people want, none for the text as it is; None if edits tie."""
    counts = Counter(tuple(sorted(edited.items())) for edited in kept)
    most = [edited for edited, count in counts.items() if count == max(counts.values())]
    edits = [edited for edited in most if edited] or most
    return dict(edits[0]) if len(edits) == 1 else None


def _compare(first: str, second: str, ratings: Sequence[tuple[str, str]]) -> PairAgreement:
    metric = Agreement()
    accumulator = metric.make_accumulator("")
    for pair in ratings:
        item = metric.read({"ratings": list(pair)})
        accumulator.add(item, metric.score_item(item, ""))
    sample = accumulator.sample()
    figures = sample.figures(sample.counts[None, :].astype(float))
    # NaN, which no figure of ours may be, is the only number that differs from itself.
    agree, kappa = (
        value if value == value else None
        for value in (float(figures[name][0]) for name in ("unanimous", "kappa"))
    )
    return PairAgreement(first, second, len(ratings), agree, kappa)
