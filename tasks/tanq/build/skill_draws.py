"""For a question, choose compatible skills that change its table and leave enough rows (step 5)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from tasks.artifacts.rows import make_id
from tasks.tanq.build.skill_choices import Doubts, list_steps
from tasks.tanq.build.skill_table import BaseTable, apply_skills, passes_filter
from tasks.tanq.build.skill_use import APPROXIMATION, CONVERSION, FILTERS, REWRITES, SKILLS, SkillUse

Uses = tuple[SkillUse, ...]


@dataclass(frozen=True)
class SkillLimits:
    """The requirements for a table after skills are applied.

    - least: minimum number of rows that pass the filters.
    - filled: minimum share of the remaining rows that have a value in a rewritten column.
    - choice: whether a filtered column must retain a value other than the filter's value.
    """

    least: int
    filled: float = 0.5
    choice: bool = False


def draw_uses(
    table: BaseTable,
    choices: Mapping[str, Sequence[SkillUse]],
    wanted: int,
    used: Counter[str],
    doubts: Doubts,
    limits: SkillLimits,
    seed: str,
) -> Uses:
    """Choose up to `wanted` distinct compatible skills; the skills with the fewest uses so far come first.

    used: number of uses of each skill so far; updated in place. seed: breaks ties.
    """
    drawn: Uses = ()
    while len(drawn) < wanted:
        taken = {use.name for use in drawn}
        names = [name for name in SKILLS if name in choices and name not in taken]
        names.sort(key=lambda name: (used[name], make_id(seed, name)))
        found = next(
            (more for name in names for more in _extend(table, drawn, choices[name], doubts, limits, seed)),
            None,
        )
        if found is None:
            break
        drawn = found
    used.update(use.name for use in drawn)
    return tuple(sorted(drawn, key=lambda use: SKILLS.index(use.name)))


def _extend(
    table: BaseTable,
    drawn: Uses,
    choices: Sequence[SkillUse],
    doubts: Doubts,
    limits: SkillLimits,
    seed: str,
) -> Iterator[Uses]:
    """Yield the chosen uses plus one compatible use; combinations with the fewest empty cells come first.

    seed: breaks ties.
    """
    found = []
    for use in choices:
        more = _join(table, drawn, use, doubts)
        if more and _tells(table, more, limits):
            tie = make_id(seed, use.name, use.relation, use.operator, use.operand)
            found.append((_count_gaps(table, more), tie, more))
    yield from (more for _, _, more in sorted(found, key=lambda ranked: ranked[:2]))


def _count_gaps(table: BaseTable, uses: Uses) -> int:
    """Count the empty cells in the rows that pass all filters."""
    kept = keep_rows(table, uses)
    return sum(not cell for row in kept.rows for cell in row.cells)


def keep_rows(table: BaseTable, uses: Sequence[SkillUse]) -> BaseTable:
    """Return the table with only the rows that pass all filters."""
    filters = [use for use in uses if use.name in FILTERS]
    rows = (row for row in table.rows if all(passes_filter(row, table, use) for use in filters))
    return BaseTable(table.columns, tuple(rows))


def leaves_choice(kept: BaseTable, use: SkillUse) -> bool:
    """Return whether any remaining row has a value other than the filter's value in the filtered column.

    Otherwise the question reveals the whole column: `Keep only the countries whose continent is Asia.`
    """
    return any({fact.shown for fact in cell} != {use.operand} for cell in kept.list_cells(use.relation))


def split_choices(
    table: BaseTable, choices: Mapping[str, Sequence[SkillUse]]
) -> tuple[dict[str, list[SkillUse]], list[SkillUse]]:
    """Split the uses into the allowed uses by skill, and the refused filters.

    A filter is refused if its column would contain only the filter's value.
    """
    refused = [
        use
        for name in choices
        if name in FILTERS
        for use in choices[name]
        if not leaves_choice(keep_rows(table, (use,)), use)
    ]
    left = {name: [use for use in uses if use not in refused] for name, uses in choices.items()}
    return {name: uses for name, uses in left.items() if uses}, refused


def _join(table: BaseTable, drawn: Uses, use: SkillUse, doubts: Doubts) -> Uses | None:
    """Add a use to the chosen uses; None if the use is incompatible.

    A column cannot have both a filter and a rewriting skill. If a column has a conversion and an
    approximation, the rounding step is chosen for the converted amounts.
    """
    if {use.name} & FILTERS and any(
        skill.relation == use.relation for skill in drawn if skill.name in REWRITES
    ):
        return None
    if use.name in REWRITES and any(
        skill.relation == use.relation for skill in drawn if skill.name in FILTERS
    ):
        return None
    both = (*drawn, use)
    converted = {skill.relation: skill for skill in both if skill.name == CONVERSION}
    joined = []
    for skill in both:
        if skill.name == APPROXIMATION and skill.relation in converted:
            steps = list_steps(table, skill.relation, converted[skill.relation], doubts)
            if not steps:
                return None
            skill = replace(skill, operand=steps[0].operand)
        joined.append(skill)
    return tuple(joined)


def _tells(table: BaseTable, uses: Uses, limits: SkillLimits) -> bool:
    """Return whether the uses leave enough rows, and every use changes the table.

    Each filter must remove a row that no other filter removes, and each other skill must change a cell. In
    the remaining rows, no column may be empty, and the share of filled cells in a rewritten column must reach
    `limits.filled`.
    """
    filters = [use for use in uses if use.name in FILTERS]
    failing = [{use.relation for use in filters if not passes_filter(row, table, use)} for row in table.rows]
    kept = keep_rows(table, uses)
    if len(kept.rows) < limits.least or any({use.relation} not in failing for use in filters):
        return False
    if limits.choice and not all(leaves_choice(kept, use) for use in filters):
        return False
    rewritten = {use.relation for use in uses if use.name in REWRITES}
    for column in table.columns:
        filled = sum(bool(cell) for cell in kept.list_cells(column.relation))
        if not filled or (column.relation in rewritten and filled < limits.filled * len(kept.rows)):
            return False
    _, plain = apply_skills(kept, ())
    return all(apply_skills(kept, (use,))[1] != plain for use in uses if use.name not in FILTERS)
