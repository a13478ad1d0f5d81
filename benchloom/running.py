"""Run, plan, evaluate, score and compare from Python, with typed results.

Each function runs the command of the same name in a separate process. Your notebook, test or Prefect task
thus keeps its event loop, its Prefect settings and its imports. Keyword arguments are the command's
options: `budget_usd=1.5` means `--budget-usd 1.5`, `True` sets a flag, and a list repeats an option.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchloom.results import (
    CommandFailed,
    ComparisonResult,
    EvaluationResult,
    PlanResult,
    RunResult,
    ScoreResult,
    list_figures,
    make_span,
    read_comparison,
)

LOCAL = ("out", "items", "dataset", "answers", "documents", "databases")
"""Options whose value is a path relative to the caller's folder, not to `place`."""
DONE, PARTLY = 0, 1
"""Exit codes of a command that succeeded completely or partly."""
WRITTEN = "written to "
"""Beginning of the line in which `benchloom evaluate` prints the path of a system's output folder.

The command prints one such line per system, in order.
"""
COUNTS = ("n_scored", "n_failed", "n_skipped", "n_unreadable")


def run(*targets: str, place: str | Path = ".", plain: bool = True, **options: Any) -> RunResult:
    """Bring artifacts up to date, as `benchloom run` does.

    `targets`: flows, stages or entries; by default all stages. `plain`: run without Prefect, so that your
    Prefect settings are not used. Raises CommandFailed if the command is refused or ends early. If a stage
    fails, the result is incomplete.
    """
    code, _, said = call(("run", *targets), place, {"plain": plain, **options})
    _, stages, _ = call(("status", *targets), place, {"all": True, "json": True})
    return RunResult(code == DONE, said, tuple(json.loads(stages)))


def plan(*targets: str, place: str | Path = ".", **options: Any) -> PlanResult:
    """Estimate the work and cost of `run`, as `benchloom plan` does, without calling a model.

    Raises CommandFailed if the command is refused.
    """
    code, text, said = call(("plan", *targets), place, {"json": True, **options})
    found = json.loads(text)
    calls, tokens, usd = (make_span(found[name]) for name in ("calls", "tokens", "usd"))
    seconds = make_span(found["seconds"]) if found["seconds"] else None
    stages = tuple(found["stages"])
    return PlanResult(code == DONE, said, stages, calls, found["recorded"], tokens, usd, seconds)


def score(metric: str, predictions: Any, *, place: str | Path = ".", **options: Any) -> ScoreResult:
    """Score your own predictions, as `benchloom score` does; no project is needed.

    `predictions`: a path (.jsonl, .csv, .tsv, .parquet), a pandas.DataFrame, or an iterable of mappings, one
    per item. Raises CommandFailed if no prediction is readable. If some items failed, the result is
    incomplete.
    """
    if isinstance(predictions, str | os.PathLike):
        code, text, said = call(
            ("score", metric, str(Path(predictions).absolute())), place, {"json": True, **options}
        )
    else:
        lines = "\n".join(write_items(predictions))
        code, text, said = call(("score", metric, "-"), place, {"json": True, **options}, lines)
    found = json.loads(text)
    head = {name: found.pop(name) for name in ("metric", "rule", "n", *COUNTS)}
    figures: dict[str, float | None] = {}
    intervals: dict[str, tuple[float, float]] = {}
    for name, value, interval in list_figures(found, ""):
        figures[name] = value
        if interval is not None:
            intervals[name] = (interval[0], interval[1])
    return ScoreResult(code == DONE, said, figures=figures, intervals=intervals, **head)


def compare(
    a: str | Path, b: str | Path, *more: str | Path, place: str | Path = ".", **options: Any
) -> ComparisonResult:
    """Compare systems, entries, nightly runs, revisions or output folders of `evaluate` pairwise.

    The function runs `benchloom compare`. Raises CommandFailed if a side is not found, or if the sides have
    no items in common.
    """
    _, text, said = call(("compare", *map(str, (a, b, *more))), place, {"json": True, **options})
    return read_comparison(json.loads(text), said)


