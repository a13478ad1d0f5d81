"""Define the skills that a question can use, and the schema of one use (TANQ, section 3.3, step 5)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

FILTER_NUMBER, FILTER_TIME, FILTER_ENTITY = "filter_number", "filter_time", "filter_entity"
DATE_TO_YEAR, CONVERSION, APPROXIMATION = "date_to_year", "conversion", "approximation"
TIME_CALCULATION = "time_calculation"
SKILLS = (
    FILTER_NUMBER, FILTER_TIME, FILTER_ENTITY, DATE_TO_YEAR, CONVERSION, TIME_CALCULATION, APPROXIMATION,
)  # fmt: skip
"""The skills in the order of TANQ's Table 4."""
FILTERS = frozenset({FILTER_NUMBER, FILTER_TIME, FILTER_ENTITY})
REWRITES = (DATE_TO_YEAR, CONVERSION, APPROXIMATION)
"""Skills that rewrite a column, in the order in which they are applied."""
EQUAL, LEAST, MOST = "=", ">=", "<="
FULL_YEARS, YEARS, DAYS = "full years", "years", "days"
"""Units of a time calculation: full years between two dates, the difference between two years, or days."""

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
"""Map each pair of start and end properties to the unit of the time between the two dates."""


@dataclass(frozen=True)
class SkillUse:
    """One use of a skill by a question (step 5).

    - name: one of `SKILLS`.
    - relation: the relation of the column that the skill applies to.
    - other: for a time calculation, the relation of the second column; otherwise empty.
    - operator: `=`, `>=` or `<=` for a filter; otherwise empty.
    - operand: for a filter, the number, the year (`44 BCE`) or the displayed value to compare with; for other
      skills, the unit, scale or step.
    - words: the skill's wording in the question.

    In a published item that was imported, only `name` is set.
    """

    name: str
    relation: str
    other: str
    operator: str
    operand: str
    words: str
