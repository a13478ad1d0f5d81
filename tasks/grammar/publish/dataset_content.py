"""The content of a dataset's page below its head."""

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
from tasks.grammar.construct.glossary import Term
from tasks.grammar.publish.graph_layout import Layout, lay_out
from tasks.lineage.derivation import Derivation
from tasks.reports.contracts import ContractResults


@dataclass(frozen=True)
class Bar:
    """A row of a chart: one count per step of the chart, and a derivation for each count, or none."""

    label: str
    counts: Sequence[int]
    derivations: Sequence[Derivation] = ()


@dataclass(frozen=True)
class Chart:
    """Bars over the same steps, to one scale. note: shown with the title."""

    title: str
    note: str
    steps: Sequence[str]
    bars: Sequence[Bar]

    @property
    def most(self) -> int:
        """The largest count of any bar, at least 1."""
        return max((count for bar in self.bars for count in bar.counts), default=0) or 1


@dataclass(frozen=True)
class Example:
    """A dropped row: its id, and the detail of its reason."""

    id: str
    detail: str


@dataclass(frozen=True)
class DatasetContent:
    """A dataset's artifacts with their drops and model calls. Texts are not escaped yet.

    about: (name, text). explanations: artifact -> text. feeds: edges (source, target) of the graph beyond
    those that the rows' origins give; a source that is no artifact is drawn as a start of the graph.
    examples: (artifact, drop reason) -> some dropped rows. contracts: None if they were not checked.
    terms: of the glossary.
    """

    about: Sequence[tuple[str, str]]
    artifacts: Sequence[ArtifactStatistics]
    explanations: Mapping[str, str]
    feeds: Sequence[tuple[str, str]]
    charts: Sequence[Chart]
    examples: Mapping[tuple[str, str], Sequence[Example]]
    contracts: ContractResults | None = None
    terms: Sequence[Term] = ()

    @cached_property
    def by_name(self) -> Mapping[str, ArtifactStatistics]:
        """The artifacts by name."""
        return {artifact.name: artifact for artifact in self.artifacts}

    @cached_property
    def tallies(self) -> Mapping[str, CallTotals]:
        """The totals of each artifact's calls, by artifact."""
        return {artifact.name: sum_calls(artifact.calls) for artifact in self.artifacts}

    @cached_property
    def total(self) -> CallTotals:
        """The totals of all calls; a call that several artifacts use counts once."""
        return sum_calls(call for artifact in self.artifacts for call in artifact.calls)

    @cached_property
    def prompts(self) -> Mapping[str, Sequence[tuple[CallStatistics, CallTotals]]]:
        """For each artifact, its calls by prompt and model: one call of each kind, and the kind's totals."""
        groups: dict[str, list[tuple[CallStatistics, CallTotals]]] = {
            artifact.name: [] for artifact in self.artifacts
        }
        for name, call, tally in group_by_prompt(self.artifacts):
            groups[name].append((call, tally))
        return groups

    @cached_property
    def most_dropped(self) -> int:
        """The largest number of rows that one artifact dropped for one reason, at least 1."""
        drops = (count for artifact in self.artifacts for count in artifact.dropped.values())
        return max(drops, default=1)

    @cached_property
    def layout(self) -> Layout:
        """The graph of the artifacts with positions."""
        from_rows = [(source, artifact.name) for artifact in self.artifacts for source in artifact.sources]
        starts = [source for source, _ in self.feeds if source not in self.by_name]
        return lay_out([*dict.fromkeys(starts), *self.by_name], [*from_rows, *self.feeds])
