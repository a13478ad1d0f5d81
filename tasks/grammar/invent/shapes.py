"""What an invented name may look like: a grammar to decode by, and the strict rule for every reply."""

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
    """One kind of name. `hint` is said in the prompt, since not every endpoint decodes by a grammar."""

    grammar: str
    words: tuple[int, int]
    """Least and greatest number of words."""
    hint: str
    whole: bool = False
    """Whether the first word alone must be new as well: two firms do not share the word that tells them."""

    def parse(self, text: str) -> str:
        """Read a reply as one name. Raises Unparsed: `<reason>: <detail>`."""
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
        """List what must be new about a name, in one case."""
        folded = name.casefold()
        return (folded, folded.split()[0]) if self.whole else (folded,)


def shape_person(first: str, last: str) -> Shape:
    """Shape a first name and a surname by their first letters."""
    return Shape(
        f'root ::= "{first}" [a-z]{{2,8}} " {last}" [a-z]{{3,9}}',
        (2, 3), f"a first name with {first} and a surname with {last}",
    )  # fmt: skip


def shape_coined(first: str) -> Shape:
    """Shape one word that nothing is called by, by its first letter."""
    return Shape(f'root ::= "{first}" [a-z]{{3,8}}', (1, 1), f"one new word that begins with {first}")


def shape_firm(first: str) -> Shape:
    """Shape an organisation's name: a word by its first letter, then one or two more."""
    return Shape(
        f'root ::= "{first}" [a-z]{{3,9}} (" " [A-Z] [a-z]{{2,11}}){{1,2}}',
        (2, 3), f"two or three words, the first begins with {first}", whole=True,
    )  # fmt: skip


def shape_title(first: str, most: int = 3) -> Shape:
    """Shape what a project or a work is called: two words or more, the first by its letter."""
    rest = f"{{1,{most - 1}}}" if most > 2 else ""
    return Shape(
        f'root ::= "{first}" [a-z]{{2,10}} (" " [A-Z] [a-z]{{2,11}}){rest}',
        (2, most), f"two to {most} words, the first begins with {first}", whole=True,
    )  # fmt: skip


def shape_place(first: str) -> Shape:
    """Shape a town's name by its first letter."""
    return Shape(f'root ::= "{first}" [a-z]{{3,10}}', (1, 2), f"one word that begins with {first}")


def shape_phrase(most: int = 4) -> Shape:
    """Shape a few words with capitals: an industry, a department, a job title."""
    return Shape(
        f'root ::= [A-Z] [a-z]{{2,13}} (" " ("and " | "of ")? [A-Z] [a-z]{{2,13}}){{0,{most - 1}}}',
        (1, most), f"at most {most} words, each with a capital",
    )  # fmt: skip
