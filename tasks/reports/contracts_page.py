"""The page of a validation stage's folder: what broke first."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tasks.artifacts.contracts import Finding
from tasks.reports.contracts import Contracts
from tasks.reports.frame import PAGES, PAGES_FOLDER

STYLE = "report.css"


def write_contracts(title: str, findings: Sequence[Finding], folder: Path) -> None:
    """Write index.html and its style into the folder; it asks nothing outside."""
    ranked = sorted(findings, key=lambda each: (each.state != "broken", each.artifact))
    page = PAGES.get_template("contracts.html").render(title=title, contracts=Contracts(ranked, ""))
    (folder / "index.html").write_text(page, encoding="utf-8", newline="\n")
    (folder / STYLE).write_bytes((PAGES_FOLDER / STYLE).read_bytes())
