"""Declare contracts on artifacts, which Great Expectations checks (docs/contracts.md).

A contract is a set of requirements on one artifact: Great Expectations expectations and row rules. A row
rule is a function that describes a row's problem, if any. A contract holds if no row has a problem.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pyarrow.parquet as pq

from tasks.artifacts.parquet import read_rows
from tasks.artifacts.rows import schema_of
from tasks.errors import ContractBroken
from tasks.lines import clean

Record = Mapping[str, Any]
State = Literal["held", "broken", "unchecked"]
RESULTS = "results.parquet"
"""Name of the findings file in a validation stage's folder."""
SHOWN_IDS = 5
"""Maximum number of ids in an error message."""
REPORTED = 3
"""Maximum number of broken contracts in an error message."""
WIDTH = 120
"""Maximum number of characters of a text in an error message."""


@dataclass(frozen=True)
class Expectation:
    """A Great Expectations expectation on rows; expectations with the same name form one contract.

    `says`: a one-sentence description of the contract. `type`: a class name (`ExpectColumnValuesToBeUnique`).
    `options`: the arguments of that class.
    """

    name: str
    says: str
    type: str
    options: Mapping[str, object] = field(default_factory=dict)

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the columns that the expectation checks."""
        return tuple(
            str(self.options[key]) for key in ("column", "column_A", "column_B") if key in self.options
        )


@dataclass(frozen=True)
class RowRule:
    """A rule that checks each row on its own.

    `check`: returns the problem of a row's `columns`, "" if there is no problem, or None if the row is not
    checked. `nulls`: `left` skips rows with a NULL in `columns`, because another contract checks NULLs.
    `only` means that rows without a NULL in `columns` never have a problem.
    """

    name: str
    says: str
    columns: tuple[str, ...]
    check: Callable[[Record], str | None]
    nulls: Literal["left", "only"] = "left"


@dataclass(frozen=True)
class Contract:
    """The expectations and row rules for one artifact, whose rows have a column `id`."""

    path: Path
    expectations: tuple[Expectation | RowRule, ...]


@dataclass(frozen=True)
class ContractFinding:
    """The result of one contract on one artifact.

    `checked`: number of checked rows. `broken`: number of rows that break the contract. The contract
    `columns` counts columns instead of rows. `ids`, `details`: ids and problems of the first rows that break
    the contract.
    """

    id: str
    """The artifact and the contract, as `<artifact>.<contract>`."""
    artifact: str
    contract: str
    says: str
    state: str
    """The state of the contract: held, broken, or unchecked if the columns of an artifact differ from its row
    type."""
    checked: int
    broken: int
    ids: tuple[str, ...]
    details: tuple[str, ...]


def expect_unique(column: str) -> Expectation:
    """Expect that no value of a column occurs twice."""
    return Expectation(
        "unique_ids",
        f"No two rows have the same {column}.",
        "ExpectColumnValuesToBeUnique",
        {"column": column},
    )


def expect_no_nulls(columns: Iterable[str]) -> RowRule:
    """Expect no NULL in any of the columns; one rule is faster than one expectation per column."""
    return RowRule(
        "no_nulls",
        "Columns that are required do not contain NULL.",
        tuple(columns),
        lambda record: next((f"{name} is NULL" for name, cell in record.items() if cell is None), ""),
        nulls="only",
    )


def expect_match(name: str, says: str, column: str, pattern: str) -> Expectation:
    """Expect that every value contains a match for a regular expression."""
    return Expectation(name, says, "ExpectColumnValuesToMatchRegex", {"column": column, "regex": pattern})


def expect_no_match(name: str, says: str, column: str, pattern: str) -> Expectation:
    """Expect that no value contains a match for a regular expression."""
    return Expectation(name, says, "ExpectColumnValuesToNotMatchRegex", {"column": column, "regex": pattern})


def expect_keyed(row: type) -> tuple[Expectation | RowRule, ...]:
    """Expect unique ids, and no NULL in scalar columns unless the row type declares them optional."""
    scalars = [field for field in schema_of(row) if not pa.types.is_nested(field.type)]
    return (expect_unique("id"), expect_no_nulls(field.name for field in scalars if not field.nullable))


class OriginIndex:
    """The ids of the rows and calls that origins may refer to.

    Rows are looked up by the artifact's stem or by `folder/stem`. Several artifacts may share a stem.
    """

    def __init__(self, artifacts: Iterable[Path], calls: Iterable[Path]) -> None:
        self._rows: defaultdict[str, set[str]] = defaultdict(set)
        for path in artifacts:
            ids = read_ids(path)
            self._rows[path.stem] |= ids
            self._rows[f"{path.parent.name}/{path.stem}"] |= ids
        self._calls = set().union(*(read_ids(path) for path in calls))

    def make_rule(self) -> RowRule:
        """Make the rule that every row has at least one origin, and that all origins exist."""
        return RowRule(
            "origins",
            "Every row has at least one origin, such as another row or a model call. Every origin exists.",
            ("origin",),
            self._check,
        )

    def _check(self, record: Record) -> str:
        if not record["origin"]:
            return "has no origin"
        missing = [
            origin for origin in record["origin"] if not self._exists(origin["kind"], origin["reference"])
        ]
        if not missing:
            return ""
        return f"comes from the {missing[0]['kind']} {missing[0]['reference']}, which does not exist"

    def _exists(self, kind: str, reference: str) -> bool:
        if kind == "row":
            stem, _, row = str(reference).partition("#")
            return row in self._rows.get(stem, ())
        return reference in self._calls if kind == "call" else bool(reference)


def name_artifact(path: Path) -> str:
    """Return an artifact's name in findings, such as `balanced` or `balanced.dropped`."""
    return path.name.removesuffix(".parquet")


