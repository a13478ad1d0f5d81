"""Ask a model for invented names, until one is well formed, not taken, and of nothing that it knows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from tasks.artifacts.rows import Dropped, Origin
from tasks.grammar.invent.shapes import Shape
from tasks.models.ask import Answer, Ask, Unparsed
from tasks.models.logprobs import compare_choices

LIKELIEST = 8
"""Number of tokens whose probability is requested: enough to have yes and no among them, in any case."""


@dataclass(frozen=True)
class Invention:
    """An invented name with all calls that it took; or None, and why the last candidate was rejected."""

    name: str | None
    calls: tuple[Origin, ...]
    problem: str = ""

    def drop(self, row: str) -> Dropped:
        """Make the dropped row of a name that was not found."""
        reason, _, detail = self.problem.partition(": ")
        return Dropped(row, reason, detail, self.calls)


class Inventor:
    """Invents names that are all different."""

    def __init__(self, ask: Ask, tries: int, sure: float, taken: Iterable[str] = ()) -> None:
        """Set up without any call.

        tries: maximum number of candidates per name. sure: see `ask_recognised`. taken: names already used.
        """
        self._ask, self._tries, self._sure = ask, tries, sure
        self._taken = {name.casefold() for name in taken}

    async def invent(
        self,
        prompt: str,
        fields: Mapping[str, object],
        shape: Callable[[int], Shape],
        *,
        row: str,
        kind: str | None = None,
        fits: Callable[[str], str] = lambda _: "",
    ) -> Invention:
        """Ask for a name.

        shape: the name's shape by sample number, so that another try may have other letters. kind: what it
        names; if given, names that the judge recognises are rejected. fits: returns what is wrong with a
        name, or "".
        """
        calls: list[Origin] = []
        problem = ""
        for sample in range(self._tries):
            candidate_shape = shape(sample)
            answer = await self._ask(
                prompt,
                {**fields, "hint": candidate_shape.hint},
                role="generator",
                row=row,
                parse=candidate_shape.parse,
                grammar=candidate_shape.grammar,
                sample=sample,
                max_tokens=24,
            )
            calls.append(Origin("call", answer.call))
            name = answer.value
            if name is None:
                problem = answer.problem
                continue
            keys = candidate_shape.list_keys(name)
            problem = "taken: " + name if self._taken & set(keys) else fits(name)
            if not problem and kind is not None:
                verdict = await ask_recognised(name, kind, self._ask, row=row, sure=self._sure)
                calls.append(Origin("call", verdict.call))
                problem = {True: f"known: {name}", None: verdict.problem}.get(verdict.value, "")
            if not problem:
                self._taken.update(keys)
                return Invention(name, tuple(calls))
        return Invention(None, tuple(calls), problem)


async def ask_recognised(name: str, kind: str, ask: Ask, *, row: str, sure: float) -> Answer[bool]:
    """Ask the judge whether it knows a particular thing of this name (appendix G.2, section 5).

    kind: what the name stands for ("company"). sure: the probability of yes above which a name counts as
    recognised, if the endpoint returns probabilities: a small model says yes to every name, but with higher
    probability to names that it knows. The answer's value is None if the reply is neither yes nor no.
    """
    answer = await ask(
        "closed_check",
        {"name": name, "kind": kind},
        role="reader",
        row=row,
        parse=parse_verdict,
        grammar='root ::= "Yes" | "No"',
        max_tokens=4,
        top_logprobs=LIKELIEST,
    )
    shares = compare_choices(answer.logprobs, ("yes", "no"))
    return answer if shares is None or answer.value is None else replace(answer, value=shares["yes"] > sure)


def parse_verdict(text: str) -> bool:
    """Parse a reply that must be yes or no. Raises Unparsed."""
    word = text.strip().strip(".*\"'").lower()
    if word not in ("yes", "no"):
        raise Unparsed("no_verdict: neither yes nor no")
    return word == "yes"
