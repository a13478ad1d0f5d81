"""What all validation stages share: check artifacts, and what stands beside them, and show the findings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from tasks.artifacts.contracts import (
    Contract,
    ContractFinding,
    Expectation,
    Origins,
    RowRule,
    expect_keyed,
    expect_match,
    expect_no_nulls,
    expect_unique,
    raise_broken,
)
from tasks.artifacts.rows import Counts, Dropped
from tasks.artifacts.statistics import name_beside
from tasks.artifacts.validation import validate
from tasks.models.calls import Call
from tasks.reports.contracts_page import write_contracts

Rules = Mapping[Path, Sequence[Expectation | RowRule]]
HASH = r"^[0-9a-f]{16}$"


def expect_hash() -> Expectation:
    """Expect an id as the project makes them."""
    return expect_match("ids_are_hashes", "Its id is 16 hexadecimal digits.", "id", HASH)


def check_artifacts(
    title: str,
    artifacts: Mapping[Path, type],
    declare: Callable[[RowRule], Rules],
    folder: Path,
    *,
    sources: Iterable[Path] = (),
) -> list[ContractFinding]:
    """Check artifacts, and what was dropped and called beside them; write findings, pages and Data Docs.

    artifacts: file -> its row type. declare: gives the rules of each beyond its keys, from the rule on
    origins; asked only where all columns are right, so that it may read the rows (NULLs may stand in them).
    sources: artifacts from elsewhere that rows come from, where they are not among `artifacts`.
    """
    dropped, calls = (
        [path for path in (name_beside(artifact, kind) for artifact in artifacts) if path.is_file()]
        for kind in ("dropped", "calls")
    )

    def declare_all() -> list[Contract]:
        origins = Origins([*artifacts, *sources], calls).rule()
        rules = declare(origins)
        return [
            *(Contract(path, (*expect_keyed(row), *rules[path])) for path, row in artifacts.items()),
            *(Contract(path, (*expect_keyed(Dropped), origins)) for path in dropped),
            *(Contract(path, (expect_unique("id"), *expect_no_nulls(["id"]))) for path in calls),
        ]

    everything = {**artifacts, **dict.fromkeys(dropped, Dropped), **dict.fromkeys(calls, Call)}
    findings = validate(everything, declare_all, folder)
    write_contracts(title, findings, folder)
    return findings


def require_contracts(findings: Sequence[ContractFinding], out: Path) -> Counts:
    """Count what was checked. Raises ContractBroken, with one line that names it, where something broke."""
    raise_broken(findings, out)
    return Counts(sum(finding.checked for finding in findings), len(findings), {})
