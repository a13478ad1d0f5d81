"""A plain implementation of RMS with the rule `released`: the reference for the benchmark and a test."""

from __future__ import annotations

from itertools import zip_longest

from scipy.optimize import linear_sum_assignment


def compute_plainly(gold: str, prediction: str) -> tuple[float, float, float]:
    """Compute precision, recall and F1 of two text tables, directly as the rule is worded."""
    target = read_points(gold, transposed=False)
    readings = [rate(target, read_points(prediction, transposed=turned)) for turned in (True, False)]
    return max(readings, key=lambda rates: rates[2])


def read_points(text: str, *, transposed: bool) -> dict[str, str]:
    """Parse a text table: row name + " " + header -> cell."""
    points = {}
    lines = text.lower().splitlines()
    if lines and lines[0].startswith("title|"):
        points["title"] = " | ".join(cell.strip() for cell in lines.pop(0).split("|")[1:])
    rows = [[cell.strip() for cell in line.split("|")] for line in lines]
    if transposed:
        rows = [list(row) for row in zip_longest(*rows, fillvalue="")]
    for row in rows[1:]:
        for name, cell in zip(rows[0][1:], row[1:], strict=False):
            points[f"{row[0]} {name}"] = cell
    return points


def rate(target: dict[str, str], predicted: dict[str, str]) -> tuple[float, float, float]:
    """Compute precision, recall and F1 of datapoints with the optimal assignment of keys."""
    if not target or not predicted:
        return (float(not predicted), float(not target), float(not target and not predicted))
    costs = [[1 - compare(key, other) for other in predicted] for key in target]
    total = 0.0
    for row, column in zip(*linear_sum_assignment(costs), strict=True):
        key, other = list(target)[row], list(predicted)[column]
        total += compare(key, other) * compare_cells(target[key], predicted[other])
    if not total:
        return 0.0, 0.0, 0.0
    precision, recall = total / len(predicted), total / len(target)
    return precision, recall, 2 * precision * recall / (precision + recall)


def compare_cells(target: str, predicted: str) -> float:
    """Compare two cells as numbers if both are numbers and the target is not 0, otherwise as texts."""
    try:
        goal, value = read_number(target), read_number(predicted)
    except ValueError:
        goal = value = 0.0
    if goal and abs(goal) < float("inf") and abs(value) < float("inf"):
        distance = min(1.0, abs(goal - value) / abs(goal))
        return 1 - distance if distance < 0.1 else 0.0
    return compare(target, predicted)


def read_number(text: str) -> float:
    """Parse a number; a percent sign divides by 100."""
    return float(text.rstrip("%")) / 100 if text.endswith("%") else float(text)


def compare(a: str, b: str) -> float:
    """Compute 1 - edit distance / longer length; 0 unless that exceeds 0.5."""
    if a == b:
        return 1.0
    previous = list(range(len(b) + 1))
    for row, char in enumerate(a, 1):
        current = [row]
        for column, other in enumerate(b, 1):
            best = min(previous[column] + 1, current[-1] + 1, previous[column - 1] + (char != other))
            current.append(best)
        previous = current
    distance = previous[-1] / max(len(a), len(b))
    return 1 - distance if distance < 0.5 else 0.0
