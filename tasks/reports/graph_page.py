"""Write the page of the stage graph: the state, size and cost of all stages, by flow and entry."""

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
    """A stage on the graph page.

    `name`: the stage's name in DVC. `stage`: the name without the entry. `state`: as in `benchloom status`.
    `why`: the reason why the stage is not fresh. `artifact`: path of the main output. `link`: relative link
    to the artifact, empty if the artifact does not exist. `rows`: None if the artifact is not a Parquet file.
    `tokens`, `usd`: totals of all calls for the artifact; None if the stage has not run here. `seconds`:
    duration of the last run. `upstream`: the stages whose outputs this stage reads. `again`: the command that
    makes the stage fresh.
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
    """The stages of a flow for one entry in params.yaml, in execution order."""

    flow: str
    entry: str
    stages: Sequence[GraphStage]

    @property
    def states(self) -> Mapping[str, int]:
        """The number of stages in each state; fresh stages come first."""
        counts: dict[str, int] = {}
        for stage in sorted(self.stages, key=lambda stage: (stage.state != GOOD, stage.state)):
            counts[stage.state] = counts.get(stage.state, 0) + 1
        return counts

    @property
    def rows(self) -> int:
        """The total number of rows in all artifacts."""
        return sum(stage.rows or 0 for stage in self.stages)

    @property
    def tokens(self) -> int | None:
        """The total number of tokens in all calls; None if no stage is known to have run here."""
        known = [stage.tokens for stage in self.stages if stage.tokens is not None]
        return sum(known) if known else None

    @property
    def usd(self) -> float | None:
        """The total price of all calls in US dollars; None if no stage is known to have run here."""
        known = [stage.usd for stage in self.stages if stage.usd is not None]
        return sum(known) if known else None

    @property
    def last_run(self) -> str:
        """The time of the last run of any stage; empty if no stage is known to have run here."""
        return max((stage.last_run for stage in self.stages), default="")


@dataclass(frozen=True)
class GraphPage:
    """The content of the graph page. made: the time when the stages' states were read, as text."""

    entries: Sequence[GraphEntry]
    made: str

    @property
    def count(self) -> int:
        """The number of stages."""
        return sum(len(entry.stages) for entry in self.entries)

    @property
    def fresh(self) -> int:
        """The number of fresh stages."""
        return sum(entry.states.get(GOOD, 0) for entry in self.entries)


def write_graph(entries: Sequence[GraphEntry], made: str, out: Path) -> None:
    """Write the page to the file `out`. made: the time when the stages' states were read, as text."""
    write_text(out, render_alone("graph.html", GraphPage(entries, made), home=link_home(out)))
