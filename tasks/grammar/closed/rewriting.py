"""Replace names in running text: whole words, longest names first, with the case of the old name."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping


def rewrite(text: str, names: Mapping[str, str], people: Mapping[str, str] | None = None) -> str:
    """Replace all old names with new names in one pass, so that no new name is replaced.

    `names` contains the new names by old name. A one-word name matches only in its exact spelling or in all
    capitals; a longer name matches in any case. If the text has the old name's exact spelling, the new name
    keeps its own case. Otherwise, if the old name in the text is all capitals or all lower case, the new name
    is too.

    `people` contains the new names of people by full name. If a text contains a full name, the surname alone
    is also replaced. If `names` contains the surname, the new name comes from `names`. If people in the text
    share the surname but have different new surnames, the surname alone is not replaced.
    """
    surnames = _find_surnames(text, people or {})
    replacements = {**{old: new for old, new in surnames.items() if old not in names}, **names}
    if not replacements:
        return text
    folded = {old.casefold(): new for old, new in replacements.items() if " " in old}

    def replace(match: re.Match[str]) -> str:
        found = match.group()
        new = replacements.get(found) or folded.get(found.casefold())
        if new is None:
            # The match is a one-word name in capitals, such as DELTA for Delta.
            new = next(new for old, new in replacements.items() if old.upper() == found)
        return keep_case(found, new, found in replacements)

    return _compile(replacements).sub(replace, text)


def keep_case(found: str, new: str, exact: bool) -> str:
    """Return a new name in the letter case of the old name that was found.

    `exact` states whether the found text has the exact spelling of the old name.
    """
    if exact:
        return new
    if found.isupper():
        return new.upper()
    return new.lower() if found.islower() else new


def make_finder(names: Iterable[str]) -> Callable[[str], str]:
    """Return a function that finds the first of the given names in a text, by the rules of `rewrite`.

    The function returns "" if the text contains none of the names.
    """
    pattern = _compile(names)

    def find(text: str) -> str:
        match = pattern.search(text)
        return match.group() if match else ""

    return find


def _compile(names: Iterable[str]) -> re.Pattern[str]:
    forms = []
    for old in sorted(set(names), key=lambda name: (-len(name), name)):
        exact = re.escape(old)
        # A one-word name may also be an ordinary word, such as It, so it does not match in lower case.
        forms.append(f"(?i:{exact})" if " " in old else f"{exact}|{re.escape(old.upper())}")
    return re.compile(rf"(?<!\w)(?:{'|'.join(forms)})(?!\w)")


def _find_surnames(text: str, people: Mapping[str, str]) -> dict[str, str]:
    if not people:
        return {}
    here = {match.group().casefold() for match in _compile(people).finditer(text)}
    found: dict[str, set[str]] = {}
    for old, new in people.items():
        if old.casefold() in here and " " in old:
            found.setdefault(old.split()[-1], set()).add(new.split()[-1])
    return {old: news.pop() for old, news in found.items() if len(news) == 1}
