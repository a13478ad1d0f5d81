"""Choose the words for measures and comparisons, such as `the longest`, `more than`, `from ... to`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from tasks.databases.columns import Column
from tasks.english import choose_article, make_plural
from tasks.grammar.construct.measures import is_pair
from tasks.grammar.construct.names import (
    EVENTS,
    UNITS,
    is_name,
    is_participle,
    name_column,
    name_column_with_unit,
)
from tasks.grammar.construct.queries import Query, column_of, comparison_of

MEASURES_OF_LENGTH = frozenset(
    ["minutes", "hours", "seconds", "feet", "miles", "meters", "metres", "km", "inches"]
)
"""The units of lengths and durations."""
LENGTHS = frozenset(["runtime", "duration", "length", "time", "delay"])
"""Words that occur in the names of columns that contain lengths or durations."""
SPANS = frozenset(["runtime", "duration", "length"])
"""Words of LENGTHS that also describe the entity: a film with a long runtime is a long film."""
TIMES = frozenset(["date", "year", "since", "founded"])
"""Words that end the name of a date or year column."""
EXTREMES = {
    # For each kind of column: superlative and comparative for `most`, then for `least`.
    "length": (("longest", "longer"), ("shortest", "shorter")),
    "time": (("latest", "later"), ("earliest", "earlier")),
    "number": (("most", "more"), ("fewest", "fewer")),
    "amount": (("highest", "higher"), ("lowest", "lower")),
}
"""Kind of column -> superlatives and comparatives for the measures `most` and `least`."""
FURTHER = {
    "length": (("highest", "greatest", "largest", "maximum", "higher", "greater"),
               ("lowest", "smallest", "minimum", "lower")),
    "time": (("most recent", "newest", "last", "youngest", "more recent", "newer"),
             ("first", "oldest", "older")),
    "number": (("highest", "largest", "greatest", "maximum", "higher", "greater"),
               ("lowest", "smallest", "least", "minimum", "lower")),
    "amount": (("largest", "greatest", "biggest", "most", "maximum", "top", "larger", "greater", "more"),
               ("smallest", "least", "minimum", "smaller", "less")),
}  # fmt: skip
"""Synonyms of the superlatives and comparatives, by kind of column."""


@dataclass(frozen=True)
class MeasuredWords:
    """The phrases for a measure; `Verbalisation` explains the fields."""

    wanted: tuple[str, ...]
    required: tuple[frozenset[str], ...]
    named: tuple[str, ...]


def verbalise_measure(query: Query, noun: str, columns: Sequence[Column]) -> MeasuredWords:
    """Return the phrases for a query's measure.

    `noun` is the word for a row of the table that the query asks about. `columns` is the schema.
    """
    plural, column = make_plural(noun), query.projection[0]
    bounds = tuple(_list_bound_words(query, columns))
    if query.measure == "count":
        counted = frozenset([noun, plural])
        words = frozenset(["how many", "number", "count", "total"])
        return MeasuredWords((f"number of {plural}",), (words, counted, *bounds), ())
    if query.measure == "average":
        wanted = f"average {name_column_with_unit(column, columns)} of the {plural}, to one decimal"
        return MeasuredWords((wanted,), (frozenset(["average", "mean"]), *bounds), (column,))
    if query.measure in ("most", "least"):
        return _verbalise_extreme(query, noun, bounds, columns)
    if query.measure == "list":
        name = name_column(column, columns)
        wanted = f"all {plural}" if is_name(name) else f"{make_plural(name)} of all {plural}"
        return MeasuredWords((wanted,), (frozenset([plural]), *bounds), (column,))
    return MeasuredWords((), bounds, query.projection)


def _verbalise_extreme(
    query: Query, noun: str, bounds: tuple[frozenset[str], ...], columns: Sequence[Column]
) -> MeasuredWords:
    kind, place = find_kind(query.ranked_by, columns), 0 if query.measure == "most" else 1
    superlative, comparative = EXTREMES[kind][place]
    ranked, column = name_amount(query.ranked_by, columns), query.projection[0]
    words = frozenset([superlative, comparative, *FURTHER[kind][place]])
    if query.ranked_by == column:
        wanted = f"{superlative} {name_column_with_unit(column, columns)} of the {make_plural(noun)}"
        return MeasuredWords((wanted,), (words, *bounds), (column,))
    if is_pair(query):
        wanted = f"the {noun} with the {comparative} {ranked}, of two {make_plural(noun)}"
    else:
        called = name_column(column, columns)
        lead = f"the {noun}" if is_name(called) else f"{called} of the {noun}"
        wanted = f"{lead} with the {superlative} {ranked}"
    return MeasuredWords((wanted,), (words, *bounds), (column, query.ranked_by))


def name_extreme(query: Query, columns: Sequence[Column]) -> str:
    """Return the adjective for a query's extreme: `longest` for several rows, or `longer` for a pair."""
    superlative, comparative = EXTREMES[find_kind(query.ranked_by, columns)][query.measure == "least"]
    return comparative if is_pair(query) else superlative


