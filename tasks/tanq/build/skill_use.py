"""The skills that a question can take, by name, and one use of a skill (section 3.3, step 5)."""

from __future__ import annotations

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
