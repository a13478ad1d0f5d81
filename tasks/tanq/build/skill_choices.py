"""List the possible uses of skills for a table, with bounds and steps that the evidence supports (step 5)."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import ROUND_HALF_UP, Decimal
from functools import partial
from itertools import pairwise

from tasks.sources.wikidata.values import Precision
from tasks.tanq.build.amount_skills import STEPS, approximate, find_words
from tasks.tanq.build.date_skills import count_full_years, count_years_between, say_year
from tasks.tanq.build.skill_table import (
    BaseColumn,
    BaseTable,
    convert_amount,
    get_amount,
    get_time,
    passes_bound,
)
from tasks.tanq.build.skill_use import (
    APPROXIMATION,
    CONVERSION,
    DATE_TO_YEAR,
    EQUAL,
    FILTER_ENTITY,
    FILTER_NUMBER,
    FILTER_TIME,
    FULL_YEARS,
    LEAST,
    MOST,
    SPANS,
    TIME_CALCULATION,
    SkillUse,
)
from tasks.tanq.graph.facts import Fact
from tasks.tanq.graph.showing import ITEM, QUANTITY, TEXT, TIME, show_amount

COUNTED = Decimal(100_000)
"""The smallest plain number that may be converted to millions."""
CLEAR = Decimal("0.02")
"""Minimum distance of an amount from a rounding boundary, as a fraction of the rounding step."""
FEW = 5
"""Minimum ratio of an amount to the rounding step, so that rounding changes the amount by at most 10%."""
ROUND_YEARS = (100, 50, 25, 10, 5, 1)
"""Divisors for the year of a filter; the first divisor with a multiple between the bounds gives the year."""


@dataclass(frozen=True)
class Doubts:
    """The facts without a supporting proof, and the precision of supported amounts.

    - left: maps (entity, relation) to the facts without a supporting proof.
    - steps: maps each fact to the place value of the last digit in the most precise supporting figure.
    """

    left: Mapping[tuple[str, str], tuple[Fact, ...]] = field(default_factory=dict)
    steps: Mapping[str, Decimal] = field(default_factory=dict)

    def list_known(self, table: BaseTable, relation: str) -> list[KnownCell]:
        """List the cells of a column, each with the facts that have no supporting proof."""
        place = table.find(relation)
        return [KnownCell(row.cells[place], self.left.get((row.entity, relation), ())) for row in table.rows]


@dataclass(frozen=True)
class KnownCell:
    """The facts of a cell: facts with a supporting proof (`supported`) and facts without one (`left`)."""

    supported: tuple[Fact, ...]
    left: tuple[Fact, ...]


NO_DOUBTS = Doubts()


def list_uses(
    table: BaseTable, margin: Decimal, least: int, doubts: Doubts = NO_DOUBTS
) -> dict[str, list[SkillUse]]:
    """List each skill's uses that change a table and leave at least `least` rows, in a fixed order.

    margin: minimum relative distance of all amounts from the bound of a filter.
    """
    found: dict[str, list[SkillUse]] = {}
    for column in table.columns:
        for use in _list_column_uses(table, column, margin, least, doubts):
            found.setdefault(use.name, []).append(use)
    for use in _list_calculations(table, least):
        found.setdefault(use.name, []).append(use)
    return found


def list_steps(
    table: BaseTable, relation: str, conversion: SkillUse | None, doubts: Doubts = NO_DOUBTS
) -> list[SkillUse]:
    """List the possible rounding steps for a column's values (after any conversion), coarsest first."""
    column = table.columns[table.find(relation)]
    facts = [fact for cell in table.list_cells(relation) for fact in cell]
    amounts = [_convert(get_amount(fact), column, conversion) for fact in facts]
    known = [_convert(doubts.steps.get(fact.id, Decimal(0)), column, conversion) for fact in facts]
    return [
        SkillUse(APPROXIMATION, relation, "", "", str(step), "")
        for step in sorted(STEPS, reverse=True)
        if _is_clear(amounts, step)
        and all(_is_told(amount, told, step) for amount, told in zip(amounts, known, strict=True))
    ]