def evaluate(flow: str, *words: str | Path, place: str | Path = ".", **options: Any) -> EvaluationResult:
    """Run your systems on a dataset's questions and judge the answers, as `benchloom evaluate` does.

    `system=["a", "b"]` and `model=[...]` name several systems, which are then compared. Raises CommandFailed
    if the command is refused or ends early. If some answers failed, the result is incomplete.
    """
    code, text, said = call(("evaluate", flow, *map(str, words)), place, {"json": True, **options})
    found = json.loads(text)
    documents = found["systems"] if "compared" in found else [found]
    compared = read_comparison(found["compared"], ()) if "compared" in found else None
    written = [line.removeprefix(WRITTEN) for line in said if line.startswith(WRITTEN)]
    names = [str(document["system"]) for document in documents]
    folders = {name: Path(place) / folder for name, folder in zip(names, written, strict=True)}
    return EvaluationResult(code == DONE, said, dict(zip(names, documents, strict=True)), folders, compared)


def assert_no_regression(
    before: str | Path,
    after: str | Path,
    *,
    drop: float = 0.0,
    metrics: Iterable[str] = (),
    place: str | Path = ".",
    **options: Any,
) -> ComparisonResult:
    """Raise AssertionError if a metric dropped significantly from `before` to `after` by more than `drop`.

    The function is for tests. The message has one line per metric, with the drop, its interval and its p
    value. A drop is significant if its p value after Holm's correction is below alpha. The field `detectable`
    of a change is the smallest true drop that the comparison can detect. Raises CommandFailed as `compare`
    does.
    """
    found = compare(before, after, place=place, **options)
    fallen = found.list_regressions(drop, metrics)
    lines = [
        f"{change.metric} of {change.b}: {change.mean_a:.3f} -> {change.mean_b:.3f} "
        f"over {change.n_pairs} items (95% interval of the difference {show(change.low)} to "
        f"{show(change.high)}, p {change.adjusted:.4f})"
        for change in fallen
    ]
    if lines:
        raise AssertionError("\n".join(lines))
    return found


def show(value: float | None) -> str:
    """Format a bound of an interval with its sign and three decimals; None becomes `not known`."""
    return "not known" if value is None else f"{value:+.3f}"


def call(
    words: Sequence[str], place: str | Path, options: Mapping[str, Any], given: str | None = None
) -> tuple[int, str, tuple[str, ...]]:
    """Run a command in a folder; return its exit code, its stdout, and the lines of its stderr.

    `given`: text for the command's stdin. Raises CommandFailed for every exit code except 0 (done) and 1
    (done with failures), and if the command does not print the JSON that `options` request.
    """
    command = [sys.executable, "-m", "benchloom", *words, *write_options(options)]
    done = subprocess.run(  # noqa: S603 - the caller's own words, no shell
        command, cwd=place, input=given or "", capture_output=True, text=True, check=False
    )
    lines = tuple(line.removeprefix("benchloom: ") for line in done.stderr.splitlines() if line.strip())
    # Exit code 1 also means that a command failed; such a command prints no JSON.
    if done.returncode not in (DONE, PARTLY) or ("json" in options and not done.stdout.strip()):
        raise CommandFailed(done.returncode, lines)
    return done.returncode, done.stdout, lines


def write_options(options: Mapping[str, Any]) -> Iterator[str]:
    """Yield keyword arguments as options: True sets a flag, a list repeats an option, None is omitted."""
    for name, value in options.items():
        flag = f"--{name.rstrip('_').replace('_', '-')}"
        values = value if isinstance(value, list | tuple) else [value]
        for value in values:
            if value is True:
                yield flag
            elif value is not None and value is not False:
                yield flag
                yield str(Path(value).absolute()) if name in LOCAL else str(value)


def write_items(predictions: Any) -> Iterator[str]:
    """Yield items as JSON Lines. Missing cells of a DataFrame become null."""
    if hasattr(predictions, "to_json"):
        yield predictions.to_json(orient="records", lines=True, force_ascii=False)
        return
    for item in predictions:
        yield json.dumps(item, ensure_ascii=False)