def read_ids(path: Path) -> set[str]:
    """Return an artifact's ids, except NULLs."""
    return {row_id for row_id in pq.read_table(path, columns=["id"])["id"].to_pylist() if row_id is not None}


def read_records(path: Path, columns: Sequence[str]) -> Iterator[Record]:
    """Yield the given columns of an artifact row by row; only one batch is in memory at a time."""
    for batch in read_batches(path, columns):
        yield from batch.to_pylist()


def read_batches(path: Path, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """Yield the given columns of an artifact in batches of rows."""
    yield from pq.ParquetFile(path).iter_batches(columns=list(columns))


def read_findings(folder: Path) -> list[ContractFinding]:
    """Read the findings in a validation stage's folder. Raises BadInput if the file is not valid."""
    return read_rows(folder / RESULTS, ContractFinding)


def all_held(findings: Iterable[ContractFinding]) -> bool:
    """Return whether every finding has the state `held`."""
    return all(finding.state == "held" for finding in findings)


def raise_if_broken(findings: Iterable[ContractFinding], folder: Path) -> None:
    """Raise ContractBroken if a contract is broken; the message names the artifact, contract, count and ids.

    `folder`: the validation stage's folder, next to the artifacts.
    """
    broken = [finding for finding in findings if finding.state == "broken"]
    if not broken:
        return
    described = [describe_broken(finding) for finding in broken[:REPORTED]]
    more = [f"and {len(broken) - REPORTED} more contracts"] if len(broken) > REPORTED else []
    raise ContractBroken(
        f"{folder.parent}: {'; '.join([*described, *more])}; {folder.name}/index.html lists all findings"
    )


def describe_broken(finding: ContractFinding) -> str:
    """Describe a broken contract on one line; values from rows are shortened and made printable."""
    unit = "columns" if finding.contract == "columns" else "rows"
    ids = ", ".join(map(_shorten, finding.ids[:SHOWN_IDS])) + (", ..." if finding.broken > SHOWN_IDS else "")
    detail = f" ({_shorten(finding.details[0])})" if finding.details[0] else ""
    return (
        f"{finding.artifact}.parquet breaks {finding.contract} "
        f"in {finding.broken:,} of {finding.checked:,} {unit}: {ids}{detail}"
    )


def _shorten(text: str) -> str:
    text = clean(" ".join(text.split()))
    return text if len(text) <= WIDTH else text[: WIDTH - 1] + "…"
