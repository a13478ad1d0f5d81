"""The columns whose names change, and those that change with them since they refer to them by key."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from tasks.databases.columns import Column
from tasks.errors import BadInput
from tasks.grammar.closed.closed_entry import Closed


def group_columns(closed: Closed, schema: Sequence[Column]) -> dict[str, str]:
    """Map every column that changes to what its values name, keys and what refers to them alike.

    Raises BadInput where a column is not there, is no text, or is called two kinds.
    """
    columns = {each.id: each for each in schema}
    kinds: dict[str, str] = {}
    for wanted, kind in sorted(closed.columns.items()):
        for name in _reach(_find(wanted, columns, closed), columns.values()):
            if kinds.setdefault(name, kind) != kind:
                raise BadInput(
                    f"params.yaml: closed: columns.{wanted}", f"{name} is called {kinds[name]} and {kind}"
                )
    for each in closed.texts:
        if _find(each, columns, closed) in kinds:
            raise BadInput("params.yaml: closed: texts", f"{each} is a column of names already")
    return kinds


def _find(name: str, columns: Mapping[str, Column], closed: Closed) -> str:
    column = columns.get(name)
    if column is None:
        texts = ", ".join(sorted(each.id for each in columns.values() if each.type == "text"))
        raise BadInput(
            f"params.yaml: closed: {name}", f"{closed.file.name} has no such column", hint=f"texts: {texts}"
        )
    if column.type != "text":
        raise BadInput(f"params.yaml: closed: {name}", f"holds no text but {column.type}")
    return name


def _reach(start: str, columns: Iterable[Column]) -> set[str]:
    """Find all columns that hold the same values by foreign keys, in either direction."""
    links = [(each.id, each.references) for each in columns if each.references]
    found, todo = {start}, [start]
    while todo:
        name = todo.pop()
        near = {a for a, b in links if b == name} | {b for a, b in links if a == name}
        todo += near - found
        found |= near
    return found
