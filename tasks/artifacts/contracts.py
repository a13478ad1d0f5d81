"""What must hold of an artifact, declared: Great Expectations checks it (docs/contracts.md).

A contract is what is expected of one artifact. An expectation is one of Great Expectations' own; a row
rule is ours: a function that says what is wrong with a row, checked by an expectation that nothing is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pyarrow.parquet as pq

from tasks.artifacts.parquet import read_rows
from tasks.artifacts.rows import schema_of
from tasks.errors import ContractBroken

Record = Mapping[str, Any]
State = Literal["held", "broken", "unchecked"]
RESULTS = "results.parquet"
"""The findings in a validation stage's folder."""
NAMED = 5
"""How many ids an error's line names."""
TOLD = 3
"""How many broken contracts an error's line tells of."""
WIDTH = 120


@dataclass(frozen=True)
class Expectation:
    """One of Great Expectations' own over rows. Several of one name are one contract.

    type: its class (`ExpectColumnValuesToBeUnique`). options: its arguments.
    """

    name: str
    says: str
    type: str
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that it looks at."""
        return tuple(
            str(self.options[key]) for key in ("column", "column_A", "column_B") if key in self.options
        )


@dataclass(frozen=True)
class RowRule:
    """A rule of ours. A row with a NULL in `columns` is left to the contract on NULLs.

    check: a row's `columns` -> what is wrong with it; "" where it holds, None where it is not looked at.
    """

    name: str
    says: str
    columns: tuple[str, ...]
    check: Callable[[Record], str | None]


@dataclass(frozen=True)
class Contract:
    """What is expected of one artifact, whose rows have the column `id`."""

    path: Path
    expectations: tuple[Expectation | RowRule, ...]


@dataclass(frozen=True)
class ContractFinding:
    """One contract of one artifact, checked.

    checked, broken: rows (of the contract `columns`: columns). ids, details: of the first broken ones.
    """

    id: str
    """`<artifact>.<contract>`"""
    artifact: str
    contract: str
    says: str
    state: str
    """held, broken, or unchecked: the artifacts' columns are not what its check reads"""
    checked: int
    broken: int
    ids: tuple[str, ...]
    details: tuple[str, ...]


def expect_unique(column: str) -> Expectation:
    """Expect no value twice."""
    return Expectation(
        "unique_ids",
        f"No two rows have the same {column}.",
        "ExpectColumnValuesToBeUnique",
        {"column": column},
    )


def expect_no_nulls(columns: Iterable[str]) -> Iterator[Expectation]:
    """Expect no NULL in these columns."""
    for column in columns:
        yield Expectation(
            "no_nulls",
            "No cell is NULL that must not be.",
            "ExpectColumnValuesToNotBeNull",
            {"column": column},
        )


def expect_match(name: str, says: str, column: str, pattern: str) -> Expectation:
    """Expect every value to hold a match of a regular expression."""
    return Expectation(name, says, "ExpectColumnValuesToMatchRegex", {"column": column, "regex": pattern})


def expect_no_match(name: str, says: str, column: str, pattern: str) -> Expectation:
    """Expect no value to hold a match of a regular expression."""
    return Expectation(name, says, "ExpectColumnValuesToNotMatchRegex", {"column": column, "regex": pattern})


def expect_keyed(row: type) -> tuple[Expectation, ...]:
    """Expect of an artifact of ours: unique ids, and no NULL where its row type allows none."""
    plain = [field for field in schema_of(row) if not pa.types.is_nested(field.type)]
    return (expect_unique("id"), *expect_no_nulls(field.name for field in plain if not field.nullable))


class Origins:
    """Which rows and calls there are to come from, by the ids of the artifacts in one folder."""

    def __init__(self, artifacts: Iterable[Path], calls: Iterable[Path]) -> None:
        self._rows = {path.stem: read_ids(path) for path in artifacts}
        self._calls = set().union(*(read_ids(path) for path in calls))

    def rule(self) -> RowRule:
        """Make the rule that every row names where it comes from, and that it is there."""
        return RowRule(
            "origins",
            "Every row names rows or calls that it comes from, and they exist.",
            ("origin",),
            self._check,
        )

    def _check(self, record: Record) -> str:
        if not record["origin"]:
            return "names no origin"
        gaps = [
            origin for origin in record["origin"] if not self._exists(origin["kind"], origin["reference"])
        ]
        return f"comes from the {gaps[0]['kind']} {gaps[0]['reference']}, which is not there" if gaps else ""

    def _exists(self, kind: str, reference: str) -> bool:
        if kind == "row":
            stem, _, row = str(reference).partition("#")
            return row in self._rows.get(stem, ())
        return reference in self._calls if kind == "call" else bool(reference)


def name_artifact(path: Path) -> str:
    """Name an artifact as findings do: `balanced`, `balanced.dropped`."""
    return path.name.removesuffix(".parquet")


def read_ids(path: Path) -> set[str]:
    """Read an artifact's ids."""
    return {row_id for row_id in pq.read_table(path, columns=["id"])["id"].to_pylist() if row_id is not None}


def read_records(path: Path, columns: Sequence[str]) -> Iterator[Record]:
    """Read some columns of an artifact row by row; memory is bounded by a batch."""
    for batch in pq.ParquetFile(path).iter_batches(columns=list(columns)):
        yield from batch.to_pylist()


def read_findings(folder: Path) -> list[ContractFinding]:
    """Read what a validation stage found, by its folder."""
    return read_rows(folder / RESULTS, ContractFinding)


def is_whole(findings: Iterable[ContractFinding]) -> bool:
    """Tell whether every contract was checked and held."""
    return all(finding.state == "held" for finding in findings)


def raise_broken(findings: Iterable[ContractFinding], folder: Path) -> None:
    """Raise ContractBroken with one line that names artifact, contract, count and the first ids.

    folder: the validation stage's, beside the artifacts, where all of it can be read.
    """
    broken = [finding for finding in findings if finding.state == "broken"]
    if not broken:
        return
    told = [describe_broken(finding) for finding in broken[:TOLD]]
    more = [f"and {len(broken) - TOLD} more contracts"] if len(broken) > TOLD else []
    raise ContractBroken(
        f"{folder.parent}: {'; '.join([*told, *more])}; all of it in {folder.name}/index.html"
    )


def describe_broken(finding: ContractFinding) -> str:
    """Describe a broken contract in one line that no text of a row can stretch or drive a terminal by."""
    unit = "columns" if finding.contract == "columns" else "rows"
    ids = ", ".join(map(_shorten, finding.ids[:NAMED])) + (", ..." if finding.broken > NAMED else "")
    detail = f" ({_shorten(finding.details[0])})" if finding.details[0] else ""
    return (
        f"{finding.artifact}.parquet breaks {finding.contract} "
        f"in {finding.broken:,} of {finding.checked:,} {unit}: {ids}{detail}"
    )


def _shorten(text: str) -> str:
    text = "".join(character if character.isprintable() else " " for character in " ".join(text.split()))
    return text if len(text) <= WIDTH else text[: WIDTH - 1] + "…"
