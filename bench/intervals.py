"""Recompute every interval and p value on the pages of a project: `python -m bench.intervals [ROOT]`.

Each value is computed from the Parquet rows of its cell, by the documented method with other random samples,
without the shipped aggregation and statistics. Exit 1 if a value differs or cannot be recomputed.

Wilson's intervals, McNemar's and Holm's p values must agree to eight digits. Of 20,000 bootstrap samples
drawn here, 2.5% must be beyond each bound of a bootstrap interval, with a tolerance of four standard errors
(0.8%) of both bootstraps. The tolerance for a bootstrap's p value is also four standard errors.
"""

from __future__ import annotations

import json
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bench.intervals_checks import Checks, draw_coefficient, draw_ratio
from bench.intervals_grammar import check_assessment
from bench.intervals_ragcheck import check_ragcheck
from bench.intervals_rows import Row, choose_rows, read_json, read_table, read_value

PAIRED = ("paired difference", "McNemar's exact test", "paired bootstrap", "Holm's correction")


def main(root: Path) -> int:
    """Print the number of comparisons per page, and each failed comparison; return the exit code."""
    whole = Checks()
    for name, checks in check_project(root):
        told = ", ".join(f"{count} {kind}" for kind, count in sorted(checks.counts.items()))
        print(f"{name}: {told or 'no interval and no p'}")
        whole.counts += checks.counts
        whole.wrong += [f"{name}: {line}" for line in checks.wrong]
        whole.open += [f"{name}: {line}" for line in checks.open]
    for line in whole.wrong:
        print(f"differs: {line}")
    for line in whole.open:
        print(f"not recomputed: {line}")
    total = sum(whole.counts.values())
    print(f"{total:,} compared, {len(whole.wrong)} differ, {len(whole.open)} not recomputed")
    return 1 if whole.wrong or whole.open or not total else 0


def check_project(root: Path) -> Iterator[tuple[str, Checks]]:
    """Check every evaluation of a project; yield its folder and its comparisons."""
    for path in sorted(root.glob("data/grammar/*/*/figures.json")):
        checks = Checks()
        check_assessment(path, root, checks)
        _check_record(root / "data/reports/grammar" / path.parent.name / "report.json", path, checks)
        yield path.parent.relative_to(root).as_posix(), checks
    for flow in ("longform", "tanq", "streambench"):
        for path in sorted(root.glob(f"data/{flow}/*/*/evaluation_figures.json")):
            checks = Checks()
            for place, cell in list_cells(read_json(path), ""):
                check_cell(place, cell, path.parent, root, checks)
            if flow == "streambench":
                _check_holm(read_json(path)["tables"], checks)
            yield path.parent.relative_to(root).as_posix(), checks
    for path in sorted(root.glob("data/reports/streambench-overviews/*/report.json")):
        checks = Checks()
        for place, cell in list_cells(read_json(path), ""):
            check_cell(place, cell, path.parent, root, checks)
        yield path.parent.relative_to(root).as_posix(), checks
    yield from check_ragcheck(root)


