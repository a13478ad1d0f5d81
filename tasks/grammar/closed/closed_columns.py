"""Find the columns in which names are replaced: the configured ones and those that share their keys."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from tasks.databases.columns import Column
from tasks.errors import BadInput
from tasks.grammar.closed.closed_entry import ClosedVariant


def group_columns(variant: ClosedVariant, schema: Sequence[Column]) -> dict[str, str]:
    """Map every column whose names are replaced to the kind of thing that its values name.

    Columns that a foreign key connects change together. Raises BadInput if a column does not exist, is not
    text, or gets two kinds.
    """
    columns = {column.id: column for column in schema}
    kinds: dict[str, str] = {}
    for configured, kind in sorted(variant.columns.items()):
        for name in _list_connected(_require_text(configured, columns, variant), columns.values()):
            if kinds.setdefault(name, kind) != kind:
                raise BadInput(
                    f"params.yaml: closed: columns.{configured}",
                    f"{name} is called {kinds[name]} and {kind}",
                )
    for name in variant.texts:
        if _require_text(name, columns, variant) in kinds:
            raise BadInput("params.yaml: closed: texts", f"{name} is already a column of names")
    return kinds


def _require_text(name: str, columns: Mapping[str, Column], variant: ClosedVariant) -> str:
    """Return the name of a text column. Raises BadInput if it does not exist or is not text."""
    column = columns.get(name)
    if column is None:
        texts = ", ".join(sorted(column.id for column in columns.values() if column.type == "text"))
        raise BadInput(
            f"params.yaml: closed: {name}", f"{variant.file.name} has no such column", hint=f"texts: {texts}"
        )
    if column.type != "text":
        raise BadInput(f"params.yaml: closed: {name}", f"is {column.type}, not text")
    return name


def _list_connected(start: str, columns: Iterable[Column]) -> set[str]:
    """List a column and the columns that foreign keys connect with it, in either direction."""
    links = [(column.id, column.references) for column in columns if column.references]
    connected, pending = {start}, [start]
    while pending:
        name = pending.pop()
        neighbours = {a for a, b in links if b == name} | {b for a, b in links if a == name}
        pending += neighbours - connected
        connected |= neighbours
    return connected
