"""Define the data for the item viewer, in which readers search, filter and open rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tasks.reports.blocks import Block, Tag

ROWS = "rows"
"""Name of the data file with the rows."""
FilterValue = str | Sequence[str] | Mapping[str, str]


@dataclass(frozen=True)
class Filter:
    """A select box above the list. name: parameter in the page's URL. label: text above the box.

    `options`: pairs (value, label) in order; by default, the values in the rows. `value`: the initially
    selected value; empty for any value. `varies`: names of the `FilterChoice` boxes that a row's value
    depends on. The row's value is then a mapping, and its keys are the chosen values, joined by `|`.
    """

    name: str
    label: str
    options: Sequence[tuple[str, str]] = ()
    value: str = ""
    varies: tuple[str, ...] = ()


@dataclass(frozen=True)
class FilterChoice:
    """A select box that does not filter rows, but selects which value of a filter or tag a row shows."""

    name: str
    label: str
    options: Sequence[tuple[str, str]]
    value: str


@dataclass(frozen=True)
class ViewedRow:
    """A row of the viewer.

    - `id`: the row's id in the page's URL.
    - `title`: the row's title in the list.
    - `values`: one entry for each filter, in order. An entry is one value, several values that all match, or
      a mapping from choices to values.
    - `tags`: tags below the title.
    - `blocks`: the content of the opened row.
    - `traced`: pairs (artifact, id) of the rows to show lineage for; by default, this row in the viewer's
      artifact.
    - `find`: additional searchable text, if the row's blocks are in a file.
    - `also`: other ids for finding the row.
    - `vary`: a pair: names of `FilterChoice` boxes, and a mapping from the chosen values, joined by `|`, to
      extra tags.
    """

    id: str
    title: str
    values: Sequence[FilterValue]
    tags: Sequence[Tag]
    blocks: Sequence[Block]
    traced: Sequence[tuple[str, str]] = ()
    find: str = ""
    also: Sequence[str] = ()
    vary: tuple[Sequence[str], Mapping[str, Sequence[Tag]]] = ((), {})


@dataclass(frozen=True)
class Viewer:
    """The content of the viewer.

    `noun`, `nouns`: word for a row, and its plural; the noun is the key in the page's URL (`#question=<id>`).
    `placeholder`: text in the search box. `empty`: text before a row is opened. `shared`: key ->
    blocks, which rows include by key. `files`: data files in the page's folder, name -> key -> blocks, which
    rows include with `stored`. `artifact`: the file with the rows, for lineage. `walk`: whether buttons and
    the keys J and K open the next and previous row.
    """

    noun: str
    nouns: str
    placeholder: str
    empty: str
    filters: Sequence[Filter | FilterChoice]
    rows: Sequence[ViewedRow]
    artifact: Path
    shared: Mapping[str, Sequence[Block]] = field(default_factory=dict)
    files: Mapping[str, Mapping[str, Sequence[Block]]] = field(default_factory=dict)
    walk: bool = False

    def encode(self) -> dict[str, object]:
        """Encode the viewer for pages/viewer.js. Rows are arrays, which are smaller than objects."""
        return {
            "noun": self.noun,
            "nouns": self.nouns,
            "walk": self.walk,
            "filters": [_encode_filter(shown) for shown in self.filters],
            "rows": [_encode_row(row) for row in self.rows],
            "shared": self.shared,
        }


def _encode_filter(shown: Filter | FilterChoice) -> dict[str, object]:
    is_filter = isinstance(shown, Filter)
    return {
        "name": shown.name,
        "filters": is_filter,
        "options": [list(option) for option in shown.options],
        "value": shown.value,
        "varies": list(shown.varies) if isinstance(shown, Filter) else [],
    }


def _encode_row(row: ViewedRow) -> list[object]:
    rest: list[object] = [row.traced, row.find, row.also, row.vary if row.vary[0] else ()]
    while rest and not rest[-1]:
        rest.pop()
    return [row.id, row.title, row.values, row.tags, row.blocks, *rest]


def list_values(rows: Iterable[ViewedRow], place: int) -> list[tuple[str, str]]:
    """Return a filter's distinct values as (value, label), in row order. place: the filter's index."""
    values = (value for row in rows for value in _flatten(row.values[place]))
    return [(value, value.replace("_", " ")) for value in dict.fromkeys(values) if value]


def _flatten(value: FilterValue) -> Sequence[str]:
    if isinstance(value, str):
        return (value,)
    return list(value.values()) if isinstance(value, Mapping) else value
