"""The findings of a validation stage, for pages."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tasks.artifacts.contracts import ContractFinding, read_findings


@dataclass(frozen=True)
class ContractResults:
    """A validation stage's findings. docs: relative path from the page to Great Expectations' Data Docs."""

    findings: Sequence[ContractFinding]
    docs: str

    def count(self, state: str) -> int:
        """Count the contracts in a state: held, broken or unchecked."""
        return sum(finding.state == state for finding in self.findings)


def open_contracts(folder: Path, order: Iterable[str], page: Path) -> ContractResults:
    """Read the findings in a validation stage's folder.

    order: of the artifacts on the page. page: the page's folder.
    """
    ranks = {artifact: rank for rank, artifact in enumerate(order)}
    findings = sorted(
        read_findings(folder),
        key=lambda finding: (ranks.get(finding.artifact.partition(".")[0], len(ranks)), finding.artifact),
    )
    return ContractResults(findings, Path(os.path.relpath(folder, page)).as_posix() + "/")
