"""Make the page parts that both reports share: the judges' reliability, and the dropped rows.

The part on judges shows canary results, unscored replies, agreement with people, and the resulting warnings.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tasks.artifacts.parquet import read_rows
from tasks.artifacts.rows import Dropped
from tasks.judging.canaries import CanaryHealth, CanaryRow, measure_health
from tasks.judging.trust import HumanAlpha, TrustThresholds, find_warnings, warn_human_alpha
from tasks.lineage.derivation import Derivation
from tasks.lineage.selection import Selection
from tasks.reports.page import Headline
from tasks.reports.parts import PagePart, PartBlock, TableBlock, TextBlock
from tasks.reports.tables import Cell, FigureTable, Line, leave_empty
from tasks.scoring.statistics import explain_missing

STYLES = Path(__file__).with_name("pages") / "ragcheck.css"
CANARIES = (
    "Canaries are answers with a known grade. The judge grades the canaries with the same prompt and in the "
    "same run as all other answers."
)
AGREEMENT = (
    " Agreement with people is Krippendorff's ordinal alpha between the grades under E3 and the mean of "
    "people's ratings, over answers whose grade and mean rating are not 0."
)


@dataclass(frozen=True)
class JudgeReport:
    """The reliability of a judge.

    n: number of replies. unscored: number of replies without a grade. people: agreement with people, per
    system if there are several systems.
    """

    name: str
    n: int
    unscored: int
    canaries: CanaryHealth
    people: Sequence[HumanAlpha]
    warnings: Sequence[str]


def report_judge(
    judge: str,
    scores: Sequence[int | None],
    canaries: Sequence[CanaryRow],
    people: Sequence[HumanAlpha],
    thresholds: TrustThresholds,
) -> JudgeReport:
    """Make the report of one judge.

    scores: the judge's grades; None for a reply without a grade. canaries: rows of all judges, with ids
    `<judge>/<canary>`.
    """
    unscored = scores.count(None)
    health = measure_health(
        replace(row, id=row.id.removeprefix(f"{judge}/"))
        for row in canaries
        if row.id.startswith(f"{judge}/")
    )
    warnings = [
        *find_warnings(thresholds, n=len(scores), n_unscored=unscored, canaries=health),
        *filter(None, (warn_human_alpha(thresholds, alpha) for alpha in people)),
    ]
    return JudgeReport(judge, len(scores), unscored, health, people, warnings)


def count_rows(label: str, value: int, rows: Selection, note: str = "") -> Headline:
    """Make a headline that shows a number of rows."""
    return Headline(label, value, note, Derivation("count", (rows,)))


def list_warnings(judges: Iterable[JudgeReport]) -> list[str]:
    """List the warnings about all judges, for the top of the page."""
    return [f"{judge.name}: {warning}" for judge in judges for warning in judge.warnings]


def make_judges_part(
    judges: Sequence[JudgeReport], more: Sequence[PartBlock] = (), *, rated: bool = False
) -> PagePart:
    """Make the part on the judges' reliability. rated: whether the evaluation includes people's ratings."""
    remark = TextBlock(CANARIES + (AGREEMENT if rated else ""))
    table = TableBlock({"judges": tabulate_judges(judges, rated=rated)}, folded=False)
    return PagePart("judges", "How reliable the judges are", "Judges", [remark, table, *more])


def tabulate_judges(judges: Sequence[JudgeReport], *, rated: bool) -> FigureTable:
    """Tabulate each judge's number of replies, canary results and agreement with people.

    If there are several systems, the agreement has one column per system.
    """
    systems = list(dict.fromkeys(people.of for judge in judges for people in judge.people)) or [""]
    columns = [f"agreement with people{of and f' on {of}'}" for of in systems if rated]
    lines = []
    for judge in judges:
        health, people_of = judge.canaries, {people.of: people for people in judge.people}
        right = health.n_scored - len(health.wrong)
        cells = (
            _count(judge.n),
            _count(judge.unscored),
            Cell(right, health.n_scored, health.n_failed, None, "canaries"),
            *(_show_agreement(people_of.get(of)) for of in systems if rated),
        )
        lines.append(Line((judge.name,), cells))
    return FigureTable(
        "",
        "",
        ("judge",),
        ("replies", "no grade", "canaries right", *columns),
        tuple(lines),
        tuple(
            f"Canaries that {judge.name} graded wrongly: {', '.join(judge.canaries.wrong)}"
            for judge in judges
            if judge.canaries.wrong
        ),
        (*("count",) * 3, *("",) * len(columns)),
    )


def make_drops_part(paths: Iterable[Path]) -> PagePart:
    """Make the part that counts the rows of `.dropped` artifacts by artifact and reason."""
    lines = tuple(
        Line((path.name.partition(".")[0], reason.replace("_", " ")), (_count(count),))
        for path in paths
        for reason, count in sorted(Counter(row.reason for row in read_rows(path, Dropped)).items())
    )
    table = FigureTable("", "", ("artifact", "reason"), ("rows",), lines)
    shown = [TableBlock({"drops": table}, folded=False)] if lines else []
    return PagePart("drops", "Excluded rows, by reason", "Left out", shown)


def _count(number: int) -> Cell:
    return Cell(number, 0, 0, None, "")


def _show_agreement(people: HumanAlpha | None) -> Cell:
    if people is None:
        return leave_empty("no person rated these answers", "")
    interval = None if people.low is None or people.high is None else (people.low, people.high)
    missing = "" if interval else explain_missing(people.n, "answers")
    why = "not defined" if people.alpha is None else missing
    return Cell(people.alpha, people.n, 0, interval, "answers", why)
