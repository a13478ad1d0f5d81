"""Shapes of invented names: a grammar for decoding, and a strict parser for every reply."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tasks.models.ask import Unparsed

LONGEST = 60
WORD = r"[^\W\d_](?:[^\W\d_]|['\u2019-](?=[^\W_]))*\.?"
SMALL = frozenset(["and", "of", "for", "the", "in", "on", "de", "van", "von"])
STRAY = re.compile(
    r"\b(sure|here|name|answer|fictitious|invented|example|unknown|none|n/?a)\b", re.IGNORECASE
)


@dataclass(frozen=True)
class Shape:
    """One kind of name. hint: the rules in words, for prompts of endpoints without grammars."""

    grammar: str
    words: tuple[int, int]
    """Minimum and maximum number of words."""
    hint: str
    whole: bool = False
    """Require that the first word alone is new as well, as for firms, which are known by it."""

    def parse(self, text: str) -> str:
        """Parse a reply as one name. Raises Unparsed: `<reason>: <detail>`."""
        name = " ".join(text.strip("\"'`*.,;: \n\t").split())
        least, most = self.words
        count = sum(word not in SMALL for word in name.split())
        if "\n" in text.strip() or not least <= count <= most or len(name) > LONGEST:
            raise Unparsed(f"no_name: {least} to {most} words are wanted")
        if not all(re.fullmatch(WORD, word) or word == "&" for word in name.split()):
            raise Unparsed(f"no_name: {name[:LONGEST]}")
        if stray := STRAY.search(name):
            raise Unparsed(f"no_name: says {stray[0]}")
        if not name[0].isupper() or any(word[0].islower() and word not in SMALL for word in name.split()):
            raise Unparsed("no_name: words in small letters")
        return name

    def list_keys(self, name: str) -> tuple[str, ...]:
        """List what must be new about a name, case-folded."""
        folded = name.casefold()
        return (folded, folded.split()[0]) if self.whole else (folded,)


def shape_person(first: str, last: str) -> Shape:
    """Make the shape of a first name and a surname, given their first letters."""
    return Shape(
        f'root ::= "{first}" [a-z]{{2,8}} " {last}" [a-z]{{3,9}}',
        (2, 3), f"a first name with {first} and a surname with {last}",
    )  # fmt: skip


def shape_coined(first: str) -> Shape:
    """Make the shape of one coined word, given its first letter."""
    return Shape(f'root ::= "{first}" [a-z]{{3,8}}', (1, 1), f"one new word that begins with {first}")


def shape_firm(first: str) -> Shape:
    """Make the shape of an organisation's name: a word with the given first letter, then one or two more."""
    return Shape(
        f'root ::= "{first}" [a-z]{{3,9}} (" " [A-Z] [a-z]{{2,11}}){{1,2}}',
        (2, 3), f"two or three words, the first begins with {first}", whole=True,
    )  # fmt: skip


def shape_title(first: str, most: int = 3) -> Shape:
    """Make the shape of a project's or work's title: two words or more, the first with the given letter."""
    rest = f"{{1,{most - 1}}}" if most > 2 else ""
    return Shape(
        f'root ::= "{first}" [a-z]{{2,10}} (" " [A-Z] [a-z]{{2,11}}){rest}',
        (2, most), f"two to {most} words, the first begins with {first}", whole=True,
    )  # fmt: skip


def shape_place(first: str) -> Shape:
    """Make the shape of a town's name, given its first letter."""
    return Shape(f'root ::= "{first}" [a-z]{{3,10}}', (1, 2), f"one word that begins with {first}")


def shape_phrase(most: int = 4) -> Shape:
    """Make the shape of a few capitalised words: an industry, a department, a job title."""
    return Shape(
        f'root ::= [A-Z] [a-z]{{2,13}} (" " ("and " | "of ")? [A-Z] [a-z]{{2,13}}){{0,{most - 1}}}',
        (1, most), f"at most {most} words, each with a capital",
    )  # fmt: skip