def list_bounds(noun: str, placeholders: Sequence[str], columns: Sequence[Column]) -> tuple[str, ...]:
    """Return the phrases, with placeholders, for a column's bounds or for two names.

    `noun` is the word for a row of the column's table. The first phrase for bounds can follow the noun, as in
    `films released after [films.year]`.
    """
    first, last = f"[{placeholders[0]}]", f"[{placeholders[-1]}]"
    suffix = comparison_of(placeholders[-1])
    name = name_column_with_unit(placeholders[0], columns)
    if suffix == "other":
        called = "" if is_name(name) else f"with {name} "
        return (
            f"{make_plural(noun)} {called}{first} and {last}",
            f"two {make_plural(noun)} {called}{first} and {last}",
        )
    if find_kind(column_of(placeholders[0]), columns) == "time":
        event = describe_event(placeholders[0], columns)
        lead = event or ("" if name in ("date", "year") else f"with {choose_article(name)} {name}")
        if len(placeholders) == 2:
            return tuple(
                f"{lead} {span}".strip()
                for span in (f"between {first} and {last}", f"from {first} to {last}")
            )
        word = {"over": "after", "under": "before", "from": "not before", "to": "not after"}[suffix]
        return (f"{lead} {word} {first}".strip(),)
    return _list_amounts(placeholders, suffix, columns)


def _list_amounts(placeholders: Sequence[str], suffix: str, columns: Sequence[Column]) -> tuple[str, ...]:
    """Return the phrases for an amount's bounds: `longer than [x] minutes`, `with a price of at most [x]`."""
    first, last = f"[{placeholders[0]}]", f"[{placeholders[-1]}]"
    column = column_of(placeholders[0])
    amount, unit = name_amount(column, columns), name_unit(column, columns)
    after = f" {unit}" if unit else ""
    kind = find_kind(column, columns)
    if len(placeholders) == 2:
        return (f"with {choose_article(amount)} {amount} between {first} and {last}{after}",)
    bound = {"over": "more than", "under": "less than", "from": "at least", "to": "at most"}[suffix]
    if kind == "number":
        return (f"with {'fewer than' if suffix == 'under' else bound} {first} {amount}",)
    found = [f"with {choose_article(amount)} {amount} of {bound} {first}{after}"]
    if kind == "length" and amount.split()[-1] in SPANS and suffix in ("over", "under"):
        found.insert(0, f"{'longer' if suffix == 'over' else 'shorter'} than {first}{after}")
    return tuple(found)


def describe_event(column: str, columns: Sequence[Column]) -> str:
    """Return the participle for a date or year column's event, such as `released`, or "" if there is none."""
    words = name_column(column_of(column), columns)
    words = re.sub(r"^(?:year|date) (?:of )?(?=.)", "", words)
    return words if is_participle(words) and " " not in words else EVENTS.get(words.split()[0], "")


def find_kind(column: str, columns: Sequence[Column]) -> str:
    """Return the kind of a column's values, which selects words: `length`, `time`, `number` or `amount`."""
    words = name_column(column, columns).split()
    content = [word for word in words if word not in UNITS]
    if (
        words[-1] in TIMES
        or words[0] in ("year", "date")
        or any(known.id == column and known.type == "date" for known in columns)
    ):
        return "time"
    if LENGTHS.intersection(content) and MEASURES_OF_LENGTH.intersection(words):
        return "length"
    numeric = not any(known.id == column and known.type == "text" for known in columns)
    plural = any(word.endswith("s") and not word.endswith("ss") for word in content)
    return "number" if plural and numeric and len(words) == len(content) else "amount"


def name_amount(column: str, columns: Sequence[Column]) -> str:
    """Return a column's name without its unit and the prefix `number of`: runtime for runtime_minutes."""
    words = name_column(column, columns).removeprefix("number of ").split()
    if len(words) == 1 or words[-1] not in UNITS:
        return " ".join(words)
    # A glossary writes units as in a sentence: box office in US dollars.
    end = words.index("in") if "in" in words else len(words) - 1
    return " ".join(words[:end] or words)


def name_unit(column: str, columns: Sequence[Column]) -> str:
    """Return a column's unit, such as minutes or US dollars, or an empty string if there is none."""
    amount = name_amount(column, columns)
    rest = name_column_with_unit(column, columns).removeprefix(amount).strip()
    return rest.removeprefix("in ").strip()


def _list_bound_words(query: Query, columns: Sequence[Column]) -> list[frozenset[str]]:
    suffixes = [comparison_of(name) for name in query.varied]
    timed = bool(query.varied) and find_kind(column_of(query.varied[0]), columns) == "time"
    if suffixes == ["from", "to"]:
        return [frozenset(["from", "between", "since"]), frozenset(["to", "and", "until", "through"])]
    if suffixes == ["over"]:
        more = (
            ["after", "later than"] if timed else ["over", "above", "more than", "longer than", "higher than"]
        )
        return [frozenset([*more, "exceeding", "greater than", "exceeds"])]
    if suffixes == ["under"]:
        less = ["before", "earlier than"] if timed else ["under", "below", "less than", "shorter than"]
        return [frozenset([*less, "lower than", "fewer than"])]
    if suffixes == ["from"]:
        return [frozenset(["not before", "since", "from", "at least", "or later"])]
    if suffixes == ["to"]:
        return [frozenset(["not after", "until", "up to", "at most", "or earlier"])]
    return []
