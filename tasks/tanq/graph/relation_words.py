"""Define the default relations (R in TANQ): QAMPARI's relations, with their wording in questions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

PLACE, BIRTH, DEATH, LIFE, WORK, MAKING, DATE, SIZE = (
    "place", "birth", "death", "life", "work", "making", "date", "size",
)  # fmt: skip
ASPECTS = (PLACE, BIRTH, DEATH, LIFE, WORK, MAKING, DATE, SIZE, "")
"""Aspects in the order in which questions ask for them; relations without an aspect come last."""


@dataclass(frozen=True)
class KnownRelation:
    """The wording for a property.

    one, words: the words for one value and for several values. aspect: one of `ASPECTS`.
    """

    one: str
    words: str
    aspect: str


def _know(one: str, aspect: str, words: str = "") -> KnownRelation:
    return KnownRelation(one, words or f"{one}s", aspect)


KNOWN: Mapping[str, KnownRelation] = {
    "P36": _know("capital", PLACE),
    "P1376": _know("country whose capital it is", PLACE, "countries whose capitals they are"),
    "P17": _know("country", PLACE, "countries"),
    "P30": _know("continent", PLACE),
    "P361": _know("region", PLACE),
    "P131": _know("administrative area", PLACE),
    "P276": _know("location", PLACE),
    "P159": _know("headquarters", PLACE, "headquarters"),
    "P47": _know("neighbouring country", PLACE, "neighbouring countries"),
    "P37": _know("official language", LIFE),
    "P38": _know("currency", LIFE, "currencies"),
    "P569": _know("date of birth", BIRTH, "dates of birth"),
    "P19": _know("place of birth", BIRTH, "places of birth"),
    "P570": _know("date of death", DEATH, "dates of death"),
    "P20": _know("place of death", DEATH, "places of death"),
    "P27": _know("country of citizenship", LIFE, "countries of citizenship"),
    "P26": _know("spouse", LIFE),
    "P69": _know("place of education", LIFE, "places of education"),
    "P106": _know("occupation", LIFE),
    "P108": _know("employer", LIFE),
    "P54": _know("sports team", LIFE),
    "P102": _know("political party", LIFE, "political parties"),
    "P166": _know("award", LIFE),
    "P57": _know("director", MAKING),
    "P58": _know("screenwriter", MAKING),
    "P50": _know("author", MAKING),
    "P162": _know("producer", MAKING),
    "P86": _know("composer", MAKING),
    "P161": _know("cast member", MAKING),
    "P175": _know("performer", MAKING),
    "P170": _know("creator", MAKING),
    "P112": _know("founder", MAKING),
    "P176": _know("manufacturer", MAKING),
    "P178": _know("developer", MAKING),
    "P123": _know("publisher", MAKING),
    "P264": _know("record label", MAKING),
    "P272": _know("production company", MAKING, "production companies"),
    "P136": _know("genre", WORK),
    "P364": _know("original language", WORK),
    "P407": _know("language", WORK),
    "P495": _know("country of origin", WORK, "countries of origin"),
    "P571": _know("date of founding", DATE, "dates of founding"),
    "P577": _know("release date", DATE),
    "P2046": _know("area", SIZE),
    "P1082": _know("population", SIZE),
    "P2044": _know("elevation", SIZE),
    "P2048": _know("height", SIZE),
    "P2047": _know("duration", SIZE),
    "P2142": _know("box office", SIZE, "box offices"),
    "P576": _know("date of dissolution", DATE, "dates of dissolution"),
    "P1619": _know("opening date", DATE),
    "P3999": _know("closing date", DATE),
    "P580": _know("start date", DATE),
    "P582": _know("end date", DATE),
    "P729": _know("date of entering service", DATE, "dates of entering service"),
    "P730": _know("date of leaving service", DATE, "dates of leaving service"),
    "P2031": _know("date of career start", DATE, "dates of career start"),
    "P2032": _know("date of career end", DATE, "dates of career end"),
}
"""Map each property to its wording. Within an aspect, questions ask for relations in this order."""

CONDITIONS: Mapping[str, str] = {
    "P36": "have {} as their capital",
    "P17": "are in {}",
    "P30": "are in {}",
    "P361": "are in {}",
    "P131": "are in {}",
    "P47": "border {}",
    "P37": "have {} as an official language",
    "P38": "use the {}",
    "P19": "were born in {}",
    "P20": "died in {}",
    "P27": "are citizens of {}",
    "P69": "were educated at {}",
    "P166": "received the {}",
    "P54": "played for {}",
    "P57": "were directed by {}",
    "P58": "were written by {}",
    "P50": "were written by {}",
    "P162": "were produced by {}",
    "P86": "have music by {}",
    "P161": "have {} in the cast",
    "P175": "were performed by {}",
    "P178": "were developed by {}",
    "P123": "were published by {}",
    "P264": "were released by {}",
    "P495": "were made in {}",
    "P364": "are in {}",
}
"""Map each property to the condition of a list question, worded for several answers."""
