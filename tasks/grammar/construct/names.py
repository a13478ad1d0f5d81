"""Turn identifiers of tables and columns into English words, and tie a thing to another by its role.

A film is directed by its director, and of its genre.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from tasks.databases.columns import Column, split_column_id
from tasks.english import make_singular

KEY_WORDS = frozenset(["id", "code", "key", "fk", "no", "nr", "num", "number", "qid", "ref"])

UNITS = frozenset(
    ["usd", "eur", "dollars", "minutes", "hours", "seconds", "feet", "miles", "meters", "km", "kg",
     "percent", "degrees", "fahrenheit", "celsius", "mph", "inches", "millibars", "metres", "pounds", "euros",
     "litres", "tonnes", "knots"]
)  # fmt: skip
NAMES = frozenset(["name", "title", "label"])
PEOPLE = frozenset(["person", "employee", "member", "customer", "doctor", "player", "author", "student",
                    "owner", "worker"])  # fmt: skip
LOOSE = frozenset(["number", "date", "year", "time", "count"])
DOERS = ("or", "er", "ar", "ist", "ive", "ant", "ent", "head")
"""Endings of words for what a person does."""
WEAK = LOOSE | {"type", "code", "day", "month", "model"}
"""Words that mean little without the thing they belong to."""

IDENTIFYING = frozenset(["name", "title", "number", "label", "surname", "email"])
"""Last words of columns that identify a row."""

PREFIXES = frozenset(["tbl", "tb", "lkp", "lu"])
"""First words of tables' names that say only that they are tables."""
SHORT: Mapping[str, str] = {
    "acct": "account", "addr": "address", "amt": "amount", "avg": "average", "cust": "customer",
    "descr": "description", "dt": "date", "loc": "location",
    "mgr": "manager", "nm": "name", "nr": "number", "num": "number", "pct": "percent", "qty": "quantity",
    "yr": "year",
}  # fmt: skip
"""Abbreviations in names that are read as one word by whoever knows databases."""
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


def split_words(name: str) -> list[str]:
    """Split an identifier into lower-case words: `BirthDate` and `birth_dt` are both birth, date.

    `tbl_Boat` is boat. A name without a letter or digit is one word.
    """
    words = split_raw(name)
    return [SHORT.get(word, word) for word in (words[1:] if words[0] in PREFIXES and words[1:] else words)]


def split_raw(name: str) -> list[str]:
    """Split an identifier into lower-case words as they stand."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|[\W_]+", " ", name).lower().split() or [
        name
    ]


def name_column(column: str, columns: Iterable[Column] = ()) -> str:
    """Name a column, by its id, in words, without the table's own name: airlines.airline_name is name.

    columns: the schema, which may have other words for it.
    """
    if words_of := _find_words(column, columns):
        return words_of
    table, name = split_column_id(column)
    words, prefix = split_words(name), name_table(table).split()
    starts_with_table = words[: len(prefix)] == prefix and len(words) > len(prefix)
    return " ".join(words[len(prefix) :] if starts_with_table else words)


def name_column_with_unit(column: str, columns: Iterable[Column] = ()) -> str:
    """Name a column for use in a sentence: altitude_feet is altitude in feet."""
    if words_of := _find_words(column, columns):
        return words_of
    words = name_column(column).split()
    return " ".join([*words[:-1], "in", words[-1]] if len(words) > 1 and words[-1] in UNITS else words)


def name_table(table: str, columns: Iterable[Column] = ()) -> str:
    """Name what one row of a table is: `film_genres` is film genre."""
    found = next((column.table_words for column in columns if column.table == table), "")
    if found:
        return found
    words = split_words(table)
    return " ".join([*words[:-1], make_singular(words[-1])]) if words else table


def list_column_words(column: str, columns: Iterable[Column] = ()) -> list[str]:
    """List the words of a column's table and name, those of the schema's glossary before the identifiers'."""
    columns = list(columns)
    table, name = split_column_id(column)
    return [*split_words(name_table(table, columns)), *split_words(_find_words(column, columns) or name)]


def _find_words(column: str, columns: Iterable[Column]) -> str:
    place = split_column_id(column)
    return next((other.words for other in columns if (other.table, other.name) == place), "")


def is_identifying(column: Column) -> bool:
    """Return whether a column's last word is that of a name: flight_number, but not number_of_engines."""
    return find_last_word(column) in IDENTIFYING


def find_last_word(column: Column) -> str:
    """Find the last of a column's words: it says what its values are."""
    return split_words(column.words or column.name)[-1]


def tells_year(column: Column) -> bool:
    """Return whether a column's values are years, by its words: release_year, year of building."""
    words = split_words(column.words or column.name)
    return "year" in (words[0], words[-1])


def is_name(words: str) -> bool:
    """Return whether a column's words are those of a thing's name; people share a job title."""
    return words.split()[-1] in NAMES and not words.endswith("job title")


def names_person(table: str, columns: Iterable[Column] = ()) -> bool:
    """Return whether a table's rows are people, by its name."""
    return name_table(table, columns).split()[-1] in PEOPLE


def name_relation(keys: Sequence[Column]) -> list[str]:
    """Return the words that distinguish a relation from others between the same tables.

    keys: the foreign key that joins two tables, or the two keys of a link table.
    `flights.origin_airport` -> airports gives origin; films - film_directors - people gives director.
    """
    if len(keys) == 1:
        words = split_words(keys[0].name)
    else:
        words = [make_singular(word) for word in split_words(keys[0].table)]
    ends = {
        make_singular(word) for key in keys for word in split_words(split_column_id(key.references or "")[0])
    }
    ends |= {word for key in keys for word in split_words(split_column_id(key.references or "")[1])}
    return [word for word in words if make_singular(word) not in ends | KEY_WORDS]


def name_role(keys: Sequence[Column], table: str, columns: Iterable[Column] = ()) -> str:
    """Name what a table's row is in a relation: origin airport, leading doctor; director is enough."""
    columns = list(columns)
    words = name_relation(keys)
    doer = bool(words) and words[-1].endswith(DOERS) and names_person(table, columns)
    alone = doer or (bool(words) and len(keys) > 1)
    return " ".join(words if alone else [*words, name_table(table, columns)])


def mentions(words: Iterable[str], word: str) -> bool:
    """Return whether a word occurs among others in any of its forms: director, directed, directs."""
    stem = word[: max(4, len(word) - 3)]
    return any(word.startswith(stem) for word in words)


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
