"""An assessment's figures in the form in which its page shows them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from urllib.parse import urlencode

from tasks.grammar.assess.assessment_browser import AssessmentBrowser
from tasks.grammar.assess.assessment_figures import (
    AssessmentFigures,
    Interval,
    PlantedGaps,
    Rates,
)
from tasks.grammar.assess.clusters import FEW
from tasks.grammar.assess.contrast import Contrast, CriteriaTest, RuleFault
from tasks.grammar.assess.tables import Cell, PaperTable
from tasks.judging.trust import HumanAgreement

SIDES = ("a", "b")


@dataclass(frozen=True)
class ContrastLine:
    """A table row: one rate under both criteria.

    rule, module: of the rate, empty if it has none. head: whether it is the table's first row. links: side
    (`a`, `b`) -> query string of the browser's filters that list the answers counted in a module's share.
    """

    label: str
    rule: str
    module: str
    head: bool
    contrast: Contrast
    links: Mapping[str, str]

    @property
    def interval(self) -> Interval | None:
        """The 95% interval of the difference; None if there is none."""
        low, high = self.contrast.low, self.contrast.high
        return None if low is None or high is None else (low, high)


@dataclass(frozen=True)
class TestBlock:
    """Criterion A compared with B over one set, in one mode. n_a, n_b: rows; faults: by rule."""

    set: str
    mode: str
    n_a: int
    n_b: int
    lines: Sequence[ContrastLine]
    faults: Sequence[tuple[str, RuleFault]]
    clusters: int

    @property
    def few(self) -> bool:
        """Whether the SQL templates are so few that intervals cannot be trusted to the letter."""
        return 0 < self.clusters < FEW


@dataclass(frozen=True)
class RateBlock:
    """The rates of one set, in one mode: (`all` or a criterion, rates)."""

    set: str
    mode: str
    lines: Sequence[tuple[str, Rates]]


@dataclass(frozen=True)
class TagChart:
    """Numbers of groups by tag, of one set, in one mode.

    lines: (criterion or `over both`, tag -> number of groups). most: the largest sum of a line, at least 1.
    """

    set: str
    mode: str
    lines: Sequence[tuple[str, Mapping[str, int]]]
    most: int


@dataclass(frozen=True)
class TableLine:
    """A row of one of the paper's tables. kinds: `rule, mode` of its cells, each once."""

    label: Sequence[str]
    cells: Sequence[Cell]
    kinds: Sequence[str]


@dataclass(frozen=True)
class AssessmentContent:
    """What an assessment's page shows below its head. Texts are not escaped yet.

    about: (name, text). unusable: human labels that could not be used, as (drop reason, detail).
    """

    figures: AssessmentFigures
    browser: AssessmentBrowser
    about: Sequence[tuple[str, str]]
    unusable: Sequence[tuple[str, str]]

    @property
    def a(self) -> str:
        """Criterion A."""
        return self.figures.criteria[0]

    @property
    def b(self) -> str:
        """Criterion B."""
        return self.figures.criteria[1]

    @property
    def people(self) -> Sequence[tuple[str, HumanAgreement]]:
        """Agreement with human labels of all verdicts, and of the judge's own; nothing without labels."""
        judge = self.figures.judge
        named = (("all verdicts", judge.people), ("the judge's own", judge.people_by_judge))
        return [(name, agreement) for name, agreement in named if agreement is not None]

    @property
    def planted(self) -> PlantedGaps | None:
        """How planted gaps were recovered; None without ablation."""
        return self.figures.planted

    @property
    def mutual(self) -> str:
        """The number of mutual gaps in the unbalanced set, for each mode, as text."""
        gaps = self.figures.gaps["unbalanced"]
        return ", ".join(f"{counts['mutual']['gap']} ({mode})" for mode, counts in gaps.items())

    @cached_property
    def tests(self) -> list[TestBlock]:
        """One block for each set and mode."""
        return [
            self._lay_out_test(name, mode, test)
            for name, modes in self.figures.hypothesis.items()
            for mode, test in modes.items()
        ]

    @property
    def headline(self) -> TestBlock:
        """The test of the fault at the page's head, reduced to its context rule."""
        fault = self.figures.fault
        test = next(test for test in self.tests if (test.set, test.mode) == (fault.set, fault.mode))
        lines = [line for line in test.lines if line.rule in ("", fault.rule)]
        faults = [(rule, found) for rule, found in test.faults if rule == fault.rule]
        return TestBlock(test.set, test.mode, test.n_a, test.n_b, lines, faults, test.clusters)

    @property
    def rates(self) -> list[RateBlock]:
        """One block of rates for each set and mode."""
        return [
            RateBlock(name, mode, list(parts.items()))
            for name, modes in self.figures.rates.items()
            for mode, parts in modes.items()
        ]

    @property
    def tags(self) -> list[TagChart]:
        """One chart of tags for each set and mode."""
        return [
            TagChart(
                name,
                mode,
                [("over both" if label == "mutual" else label, counts) for label, counts in lines.items()],
                max((sum(counts.values()) for counts in lines.values()), default=0) or 1,
            )
            for name, modes in self.figures.gaps.items()
            for mode, lines in modes.items()
        ]

    @property
    def tables(self) -> list[tuple[PaperTable, list[TableLine]]]:
        """The paper's tables in their order, each with its rows."""
        return [
            (table, [TableLine(line.label, line.cells, _list_kinds(line.cells)) for line in table.lines])
            for _, table in sorted(self.figures.tables.items())
        ]

    def _lay_out_test(self, set_name: str, mode: str, test: CriteriaTest) -> TestBlock:
        accuracy = test.rates.get("accuracy")
        return TestBlock(
            set=set_name,
            mode=mode,
            n_a=accuracy.n_a if accuracy else 0,
            n_b=accuracy.n_b if accuracy else 0,
            lines=[self._lay_out_rate(set_name, mode, *rate) for rate in test.rates.items()],
            faults=list(test.fault.items()),
            clusters=test.clusters,
        )

    def _lay_out_rate(self, set_name: str, mode: str, name: str, contrast: Contrast) -> ContrastLine:
        kind, _, rest = name.partition(".")
        rule, _, module = rest.partition(".")
        label = {
            "accuracy": "answered right",
            "robustness": "answered right, without mutual gaps",
            "context": f"context enough ({rule}), without mutual gaps",
            "module": f"wrong by the {module} ({rule})",
        }[kind]
        links = self._link_answers(set_name, mode, rule, module, contrast) if module else {}
        return ContrastLine(label, rule, module, kind == "accuracy", contrast, links)

    def _link_answers(
        self, set_name: str, mode: str, rule: str, module: str, contrast: Contrast
    ) -> dict[str, str]:
        """Return the browser's filters for the answers counted in a module's share, by side.

        The browser tags a group by all texts that were asked, a test only by those of its set. If the two
        give different numbers of answers, there is no link.
        """
        shares = ((self.a, contrast.a, contrast.n_a), (self.b, contrast.b, contrast.n_b))
        links = {}
        for side, (criterion, share, n) in zip(SIDES, shares, strict=True):
            found = sum(
                question.modes[mode].modules[rule] == module
                for question in self.browser.questions
                if question.criterion == criterion and set_name in question.sets and mode in question.modes
            )
            if found and share is not None and found == round(share * n):
                wanted = {"set": set_name, "criterion": criterion, "mode": mode, "rule": rule}
                links[side] = urlencode({**wanted, "module": module})
        return links


def _list_kinds(cells: Sequence[Cell]) -> list[str]:
    return list(dict.fromkeys(", ".join(filter(None, (cell.rule, cell.mode))) for cell in cells))
