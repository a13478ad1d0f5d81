"""What a page shows of a validation stage: its findings, and where their details are."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tasks.artifacts.contracts import Finding, read_findings


@dataclass(frozen=True)
class Contracts:
    """What a page shows of a validation stage. docs: where Great Expectations' own pages are, from there."""

    findings: Sequence[Finding]
    docs: str

    @property
    def checked(self) -> int:
        """Rows and columns that were looked at, once for each contract."""
        return sum(each.checked for each in self.findings)

    def count(self, state: str) -> int:
        """Count the contracts in a state: held, broken or unchecked."""
        return sum(each.state == state for each in self.findings)


def open_contracts(folder: Path, order: Iterable[str], page: Path) -> Contracts:
    """Read a validation stage's folder for a page that lies in the folder `page`; artifacts in `order`."""
    places = {name: place for place, name in enumerate(order)}
    findings = sorted(
        read_findings(folder),
        key=lambda each: (places.get(each.artifact.partition(".")[0], len(places)), each.artifact),
    )
    return Contracts(findings, Path(os.path.relpath(folder, page)).as_posix() + "/")
