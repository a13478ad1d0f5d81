"""Convert table and column identifiers to English words, and name the roles of related rows.

For example, `directed by` introduces a film's director, and `of the genre` introduces a film's genre.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from tasks.databases.columns import Column, split_column_id
from tasks.english import make_singular

KEY_WORDS = frozenset(["id", "code", "key", "fk", "no", "nr", "num", "number", "qid", "ref"])
"""Words that mark a column as a key."""

UNITS = frozenset(
    ["usd", "eur", "dollars", "minutes", "hours", "seconds", "feet", "miles", "meters", "km", "kg",
     "percent", "degrees", "fahrenheit", "celsius", "mph", "inches", "millibars", "metres", "pounds", "euros",
     "litres", "tonnes", "knots"]
)  # fmt: skip
"""Words for units at the end of column names."""
NAMES = frozenset(["name", "title", "label"])
"""Words that end the identifier of a column that contains names."""
PEOPLE = frozenset(["person", "employee", "member", "customer", "doctor", "player", "author", "student",
                    "owner", "worker"])  # fmt: skip
"""Words that end the name of a table whose rows are people."""
LOOSE = frozenset(["number", "date", "year", "time", "count"])
"""Words that are too vague on their own: number, date."""
DOERS = ("or", "er", "ar", "ist", "ive", "ant", "ent", "head")
"""Suffixes of nouns for people with a role, such as `or` in director."""
WEAK = LOOSE | {"type", "code", "day", "month", "model"}
"""Words that need another noun: the `number` of a flight is the `flight number`."""

IDENTIFYING = frozenset(["name", "title", "number", "label", "surname", "email"])
"""Words that end the name of a column that identifies rows."""

PREFIXES = frozenset(["tbl", "tb", "lkp", "lu"])
"""Meaningless prefixes of table names."""
SHORT: Mapping[str, str] = {
    "acct": "account", "addr": "address", "amt": "amount", "avg": "average", "cust": "customer",
    "descr": "description", "dt": "date", "loc": "location",
    "mgr": "manager", "nm": "name", "nr": "number", "num": "number", "pct": "percent", "qty": "quantity",
    "yr": "year",
}  # fmt: skip
"""The words for common abbreviations in identifiers."""
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
"""Role -> the words before the name of a person or object with this role: writer -> `written by`."""

PLACES = frozenset(["city", "country", "district", "harbour", "port", "region", "state", "time zone", "town"])
"""Words in names of columns that contain a place; sentences put the preposition `in` before the place."""

FEATURED = ("the actor ", "the performer ", "the singer ")
"""Phrases with one of these beginnings take the verb `features`, not `has`: the film features the actor X."""

MANY = frozenset(["actor", "player", "student"])
"""Roles that several related rows may have: a film has several actors, so `the actor` is ambiguous."""

BELONGINGS: Mapping[str, str] = {"actor": "in", "player": "in", "student": "at"}
"""Role -> the preposition that follows the role: the actor `in` the film."""

OF_MANY: Mapping[str, str] = {
    **BELONGINGS, "airline": "with", "boat": "that had", "destination airport": "served by",
    "patient": "that had", "plane": "used for", "room": "that had", "shed": "that had", "ship": "that had",
    "vehicle": "that had", "vessel": "that had", "warehouse": "that had",
}  # fmt: skip
"""Role -> the words between the role and a plural noun: the plane `used for` flights."""

VERBS: Mapping[str, str] = {
    "author": "wrote", "composer": "composed", "director": "directed", "editor": "edited",
    "founder": "founded", "producer": "produced", "publisher": "published", "translator": "translated",
    "writer": "wrote",
}  # fmt: skip
"""Role -> the past-tense verb for what a person with this role did: author -> wrote."""

EVENTS: Mapping[str, str] = {
    "birth": "born", "construction": "built", "death": "deceased", "end": "ended", "foundation": "founded",
    "founding": "founded", "hire": "hired", "launch": "launched", "manufacture": "manufactured",
    "observation": "observed", "opening": "opened", "publication": "published", "release": "released",
    "start": "started",
}  # fmt: skip
"""First word of a date or year column -> the participle for the event: birth -> born."""

FURTHER: Mapping[str, tuple[str, ...]] = {
    "actor": ("starring", "stars"), "author": ("written", "wrote"), "client": ("for",),
    "composer": ("music",), "destination": ("bound",), "origin": ("leaving",),
    "teacher": ("taught",), "writer": ("wrote",),
}  # fmt: skip
"""Role -> words that express the role and are not forms of its name: actor -> starring."""


def split_words(name: str) -> list[str]:
    """Split an identifier into lower-case words: `BirthDate` and `birth_dt` both become birth, date.

    `tbl_Boat` becomes boat. A name without letters or digits is one word.
    """
    words = split_raw(name)
    return [SHORT.get(word, word) for word in (words[1:] if words[0] in PREFIXES and words[1:] else words)]


def split_raw(name: str) -> list[str]:
    """Split an identifier into lower-case words, without expanding abbreviations."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|[\W_]+", " ", name).lower().split() or [
        name
    ]


