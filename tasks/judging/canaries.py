"""Canaries: responses whose right verdict is known, judged in every evaluation by the same judge.

They are easy on purpose: a judge that fails some of them is unreliable on the rest, and one that passed them
last night and fails them tonight has changed. They are data, `canaries.yaml` beside this file, about invented
things so that a model's own knowledge does not help. `canaries_further.yaml` is a second set of labels by
another reader: prompts and parsers are mended by the first, so only the second says what they are worth.
`canaries_rules.yaml` tries the rules that decide before a judge; no model is asked about these.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeVar

import yaml
from pydantic import Field, ValidationError, model_validator

from tasks.artifacts.rows import Origin
from tasks.errors import BadInput, StageFailed
from tasks.judging.findings import label_by_rule
from tasks.judging.known_values import KnownColumn
from tasks.judging.rules import find_rule
from tasks.models.ask import Answer
from tasks.scoring.correctness import Correctness
from tasks.settings import Settings

FILE = Path(__file__).with_name("canaries.yaml")
FURTHER = Path(__file__).with_name("canaries_further.yaml")
OF_RULES = Path(__file__).with_name("canaries_rules.yaml")
Kind = Literal["label", "score"]
OR = " or "
Verdict = TypeVar("Verdict", bound=str | int)


class NamedCase(Settings):
    """The common fields of all kinds of canaries."""

    id: str = Field(min_length=1)


Case = TypeVar("Case", bound=NamedCase)


class KnownCase(NamedCase):
    """A canary that a judge is asked about."""

    accepted: tuple[str, ...] = Field(min_length=1)
    """The right verdicts: one label, or scores written as whole numbers, where neighbours can be defended."""


class Canary(KnownCase):
    """A canary."""

    kind: Kind
    query: str
    answer: str
    """The reference answer, which deserves the best label, or 5."""
    response: str
    """The response to judge."""
    contexts: tuple[str, ...] = ()
    """The contexts for judges that are shown some."""

    @model_validator(mode="after")
    def _check_verdicts(self) -> Canary:
        if self.kind == "score" and not set(self.accepted) <= set("012345"):
            raise ValueError("accepted holds something else than scores 0 to 5")
        if self.kind == "label":
            for word in self.accepted:
                Correctness.read(word)
        return self


class RuleCanary(NamedCase):
    """A canary of the rules, with what a database would know of its answer."""

    query: str
    answer: str
    response: str
    kind: str
    words: str = ""
    values: tuple[str, ...] = ()
    verdict: Literal["Correct", "Incorrect", "judge"]
    """The verdict that a rule gives; `judge` where it must give none."""

    def is_right(self) -> bool:
        """Return whether the rules decide it as they should."""
        column = KnownColumn(self.kind, self.words, self.values)
        label = label_by_rule(find_rule(self.answer, self.response, self.query, column).rule)
        return (label or "judge") == self.verdict


@dataclass(frozen=True)
class CanaryRow:
    """A judge's verdict on one canary: the row of a Parquet artifact."""

    id: str
    kind: str
    expected: str
    """The accepted verdicts, joined by ` or `."""
    given: str | None
    """The judge's own verdict; None if the reply did not parse."""
    rule: str
    """The rule that decides before the judge; empty where none does."""
    agreed: bool | None
    """Whether the verdict is right, by the rule where there is one; None for a reply that did not parse."""
    call: str
    problem: str
    further: bool
    """Whether it is of the second set, which stands beside the first and is in none of its figures."""
    origin: tuple[Origin, ...]


@dataclass(frozen=True)
class CanaryHealth:
    """A judge's results on the canaries."""

    n: int
    n_scored: int
    n_failed: int
    """Replies that did not parse."""
    agreement: float | None
    """Share of the scored canaries with a right verdict, 0 to 1; None if none was scored."""
    wrong: tuple[str, ...] = ()
    """Ids of the canaries with a wrong verdict."""
    n_ruled: int = 0
    """Canaries that a rule decides."""
    judge_right: int = 0
    """Canaries that the judge itself gets right, of all n."""


def read_canaries(kind: Kind, path: Path = FILE) -> tuple[Canary, ...]:
    """Read the canaries of one kind, sorted by id. Raises BadInput for an unreadable or malformed file."""
    return tuple(canary for canary in read_cases(path, Canary) if canary.kind == kind)


