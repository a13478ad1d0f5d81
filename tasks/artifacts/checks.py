"""The frames that contracts are checked on: an artifact's columns side by side, and its rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from tasks.artifacts.contracts import Contract, Expectation, RowRule, name_artifact, read_records
from tasks.artifacts.rows import schema_of
from tasks.errors import BadInput

PLACE = "place"
"""Beside the id in every frame: ids may be NULL, or twice the same."""
PROBLEMS = "ExpectColumnValuesToBeNull"
"""What is expected of the column of problems that a row rule makes."""
SHAPE = Expectation(
    "columns",
    "The columns are those of its rows, in their order and of their types.",
    "ExpectColumnPairValuesToBeEqual",
    {"column_A": "found", "column_B": "expected"},
)


@dataclass(frozen=True)
class Check:
    """A frame and what is expected of it.

    whose: the artifact that each of its rows belongs to. looked: contract -> rows, where not all are
    looked at.
    """

    suite: str
    artifacts: tuple[str, ...]
    whose: Sequence[str]
    frame: pd.DataFrame
    expectations: Sequence[Expectation]
    looked: Mapping[str, int] = field(default_factory=dict)


def check_columns(artifacts: Mapping[Path, type]) -> Check:
    """Lay the columns that artifacts have beside those of their row types: one row a column.

    Raises BadInput where a file cannot be read as Parquet.
    """
    rows = [
        (name_artifact(path), *column) for path, row in artifacts.items() for column in _lay_beside(path, row)
    ]
    whose, names, found, expected = ([row[place] for row in rows] for place in range(4))
    frame = pd.DataFrame({"id": names, "found": found, "expected": expected, PLACE: range(len(rows))})
    return Check("columns", tuple(map(name_artifact, artifacts)), whose, frame, [SHAPE])


def _lay_beside(path: Path, row: type) -> Iterable[tuple[str, str, str]]:
    try:
        found = {field.name: describe_type(field.type) for field in pq.read_schema(path)}
    except (OSError, pa.ArrowException) as error:
        raise BadInput(path, f"cannot be read as Parquet: {error}", hint="run its stage again") from error
    expected = {field.name: describe_type(field.type) for field in schema_of(row)}
    for name in dict.fromkeys([*expected, *found]):
        yield name, _describe_place(found, name), _describe_place(expected, name)


def _describe_place(columns: Mapping[str, str], name: str) -> str:
    return f"number {list(columns).index(name) + 1}, {columns[name]}" if name in columns else "no such column"


def describe_type(kind: pa.DataType) -> str:
    """Name a type; lists and structures by what they hold, whatever Parquet calls their items."""
    if pa.types.is_list(kind):
        return f"list of {describe_type(kind.value_type)}"
    if pa.types.is_struct(kind):
        return "{" + ", ".join(f"{field.name}: {describe_type(field.type)}" for field in kind) + "}"
    return str(kind)


def check_rows(contract: Contract) -> Check:
    """Make the frame of one artifact: the columns that are looked at, and one of problems for each rule.

    Raises ValueError where a rule has the name of a column.
    """
    rules = [expectation for expectation in contract.expectations if isinstance(expectation, RowRule)]
    own = [expectation for expectation in contract.expectations if isinstance(expectation, Expectation)]
    columns = dict.fromkeys(["id", *(name for expectation in own for name in expectation.columns)])
    frame = pq.read_table(contract.path, columns=list(columns)).to_pandas()
    looked = {}
    for rule in rules:
        if rule.name in frame:
            raise ValueError(f"{contract.path.name}: the rule {rule.name} has the name of a column")
        problems = list(find_problems(contract.path, rule))
        looked[rule.name] = sum(problem is not None for problem in problems)
        frame[rule.name] = pd.Series([problem or None for problem in problems], dtype=object)
        own.append(Expectation(rule.name, rule.says, PROBLEMS, {"column": rule.name}))
    frame[PLACE] = range(len(frame))
    name = name_artifact(contract.path)
    return Check(name, (name,), [name] * len(frame), frame, own, looked)


def find_problems(path: Path, rule: RowRule) -> Iterable[str | None]:
    """Say of every row what a rule finds wrong with it; None where it is not looked at."""
    for record in read_records(path, rule.columns):
        yield None if any(value is None for value in record.values()) else rule.check(record)
