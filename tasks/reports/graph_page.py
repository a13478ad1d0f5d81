"""Write the page over the whole graph: every stage by flow and entry, how fresh, how large, what it cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tasks.files import write_text
from tasks.reports.frame import render_alone
from tasks.reports.places import link_home

GOOD = "fresh"


@dataclass(frozen=True)
class GraphStage:
    """A stage. name: DVC's; stage: without its entry.

    state: as `benchloom status` names it; why: it is not fresh. artifact: the path of its main output; link:
    from the page to it, empty if it is not there. rows: None if it is no Parquet file. tokens, usd: of all
    calls that its artifact stands on; None if it has not run here. seconds: its last run took. upstream: the
    stages that it reads from. again: the command that mends it.
    """

    name: str
    stage: str
    state: str
    why: str
    artifact: str
    link: str
    rows: int | None
    dropped: int
    tokens: int | None
    usd: float | None
    last_run: str
    seconds: float | None
    upstream: Sequence[str]
    again: str


@dataclass(frozen=True)
class GraphEntry:
    """The stages of a flow for one entry of params.yaml, in the order in which they run."""

    flow: str
    entry: str
    stages: Sequence[GraphStage]

    @property
    def states(self) -> Mapping[str, int]:
        """How many stages are in each state, fresh ones first."""
        counts: dict[str, int] = {}
        for stage in sorted(self.stages, key=lambda stage: (stage.state != GOOD, stage.state)):
            counts[stage.state] = counts.get(stage.state, 0) + 1
        return counts

    @property
    def rows(self) -> int:
        """Rows of all artifacts."""
        return sum(stage.rows or 0 for stage in self.stages)

    @property
    def tokens(self) -> int | None:
        """Of all calls; None if no stage is known to have run here."""
        known = [stage.tokens for stage in self.stages if stage.tokens is not None]
        return sum(known) if known else None

    @property
    def usd(self) -> float | None:
        """Of all calls; None if no stage is known to have run here."""
        known = [stage.usd for stage in self.stages if stage.usd is not None]
        return sum(known) if known else None

    @property
    def last_run(self) -> str:
        """When a stage last ran."""
        return max((stage.last_run for stage in self.stages), default="")


@dataclass(frozen=True)
class GraphPage:
    """The content of the page. made: when, in words."""

    entries: Sequence[GraphEntry]
    made: str

    @property
    def count(self) -> int:
        """How many stages there are."""
        return sum(len(entry.stages) for entry in self.entries)

    @property
    def fresh(self) -> int:
        """How many of them are fresh."""
        return sum(entry.states.get(GOOD, 0) for entry in self.entries)


def write_graph(entries: Sequence[GraphEntry], made: str, out: Path) -> None:
    """Write the page to the file `out`. made: when the stages were looked at, in words."""
    write_text(out, render_alone("graph.html", GraphPage(entries, made), home=link_home(out)))
