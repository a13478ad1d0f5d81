"""Pages for which the sample has no artifacts, made from small scripted data by the stages' code."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tasks.errors import BenchloomError
from tasks.judging.answered import Answered, Scored
from tasks.judging.comparison import ScoredSystem, compare_scored_systems
from tasks.judging.nights import AlarmRule, Night, judge_series, list_alarms, list_series
from tasks.reports import night
from tests.ragcheck.scenes import RagProject, make_project

NIGHTS = {"monday": 0, "tuesday": 1, "wednesday": 0, "thursday": 9, "friday": 1}
"""Number of additional wrong answers per night, of 40."""
PAGES = ("trial-correctness", "trial-continuity")


@contextmanager
def stage_ragcheck(folder: Path) -> Iterator[RagProject]:
    """Create a ragcheck project with a separate ledger in an empty folder, and change to the folder.

    The stages start an event loop, so no browser may be open.
    """
    before, ledger = Path.cwd(), os.environ.get("BENCHLOOM_LEDGER")
    os.environ["BENCHLOOM_LEDGER"] = str(folder / "ledger.sqlite")
    try:
        with make_project(folder / "project") as project:
            os.chdir(project.root)
            yield project
    finally:
        os.chdir(before)
        os.environ.pop("BENCHLOOM_LEDGER")
        if ledger is not None:
            os.environ["BENCHLOOM_LEDGER"] = ledger


def run_ragcheck(project: RagProject) -> Path:
    """Run both parts of ragcheck; return the folder of their pages."""
    project.run()
    for error in project.errors.values():
        raise BenchloomError(str(error)) from error
    return project.root / "data/reports/ragcheck"


def write_nights(out: Path, name: str = "films-weak", titles: str = "") -> None:
    """Write the page of five nightly runs; the fourth has an alarm. titles: text after every label."""
    history: list[Night] = []
    earlier: list[ScoredSystem] = []
    against = None
    rule = AlarmRule(draws=500)
    for label, wrong in NIGHTS.items():
        scores = {f"q{number}": float(number >= 12 + wrong) for number in range(40)}
        answers = [
            (Scored(case, f"g{int(case[1:]) % 12}", value), Answered(case, case, "", "accuracy", "", "", ""))
            for case, value in scores.items()
        ]
        scored_system = ScoredSystem("assessments", name, "weak", answers)
        comparison = compare_scored_systems([(before, scored_system) for before in earlier], draws=rule.draws)
        series = judge_series(list_series([scored_system]), comparison, (), rule)
        alarms = tuple(list_alarms(series, (), (), rule))
        history.append(
            Night(label + titles, against, "alarm" if alarms else "accepted", alarms, tuple(series))
        )
        if not alarms:
            earlier, against = [scored_system], label
    night.write_nights(out, history)
