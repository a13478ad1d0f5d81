"""Find the name of an entity in a text: its label or an alias that is not part of a longer name."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

MOST_WORDS = 8
"""Number of words at the start of a name in which `find_longer` looks for shorter names."""
SIGNS = dict.fromkeys("\u2019\u2018\u02bb\u02bc\u00b4", "'") | dict.fromkeys("\u00a0\u202f\u2009", " ")
"""Map Unicode apostrophes and spaces to their ASCII equivalents."""
BEFORE = re.compile(
    r"(?:(?<![\w-])(?:Equatorial|Papua New|New|Old|North|South|East|West|Northern|Southern|Eastern|Western|"
    r"Central|Upper|Lower|Greater|Great|Little|Inner|Outer|American|British|Dutch|French|Spanish|Portuguese|"
    r"Danish|Russian|Nazi|Saint|St|Port|Lake|Mount|Fort|Cape|Rio)\.? "
    r"|(?<![\w-])(?:Gulf|Bay|Sea|Straits?|Channel|Battle|Treaty|University|Bank|Bishop|Archbishop|Duke|Earl|"
    r"Isle|Mount|Siege|Congress|Peace|Lake|Port) of (?:the )?)$"
)
"""Matches words before a name that belong to a longer name: `South` in `South Sudan`."""
AFTER = re.compile(
    r" (?:City|Island|Islands|Isles|River|Sea|Strait|Bay|Gulf|Lake|Mountains|Desert|Peninsula|Province|"
    r"County|University|Cup|Prize|Airport|Street|Station|Current|Ocean|Trench|Basin|Times|Post|Railway|Empire)\b"
)
"""Matches words after a name that belong to a longer name: `City` in `Mexico City`."""
NEAR = 30
"""Number of characters before a name that are searched for the words of `BEFORE`."""


@dataclass(frozen=True)
class NameTarget:
    """An entity that a text may name.

    - names: normalised names, the longest first.
    - longer: names of other entities that contain one of `names`.
    - parts: whether the name of a part also counts as a mention, such as `Northern Europe` for Europe.
    """

    names: tuple[str, ...]
    longer: tuple[str, ...] = ()
    parts: bool = False


def fold(text: str) -> str:
    """Remove accents, and convert Unicode apostrophes and spaces to ASCII; the text's length is unchanged."""
    return "".join(map(_fold_letter, text)) if not text.isascii() else text


def make_names(label: str, aliases: Iterable[str] = ()) -> tuple[str, ...]:
    """List the variants of an entity's names, normalised, the longest first.

    Removes a leading `The` and a trailing `(country)`; variants have `St.` for `Saint` and `&` for `and`.
    Excludes single characters and names without letters, because they match in most texts.
    """
    found: dict[str, None] = {}
    for name in (label, *aliases):
        bare = re.sub(r"\s*\([^()]*\)$", "", fold(" ".join(name.split()))).removeprefix("The ")
        found.update(dict.fromkeys(_vary(bare)))
    usable = (name for name in found if len(name) > 1 and not re.fullmatch(r"[\W\d]+", name))
    return tuple(sorted(usable, key=lambda name: (-len(name), name)))


def find_longer(wanted: Collection[str], others: Iterable[str]) -> Mapping[str, tuple[str, ...]]:
    """Map each wanted name to the other names that contain the wanted name."""
    found: dict[str, dict[str, None]] = {}
    for other in others:
        words = re.split(r"[ -]", other)[:MOST_WORDS]
        if len(words) < 2:
            continue
        for first in range(len(words)):
            for last in range(first + 1, len(words) + 1):
                part = " ".join(words[first:last])
                if part != other and part in wanted:
                    found.setdefault(part, {})[other] = None
    return {name: tuple(sorted(longer)) for name, longer in found.items()}


def find_name(text: str, target: NameTarget) -> tuple[int, int] | None:
    """Find the first mention of an entity's name in a text, as character positions (start, end), or None."""
    folded = fold(text)
    plain = folded.replace("\u2013", "-")
    # This test is faster than the patterns. It omits the first letter, whose case may differ.
    if not any(name[1:] in plain for name in target.names):
        return None
    hidden = [found.span() for found in _match_any(target.longer).finditer(folded)] if target.longer else []
    for found in _match_any(target.names).finditer(folded):
        start, stop = found.span()
        if not any(first <= start and stop <= last for first, last in hidden) and (
            target.parts or _stands_alone(folded, start, stop)
        ):
            return start, stop
    return None


def _stands_alone(text: str, start: int, stop: int) -> bool:
    """Return whether a name is not part of a longer name such as `Guinea-Bissau` or `Mexico City`."""
    hyphens = text[max(0, start - 1) : start] == "-" or re.match(r"-\w", text[stop : stop + 2])
    return not (hyphens or BEFORE.search(text[max(0, start - NEAR) : start]) or AFTER.match(text, stop))


@lru_cache(maxsize=8192)
def _match_any(names: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w)(?:{'|'.join(map(_write_pattern, names))})(?!\w)")


def _write_pattern(name: str) -> str:
    pattern = re.escape(name).replace(r"\ ", " ").replace(r"\-", r"[-\u2013]")
    if name == name.lower():  # a common noun may begin a sentence or be in the plural
        return f"[{name[0]}{name[0].upper()}]{pattern[1:]}s?" if name[0].isalpha() else pattern
    return pattern


def _vary(name: str) -> Iterator[str]:
    yield name
    if name.startswith("Saint "):
        yield f"St. {name[6:]}"
        yield f"St {name[6:]}"
    if " and " in name:
        yield name.replace(" and ", " & ")
    if " & " in name:
        yield name.replace(" & ", " and ")


@lru_cache(maxsize=65_536)
def _fold_letter(letter: str) -> str:
    if letter in SIGNS:
        return SIGNS[letter]
    split = unicodedata.normalize("NFD", letter)
    return split[0] if len(split) > 1 and all(map(unicodedata.combining, split[1:])) else letter