def _list_column_uses(
    table: BaseTable, column: BaseColumn, margin: Decimal, least: int, doubts: Doubts
) -> Iterator[SkillUse]:
    cells = doubts.list_known(table, column.relation)
    facts = [fact for cell in cells for fact in (*cell.supported, *cell.left)]
    if column.kind in (ITEM, TEXT):
        yield from _filter_by_entity(column, cells, least)
    elif column.kind == QUANTITY and len({fact.value.unit for fact in facts}) == 1:
        if is_filled(cells, least):
            yield from _rewrite_amounts(table, column, doubts)
        yield from _filter_by_number(column, cells, margin, least)
    elif column.kind == TIME and all(get_time(fact).precision >= Precision.YEAR for fact in facts):
        finer = any(get_time(fact).precision > Precision.YEAR for cell in cells for fact in cell.supported)
        if finer and is_filled(cells, least):
            yield SkillUse(DATE_TO_YEAR, column.relation, "", "", "year", "")
        yield from _filter_by_year(column, cells, least)


def is_filled(cells: Sequence[KnownCell], least: int) -> bool:
    """Return whether a column has enough filled cells for rewriting: at least half, and at least `least`."""
    filled = sum(bool(cell.supported) for cell in cells)
    return filled >= least and 2 * filled >= len(cells)


def decides(cells: Sequence[KnownCell], passes: Callable[[Fact], bool], least: int) -> bool:
    """Return whether the evidence decides a filter for every row, and the filter leaves enough rows.

    At least `least` rows must be left, but not all rows. In each row, all facts must pass or all must fail,
    and a passing row needs a supported fact.
    """
    left = 0
    for cell in cells:
        told = {passes(fact) for fact in (*cell.supported, *cell.left)}
        if len(told) != 1 or (told == {True} and not cell.supported):
            return False
        left += told == {True}
    return least <= left < len(cells)


def _filter_by_entity(column: BaseColumn, cells: Sequence[KnownCell], least: int) -> Iterator[SkillUse]:
    if not all(cell.supported or cell.left for cell in cells):
        return
    unproven = {fact.shown for cell in cells for fact in cell.left}
    counts = Counter(shown for cell in cells for shown in {fact.shown for fact in cell.supported})
    for shown, count in sorted(counts.items()):
        if least <= count < len(cells) and shown not in unproven:
            yield SkillUse(FILTER_ENTITY, column.relation, "", EQUAL, shown, "")


def _filter_by_number(
    column: BaseColumn, cells: Sequence[KnownCell], margin: Decimal, least: int
) -> Iterator[SkillUse]:
    amounts = sorted({get_amount(fact) for cell in cells for fact in (*cell.supported, *cell.left)})
    if not amounts or amounts[0] <= 0:
        return
    whole = all(amount == amount.to_integral_value() for amount in amounts)
    for low, high in pairwise(amounts):
        bound = find_round(low * (1 + margin), high * (1 - margin))
        if whole and bound is not None and bound != bound.to_integral_value():
            continue  # a bound of 9.5 is unnatural for an integer, such as an atomic number
        for operator in (LEAST, MOST) if bound is not None else ():
            use = SkillUse(FILTER_NUMBER, column.relation, "", operator, show_amount(bound or high), "")
            if decides(cells, partial(passes_bound, use), least):
                yield use


def _filter_by_year(column: BaseColumn, cells: Sequence[KnownCell], least: int) -> Iterator[SkillUse]:
    years = sorted({get_time(fact).year for cell in cells for fact in (*cell.supported, *cell.left)})
    uses = [
        SkillUse(FILTER_TIME, column.relation, "", operator, say_year(bound), "")
        for low, high in pairwise(years)
        if (bound := find_round_year(low + 2, high - 1)) is not None
        for operator in (LEAST, MOST)
    ]
    uses += [
        SkillUse(FILTER_TIME, column.relation, "", EQUAL, say_year(year), "")
        for year in years
        if not {year - 1, year + 1} & set(years)
    ]
    yield from (use for use in uses if decides(cells, partial(passes_bound, use), least))


