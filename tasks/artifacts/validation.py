"""Check contracts with Great Expectations, in memory: no context on disk, and no telemetry.

Great Expectations and pandas take seconds to import, so they are imported in the functions that need them.
Contracts are checked on data frames: one frame for the columns of all artifacts, and one frame for the rows
of each artifact.
"""

from __future__ import annotations

import os
import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import repeat
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from tasks.artifacts.contracts import (
    RESULTS,
    Contract,
    ContractFinding,
    Expectation,
    RowRule,
    all_held,
    name_artifact,
    read_batches,
)
from tasks.artifacts.parquet import write_rows
from tasks.errors import StageFailed

if TYPE_CHECKING:
    import pandas as pd
    from great_expectations import ExpectationSuite
from tasks.artifacts.rows import schema_of
from tasks.errors import BadInput

KEPT = 20
"""Maximum number of rows that a finding lists."""
WIDEST = 500
"""Maximum length of an id or a detail in characters."""
ONE_AT_A_TIME = threading.Lock()
"""Great Expectations stores its context in a global variable of the process, so only one check may run at a
time."""
UNCHECKED = "The contracts on rows are checked only if all columns are correct."
PLACE = "place"
"""The column of row numbers in every frame. Ids are not sufficient, because they may be NULL or repeated."""
PROBLEMS = "ExpectColumnValuesToBeNull"
"""The expectation type for a row rule's column of problems: every cell must be NULL."""
COLUMNS_MATCH = Expectation(
    "columns",
    "The artifact has the columns of its row type, in the same order and with the same types.",
    "ExpectColumnPairValuesToBeEqual",
    {"column_A": "found", "column_B": "expected"},
)


def validate(
    artifacts: Mapping[Path, type], declare: Callable[[], Sequence[Contract]], folder: Path
) -> list[ContractFinding]:
    """Check artifacts; write the findings into `folder`, and return the findings.

    `artifacts`: file -> row type. Each file must have the columns of its row type. `declare`: returns the
    contracts on rows. It is called only if all columns match, so it may read the artifacts. Raises BadInput
    if a file is not Parquet, and StageFailed if Great Expectations returns no result.
    """
    findings = run_checks([check_columns(artifacts)])
    if all_held(findings):
        findings += run_checks([check_rows(contract) for contract in declare()])
    else:
        names = map(name_artifact, artifacts)
        findings += [
            ContractFinding(f"{name}.rows", name, "rows", UNCHECKED, "unchecked", 0, 0, (), ())
            for name in names
        ]
    write_rows(folder / RESULTS, ContractFinding, findings)
    return findings


def run_checks(checks: Sequence[Check]) -> list[ContractFinding]:
    """Check each frame with Great Expectations; return the findings.

    If a frame has no rows, its expectations count as met and are not run.
    """
    with ONE_AT_A_TIME:
        # Releases before 1.24 send usage statistics unless this variable is set.
        os.environ["GX_ANALYTICS_ENABLED"] = "false"
        import great_expectations as gx

        context = gx.get_context(mode="ephemeral")
        context.variables.progress_bars = {"globally": False}
        # One asset for all checks, because adding an asset serialises the whole configuration again.
        asset = context.data_sources.add_pandas("artifacts").add_dataframe_asset("artifact")
        whole = asset.add_batch_definition_whole_dataframe("all")
        findings: list[ContractFinding] = []
        for check in checks:
            if check.frame.empty:
                findings += [
                    _make_finding(check, check.suite, expected, {}) for expected in check.expectations
                ]
                continue
            result = whole.get_batch({"dataframe": check.frame}).validate(
                make_suite(check),
                result_format={"result_format": "COMPLETE", "unexpected_index_column_names": ["id", PLACE]},
            )
            # Great Expectations groups the expectations by column, so the results are in another order.
            result.results.sort(key=lambda outcome: outcome.expectation_config.meta["number"])
            findings += read_findings(check, [outcome.to_json_dict() for outcome in result.results])
        return findings


def make_suite(check: Check) -> ExpectationSuite:
    """Convert a check's expectations to a Great Expectations suite."""
    import great_expectations as gx
    from great_expectations import expectations as classes

    expectations = [
        getattr(classes, expectation.type)(
            **expectation.options, description=expectation.says, meta={"number": number}
        )
        for number, expectation in enumerate(check.expectations)
    ]
    return gx.ExpectationSuite(name=check.suite, expectations=expectations)


def read_findings(check: Check, results: Sequence[Mapping[str, Any]]) -> list[ContractFinding]:
    """Convert a check's results to findings.

    `results`: one result per expectation, in the same order. Expectations with the same name become one
    finding per artifact. Raises StageFailed if a result does not identify the rows that break the contract,
    for example after an error in Great Expectations.
    """
    broken: defaultdict[tuple[str, str], dict[int, tuple[str, str]]] = defaultdict(dict)
    for expectation, result in zip(check.expectations, results, strict=True):
        rows = list(_read_rows(expectation, result["result"]))
        if "element_count" not in result["result"] or result["success"] == bool(rows):
            raise StageFailed(f"{check.suite}: {expectation.type} gave no result: {_find_message(result)}")
        for place, row, detail in rows:
            broken[check.owners[place], expectation.name].setdefault(place, (row, detail))
    named = {expectation.name: expectation for expectation in check.expectations}
    return [
        _make_finding(check, artifact, expectation, broken[artifact, name])
        for artifact in check.artifacts
        for name, expectation in named.items()
    ]


