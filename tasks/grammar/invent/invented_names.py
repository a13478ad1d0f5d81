"""Ask a model for one new name at a time, until it is well formed, not taken, and nobody's in particular."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from tasks.artifacts.rows import Dropped, Origin
from tasks.grammar.invent.recognition import ask_recognised
from tasks.grammar.invent.shapes import Shape
from tasks.models.ask import Ask


@dataclass(frozen=True)
class Invention:
    """A name with every call that it took, or None and why the last one was refused."""

    name: str | None
    calls: tuple[Origin, ...]
    problem: str = ""

    def drop(self, row: str) -> Dropped:
        """Tell of a name that was not found."""
        reason, _, detail = self.problem.partition(": ")
        return Dropped(row, reason, detail, self.calls)


class Inventor:
    """Remembers which names are taken, so that no two things are called alike."""

    def __init__(self, ask: Ask, tries: int, sure: float, taken: Iterable[str] = ()) -> None:
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
        """Ask for a name. shape: of the sample's number, so that another try may have other letters.

        kind: what it names, if it must not be known as something particular. fits: says what is wrong
        with a name, or nothing.
        """
        calls: list[Origin] = []
        problem = ""
        for sample in range(self._tries):
            wanted = shape(sample)
            answer = await self._ask(
                prompt,
                {**fields, "hint": wanted.hint},
                role="generator",
                row=row,
                parse=wanted.parse,
                grammar=wanted.grammar,
                sample=sample,
                max_tokens=24,
            )
            calls.append(Origin("call", answer.call))
            name = answer.value
            if name is None:
                problem = answer.problem
                continue
            keys = wanted.list_keys(name)
            problem = "taken: " + name if self._taken & set(keys) else fits(name)
            if not problem and kind is not None:
                verdict = await ask_recognised(name, kind, self._ask, row=row, sure=self._sure)
                calls.append(Origin("call", verdict.call))
                problem = {True: f"known: {name}", None: verdict.problem}.get(verdict.value, "")
            if not problem:
                self._taken.update(keys)
                return Invention(name, tuple(calls))
        return Invention(None, tuple(calls), problem)
