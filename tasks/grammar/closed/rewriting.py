"""Change names in running text: whole words, the longest first, the case as it stood."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping


def rewrite(text: str, names: Mapping[str, str], people: Mapping[str, str] | None = None) -> str:
    """Put new names in the place of old ones, all at once, so that no new name is taken for an old one.

    A name of one word is found as it is spelt, or in capitals; one of several words in any case. A name
    that stands in capitals or in small letters gives its successor the same.

    people: full names with their successors; where a text holds one, its bare surname changes too, unless
    two of the people there share it, or it is a name by itself.
    """
    surnames = _find_surnames(text, people or {})
    successors = {**{old: new for old, new in surnames.items() if old not in names}, **names}
    if not successors:
        return text
    folded = {old.casefold(): new for old, new in successors.items() if " " in old}

    def replace(match: re.Match[str]) -> str:
        found = match.group()
        new = successors.get(found) or folded.get(found.casefold())
        if new is None:
            # One word in capitals: DELTA is Delta.
            new = next(new for old, new in successors.items() if old.upper() == found)
        return keep_case(found, new, found in successors)

    return _compile(successors).sub(replace, text)


def keep_case(found: str, new: str, spelt: bool) -> str:
    """Write a new name as the old one stood; spelt: it stood just as it is."""
    if spelt:
        return new
    if found.isupper():
        return new.upper()
    return new.lower() if found.islower() else new


def make_finder(names: Iterable[str]) -> Callable[[str], str]:
    """Make what finds the first of these names in a text, as `rewrite` does; "" where there is none."""
    pattern = _compile(names)

    def find(text: str) -> str:
        match = pattern.search(text)
        return match.group() if match else ""

    return find


def _compile(names: Iterable[str]) -> re.Pattern[str]:
    forms = []
    for old in sorted(set(names), key=lambda each: (-len(each), each)):
        exact = re.escape(old)
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