def _make_finding(
    check: Check, artifact: str, expectation: Expectation, places: Mapping[int, tuple[str, str]]
) -> ContractFinding:
    """Make a finding. `places`: for each row that breaks the contract, row number -> (row id, problem)."""
    named = [places[place] for place in sorted(places)[:KEPT]]
    return ContractFinding(
        id=f"{artifact}.{expectation.name}",
        artifact=artifact,
        contract=expectation.name,
        says=expectation.says,
        state="broken" if places else "held",
        checked=check.checked.get(expectation.name, check.owners.count(artifact)),
        broken=len(places),
        ids=tuple(row for row, _ in named),
        details=tuple(detail for _, detail in named),
    )


def _read_rows(expectation: Expectation, result: Mapping[str, Any]) -> Iterable[tuple[int, str, str]]:
    """Yield the rows of one result that break the contract: row number, id, and problem."""
    for row in result.get("unexpected_index_list") or ():
        cells = [_format(row[name]) for name in expectation.columns if name != "id"]
        if expectation is COLUMNS_MATCH:
            detail = f"found: {cells[0]}; expected: {cells[1]}"
        elif expectation.type == PROBLEMS:
            detail = cells[0]
        else:
            detail = f"{expectation.columns[0]} is {cells[0]}" if cells else ""
        yield int(row[PLACE]), _format(row["id"])[:WIDEST], detail[:WIDEST]


def _format(value: Any) -> str:
    import pandas as pd

    return "NULL" if pd.isna(value) else str(value)


def _find_message(result: Mapping[str, Any]) -> str:
    info = result["exception_info"]
    first = next((member for member in info.values() if isinstance(member, Mapping)), info)
    return " ".join(str(first.get("exception_message") or "it names no broken rows").split())


@dataclass(frozen=True)
class Check:
    """A data frame and the expectations on it.

    `owners`: for each row of the frame, the artifact that the row describes. `checked`: contract -> number of
    checked rows. A contract that is not in `checked` is checked on all rows.
    """

    suite: str
    artifacts: tuple[str, ...]
    owners: Sequence[str]
    frame: pd.DataFrame
    expectations: Sequence[Expectation]
    checked: Mapping[str, int] = field(default_factory=dict)


def check_columns(artifacts: Mapping[Path, type]) -> Check:
    """Return a check that compares artifacts' columns with their row types; its frame has one row per column.

    `artifacts`: file -> row type. Raises BadInput if a file cannot be read as Parquet.
    """
    import pandas as pd

    rows = [
        (name_artifact(path), *column)
        for path, row in artifacts.items()
        for column in _compare_columns(path, row)
    ]
    owners, names, found, expected = ([row[index] for row in rows] for index in range(4))
    frame = pd.DataFrame({"id": names, "found": found, "expected": expected, PLACE: range(len(rows))})
    return Check("columns", tuple(map(name_artifact, artifacts)), owners, frame, [COLUMNS_MATCH])


def _compare_columns(path: Path, row: type) -> Iterable[tuple[str, str, str]]:
    """Yield (name, description of the actual column, description of the expected column) per column."""
    try:
        found = {field.name: describe_type(field.type) for field in pq.read_schema(path)}
    except (OSError, pa.ArrowException) as error:
        raise BadInput(path, f"cannot be read as Parquet: {error}", hint="run its stage again") from error
    expected = {field.name: describe_type(field.type) for field in schema_of(row)}
    for name in dict.fromkeys([*expected, *found]):
        yield name, _describe_place(found, name), _describe_place(expected, name)


def _describe_place(columns: Mapping[str, str], name: str) -> str:
    return f"column {list(columns).index(name) + 1}, {columns[name]}" if name in columns else "no such column"


def describe_type(kind: pa.DataType) -> str:
    """Describe an Arrow type, ignoring the name that Parquet gives to list items."""
    if pa.types.is_list(kind):
        return f"list of {describe_type(kind.value_type)}"
    if pa.types.is_struct(kind):
        return "{" + ", ".join(f"{field.name}: {describe_type(field.type)}" for field in kind) + "}"
    return str(kind)


def check_rows(contract: Contract) -> Check:
    """Return the check of one artifact's rows; each row rule adds a column of problems to the frame.

    Raises ValueError if a rule has the name of a column.
    """
    rules = [expectation for expectation in contract.expectations if isinstance(expectation, RowRule)]
    expectations = [
        expectation for expectation in contract.expectations if isinstance(expectation, Expectation)
    ]
    columns = dict.fromkeys(["id", *(name for expectation in expectations for name in expectation.columns)])
    import pandas as pd

    frame = pq.read_table(contract.path, columns=list(columns)).to_pandas()
    checked = {}
    for rule in rules:
        if rule.name in frame:
            raise ValueError(f"{contract.path.name}: the rule {rule.name} has the same name as a column")
        problems = list(find_problems(contract.path, rule))
        checked[rule.name] = sum(problem is not None for problem in problems)
        frame[rule.name] = pd.Series([problem or None for problem in problems], dtype=object)
        expectations.append(Expectation(rule.name, rule.says, PROBLEMS, {"column": rule.name}))
    frame[PLACE] = range(len(frame))
    name = name_artifact(contract.path)
    return Check(name, (name,), [name] * len(frame), frame, expectations, checked)


def find_problems(path: Path, rule: RowRule) -> Iterable[str | None]:
    """Yield a rule's result for every row: the problem, "" if there is none, None if the row is unchecked."""
    for batch in read_batches(path, rule.columns):
        if rule.nulls == "only" and not any(column.null_count for column in batch.columns):
            yield from repeat("", batch.num_rows)
            continue
        for record in batch.to_pylist():
            left = rule.nulls == "left" and any(value is None for value in record.values())
            yield None if left else rule.check(record)
