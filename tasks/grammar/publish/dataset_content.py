"""What a dataset's page shows below its head."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from tasks.artifacts.statistics import (
    ArtifactStatistics,
    CallStatistics,
    CallTotals,
    group_by_prompt,
    sum_calls,
)
from tasks.grammar.publish.graph_layout import Layout, lay_out
from tasks.lineage.derivation import Derivation
from tasks.reports.contracts import ContractResults


@dataclass(frozen=True)
class Bar:
    """A line of a chart: counts in the order of the chart's steps, all with a derivation, or none."""

    label: str
    counts: Sequence[int]
    derivations: Sequence[Derivation] = ()


@dataclass(frozen=True)
class Chart:
    """Bars over the same steps, all to one scale."""

    title: str
    note: str
    steps: Sequence[str]
    bars: Sequence[Bar]

    @property
    def most(self) -> int:
        """The longest bar's count."""
        return max((count for bar in self.bars for count in bar.counts), default=0) or 1


@dataclass(frozen=True)
class Example:
    """A dropped row."""

    id: str
    detail: str


@dataclass(frozen=True)
class DatasetContent:
    """A dataset's artifacts with what was dropped and called for each. Texts may hold anything.

    about: name and text. explanations: of artifacts, by name. feeds: edges of the graph that rows do not
    show, source -> target; a source that is no artifact is drawn as the graph's start. examples: (artifact,
    reason) -> some dropped rows. contracts: None where they were not checked.
    """

    about: Sequence[tuple[str, str]]
    artifacts: Sequence[ArtifactStatistics]
    explanations: Mapping[str, str]
    feeds: Sequence[tuple[str, str]]
    charts: Sequence[Chart]
    examples: Mapping[tuple[str, str], Sequence[Example]]
    contracts: ContractResults | None = None

    @cached_property
    def by_name(self) -> Mapping[str, ArtifactStatistics]:
        """The artifacts by name."""
        return {artifact.name: artifact for artifact in self.artifacts}

    @cached_property
    def tallies(self) -> Mapping[str, CallTotals]:
        """The calls of each artifact, summed up."""
        return {artifact.name: sum_calls(artifact.calls) for artifact in self.artifacts}

    @cached_property
    def total(self) -> CallTotals:
        """All calls summed up; one that several artifacts used counts once."""
        return sum_calls(call for artifact in self.artifacts for call in artifact.calls)

    @cached_property
    def prompts(self) -> Mapping[str, Sequence[tuple[CallStatistics, CallTotals]]]:
        """The calls of each artifact by prompt and model: one of them, and their tally."""
        groups: dict[str, list[tuple[CallStatistics, CallTotals]]] = {
            artifact.name: [] for artifact in self.artifacts
        }
        for name, call, tally in group_by_prompt(self.artifacts):
            groups[name].append((call, tally))
        return groups

    @cached_property
    def most_dropped(self) -> int:
        """The largest number of rows that one artifact dropped for one reason."""
        drops = (count for artifact in self.artifacts for count in artifact.dropped.values())
        return max(drops, default=1)

    @cached_property
    def layout(self) -> Layout:
        """The graph of the artifacts, placed."""
        from_rows = [(source, artifact.name) for artifact in self.artifacts for source in artifact.sources]
        starts = [source for source, _ in self.feeds if source not in self.by_name]
        return lay_out([*dict.fromkeys(starts), *self.by_name], [*from_rows, *self.feeds])