def _rewrite_amounts(table: BaseTable, column: BaseColumn, doubts: Doubts) -> Iterator[SkillUse]:
    facts = [fact for cell in table.list_cells(column.relation) for fact in cell]
    if not facts:
        return
    unit = find_words(column.unit)
    if unit and unit.other:
        yield SkillUse(CONVERSION, column.relation, "", "", unit.other, "")
    elif unit is None and min(get_amount(fact) for fact in facts) >= COUNTED:
        yield SkillUse(CONVERSION, column.relation, "", "", "millions", "")
    yield from list_steps(table, column.relation, None, doubts)[:1]


def _convert(amount: Decimal, column: BaseColumn, conversion: SkillUse | None) -> Decimal:
    return amount if conversion is None else convert_amount(amount, column, conversion)


def _is_clear(amounts: Sequence[Decimal], step: int) -> bool:
    """Return whether rounding changes some amounts, and all amounts are far from rounding boundaries.

    Each amount must be at least `FEW` times the rounding step.
    """
    rounded = [approximate(amount, step) for amount in amounts]
    parts = [abs(abs(amount) / step % 1 - Decimal("0.5")) for amount in amounts]
    return (
        all(abs(amount) >= FEW * step for amount in amounts)
        and all(part >= CLEAR for part in parts)
        and any(before != after for before, after in zip(amounts, rounded, strict=True))
    )


def _is_told(amount: Decimal, told: Decimal, step: int) -> bool:
    """Return whether an amount, first rounded to `told`, still rounds to the same multiple of `step`.

    True if `told` is 0, which means that the precision is unknown; False if `told` is larger than `step`.
    """
    if not told:
        return True
    written = (amount / told).quantize(Decimal(1), ROUND_HALF_UP) * told
    return told <= step and approximate(written, step) == approximate(amount, step)


def _list_calculations(table: BaseTable, least: int) -> Iterator[SkillUse]:
    relations = {column.relation for column in table.columns}
    for (first, second), counted in SPANS.items():
        if {first, second} <= relations and _can_count(table, first, second, counted, least):
            yield SkillUse(TIME_CALCULATION, first, second, "", counted, "")


def _can_count(table: BaseTable, first: str, second: str, counted: str, least: int) -> bool:
    pairs = list(zip(table.list_cells(first), table.list_cells(second), strict=True))
    if any(len(cell) > 1 for pair in pairs for cell in pair):
        return False
    count = count_full_years if counted == FULL_YEARS else count_years_between
    try:
        numbers = [count(get_time(start[0]), get_time(end[0])) for start, end in pairs if start and end]
    except ValueError:
        return False
    return len(numbers) >= least


def find_round(low: Decimal, high: Decimal) -> Decimal | None:
    """Find the roundest number between two positive numbers, or None.

    The number has at most two significant digits. If several numbers are equally round, the number nearest to
    the geometric mean is returned.
    """
    if low >= high:
        return None
    middle = Decimal(math.sqrt(float(low) * float(high)))
    for digits in (1, 2):
        steps = [
            Decimal(1).scaleb(power - digits + 1) for power in range(low.adjusted(), high.adjusted() + 1)
        ]
        found = [
            step * count for step in steps if (count := _count_steps(middle, step, low, high, 10**digits - 1))
        ]
        if found:
            return min(found, key=lambda number: (abs(number - middle), number))
    return None


def _count_steps(middle: Decimal, step: Decimal, low: Decimal, high: Decimal, most: int) -> int:
    """Return n such that n * step is the multiple within the bounds that is nearest to the middle.

    Returns 0 if no multiple is within the bounds, or if n is not from 1 to `most`.
    """
    first, last = math.ceil(low / step), math.floor(high / step)
    count = min(max(round(middle / step), first), last)
    return count if first <= count <= last and 0 < count <= most else 0


def find_round_year(first: int, last: int) -> int | None:
    """Find the roundest year from `first` to `last`, or None; if several are equally round, the earliest."""
    for step in ROUND_YEARS:
        year = -(-first // step) * step
        if year <= last and year != 0:
            return year
    return None
