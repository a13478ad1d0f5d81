"""Split comma-separated lists of names, some of which contain a comma."""

from __future__ import annotations

import re

SUFFIX = re.compile(
    r"(Jr|Sr|Inc|Ltd)\.?$|(II|III|IV|PhD|the Creator)$"
    r"|(\d+(st|nd|rd|th) )?(Duke|Duchess|Prince|Princess|Prince Consort) of "
    r"|(\d+(st|nd|rd|th) )?(Earl|Count|Countess|Marquess|Viscount) of "
    r"|\d+(st|nd|rd|th) (Baron|Baronet|Viscount|Earl|Lord)\b"
)


def split_names(text: str | None) -> list[str]:
    """Split `A, B, C, Jr.` into A, B and `C, Jr.`, without duplicates.

    Suffixes and titles stay with the name before them. Other commas inside a name are found by order: the
    source lists names alphabetically, so a part that breaks the order belongs to a name with its neighbour
    (`Crosby, Stills & Nash`: the part before the break contains the `&`; otherwise the part after it).
    """
    names: list[str] = []
    for part in (text or "").split(", "):
        if not part.strip():
            continue
        if names and SUFFIX.match(part):
            names[-1] += f", {part}"
        elif names and part < names[-1]:
            _mend(names, part)
        else:
            names.append(part)
    return list(dict.fromkeys(name.strip() for name in names))


def _mend(names: list[str], part: str) -> None:
    if len(names) > 1 and " & " in names[-1]:
        rest = names.pop()
        names[-1] += f", {rest}"
        names.append(part)
    else:
        names[-1] += f", {part}"
