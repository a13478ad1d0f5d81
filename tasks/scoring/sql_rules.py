"""Define the rules for equality of two query results.

A worker process imports this module, which therefore uses only the standard library.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Sequence

from tasks.scoring.outcome import Outcome

Row = tuple[Hashable, ...]
Rows = Sequence[Row]


def judge_streambench(gold: Rows, predicted: Rows, ordered: bool = False) -> Outcome:
    """Compare sets of rows; the outcome is `empty` if a result has no rows (STREAMBENCH, appendix F.2.1).

    Row order and duplicate rows do not matter; column order matters. `ordered` has no effect.
    """
    if not gold or not predicted:
        return Outcome.EMPTY
    return judge_bird(gold, predicted)


def judge_bird(gold: Rows, predicted: Rows, ordered: bool = False) -> Outcome:
    """Compare sets of rows as in BIRD's evaluation: like `streambench`, but two empty results are equal."""
    # Most correct results have the same order, so comparing lists first avoids hashing the rows.
    return Outcome.CORRECT if gold == predicted or set(gold) == set(predicted) else Outcome.WRONG


def judge_test_suite(gold: Rows, predicted: Rows, ordered: bool = False) -> Outcome:
    """Compare multisets of rows under any column order (Zhong et al. 2020, test suite accuracy).

    `ordered`: whether row order matters. Two empty results are equal, even if their columns differ.
    """
    if not gold and not predicted:
        return Outcome.CORRECT
    if len(gold) != len(predicted) or len(gold[0]) != len(predicted[0]):
        return Outcome.WRONG
    same = match_lists if ordered else match_bags
    return Outcome.CORRECT if same(gold, predicted) else Outcome.WRONG


def measure_soft_f1(gold: Rows, predicted: Rows) -> float:
    """Return the soft F1 of two results: cell-wise agreement within pairs of rows (BIRD's mini-dev).

    Equal rows within a result count once. A row that both results contain is paired with itself; the other
    rows are paired in order. In a pair, a predicted cell that occurs anywhere in the gold row is a true
    positive, and any other predicted cell is a false positive. A gold cell that does not occur in the
    predicted row is a false negative. Column order therefore does not matter. The weight of a cell is
    1 / (number of gold columns). An unpaired row is one false positive or one false negative. The result is
    the F1 of the sums, and 1 for two empty results. NULL counts as a value. BIRD's code pairs rows in the
    order of a Python set, which differs between processes.
    """
    if not gold and not predicted:
        return 1.0
    wanted, given = dict.fromkeys(gold), dict.fromkeys(predicted)
    shared = [row for row in wanted if row in given]
    pairs = [*zip(shared, shared, strict=True)]
    pairs += zip(
        [row for row in wanted if row not in given], [row for row in given if row not in wanted], strict=False
    )
    matched = extra = missed = 0.0
    for gold_row, row in pairs:
        width = len(gold_row)
        found = sum(cell in gold_row for cell in row)
        matched += found / width
        extra += (len(row) - found) / width
        missed += sum(cell not in row for cell in gold_row) / width
    extra += len(given) - len(pairs)
    missed += len(wanted) - len(pairs)
    return 2 * matched / (2 * matched + extra + missed) if matched else 0.0


JUDGES: dict[str, Callable[[Rows, Rows, bool], Outcome]] = {
    "streambench": judge_streambench,
    "bird": judge_bird,
    "test-suite": judge_test_suite,
}


def match_lists(gold: Rows, predicted: Rows) -> bool:
    """Return whether two lists of rows are equal under some order of the columns.

    Two lists of rows are equal under some column order if the multisets of their columns are equal.
    """
    return Counter(zip(*gold, strict=True)) == Counter(zip(*predicted, strict=True))


def match_bags(gold: Rows, predicted: Rows) -> bool:
    """Return whether two multisets of rows are equal under some order of the columns.

    Columns are assigned one by one, and an assignment is abandoned as soon as the multisets differ. Testing
    all orders would be too slow: ten columns have 10! orders.
    """
    if Counter(gold) == Counter(predicted):
        return True
    # Columns with many distinct values exclude wrong assignments early.
    targets = sorted(zip(*gold, strict=True), key=lambda column: -len(set(column)))
    none = [0] * len(gold)
    return _assign(targets, list(zip(*predicted, strict=True)), none, none)


def _assign(targets: list[Row], columns: list[Row], gold: list[int], predicted: list[int]) -> bool:
    """Return whether some order of `columns` gives the same multiset of rows as `targets`.

    `gold`, `predicted`: for each row, a number that identifies the row's values in the assigned columns.
    """
    if not targets:
        return True
    # Equal columns are interchangeable, so only one of several equal columns is tried.
    for column in dict.fromkeys(columns):
        numbers: dict[tuple[int, Hashable], int] = {}
        longer = _extend(gold, targets[0], numbers)
        candidate = _extend(predicted, column, numbers)
        if Counter(longer) != Counter(candidate):
            continue
        rest = columns.copy()
        rest.remove(column)
        if _assign(targets[1:], rest, longer, candidate):
            return True
    return False


def _extend(beginnings: list[int], column: Row, numbers: dict[tuple[int, Hashable], int]) -> list[int]:
    return [numbers.setdefault(pair, len(numbers)) for pair in zip(beginnings, column, strict=True)]