def list_cells(value: Any, place: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the cells that have a basis and an interval field, or are a p value, with their JSON pointers."""
    if isinstance(value, dict):
        if value.get("basis") and ("interval" in value or "pearson_interval" in value):
            yield place, value
        for name, part in value.items():
            if name != "basis":
                yield from list_cells(part, f"{place}/{name}")
    elif isinstance(value, list):
        for number, part in enumerate(value):
            yield from list_cells(part, f"{place}/{number}")


def check_cell(place: str, cell: Mapping[str, Any], folder: Path, root: Path, checks: Checks) -> None:
    """Check a cell according to the measure in its basis."""
    measure, column = str(cell["basis"]["measure"]), str(cell["basis"]["column"])
    parts = [choose_rows(selection, folder, root) for selection in cell["basis"]["rows"]]
    rows = [row for part in parts for row in part]
    told = cell.get("interval")
    if "interval" in cell and told is None and not cell.get("why") and measure not in PAIRED:
        checks.counts["figures that are given none"] += 1
    elif measure == "correlation of valid queries and quality":
        _check_scatter(place, cell, rows, folder, checks)
    elif measure in PAIRED:
        _check_pair(place, cell, rows, measure, checks)
    elif column == "score" and measure.startswith("mean") and rows and "run" in rows[0]:
        if measure == "mean" or measure.startswith("mean over "):
            _check_steps(place, cell, rows, measure, folder, checks)
    elif measure == "mean" and not column.startswith("tokens") and cell["value"] is not None:
        values = [read_value(row, column) for row in rows if read_value(row, column) is not None]
        drawn, clusters = draw_ratio(values, [1] * len(values), range(len(values)))
        share = cell["value"] if column.endswith(("precision", "recall", "f1")) else None
        checks.check_drawn(place, told, drawn, clusters, share)
    elif (found := _find_outcomes(measure, cell, rows)) is not None:
        if found:
            checks.check_wilson(place, told, sum(found), len(found))
    elif told is not None:
        checks.leave_open(place, f"no method for `{measure}`")


def _find_outcomes(measure: str, cell: Mapping[str, Any], rows: Sequence[Row]) -> list[bool] | None:
    """Return the binary outcomes of a share; None if the measure is not a share."""
    column, hit = str(cell["basis"]["column"]), cell["basis"].get("hit")
    if measure == "share":
        values = [read_value(row, column) for row in rows]
        return [
            hit in value if isinstance(value, list) else value == hit for value in values if value is not None
        ]
    if measure == "share of verdicts that stay":
        return [
            row["before"] == row["verdict"] for row in rows if None not in (row["before"], row["verdict"])
        ]
    if measure in ("share Perfect by the majority", "share whose steps are all Perfect"):
        given: defaultdict[str, dict[str, list[str | None]]] = defaultdict(lambda: defaultdict(list))
        for row in rows:
            given[row["interaction"]][row["step"]].append(row["verdict"])
        decided = [[_decide(verdicts) for verdicts in steps.values()] for steps in given.values()]
        whole = [steps for steps in decided if None not in steps]
        return [all(steps) for steps in whole]
    return None


def _decide(verdicts: Sequence[str | None]) -> bool | None:
    """Return whether the majority is Perfect; None if fewer than half of the verdicts are readable."""
    given = [verdict for verdict in verdicts if verdict is not None]
    if not given or 2 * len(given) < len(verdicts):
        return None
    return 2 * Counter(given)["Perfect"] > len(given)


def _check_steps(
    place: str, cell: Mapping[str, Any], rows: Sequence[Row], measure: str, folder: Path, checks: Checks
) -> None:
    """Check a share of correct steps: Wilson's interval for one run, a bootstrap over items for several."""
    part = measure.removeprefix("mean").removeprefix(" over ")
    if part:
        items = {row["id"]: row for row in read_table(folder.parent / "items.parquet")}
        kind = part.removeprefix("the items of ")
        rows = [
            row for row in rows if kind in (items[row["item"]]["dataset"], _read_kind(items[row["item"]]))
        ]
    if len({row["run"] for row in rows}) == 1:
        checks.check_wilson(place, cell["interval"], int(sum(row["score"] for row in rows)), len(rows))
    else:
        drawn, clusters = draw_ratio(
            [row["score"] for row in rows], [1] * len(rows), [row["item"] for row in rows]
        )
        checks.check_drawn(place, cell["interval"], drawn, clusters, cell["value"])
    checks.add("n of steps", place, same=cell["n"] == len(rows), told=cell["n"], found=len(rows))


def _read_kind(item: Row) -> str:
    details = json.loads(item["details"] or "{}") if item["details"] else {}
    names = {"sql": "db_id", "ds1000": "library", "toolbench": "api", "hotpotqa": "type"}
    return str(item["gold"] if item["kind"] == "ddxplus" else details.get(names.get(item["kind"], ""), ""))


def _check_pair(
    place: str, cell: Mapping[str, Any], rows: Sequence[Row], measure: str, checks: Checks
) -> None:
    """Check a difference between two methods, or its test, over the seeds and items of both methods."""
    runs = [run for selection in cell["basis"]["rows"] for run in _list(selection["where"]["run"])]
    ordered = sorted(rows, key=lambda row: runs.index(row["run"]))
    sides = list(dict.fromkeys((row["method"], tuple(row["agents"])) for row in ordered))
    first, second = (
        {
            (row["seed"], row["item"]): row["score"]
            for row in rows
            if (row["method"], tuple(row["agents"])) == side
        }
        for side in sides
    )
    both = sorted({*first} & {*second})
    delta = [first[key] - second[key] for key in both]
    drawn, clusters = draw_ratio(delta, [1] * len(both), [item for _, item in both])
    if measure == "paired difference":
        checks.check_drawn(place, cell["interval"], drawn, clusters)
    elif measure == "paired bootstrap":
        checks.check_p(place, cell["value"], drawn, clusters)
    elif measure == "McNemar's exact test":
        a, b = ([side[key] == 1 for key in both] for side in (first, second))
        checks.check_mcnemar(place, cell["value"], a, b)


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _check_holm(tables: Mapping[str, Any], checks: Checks) -> None:
    """Check Holm's correction over a table's pairs, with McNemar's p for one seed, else the bootstrap's p."""
    for key, table in tables.items():
        if key.startswith("pairs"):
            lines = [[cell["value"] for cell in line["cells"]] for line in table["lines"]]
            lines = [cells for cells in lines if cells[4] is not None]
            tested = [cells[4] if cells[3] is None else cells[3] for cells in lines]
            checks.check_holm(
                [f"{key} {n}" for n in range(len(lines))], [cells[5] for cells in lines], tested
            )


def _check_scatter(
    place: str, cell: Mapping[str, Any], rows: Sequence[Row], folder: Path, checks: Checks
) -> None:
    """Check the correlations of valid queries and quality by a bootstrap over whole items."""
    interactions = {row["id"]: row for row in read_table(folder / "interactions.parquet")}
    points = {point["interaction"]: point for point in cell["points"]}
    kept = [row for row in rows if row["interaction"] in points]
    if cell["pearson"] is None:
        return
    queries = np.array(
        [
            sum(
                not query["error"] and query["n_rows"] > 0
                for query in interactions[row["interaction"]]["queries"]
            )
            for row in kept
        ],
        dtype=float,
    )
    quality = np.array(
        [row["score"] if row["score"] is not None else row["label"] == "Match" for row in kept], float
    )
    for name in ("pearson", "spearman"):
        drawn, clusters = draw_coefficient(name, queries, quality, [row["item"] for row in kept])
        checks.check_drawn(f"{place} {name}", cell[f"{name}_interval"], drawn, clusters)


def _check_record(record: Path, figures: Path, checks: Checks) -> None:
    """Check that the intervals in the tables of an assessment's page equal those in figures.json."""
    page, told = read_json(record), read_json(figures)
    for number, table in page["tables"].items():
        for line, told_line in zip(table["lines"], told["tables"][number]["lines"], strict=True):
            for shown, cell in zip(line["cells"], told_line["cells"], strict=True):
                same = shown.get("interval") == cell["interval"]
                checks.add(
                    "cells of the page",
                    f"page, Table {number}",
                    same=same,
                    told=shown,
                    found=cell["interval"],
                )


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path()))
