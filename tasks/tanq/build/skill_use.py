"""The skills that a question can take, by name, and one use of a skill (section 3.3, step 5)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

FILTER_NUMBER, FILTER_TIME, FILTER_ENTITY = "filter_number", "filter_time", "filter_entity"
DATE_TO_YEAR, CONVERSION, APPROXIMATION = "date_to_year", "conversion", "approximation"
TIME_CALCULATION = "time_calculation"
SKILLS = (
    FILTER_NUMBER, FILTER_TIME, FILTER_ENTITY, DATE_TO_YEAR, CONVERSION, TIME_CALCULATION, APPROXIMATION,
)  # fmt: skip
"""In the order of Table 4."""
FILTERS = frozenset({FILTER_NUMBER, FILTER_TIME, FILTER_ENTITY})
REWRITES = (DATE_TO_YEAR, CONVERSION, APPROXIMATION)
"""Skills that rewrite a column, in the order in which they do."""
EQUAL, LEAST, MOST = "=", ">=", "<="
FULL_YEARS, YEARS, DAYS = "full years", "years", "days"
"""How a time calculation counts: by the day, by years alone, or in days."""

AGE = ("P569", "P570")
SPANS: Mapping[tuple[str, str], str] = {
    AGE: FULL_YEARS,
    ("P571", "P576"): YEARS,
    ("P571", "P1619"): YEARS,
    ("P580", "P582"): YEARS,
    ("P729", "P730"): YEARS,
    ("P1619", "P3999"): YEARS,
    ("P2031", "P2032"): YEARS,
}
"""Beginning and end, by property -> how a time calculation counts what lies between."""


@dataclass(frozen=True)
class SkillUse:
    """A skill that a question takes (step 5).

    name: one of `SKILLS`; relation: of the column that it works on, with `other` for a second one;
    operator: `=`, `>=` or `<=` of a filter; operand: its bound as shown, or the unit, the step or the like;
    words: the sentence or the words that say it in the question.
    """

    name: str
    relation: str
    other: str
    operator: str
    operand: str
    words: str
