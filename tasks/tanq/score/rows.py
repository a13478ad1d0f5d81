"""Rows of scoring predicted tables (sections 5.1, 5.6, 5.7)."""

from __future__ import annotations

from dataclasses import dataclass

from tasks.artifacts.rows import Origin

PEOPLE = "people"
"""In the place of a model's role, where people wrote the tables."""

MISSING_RELATION, NO_HEADER, FILTER_IGNORED = "missing_relation", "no_header", "filter_ignored"
UNREQUESTED_RELATION, OTHER_HALLUCINATION = "unrequested_relation", "other_hallucination"
MISSING_ENTITY, NOT_A_TABLE = "missing_entity", "not_a_table"
PARTIAL_CELL, WRONG_CELL = "partial_cell", "wrong_cell"
FAILURES = (
    MISSING_RELATION, NO_HEADER, FILTER_IGNORED, UNREQUESTED_RELATION, OTHER_HALLUCINATION, MISSING_ENTITY,
    NOT_A_TABLE, PARTIAL_CELL, WRONG_CELL,
)  # fmt: skip
"""Table 11's kinds, in its order; no rule can tell another hallucination: people label it."""

SEARCH_ENDED, MALFORMED_TABLE, ATTRIBUTES_MISSING = "search_ended", "malformed_table", "attributes_missing"
ONE_CONDITION, INTERMEDIATES_LISTED = "one_condition", "intermediates_listed"
FAULTS = (
    SEARCH_ENDED, MALFORMED_TABLE, ATTRIBUTES_MISSING, ONE_CONDITION, INTERMEDIATES_LISTED, FILTER_IGNORED,
)  # fmt: skip
"""What section 5.7 found in the chains of the open agent, in its order."""


@dataclass(frozen=True)
class PredictionScore:
    """Stages scores and human_scores: relative mapping similarity by both rules, fractions of 1.

    id: the prediction's; figures are None where there is no reply to score. failures: kinds of Table 11 that
    a rule can tell; faults: those of section 5.7; None if it is not of the open agent, or has no reply.
    """

    id: str
    item: str
    system: str
    released_precision: float | None
    released_recall: float | None
    released_f1: float | None
    paper_precision: float | None
    paper_recall: float | None
    paper_f1: float | None
    failures: tuple[str, ...]
    faults: tuple[str, ...] | None
    origin: tuple[Origin, ...]


@dataclass(frozen=True)
class HallucinationLabel:
    """Stage hallucination_labels: a person's word on whether a prediction holds another hallucination.

    label: `yes` or `no`; rater: empty if the file names none.
    """

    id: str
    prediction: str
    item: str
    rater: str
    label: str
    origin: tuple[Origin, ...]
