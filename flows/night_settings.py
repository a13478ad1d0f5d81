"""Read `nightly` of params.yaml: the evaluations that nightly runs repeat, and the schedule."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated
from zoneinfo import ZoneInfo, available_timezones

from cronsim import CronSim, CronSimError
from pydantic import AfterValidator

from flows.discovery import list_evaluating
from flows.settings import get_section, parse_section
from flows.stage import Scope
from tasks.errors import BadInput
from tasks.judging.night_subset import NightSubset
from tasks.judging.nights import AlarmRule
from tasks.settings import Settings, VariableName

FOLDER = "data/nightly"
"""The folder for records of nightly runs; their artifacts are committed to branches."""
BRANCH = "nightly/"
CRON_FIELDS = 5
LABEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
"""Valid labels of nightly runs; a label is the name of a branch and a folder."""


def check_cron(cron: str) -> str:
    """Return a cron schedule unchanged.

    Raises ValueError if the schedule does not have five fields, or never matches a date.
    """
    if len(cron.split()) != CRON_FIELDS:
        raise ValueError(
            f"{cron!r} must have five fields: minute, hour, day of the month, month, day of the week"
        )
    try:
        next(CronSim(cron, datetime.now(UTC)))
    except (CronSimError, StopIteration) as error:
        what = str(error).lower() or "no such day"
        raise ValueError(f"{cron!r} never matches a date: {what}") from None
    return cron


def check_timezone(name: str) -> str:
    """Return the name of a time zone unchanged. Raises ValueError if the time zone does not exist."""
    if name not in available_timezones():
        raise ValueError(f"{name!r} is not a time zone such as UTC or Europe/Berlin")
    return name


class Webhook(Settings):
    """The webhook that receives alarms."""

    url_env: VariableName | None = None
    """The environment variable that contains the URL; null sends no alarms."""


class Nightly(Settings):
    """`nightly` in params.yaml: the evaluations that nightly runs repeat, and the schedule."""

    assessments: tuple[str, ...] = ()
    """Entries to evaluate: names (`films-weak`) or full names if ambiguous (`ragcheck.correctness.mtrag`)."""
    baselines: bool = False
    """Whether to call the baselines again; if false, their answers are read from the ledger."""
    cron: Annotated[str, AfterValidator(check_cron)] = "0 3 * * *"
    """The schedule of `nightly serve` and of the deployment in prefect.yaml."""
    timezone: Annotated[str, AfterValidator(check_timezone)] = "UTC"
    """The time zone of the schedule, by its IANA name: `Europe/Berlin`."""
    alarm: AlarmRule = AlarmRule()
    subset: NightSubset | None = None
    """Settings that select the items of each nightly run; null evaluates all items in every run."""
    webhook: Webhook = Webhook()


def describe_schedule(nightly: Nightly, now: datetime) -> str:
    """Describe the schedule of nightly runs, and the time of the next run."""
    following = next(CronSim(nightly.cron, now.astimezone(ZoneInfo(nightly.timezone))))
    return f"{nightly.cron!r}, {nightly.timezone} (next {following:%a %d %b %Y, %H:%M})"


@dataclass(frozen=True)
class EvaluatedEntry:
    """An entry of params.yaml that evaluates systems.

    `name`: the entry's name in `nightly`. `key`: the entry's key in the section of `scope`.
    """

    name: str
    scope: Scope
    key: str


def read_nightly(params: Mapping[str, object]) -> Nightly:
    """Read `nightly` of params.yaml. Raises BadInput if `nightly` lists no entries, or an unknown entry."""
    nightly = parse_section(params, "nightly", Nightly)
    if not nightly.assessments:
        there = ", ".join(list_evaluations(params)) or "none yet"
        raise BadInput(
            "params.yaml: nightly.assessments", f"is empty: list the evaluations to repeat (known: {there})"
        )
    for name in nightly.assessments:
        find_evaluation(params, name)
    return nightly


def list_evaluations(params: Mapping[str, object]) -> list[str]:
    """List the entries that evaluate systems, sorted; ambiguous names are replaced by full names."""
    scopes = list_evaluating()
    entries = [(scope.over, str(key)) for scope in scopes for key in get_section(params, scope.over)]
    counts = Counter(key for _, key in entries)
    return sorted(f"{over}.{key}" if counts[key] > 1 else key for over, key in entries)


def find_evaluation(params: Mapping[str, object], name: str) -> EvaluatedEntry:
    """Find the entry that a name in `nightly` refers to. Raises BadInput unless exactly one entry matches."""
    found = [
        EvaluatedEntry(name, scope, str(key))
        for scope in list_evaluating()
        for key in get_section(params, scope.over)
        if name in (key, f"{scope.over}.{key}")
    ]
    if len(found) == 1:
        return found[0]
    there = ", ".join(list_evaluations(params)) or "none yet"
    what = f"{name!r} is an entry in several sections" if found else f"{name!r} is not an evaluation"
    raise BadInput("params.yaml: nightly.assessments", f"{what} (known: {there})")


def require_label(label: str) -> str:
    """Return the label of a nightly run unchanged. Raises BadInput if the label is invalid."""
    # Git does not allow these names for branches.
    if not LABEL.fullmatch(label) or ".." in label or label.endswith((".", ".lock")):
        raise BadInput(
            f"--as-of {label}", "is not a valid label: use at most 64 letters, digits, dots and dashes"
        )
    return label