def name_column(column: str, columns: Iterable[Column] = ()) -> str:
    """Return the words of a column's name, without the name of its table: `name` for airlines.airline_name.

    `columns` is the schema, which may contain a readable name for the column.
    """
    if words_of := _find_words(column, columns):
        return words_of
    table, name = split_column_id(column)
    words, prefix = split_words(name), name_table(table).split()
    starts_with_table = words[: len(prefix)] == prefix and len(words) > len(prefix)
    return " ".join(words[len(prefix) :] if starts_with_table else words)


def name_column_with_unit(column: str, columns: Iterable[Column] = ()) -> str:
    """Return a column's name for use in a sentence: `altitude in feet` for altitude_feet."""
    if words_of := _find_words(column, columns):
        return words_of
    words = name_column(column).split()
    return " ".join([*words[:-1], "in", words[-1]] if len(words) > 1 and words[-1] in UNITS else words)


def name_table(table: str, columns: Iterable[Column] = ()) -> str:
    """Return the noun for one row of a table: film genre for `film_genres`."""
    found = next((column.table_words for column in columns if column.table == table), "")
    if found:
        return found
    words = split_words(table)
    return " ".join([*words[:-1], make_singular(words[-1])]) if words else table


def list_column_words(column: str, columns: Iterable[Column] = ()) -> list[str]:
    """List the words of a column's table and name, from the glossary if it contains the names."""
    columns = list(columns)
    table, name = split_column_id(column)
    return [*split_words(name_table(table, columns)), *split_words(_find_words(column, columns) or name)]


def _find_words(column: str, columns: Iterable[Column]) -> str:
    place = split_column_id(column)
    return next((other.words for other in columns if (other.table, other.name) == place), "")


def is_identifying(column: Column) -> bool:
    """Return whether a column identifies rows, by the last word of its name, such as flight_number."""
    return find_last_word(column) in IDENTIFYING


def find_last_word(column: Column) -> str:
    """Return the last word of a column's name, which indicates the kind of its values."""
    return split_words(column.words or column.name)[-1]


def tells_year(column: Column) -> bool:
    """Return whether `year` is the first or last word of a column's name: release_year, year of building."""
    words = split_words(column.words or column.name)
    return "year" in (words[0], words[-1])


def is_name(words: str) -> bool:
    """Return whether a column's words denote the name of an entity. A job title is not a name."""
    return words.split()[-1] in NAMES and not words.endswith("job title")


def names_person(table: str, columns: Iterable[Column] = ()) -> bool:
    """Return whether a table's rows are people, judging by the table's name."""
    return name_table(table, columns).split()[-1] in PEOPLE


def name_relation(keys: Sequence[Column]) -> list[str]:
    """Return the words that distinguish a relation from other relations between the same tables.

    `keys` contains the foreign key that joins two tables, or the two keys of a link table. For example, the
    relation `flights.origin_airport` -> airports has the word origin, and the relation films - film_directors
    - people has the word director.
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
    """Return the role of a table's row in a relation, such as origin airport, leading doctor or director."""
    columns = list(columns)
    words = name_relation(keys)
    doer = bool(words) and words[-1].endswith(DOERS) and names_person(table, columns)
    alone = doer or (bool(words) and len(keys) > 1)
    return " ".join(words if alone else [*words, name_table(table, columns)])


def mentions(words: Iterable[str], word: str) -> bool:
    """Return whether any of `words` begins with the stem of `word`, as in director, directed, directs."""
    stem = word[: max(4, len(word) - 3)]
    return any(word.startswith(stem) for word in words)


def says_role(words: Sequence[str], role: str) -> bool:
    """Return whether the words express a role in any form, such as `directed` for director."""
    return mentions(words, role) or any(word in words for word in FURTHER.get(role, ()))


def is_participle(words: str) -> bool:
    """Return whether a phrase begins with a participle, so that it can follow `is`."""
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