def read_cases(path: Path, model: type[Case]) -> tuple[Case, ...]:
    """Read a file of canaries, a YAML list, sorted by id.

    model: of one of them. Raises BadInput for a file that is unreadable or malformed, or has an id twice.
    """
    try:
        records = yaml.load(path.read_text(encoding="utf-8"), yaml.CSafeLoader)
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        reason = str(error).splitlines()[0]
        raise BadInput(path, f"cannot be read as a list of canaries: {reason}") from error
    if not isinstance(records, list):
        raise BadInput(path, f"cannot be read as a list of canaries: it is {records!r:.40}")
    cases = []
    for place, record in enumerate(records):
        try:
            cases.append(model.model_validate(record))
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            where = ".".join(map(str, (place, *first["loc"])))
            raise BadInput(path, f"a canary's {where}: {first['msg']}") from error
    ids = [case.id for case in cases]
    if repeated := sorted({case_id for case_id in ids if ids.count(case_id) > 1}):
        raise BadInput(path, f"has two canaries with the id {repeated[0]!r}")
    return tuple(sorted(cases, key=lambda case: case.id))


def try_rules(path: Path = OF_RULES) -> None:
    """Try the rules on their canaries.

    Raises StageFailed if they decide one otherwise, and BadInput for an unreadable file.
    """
    if wrong := [canary.id for canary in read_cases(path, RuleCanary) if not canary.is_right()]:
        raise StageFailed(f"the rules of tasks/judging decide these canaries wrong: {', '.join(wrong)}")


def find_no_rule(canary: Canary) -> str:
    """Find no rule, as for scores: nothing is decided before the judge."""
    return ""


async def judge_canaries(
    canaries: Sequence[Canary],
    judge: Callable[[Canary], Awaitable[Answer[Verdict]]],
    name_rule: Callable[[Canary], str] = find_no_rule,
    *,
    further: bool = False,
) -> list[CanaryRow]:
    """Have canaries judged; return a row per canary, in their order.

    judge: the function that judges the rows of the evaluation; it asks once and parses a label or a score.
    name_rule: names the rule that decides before the judge, or gives an empty text; the judge is asked all
    the same. further: whether these are of the second set. Raises what `judge` raises.
    """
    answers = await asyncio.gather(*(judge(canary) for canary in canaries))
    return [
        make_row(canary, answer, name_rule(canary), further=further)
        for canary, answer in zip(canaries, answers, strict=True)
    ]


def make_row(canary: Canary, answer: Answer[Verdict], rule: str = "", *, further: bool = False) -> CanaryRow:
    """Compare a judge's answer, or the rule that decides before it, with the accepted verdicts."""
    given = None if answer.value is None else str(answer.value)
    settled = label_by_rule(rule) or given
    return CanaryRow(
        id=canary.id,
        kind=canary.kind,
        expected=OR.join(canary.accepted),
        given=given,
        rule=rule,
        agreed=None if settled is None else settled in canary.accepted,
        call=answer.call,
        problem=answer.problem,
        further=further,
        origin=(Origin("call", answer.call),),
    )


def measure_health(rows: Iterable[CanaryRow], *, further: bool = False) -> CanaryHealth:
    """Count right, wrong and unscored verdicts of the first set, or of the second."""
    ordered = sorted((row for row in rows if row.further == further), key=lambda row: row.id)
    scored = [row for row in ordered if row.agreed is not None]
    wrong = tuple(row.id for row in scored if not row.agreed)
    agreement = (len(scored) - len(wrong)) / len(scored) if scored else None
    return CanaryHealth(
        n=len(ordered),
        n_scored=len(scored),
        n_failed=len(ordered) - len(scored),
        agreement=agreement,
        wrong=wrong,
        n_ruled=sum(bool(row.rule) for row in ordered),
        judge_right=sum(row.given in row.expected.split(OR) for row in ordered),
    )


def measure_further(rows: Iterable[CanaryRow]) -> CanaryHealth | None:
    """Count the verdicts of the second set; None if it was not judged."""
    health = measure_health(rows, further=True)
    return health if health.n else None
