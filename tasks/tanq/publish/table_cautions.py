"""What a reader is told at the head of an evaluation's page before any figure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tasks.artifacts.rows import Dropped
from tasks.judging.trust import TrustThresholds
from tasks.settings import read_section
from tasks.tanq.publish.table_outcomes import TableOutcome, is_people, list_systems, select_outcomes
from tasks.tanq.solve.prediction import ORACLE

FEW = 30
"""Questions below which differences between systems are mostly chance."""


def list_table_cautions(
    outcomes: Sequence[TableOutcome],
    unread: Sequence[Dropped],
    settings: Mapping[str, object],
) -> list[str]:
    """Write the warnings; none if all is well.

    unread: lines of people's tables that could not be used. settings: `judging.thresholds.*`.
    """
    thresholds = read_section(settings, "judging.thresholds", TrustThresholds)
    return [*_warn_few(outcomes), *_warn_failed(outcomes, thresholds.unscored_share), *_warn_cut(outcomes),
            *_warn_unread(unread)]  # fmt: skip


def _warn_few(outcomes: Sequence[TableOutcome]) -> Iterator[str]:
    items = {outcome.item.id for outcome in outcomes}
    if len(items) < FEW:
        yield f"{len(items)} questions are few: a difference between two systems may be chance."


def _warn_failed(outcomes: Sequence[TableOutcome], most: float) -> Iterator[str]:
    for system in list_systems(outcomes):
        own = select_outcomes(outcomes, system)
        failed = [outcome.prediction.failed for outcome in own if outcome.prediction.failed]
        if len(failed) > most * len(own):
            name = " · ".join(filter(None, system.label))
            what = f"{len(failed)} of {len(own)} predictions have no reply ({failed[0]})"
            yield f"{name}: {what}; they are in no mean."


def _warn_cut(outcomes: Sequence[TableOutcome]) -> Iterator[str]:
    shown = [o for o in outcomes if o.prediction.setting == ORACLE and not is_people(o.system)]
    cut = sum(bool(outcome.prediction.left_out) for outcome in shown)
    if cut:
        yield f"{cut} of {len(shown)} oracle prompts lack some proofs: the window had no room for them."


def _warn_unread(unread: Sequence[Dropped]) -> Iterator[str]:
    if unread:
        yield f"{len(unread)} lines of people's tables could not be used ({unread[0].detail})."
