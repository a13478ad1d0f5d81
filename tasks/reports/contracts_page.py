"""Write the page of a validation stage: its contracts, broken ones first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tasks.artifacts.contracts import ContractFinding
from tasks.reports.contracts import ContractResults
from tasks.reports.frame import PAGES, PAGES_FOLDER

STYLE = "report.css"


@dataclass(frozen=True)
class ContractsPage:
    """The content of the page."""

    title: str
    contracts: ContractResults


def write_contracts(title: str, findings: Sequence[ContractFinding], folder: Path) -> None:
    """Write index.html and its stylesheet into a folder; the page loads nothing from outside."""
    ranked = sorted(findings, key=lambda finding: (finding.state != "broken", finding.artifact))
    content = ContractsPage(title, ContractResults(ranked, ""))
    page = PAGES.get_template("contracts.html").render(content=content)
    (folder / "index.html").write_text(page, encoding="utf-8", newline="\n")
    (folder / STYLE).write_bytes((PAGES_FOLDER / STYLE).read_bytes())
