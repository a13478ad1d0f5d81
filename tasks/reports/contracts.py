"""Group the findings of a validation stage by artifact, for pages."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tasks.artifacts.contracts import ContractFinding, read_findings
from tasks.reports.places import name_in_project

STATES = ("broken", "unchecked", "held")
"""The states of contracts, in page order."""


@dataclass(frozen=True)
class ArtifactContracts:
    """The contracts of one artifact, failures first. path: the artifact's path, empty if unknown."""

    name: str
    path: str
    findings: Sequence[ContractFinding]

    def count(self, state: str) -> int:
        """Count the contracts in a state: held, broken or unchecked."""
        return sum(finding.state == state for finding in self.findings)

    @property
    def state(self) -> str:
        """The worst state of all contracts of the artifact."""
        return self.findings[0].state

    @property
    def checked(self) -> int:
        """The largest number of rows that one contract checked."""
        return max(finding.checked for finding in self.findings)


@dataclass(frozen=True)
class ContractResults:
    """The findings of a validation stage. page: link to the stage's page; empty on that page itself."""

    artifacts: Sequence[ArtifactContracts]
    page: str

    @property
    def findings(self) -> Sequence[ContractFinding]:
        """The findings of all artifacts."""
        return [finding for artifact in self.artifacts for finding in artifact.findings]

    def count(self, state: str) -> int:
        """Count the contracts in a state: held, broken or unchecked."""
        return sum(artifact.count(state) for artifact in self.artifacts)


def open_contracts(folder: Path, order: Iterable[str], page: Path) -> ContractResults:
    """Read the findings in the folder of a validation stage.

    `order`: names of artifacts in page order. `page`: the page's folder, the base of the relative link.
    """
    link = Path(os.path.relpath(folder / "index.html", page)).as_posix()
    return ContractResults(group_findings(read_findings(folder), folder, order), link)


def group_findings(
    findings: Iterable[ContractFinding], folder: Path, order: Iterable[str] = ()
) -> list[ArtifactContracts]:
    """Group findings by artifact, failures first, then in `order`. folder: the validation stage's folder."""
    ranks = {artifact: rank for rank, artifact in enumerate(order)}
    groups = defaultdict[str, list[ContractFinding]](list)
    for finding in sorted(findings, key=lambda finding: STATES.index(finding.state)):
        groups[finding.artifact].append(finding)
    artifacts = [
        ArtifactContracts(name, _find_path(folder.parent / f"{name}.parquet"), own)
        for name, own in groups.items()
    ]
    return sorted(
        artifacts,
        key=lambda own: (
            STATES.index(own.state),
            ranks.get(own.name.partition(".")[0], len(ranks)),
            own.name,
        ),
    )


def _find_path(beside: Path) -> str:
    return name_in_project(beside) if beside.is_file() else ""
