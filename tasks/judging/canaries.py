"""Test judges with canaries: responses with a known right verdict, judged in every evaluation.

Canaries are easy on purpose. A judge that fails some canaries is unreliable. A judge that passed in an
earlier run and fails now has changed. The file `canaries.yaml` beside this module contains cases about
invented entities, so that a model's own knowledge does not help. `canaries_further.yaml` is a second set,
labelled by another person. Prompts and parsers are tuned on the first set, so only the second set measures
their quality. `canaries_rules.yaml` tests the rules that are applied before a judge is asked; no model is
called.
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
    """A canary for a judge."""

    accepted: tuple[str, ...] = Field(min_length=1)
    """The right verdicts: one label, or one or more adjacent integers as scores."""


class Canary(KnownCase):
    """A response with its question, its reference answer and the right verdicts."""

    kind: Kind
    query: str
    answer: str
    """The reference answer. A response with the same text must get the best label, or the score 5."""
    response: str
    """The response to judge."""
    contexts: tuple[str, ...] = ()
    """The contexts of the response, for judges that receive contexts."""

    @model_validator(mode="after")
    def _check_verdicts(self) -> Canary:
        if self.kind == "score" and not set(self.accepted) <= set("012345"):
            raise ValueError("accepted contains a value that is not a score from 0 to 5")
        if self.kind == "label":
            for word in self.accepted:
                Correctness.read(word)
        return self


class RuleCanary(NamedCase):
    """A canary for the rules, with example values of the answer's database column."""

    query: str
    answer: str
    response: str
    kind: str
    words: str = ""
    values: tuple[str, ...] = ()
    verdict: Literal["Correct", "Incorrect", "judge"]
    """The verdict of the rules; `judge` if no rule may decide."""

    def is_right(self) -> bool:
        """Return whether the verdict of the rules is the expected verdict."""
        column = KnownColumn(self.kind, self.words, self.values)
        label = label_by_rule(find_rule(self.answer, self.response, self.query, column).rule)
        return (label or "judge") == self.verdict


@dataclass(frozen=True)
class CanaryRow:
    """The verdict of a judge on one canary: a row of a Parquet artifact."""

    id: str
    kind: str
    expected: str
    """The accepted verdicts, joined by ` or `."""
    given: str | None
    """The judge's own verdict; None if the reply could not be parsed."""
    rule: str
    """The rule that decides before the judge; empty if no rule decides."""
    agreed: bool | None
    """Whether the rule's verdict is right, or the judge's if no rule decides; None if there is no verdict."""
    call: str
    problem: str
    further: bool
    """Whether the canary belongs to the second set, which is reported separately."""
    origin: tuple[Origin, ...]


@dataclass(frozen=True)
class CanaryHealth:
    """A judge's results on the canaries."""

    n: int
    n_scored: int
    n_failed: int
    """Number of replies that could not be parsed."""
    agreement: float | None
    """Fraction of the scored canaries with a right verdict, 0 to 1; None if no canary was scored."""
    wrong: tuple[str, ...] = ()
    """Ids of the canaries with a wrong verdict."""
    n_ruled: int = 0
    """Number of canaries that a rule decides."""
    judge_right: int = 0
    """Number of canaries, out of n, that the judge itself gets right, whether or not a rule decides."""


def read_canaries(kind: Kind, path: Path = FILE) -> tuple[Canary, ...]:
    """Read the canaries of one kind, sorted by id. Raises BadInput if the file is not valid."""
    return tuple(canary for canary in read_cases(path, Canary) if canary.kind == kind)


def read_cases(path: Path, model: type[Case]) -> tuple[Case, ...]:
    """Read a file of canaries, which is a YAML list; the result is sorted by id.

    model: the schema of a canary. Raises BadInput if the file cannot be read, is not valid or repeats an id.
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
            raise BadInput(path, f"canary {where}: {first['msg']}") from error
    ids = [case.id for case in cases]
    if repeated := sorted({case_id for case_id in ids if ids.count(case_id) > 1}):
        raise BadInput(path, f"has two canaries with the id {repeated[0]!r}")
    return tuple(sorted(cases, key=lambda case: case.id))


def try_rules(path: Path = OF_RULES) -> None:
    """Test the rules on their canaries.

    Raises StageFailed if a rule gives a wrong verdict, and BadInput if the file is not valid.
    """
    if wrong := [canary.id for canary in read_cases(path, RuleCanary) if not canary.is_right()]:
        raise StageFailed(f"the rules of tasks/judging misjudge these canaries: {', '.join(wrong)}")


def find_no_rule(canary: Canary) -> str:
    """Return an empty rule name. Used for judges without rules, such as judges that give scores."""
    return ""


async def judge_canaries(
    canaries: Sequence[Canary],
    judge: Callable[[Canary], Awaitable[Answer[Verdict]]],
    name_rule: Callable[[Canary], str] = find_no_rule,
    *,
    further: bool = False,
) -> list[CanaryRow]:
    """Judge canaries concurrently; return one row per canary, in the same order.

    - judge: judges a canary in the same way as an evaluated response; returns a label or a score.
    - name_rule: returns the rule that decides a canary, or an empty string. The judge is always called.
    - further: whether the canaries belong to the second set.

    Raises any error that `judge` raises.
    """
    answers = await asyncio.gather(*(judge(canary) for canary in canaries))
    return [
        make_row(canary, answer, name_rule(canary), further=further)
        for canary, answer in zip(canaries, answers, strict=True)
    ]


def make_row(canary: Canary, answer: Answer[Verdict], rule: str = "", *, further: bool = False) -> CanaryRow:
    """Return a canary's row.

    If a rule decides, `agreed` is about the rule's verdict, otherwise about the judge's verdict.
    """
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
    """Count right, wrong and unscored verdicts on one set of canaries.

    further: whether to count the second set instead of the first.
    """
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
    """Count the verdicts on the second set; return None if the set was not judged."""
    health = measure_health(rows, further=True)
    return health if health.n else None
