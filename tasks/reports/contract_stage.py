"""Check artifacts, dropped rows and calls against contracts, and write the findings, for validation stages.

The page of a validation stage lists the contracts of each artifact, failures first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tasks.artifacts.contracts import (
    Contract,
    ContractFinding,
    Expectation,
    OriginIndex,
    RowRule,
    expect_keyed,
    expect_match,
    expect_no_nulls,
    expect_unique,
    raise_if_broken,
)
from tasks.artifacts.rows import Counts, Dropped
from tasks.artifacts.statistics import name_beside
from tasks.artifacts.validation import validate
from tasks.files import write_text
from tasks.models.calls import Call
from tasks.reports.contracts import ContractResults, group_findings
from tasks.reports.frame import render_alone
from tasks.reports.places import link_home

Rules = Mapping[Path, Sequence[Expectation | RowRule]]
HASH = r"^[0-9a-f]{16}$"


@dataclass(frozen=True)
class ContractsPage:
    """The content of a contracts page."""

    title: str
    contracts: ContractResults


def write_contracts(title: str, findings: Sequence[ContractFinding], folder: Path) -> None:
    """Write the findings to index.html in a folder, as a single file that loads no other files."""
    out = folder / "index.html"
    content = ContractsPage(title, ContractResults(group_findings(findings, folder), ""))
    write_text(out, render_alone("contracts.html", content, home=link_home(out)))


def expect_hash() -> Expectation:
    """Return an expectation that ids have the format of `make_id`: 16 hexadecimal digits."""
    return expect_match("ids_are_hashes", "Each id consists of 16 hexadecimal digits.", "id", HASH)


def check_artifacts(
    title: str,
    artifacts: Mapping[Path, type],
    declare: Callable[[RowRule], Rules],
    folder: Path,
    *,
    sources: Iterable[Path] = (),
) -> list[ContractFinding]:
    """Check artifacts with their `*.dropped` and `*.calls` files; write the findings and a page.

    `artifacts`: file -> row type. `declare`: function that takes the rule for origins and returns each
    artifact's rules, except rules for keys. This function is called only if all columns exist with the right
    types, so it may read the rows; cells may be NULL. `folder`: the output folder. `sources`: other artifacts
    that origins may refer to.
    """
    dropped, calls = (
        [path for path in (name_beside(artifact, kind) for artifact in artifacts) if path.is_file()]
        for kind in ("dropped", "calls")
    )

    def declare_all() -> list[Contract]:
        origins = OriginIndex([*artifacts, *sources], calls).make_rule()
        rules = declare(origins)
        return [
            *(Contract(path, (*expect_keyed(row), *rules[path])) for path, row in artifacts.items()),
            *(Contract(path, (*expect_keyed(Dropped), origins)) for path in dropped),
            *(Contract(path, (expect_unique("id"), expect_no_nulls(["id"]))) for path in calls),
        ]

    everything = {**artifacts, **dict.fromkeys(dropped, Dropped), **dict.fromkeys(calls, Call)}
    findings = validate(everything, declare_all, folder)
    write_contracts(title, findings, folder)
    return findings


def require_contracts(findings: Sequence[ContractFinding], out: Path) -> Counts:
    """Return the number of checked rows, summed over all contracts, and the number of findings.

    Raises ContractBroken, with a one-line message, if a contract is broken.
    """
    raise_if_broken(findings, out)
    return Counts(sum(finding.checked for finding in findings), len(findings), {})
