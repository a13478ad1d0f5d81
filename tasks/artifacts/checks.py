"""Build the data frames that contracts are checked on: one of all artifacts' columns, one per artifact."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import repeat
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from tasks.artifacts.contracts import Contract, Expectation, RowRule, name_artifact, read_batches
from tasks.artifacts.rows import schema_of
from tasks.errors import BadInput

PLACE = "place"
"""The column of row numbers in every frame, since ids may be NULL or repeated."""
PROBLEMS = "ExpectColumnValuesToBeNull"
"""The expectation on the column of problems that a row rule fills."""
COLUMNS_MATCH = Expectation(
    "columns",
    "The columns are those of its rows, in their order and of their types.",
    "ExpectColumnPairValuesToBeEqual",
    {"column_A": "found", "column_B": "expected"},
)


@dataclass(frozen=True)
class Check:
    """A frame and the expectations on it.

    owners: the artifact that each row of the frame is about. checked: contract -> number of rows checked, if
    not all of them are.
    """

    suite: str
    artifacts: tuple[str, ...]
    owners: Sequence[str]
    frame: pd.DataFrame
    expectations: Sequence[Expectation]
    checked: Mapping[str, int] = field(default_factory=dict)


def check_columns(artifacts: Mapping[Path, type]) -> Check:
    """Compare the columns of artifacts with those of their row types: a frame with one row per column.

    artifacts: file -> row type. Raises BadInput if a file cannot be read as Parquet.
    """
    rows = [
        (name_artifact(path), *column)
        for path, row in artifacts.items()
        for column in _compare_columns(path, row)
    ]
    owners, names, found, expected = ([row[index] for row in rows] for index in range(4))
    frame = pd.DataFrame({"id": names, "found": found, "expected": expected, PLACE: range(len(rows))})
    return Check("columns", tuple(map(name_artifact, artifacts)), owners, frame, [COLUMNS_MATCH])


def _compare_columns(path: Path, row: type) -> Iterable[tuple[str, str, str]]:
    """Yield (column, found, expected)."""
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
    """Describe an Arrow type, regardless of the name that Parquet gives to list items."""
    if pa.types.is_list(kind):
        return f"list of {describe_type(kind.value_type)}"
    if pa.types.is_struct(kind):
        return "{" + ", ".join(f"{field.name}: {describe_type(field.type)}" for field in kind) + "}"
    return str(kind)


def check_rows(contract: Contract) -> Check:
    """Build the frame of one artifact: the columns that are checked, and one of problems per row rule.

    Raises ValueError if a rule has the name of a column.
    """
    rules = [expectation for expectation in contract.expectations if isinstance(expectation, RowRule)]
    expectations = [
        expectation for expectation in contract.expectations if isinstance(expectation, Expectation)
    ]
    columns = dict.fromkeys(["id", *(name for expectation in expectations for name in expectation.columns)])
    frame = pq.read_table(contract.path, columns=list(columns)).to_pandas()
    checked = {}
    for rule in rules:
        if rule.name in frame:
            raise ValueError(f"{contract.path.name}: the rule {rule.name} has the name of a column")
        problems = list(find_problems(contract.path, rule))
        checked[rule.name] = sum(problem is not None for problem in problems)
        frame[rule.name] = pd.Series([problem or None for problem in problems], dtype=object)
        expectations.append(Expectation(rule.name, rule.says, PROBLEMS, {"column": rule.name}))
    frame[PLACE] = range(len(frame))
    name = name_artifact(contract.path)
    return Check(name, (name,), [name] * len(frame), frame, expectations, checked)


def find_problems(path: Path, rule: RowRule) -> Iterable[str | None]:
    """Yield a rule's finding for every row: the problem, "" if it holds, None if the row is not checked."""
    for batch in read_batches(path, rule.columns):
        if rule.nulls == "only" and not any(column.null_count for column in batch.columns):
            yield from repeat("", batch.num_rows)
            continue
        for record in batch.to_pylist():
            left = rule.nulls == "left" and any(value is None for value in record.values())
            yield None if left else rule.check(record)
