"""Table 11, the shares of kinds of failure, and the six faults of the open agent (sections 5.6 and 5.7)."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

from tasks.artifacts.rows import Dropped
from tasks.lineage.derivation import Derivation
from tasks.lineage.selection import Selection
from tasks.reports.figure_cells import FigureCell, FigureTable, Line, leave_empty, rate_cell
from tasks.tanq.entries import TableEvaluation
from tasks.tanq.labels import Failure, Fault, Hallucination
from tasks.tanq.publish.table_basis import Where, derive_scores
from tasks.tanq.publish.table_outcomes import (
    TableOutcome,
    is_people,
    list_main,
    list_systems,
    select_outcomes,
)
from tasks.tanq.score.hallucination_labels import HallucinationLabel
from tasks.tanq.score.open_faults import can_have
from tasks.tanq.solve.prediction import OPEN

OF = "predictions"
TOLD = "Told by rule from the agent's steps and its table."
NOBODY = "no rule can tell it, and nobody labelled it"


def count_failures(
    outcomes: Sequence[TableOutcome],
    labels: Sequence[HallucinationLabel],
    unusable: Sequence[Dropped],
    entry: TableEvaluation,
) -> FigureTable:
    """Make Table 11: the share of replies with each failure. unusable: lines that were dropped."""
    people = settle(labels)
    systems = [system for system in list_main(list_systems(outcomes)) if not is_people(system)]
    lines = []
    for kind in Failure:
        cells = []
        for system in systems:
            own = select_outcomes(outcomes, system)
            told = kind != Failure.OTHER_HALLUCINATION
            cells.append(rate_failure(own, kind) if told else rate_labelled(own, people))
        lines.append(Line((kind.shown,), tuple(cells)))
    labelled = f"{len(people)} predictions have a person's word on other hallucinations."
    lost = [f"{n} lines of the file could not be used: {reason}." for reason, n in _count_reasons(unusable)]
    return FigureTable(
        "11",
        "Kinds of failure",
        ("failure",),
        tuple(" · ".join(filter(None, system.label)) for system in systems),
        tuple(lines),
        (
            "Shares of all replies; a reply may have several. Told by rule, but for other hallucinations.",
            labelled if entry.labels else "The evaluation names no file of people's labels (`labels`).",
            *lost,
        ),
    )


def count_faults(outcomes: Sequence[TableOutcome]) -> FigureTable:
    """Make the table of the open agent's faults, over all its replies and over those that can have one."""
    systems = [system for system in list_systems(outcomes) if system.setting == OPEN]
    lines = []
    for fault in Fault:
        cells: list[FigureCell] = []
        for system in systems:
            own = select_outcomes(outcomes, system)
            able = [outcome for outcome in own if can_have(outcome.item)[fault]]
            asked = {"id": tuple(sorted({outcome.item.id for outcome in able}))}
            cells += [rate_fault(own, fault), rate_fault(able, fault, asked)]
        lines.append(Line((fault.shown,), tuple(cells)))
    columns = [f"{system.model}: {base}" for system in systems for base in ("of all", "of those that can")]
    return FigureTable(
        "faults",
        "Faults of the open agent (section 5.7)",
        ("fault",),
        tuple(columns),
        tuple(lines) if systems else (),
        (TOLD if systems else "Not shown: the open agent was not run.",),
    )


def rate_failure(outcomes: Sequence[TableOutcome], kind: Failure) -> FigureCell:
    """Compute the share of replies with a failure; failed are those without a reply."""
    told = [None if o.prediction.failed else kind in o.score.failures for o in outcomes]
    return rate_cell(told, OF, derive_scores(outcomes, "share", "failures", replied=True, hit=kind))


def rate_fault(outcomes: Sequence[TableOutcome], fault: Fault, items: Where | None = None) -> FigureCell:
    """Compute the share of chains with a fault. items: as in `score_cells`."""
    told = [None if o.score.faults is None else fault in o.score.faults for o in outcomes]
    return rate_cell(told, OF, derive_scores(outcomes, "share", "faults", items=items, hit=fault))


def rate_labelled(outcomes: Sequence[TableOutcome], people: Mapping[str, bool | None]) -> FigureCell:
    """Compute the share of labelled predictions with another hallucination; failed are those at a tie."""
    told = [people[outcome.prediction.id] for outcome in outcomes if outcome.prediction.id in people]
    if not told:
        return leave_empty(NOBODY, OF)
    made_by = sorted({outcome.prediction.system for outcome in outcomes})
    labelled = Selection(
        "hallucination_labels", {}, {"prediction": Selection("predictions", {"system": tuple(made_by)})}
    )
    return rate_cell(told, OF, Derivation("share, by the word of most raters", (labelled,), "label"))


def settle(labels: Iterable[HallucinationLabel]) -> dict[str, bool | None]:
    """Settle each labelled prediction by the word of most raters; None at a tie."""
    words: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for label in labels:
        words[label.prediction][label.label] += 1
    return {
        prediction: None
        if said[Hallucination.YES] == said[Hallucination.NO]
        else said[Hallucination.YES] > said[Hallucination.NO]
        for prediction, said in words.items()
    }


def _count_reasons(unusable: Iterable[Dropped]) -> list[tuple[str, int]]:
    return sorted(Counter(row.reason for row in unusable).items())
