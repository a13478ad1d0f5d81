"""Write the page of a validation stage: what must hold of each artifact, failures first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tasks.artifacts.contracts import ContractFinding
from tasks.files import write_text
from tasks.reports.contracts import ContractResults, group_findings
from tasks.reports.frame import render_alone
from tasks.reports.places import link_home


@dataclass(frozen=True)
class ContractsPage:
    """The content of the page."""

    title: str
    contracts: ContractResults


def write_contracts(title: str, findings: Sequence[ContractFinding], folder: Path) -> None:
    """Write index.html into a folder: a single file that loads nothing."""
    out = folder / "index.html"
    content = ContractsPage(title, ContractResults(group_findings(findings, folder), ""))
    write_text(out, render_alone("contracts.html", content, home=link_home(out)))
