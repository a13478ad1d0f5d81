"""Define TANQ's labels for evidence, failures of predicted tables, and faults of the agent."""

from __future__ import annotations

from tasks.scoring.label import Label


class Support(Label):
    """Whether a proof supports a fact (TANQ, section 3.3)."""

    SUPPORTED = "supported"
    REFUTED = "refuted"
    NOT_ENOUGH = "not enough information"


class Hallucination(Label):
    """A human label: whether a table contains a hallucination that no rule detects (TANQ, section 5.6)."""

    YES = "yes", "yes", 1.0
    NO = "no", "no", 0.0


class FailureKind(Label):
    """The kinds of failure in TANQ's Table 11, in the order of Table 11.

    People label `other_hallucination`; rules detect all other kinds.
    """

    MISSING_RELATION = "missing_relation", "missing relation"
    NO_HEADER = "no_header", "no header"
    FILTER_IGNORED = "filter_ignored", "filter ignored"
    UNREQUESTED_RELATION = "unrequested_relation", "unrequested relation"
    OTHER_HALLUCINATION = "other_hallucination", "other hallucination"
    MISSING_ENTITY = "missing_entity", "missing entity"
    NOT_A_TABLE = "not_a_table", "not a table"
    PARTIAL_CELL = "partial_cell", "partial cell"
    WRONG_CELL = "wrong_cell", "wrong cell"


class AgentFault(Label):
    """Faults in the steps and the table of the open agent, in the order of section 5.7 of the TANQ paper."""

    SEARCH_ENDED = "search_ended", "search ended"
    MALFORMED_TABLE = "malformed_table", "malformed table"
    ATTRIBUTES_MISSING = "attributes_missing", "attributes missing"
    ONE_CONDITION = "one_condition", "one condition"
    INTERMEDIATES_LISTED = "intermediates_listed", "intermediates listed"
    FILTER_IGNORED = FailureKind.FILTER_IGNORED.value, FailureKind.FILTER_IGNORED.shown


class CellState(Label):
    """How a cell of the answer or of a predicted table matches the other table (TANQ, section 5.6)."""

    RIGHT = "right", "same as in the answer"
    PARTIAL = "partial", "only some of the answer's values, or empty"
    WRONG = "wrong", "differs from the answer"
    MISSING = "missing", "not in the predicted table"
    OTHER = "other", "the row is not in the answer"
    UNREQUESTED = "unrequested", "the column was not requested"
    FAILING = "failing", "the row fails the filter"
    UNTOLD = "untold", "the answer has no value here"
    FOUND = "found", "the row is in the answer"
    HEAD = "head", "part of the header"
