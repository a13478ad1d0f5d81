"""Find unique names for the rows of an entity table.

A name column is not always enough: two films may share a title, and a flight may have only a row number.
People then use a natural key: film title and year, or flight number, airline and date.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from tasks.databases.rendering import name_kinds, write_plain, write_said
from tasks.grammar.construct.names import TIES, is_identifying, is_name, name_column, name_table, tells_year
from tasks.grammar.corpus.entity_tables import Attribute, EntityTable, Key

MOST = 3
"""The maximum number of attributes in a natural key: people do not use more attributes to name something."""
CANDIDATES = 12
"""The maximum number of attributes to combine: 12 attributes have 298 combinations of up to 3."""
NUMBER, RELATED, TIME, TEXT, OTHER = range(5)
"""The kinds of attributes, in their order in a name. Names contain no attributes of the kind OTHER."""
Values = Mapping[Key, Sequence[tuple[Attribute, Sequence[str]]]]
"""The attributes of each row with their values, by primary key."""


@dataclass(frozen=True)
class RowNames:
    """The names of a table's rows."""

    names: Mapping[Key, str]
    natural_key: tuple[Attribute, ...]
    """The attributes that form the names of rows without a name column, or an empty tuple."""
    alike: int
    """The number of rows without a unique or readable name: they share a name or are named by a surrogate
    key."""


def name_rows(table: EntityTable, values_by_key: Values, *, natural_keys: bool = True) -> RowNames:
    """Return a name for each row of a table: the name column, a natural key or the primary key.

    If `natural_keys` is false, the name is the name column or the primary key. Otherwise, a row without a
    name column is named by its primary key if people would use this key in a question. If people would not
    use the key, the name is the shortest natural key with at most `MOST` attributes, or the primary key if no
    natural key is unique. Names that several rows share get the distinguishing attributes in parentheses.
    """
    kind = name_table(table.table, table.schema)
    given = {key: _read_name(table, attributes) for key, attributes in values_by_key.items()}
    named = {key: name or f"{kind} {', '.join(map(write_plain, key))}" for key, name in given.items()}
    if not natural_keys:
        return RowNames(named, (), 0)
    surrogate = _is_surrogate(table)
    natural = find_natural_key(table, values_by_key) if surrogate and table.naming is None else ()
    if natural:
        named = {key: _write_key(table, kind, natural, row) for key, row in values_by_key.items()}
    alike = sum(not name for name in given.values()) if surrogate and not natural else 0
    for keys in _group_by_name(named):
        differing = find_natural_key(table, {key: values_by_key[key] for key in keys}, preferred=TIME)
        for key in keys if differing else ():
            named[key] = f"{named[key]} ({_qualify(table, differing, values_by_key[key])})"
        alike += 0 if differing else len(keys)
    return RowNames(named, natural, alike)


def find_natural_key(
    table: EntityTable, values_by_key: Values, preferred: int = NUMBER
) -> tuple[Attribute, ...]:
    """Return the smallest combination of attributes that is unique for every row, or an empty tuple.

    Every row must have exactly one value of each attribute. Attributes of the `preferred` kind are tried
    first: people distinguish films with the same title by year.
    """
    single: defaultdict[Attribute, dict[Key, str]] = defaultdict(dict)
    for key, attributes in values_by_key.items():
        for attribute, values in attributes:
            if len(values) == 1 and attribute.column != table.naming:
                single[attribute][key] = values[0]
    whole = [attribute for attribute, cells in single.items() if len(cells) == len(values_by_key)]
    ranks = {attribute: _rank(table, attribute) for attribute in whole}
    usable = sorted(
        (attribute for attribute in whole if ranks[attribute] < OTHER),
        key=lambda attribute: (ranks[attribute] != preferred, ranks[attribute]),
    )
    for size in range(1, MOST + 1):
        for chosen in combinations(usable[:CANDIDATES], size):
            # Every usable attribute has a value in every row, so all values are in the same order of rows.
            cells = zip(*(single[attribute].values() for attribute in chosen), strict=True)
            if len(set(cells)) == len(values_by_key):
                return chosen
    return ()


def _rank(table: EntityTable, attribute: Attribute) -> int:
    """Return the kind of an attribute: NUMBER, RELATED, TIME, TEXT or OTHER."""
    column = next(column for column in table.schema if column.id == attribute.column)
    if attribute.joins:
        return RELATED if is_name(name_column(column.id, table.schema)) else OTHER
    if is_identifying(column):
        return NUMBER
    if column.type == "date" or tells_year(column):
        return TIME
    return TEXT if column.type == "text" else OTHER


def _read_name(table: EntityTable, attributes: Sequence[tuple[Attribute, Sequence[str]]]) -> str:
    """Return the value of a row's name column, or an empty string."""
    return next((values[0] for attribute, values in attributes if attribute.column == table.naming), "")


def _is_surrogate(table: EntityTable) -> bool:
    """Return whether the primary key contains a column that people do not ask about, such as a row number."""
    return any(column.id in table.primary and not column.descriptive for column in table.schema)


def _group_by_name(names: Mapping[Key, str]) -> list[list[Key]]:
    """List the primary keys of rows that share a name, grouped by name."""
    groups: defaultdict[str, list[Key]] = defaultdict(list)
    for key, name in names.items():
        groups[name.casefold()].append(key)
    return [keys for keys in groups.values() if len(keys) > 1]


def _write_key(
    table: EntityTable,
    kind: str,
    chosen: Sequence[Attribute],
    attributes: Sequence[tuple[Attribute, Sequence[str]]],
) -> str:
    """Write a natural key as a name, such as `flight 1847 of the airline Driven Dreamair`."""
    numbered = bool(chosen) and _rank(table, chosen[0]) == NUMBER
    first = [kind, *(_list_values(chosen[:1], attributes) if numbered else ())]
    return " ".join([*first, *_list_phrases(table, chosen[1:] if numbered else chosen, attributes)])


def _qualify(
    table: EntityTable, chosen: Sequence[Attribute], attributes: Sequence[tuple[Attribute, Sequence[str]]]
) -> str:
    """Write the attributes that distinguish a row from rows with the same name: `1933`, `directed by X`."""
    if len(chosen) == 1 and _rank(table, chosen[0]) == TIME:
        kinds = name_kinds(table.schema)
        return write_said(next(_list_values(chosen, attributes)), kinds[chosen[0].column])
    return ", ".join(_list_phrases(table, chosen, attributes))


def _list_values(
    chosen: Sequence[Attribute], attributes: Sequence[tuple[Attribute, Sequence[str]]]
) -> Iterator[str]:
    """Yield the values of the chosen attributes in one row."""
    values = dict(attributes)
    yield from (values[attribute][0] for attribute in chosen)


def _list_phrases(
    table: EntityTable, chosen: Sequence[Attribute], attributes: Sequence[tuple[Attribute, Sequence[str]]]
) -> Iterator[str]:
    """Yield a phrase for each chosen attribute of a row: `of the airline X`, `on 29 January 2013`."""
    kinds = name_kinds(table.schema)
    for attribute, value in zip(chosen, _list_values(chosen, attributes), strict=True):
        said = write_said(value, kinds[attribute.column])
        rank = _rank(table, attribute)
        if rank == TIME:
            yield f"{'on' if kinds[attribute.column] in ('date', 'moment') else 'of'} {said}"
        elif rank == RELATED and attribute.words in TIES:
            yield f"{TIES[attribute.words]} {said}"
        else:
            yield f"with the {attribute.words} {said}"
