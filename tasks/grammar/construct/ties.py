"""How English ties a thing to another by its role: a film is directed by its director, of its genre."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tasks.grammar.construct.names import mentions

TIES: Mapping[str, str] = {
    "actor": "with the actor", "airline": "of the airline", "architect": "designed by",
    "author": "written by", "boat": "on the boat",
    "city": "in the city", "client": "for the client", "company": "by the company",
    "composer": "with music by", "country": "from the country",
    "customer": "for the customer", "department": "in the department",
    "destination airport": "bound for",
    "director": "directed by", "editor": "edited by", "employer": "employed by", "founder": "founded by",
    "genre": "of the genre", "language": "in the language", "manager": "managed by",
    "origin airport": "leaving from",
    "organiser": "organised by", "owner": "owned by", "producer": "produced by",
    "production company": "by the production company", "publisher": "published by",
    "shed": "in the shed", "ship": "on the ship",
    "supervisor": "supervised by", "supplier": "from the supplier", "teacher": "taught by",
    "translator": "translated by",
    "vessel": "on the vessel", "warehouse": "in the warehouse", "writer": "written by",
}  # fmt: skip
"""Role -> the words before the name of who or what has it."""

PLACES = frozenset(["city", "country", "district", "harbour", "port", "region", "state", "time zone", "town"])
"""What a thing is in."""

FEATURED = ("the actor ", "the performer ", "the singer ")
"""What a work features rather than has."""

MANY = frozenset(["actor", "player", "student"])
"""Roles that several have: one of them is not the one."""

BELONGINGS: Mapping[str, str] = {"actor": "in", "player": "in", "student": "at"}
"""Role -> the preposition before what it is a role in, where that is not `of`."""

OF_MANY: Mapping[str, str] = {
    **BELONGINGS, "airline": "with", "boat": "that had", "destination airport": "served by",
    "patient": "that had", "plane": "used for", "room": "that had", "shed": "that had", "ship": "that had",
    "vehicle": "that had", "vessel": "that had", "warehouse": "that had",
}  # fmt: skip
"""The same before several things."""

VERBS: Mapping[str, str] = {
    "author": "wrote", "composer": "composed", "director": "directed", "editor": "edited",
    "founder": "founded", "producer": "produced", "publisher": "published", "translator": "translated",
    "writer": "wrote",
}  # fmt: skip
"""Role -> what the one who has it did."""

EVENTS: Mapping[str, str] = {
    "birth": "born", "construction": "built", "death": "deceased", "end": "ended", "foundation": "founded",
    "founding": "founded", "hire": "hired", "launch": "launched", "manufacture": "manufactured",
    "observation": "observed", "opening": "opened", "publication": "published", "release": "released",
    "start": "started",
}  # fmt: skip
"""First word of a date or year -> what happened then."""

FURTHER: Mapping[str, tuple[str, ...]] = {
    "actor": ("starring", "stars"), "author": ("written", "wrote"), "client": ("for",),
    "composer": ("music",), "destination": ("bound",), "origin": ("leaving",),
    "teacher": ("taught",), "writer": ("wrote",),
}  # fmt: skip
"""Role -> further words that say it, beside its own forms."""


def says_role(words: Sequence[str], role: str) -> bool:
    """Return whether a word of a role is said in any way: director, directed, wrote for writer."""
    return mentions(words, role) or any(word in words for word in FURTHER.get(role, ()))


def is_participle(words: str) -> bool:
    """Return whether words begin with a participle: what they say of a thing, one says that it is."""
    first = words.split()[0] if words else ""
    return first.endswith("ed") or first in (
        "born",
        "bound",
        "built",
        "leaving",
        "served",
        "sold",
        "taught",
        "written",
    )
