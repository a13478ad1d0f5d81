"""Have a model invent names until a name is well formed, new, and unknown to the reader model.

Each kind of name has a shape: a decoding grammar, and a strict parser for replies.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from tasks.artifacts.rows import Dropped, Origin
from tasks.models.ask import Answer, Ask, Unparsed
from tasks.models.logprobs import compare_choices

LONGEST = 60
"""The maximum number of characters in a name."""
WORD = r"[^\W\d_](?:[^\W\d_]|['\u2019-](?=[^\W_]))*\.?"
SMALL = frozenset(["and", "of", "for", "the", "in", "on", "de", "van", "von"])
"""Words that may be in lower case in a name, and do not count as words of the name."""
STRAY = re.compile(
    r"\b(sure|here|name|answer|fictitious|invented|example|unknown|none|n/?a)\b", re.IGNORECASE
)
"""Words that indicate that the reply contains more than a name."""
LIKELIEST = 8
"""The number of token probabilities to request: enough to include the tokens for yes and no."""


@dataclass(frozen=True)
class Shape:
    """The shape of a name. `hint` describes the shape for endpoints without grammars."""

    grammar: str
    words: tuple[int, int]
    """The minimum and maximum number of words."""
    hint: str
    whole: bool = False
    """Whether the first word alone must also be new, because people refer to companies by the first word."""
    offered: tuple[str, ...] = ()
    """The allowed names; empty if the model invents the name."""

    def parse(self, text: str) -> str:
        """Parse a reply as one name. Raises Unparsed with `<reason>: <detail>`."""
        name = " ".join(text.strip("\"'`*.,;: \n\t").split())
        least, most = self.words
        count = sum(word not in SMALL for word in name.split())
        if "\n" in text.strip() or not least <= count <= most or len(name) > LONGEST:
            raise Unparsed(f"no_name: expected {least} to {most} words")
        if not all(re.fullmatch(WORD, word) or word == "&" for word in name.split()):
            raise Unparsed(f"no_name: {name[:LONGEST]}")
        if stray := STRAY.search(name):
            raise Unparsed(f"no_name: says {stray[0]}")
        if self.offered and name not in self.offered:
            raise Unparsed(f"no_name: {name} is not one of the names offered")
        if not name[0].isupper() or any(word[0].islower() and word not in SMALL for word in name.split()):
            raise Unparsed("no_name: words in small letters")
        return name

    def list_keys(self, name: str) -> tuple[str, ...]:
        """Return the case-folded parts that must be new: the name and, if `whole`, the name's first word."""
        folded = name.casefold()
        return (folded, folded.split()[0]) if self.whole else (folded,)


def shape_person(first: str, last: str) -> Shape:
    """Return the shape of a first name and a surname with the given first letters."""
    return Shape(
        f'root ::= "{first}" [a-z]{{2,8}} " {last}" [a-z]{{3,9}}',
        (2, 3), f"a first name with {first} and a surname with {last}",
    )  # fmt: skip


def shape_coined(first: str) -> Shape:
    """Return the shape of one invented word with the given first letter."""
    return Shape(f'root ::= "{first}" [a-z]{{3,8}}', (1, 1), f"one new word that begins with {first}")


def shape_firm(first: str) -> Shape:
    """Return the shape of an organisation's name: two or three words, starting with the given letter."""
    return Shape(
        f'root ::= "{first}" [a-z]{{3,9}} (" " [A-Z] [a-z]{{2,11}}){{1,2}}',
        (2, 3), f"two or three words, the first begins with {first}", whole=True,
    )  # fmt: skip


def shape_title(first: str) -> Shape:
    """Return the shape of a project's title: two or three words, starting with the given letter."""
    return Shape(
        f'root ::= "{first}" [a-z]{{2,10}} (" " [A-Z] [a-z]{{2,11}}){{1,2}}',
        (2, 3), f"two to 3 words, the first begins with {first}", whole=True,
    )  # fmt: skip


def shape_place(first: str) -> Shape:
    """Return the shape of a town's name with the given first letter."""
    return Shape(f'root ::= "{first}" [a-z]{{3,10}}', (1, 2), f"one word that begins with {first}")


def shape_offered(names: Sequence[str], *, whole: bool = False) -> Shape:
    """Return the shape of a name that must be one of `names`."""
    choices = " | ".join(f'"{name}"' for name in names)
    return Shape(f"root ::= {choices}", (1, 5), f"one of these: {'; '.join(names)}", whole, tuple(names))


def shape_phrase(most: int = 4) -> Shape:
    """Return the shape of up to `most` capitalised words, for an industry, a department or a job title."""
    return Shape(
        f'root ::= [A-Z] [a-z]{{2,13}} (" " ("and " | "of ")? [A-Z] [a-z]{{2,13}}){{0,{most - 1}}}',
        (1, most), f"at most {most} words, each with a capital",
    )  # fmt: skip


@dataclass(frozen=True)
class Invention:
    """An invented name, with all model calls for it.

    If no candidate is valid, `name` is None and `problem` states why.
    """

    name: str | None
    calls: tuple[Origin, ...]
    problem: str = ""

    def drop(self, row: str) -> Dropped:
        """Return the dropped row for a name that could not be invented."""
        reason, _, detail = self.problem.partition(": ")
        return Dropped(row, reason, detail, self.calls)


class Inventor:
    """Invents unique names."""

    def __init__(self, ask: Ask, tries: int, sure: float, taken: Iterable[str] = ()) -> None:
        """Store the settings.

        `tries` is the maximum number of candidates per name. `sure` is the probability above which the reader
        recognises a name (`ask_recognised`). `taken` contains the names that are already used.
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
        """Request a name until a candidate is accepted, at most `tries` times.

        `shape` returns the shape for each attempt (from 0), so that attempts may have different letters. If
        `kind`, the kind of entity, is given, names that the reader recognises are rejected. `fits` returns
        the problem with a name, or "" if there is none.
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
    """Ask the reader whether it knows an entity with this name (GRAMMAR, appendix G.2 and section 5).

    `kind` is the kind of entity, such as "company". If the endpoint returns probabilities, a name counts as
    recognised if the probability of yes exceeds `sure`. A small model answers yes to every name, but with a
    higher probability for known names. The answer's value is None if the reply is neither yes nor no.
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
