"""Check contracts with Great Expectations: in memory, with no context on disk and nothing sent.

Its import takes seconds, so it stands inside the functions that need it.
"""

from __future__ import annotations

import os
import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from tasks.artifacts.checks import PLACE, PROBLEMS, SHAPE, Check, check_columns, check_rows
from tasks.artifacts.contracts import RESULTS, Contract, ContractFinding, Expectation, is_whole, name_artifact
from tasks.artifacts.data_docs import DataDocs
from tasks.artifacts.parquet import write_rows
from tasks.errors import StageFailed

DOCS = "data_docs"
KEPT = 20
"""How many broken rows a finding names."""
WIDEST = 500
"""Characters of an id or a detail: a row may hold a book."""
ONE_AT_A_TIME = threading.Lock()
"""Great Expectations keeps its context in one place for the whole process."""
UNCHECKED = "What must hold of its rows; they are read when all columns are right."


def validate(
    artifacts: Mapping[Path, type], declare: Callable[[], Sequence[Contract]], folder: Path
) -> list[ContractFinding]:
    """Check artifacts, and write the findings and Great Expectations' Data Docs into `folder`.

    artifacts: file -> its row type, which every artifact's columns are held to. declare: gives the
    contracts on their rows; asked only where all columns are right, so that it may read them.
    """
    findings = run_checks([check_columns(artifacts)], folder / DOCS)
    if is_whole(findings):
        findings += run_checks([check_rows(contract) for contract in declare()], folder / DOCS)
    else:
        names = map(name_artifact, artifacts)
        findings += [
            ContractFinding(f"{name}.rows", name, "rows", UNCHECKED, "unchecked", 0, 0, (), ())
            for name in names
        ]
    write_rows(folder / RESULTS, ContractFinding, findings)
    return findings


def run_checks(checks: Sequence[Check], docs: Path) -> list[ContractFinding]:
    """Have Great Expectations check each frame, and write its page."""
    with ONE_AT_A_TIME:
        # Releases before 1.24 count their users unless they are told not to.
        os.environ["GX_ANALYTICS_ENABLED"] = "false"
        import great_expectations as gx

        context = gx.get_context(mode="ephemeral")
        context.variables.progress_bars = {"globally": False}
        source, pages = context.data_sources.add_pandas("artifacts"), DataDocs(docs)
        findings: list[ContractFinding] = []
        for check in checks:
            asset = source.add_dataframe_asset(check.suite)
            batch = asset.add_batch_definition_whole_dataframe("all").get_batch({"dataframe": check.frame})
            result = batch.validate(
                make_suite(check),
                result_format={"result_format": "COMPLETE", "unexpected_index_column_names": ["id", PLACE]},
            )
            result.results.sort(key=lambda outcome: outcome.expectation_config.meta["number"])
            findings += read_findings(check, [outcome.to_json_dict() for outcome in result.results])
            pages.write(check.suite, result)
        return findings


def make_suite(check: Check) -> Any:
    """Make a check's expectations Great Expectations' own."""
    import great_expectations as gx
    from great_expectations import expectations as classes

    own = [
        getattr(classes, expectation.type)(
            **expectation.options, description=expectation.says, meta={"number": number}
        )
        for number, expectation in enumerate(check.expectations)
    ]
    return gx.ExpectationSuite(name=check.suite, expectations=own)


def read_findings(check: Check, results: Sequence[Mapping[str, Any]]) -> list[ContractFinding]:
    """Turn results into findings: those of one name into one, for each artifact of the check."""
    broken: defaultdict[tuple[str, str], dict[int, tuple[str, str]]] = defaultdict(dict)
    for expectation, result in zip(check.expectations, results, strict=True):
        rows = list(_read_rows(expectation, result["result"]))
        if "element_count" not in result["result"] or result["success"] == bool(rows):
            raise StageFailed(f"{check.suite}: {expectation.type} gave no result: {_find_message(result)}")
        for place, row, detail in rows:
            broken[check.whose[place], expectation.name].setdefault(place, (row, detail))
    findings = []
    for artifact in check.artifacts:
        for name, says in {expectation.name: expectation.says for expectation in check.expectations}.items():
            places = broken[artifact, name]
            named = [places[place] for place in sorted(places)[:KEPT]]
            findings.append(
                ContractFinding(
                    id=f"{artifact}.{name}",
                    artifact=artifact,
                    contract=name,
                    says=says,
                    state="broken" if places else "held",
                    checked=check.looked.get(name, check.whose.count(artifact)),
                    broken=len(places),
                    ids=tuple(row for row, _ in named),
                    details=tuple(detail for _, detail in named),
                )
            )
    return findings


def _read_rows(expectation: Expectation, result: Mapping[str, Any]) -> Iterable[tuple[int, str, str]]:
    """Yield the broken rows of one result: place, id, and what is wrong with it."""
    for row in result.get("unexpected_index_list") or ():
        told = [_say(row[name]) for name in expectation.columns if name != "id"]
        if expectation is SHAPE:
            detail = f"{told[0]}; due: {told[1]}"
        elif expectation.type == PROBLEMS:
            detail = told[0]
        else:
            detail = f"{expectation.columns[0]} is {told[0]}" if told else ""
        yield int(row[PLACE]), _say(row["id"])[:WIDEST], detail[:WIDEST]


def _say(value: Any) -> str:
    return "NULL" if pd.isna(value) else str(value)


def _find_message(result: Mapping[str, Any]) -> str:
    told = result["exception_info"]
    first = next((member for member in told.values() if isinstance(member, Mapping)), told)
    return " ".join(str(first.get("exception_message") or "no rows are named").split())
