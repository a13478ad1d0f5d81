"""Split lists of names that are joined by commas, where some names hold a comma themselves."""

from __future__ import annotations

import re

SUFFIX = re.compile(
    r"(Jr|Sr|Inc|Ltd)\.?$|(II|III|IV|PhD)$"
    r"|(\d+(st|nd|rd|th) )?(Duke|Duchess|Prince|Princess|Prince Consort) of "
    r"|(\d+(st|nd|rd|th) )?(Earl|Count|Countess|Marquess|Viscount) of "
    r"|\d+(st|nd|rd|th) (Baron|Baronet|Viscount|Earl|Lord)\b"
)


def split_names(text: str | None) -> list[str]:
    """Split `A, B, C, Jr.` into A, B and `C, Jr.`; a name that is given twice is given once.

    Suffixes and titles stay with the name before them. What is left over shows itself by order: the
    source lists names alphabetically, so a part that breaks the order is the rest of a name (`Crosby,
    Stills & Nash`, where the part before the break holds the `&`; else the part after it).
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
