"""Combine people's decisions on rows of artifacts (accept, edit, reject, rate), and measure agreement.

Each line of a file is a JSON object with one decision of one person on one item. Lines are sorted by item,
person and time. A person's last decision on an item counts; earlier decisions remain as history.
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
"""Columns that a person may reword. The first of these columns that an artifact has is its main column."""
HINT = "see docs/review.md"


@dataclass(frozen=True)
class Decision:
    """A person's decision on an item."""

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")

    item: str
    """The id of the row."""
    artifact: str
    """The path of the artifact, relative to the project."""
    reviewer: str
    at: Annotated[str, Field(pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$")]
    """The time in UTC, such as `2031-11-23T14:05:09.000000Z`."""
    decision: Literal["accept", "edit", "reject", ""]
    """The decision.

    If empty, the person only gave a rating. If the rating is also missing, the person withdrew the decision.
    """
    seen: str
    """The hash, from `digest_row`, of the row that the person saw."""
    edited: dict[str, str] = field(default_factory=dict)
    """The new text of each edited column, by column; empty unless the decision is `edit`."""
    rating: Annotated[int, Field(ge=1, le=5, strict=True)] | None = None
    note: str = ""

    def __post_init__(self) -> None:
        """Raise ValueError if an edit has no new text, or if any other decision has a new text."""
        if (self.decision == EDIT) != bool(self.edited):
            raise ValueError("`edited` is required for the decision `edit`, and not allowed for others")


State = Literal["accepted", "edited", "rejected", "split", "undecided"]


@dataclass(frozen=True)
class Ruling:
    """The combined result of people's decisions on an item."""

    state: State
    """The result; `split` if as many people keep the item as reject it, or if edits tie."""
    edited: Mapping[str, str] = field(default_factory=dict)
    """The new text of each edited column, by column; empty unless the state is `edited`."""
    people: tuple[str, ...] = ()
    """Names of the people whose decisions count, sorted."""
    outdated: tuple[str, ...] = ()
    """People whose decisions do not count, because they saw a different wording of the row."""

    @property
    def keeps(self) -> bool:
        """Whether the item is accepted, either unchanged or edited."""
        return self.state in ("accepted", "edited")

    @property
    def text(self) -> str | None:
        """The edited text of the main column; None if the text does not change."""
        return next((self.edited[name] for name in EDITABLE if name in self.edited), None)


@dataclass(frozen=True)
class PairAgreement:
    """The agreement of two people on the items for which both made a decision (accept, edit or reject)."""

    first: str
    second: str
    n: int
    agree: float | None
    """Fraction of items with the same decision, from 0 to 1."""
    kappa: float | None
    """Cohen's kappa; None if undefined, for example because both people made the same decision every time."""


@dataclass(frozen=True)
class Decisions:
    """All decisions on an artifact's items, sorted."""

    history: tuple[Decision, ...] = ()

    @cached_property
    def current(self) -> dict[str, dict[str, Decision]]:
        """The last decision of each person on each item: item -> person -> decision."""
        last: dict[str, dict[str, Decision]] = defaultdict(dict)
        for decision in self.history:
            last[decision.item][decision.reviewer] = decision
        return dict(last)

    def decide(self, item: str, row: object = None) -> Ruling:
        """Return the result for an item, by the majority of people's last decisions.

        row: the current row of the item, a dataclass or a mapping; if given, decisions on a different wording
        are ignored. People who accept or edit the item keep it. If most people keep the item, its most
        frequent text is chosen. If one edit is as frequent as the unchanged text, the edit is chosen.
        """
        return self.decide_seen(item, None if row is None else digest_row(row))

    def decide_seen(self, item: str, seen: str | None) -> Ruling:
        """Return the same result as `decide`, for a row given by its hash.

        seen: the hash from `digest_row`; None counts decisions on any wording.
        """
        acts = [act for _, act in sorted(self.current.get(item, {}).items()) if act.decision]
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
        """Measure the agreement of each pair of people on the items that both saw in the same wording."""
        pairs: dict[tuple[str, str], list[tuple[str, str]]] = defaultdict(list)
        for acts in self.current.values():
            decided = [(name, act) for name, act in sorted(acts.items()) if act.decision]
            for (first, choices), (second, other) in combinations(decided, 2):
                if choices.seen == other.seen:
                    pairs[first, second].append((choices.decision, other.decision))
        return [_compare(*people, ratings) for people, ratings in sorted(pairs.items())]


def name_decisions(artifact: str) -> str:
    """Return the name of the file in data/labels/review that contains an artifact's decisions.

    Example: `data/longform/sample/condense.parquet` -> `longform-sample-condense.jsonl`.
    """
    return "-".join(PurePosixPath(artifact).with_suffix("").parts[1:]) + ".jsonl"


def digest_row(row: object) -> str:
    """Return a hash of a row's judged texts. row: a dataclass or a mapping.

    The judged texts are the editable columns or, if there are none, all text columns except the id.
    """
    values: Mapping[str, Any] = row if isinstance(row, Mapping) else vars(row)
    texts = {name: value for name, value in values.items() if isinstance(value, str) and name != "id"}
    return make_id({name: texts[name] for name in EDITABLE if name in texts} or texts)


def load_decisions(path: Path) -> Decisions:
    """Load a file of decisions; a missing or empty file has no decisions.

    Raises BadInput, with the line, if the file is not in the format of `write_decisions`.
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
    """Write a file of decisions, sorted, so that the same decisions produce the same bytes."""
    ordered = sorted(decisions, key=_by_person)
    write_text(path, "".join(json.dumps(asdict(act), ensure_ascii=False) + "\n" for act in ordered))


def _by_person(act: Decision) -> tuple[str, ...]:
    # The JSON text orders decisions with the same time, so that the order of the input does not matter.
    return act.item, act.reviewer, act.at, json.dumps(asdict(act), sort_keys=True)


def _choose_text(kept: Sequence[Mapping[str, str]]) -> Mapping[str, str] | None:
    """Return the most frequent edit; empty if the unchanged text is chosen, None if several edits tie."""
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
    # NaN is the only number that is not equal to itself; the results must not contain NaN.
    agree, kappa = (
        value if value == value else None
        for value in (float(figures[name][0]) for name in ("unanimous", "kappa"))
    )
    return PairAgreement(first, second, len(ratings), agree, kappa)
