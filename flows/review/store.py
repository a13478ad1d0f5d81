"""Merge decisions into an artifact's file under data/labels/review, one process at a time."""

from __future__ import annotations

import fcntl
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from tasks.judging.decisions import Decision, Decisions, load_decisions, name_decisions, write_decisions

FOLDER = Path("data/labels/review")
# A separate file: each write replaces the file of decisions, and with it any lock on that file.
LOCK = Path(".benchloom/review.lock")
STEP = timedelta(microseconds=1)
"""Minimum interval between a decision and its replacement."""


@dataclass(frozen=True)
class Merged:
    """The result of merging decisions."""

    decisions: Decisions
    new: int = 0
    """Number of decisions on items that the reviewer had not decided on before."""
    changed: int = 0
    """Number of decisions that replaced earlier decisions."""
    unchanged: int = 0
    older: int = 0
    """Number of decisions older than the stored decisions; older decisions are stored only as history."""


def find_file(root: Path, artifact: str) -> Path:
    """Return the path of an artifact's file of decisions, which may not exist yet."""
    return root / FOLDER / name_decisions(artifact)


def record_decisions(root: Path, artifact: str, incoming: Iterable[Decision], now: datetime) -> Merged:
    """Merge decisions into the file of their artifact. Raises BadInput if the file cannot be read.

    A decision without a time (`at` empty) gets the current time, and counts as later than the reviewer's
    previous decisions on the item.
    """
    path = find_file(root, artifact)
    with _lock(root / LOCK):
        merged = merge_decisions(load_decisions(path), incoming, now)
        if merged.new or merged.changed or merged.older:
            write_decisions(path, merged.decisions.history)
    return merged


def merge_decisions(stored: Decisions, incoming: Iterable[Decision], now: datetime) -> Merged:
    """Add decisions to the stored decisions; only a reviewer's last decision on an item counts."""
    known = set(map(repr, stored.history))
    added: list[Decision] = []
    counts = {"new": 0, "changed": 0, "unchanged": 0, "older": 0}
    for decision in incoming:
        current = stored.current.get(decision.item, {}).get(decision.reviewer)
        is_timed = bool(decision.at)
        dated = decision if is_timed else replace(decision, at=format_time(now))
        if current is None:
            counts["new"] += 1
        elif repr(dated) in known or replace(dated, at=current.at) == current:
            counts["unchanged"] += 1
            continue
        elif is_timed and dated.at < current.at:
            counts["older"] += 1
        else:
            counts["changed"] += 1
            if dated.at <= current.at:
                # The decision that arrives last is valid: a form may contain only a date, and a clock may be
                # set back.
                dated = replace(dated, at=format_time(parse_time(current.at) + STEP))
        added.append(dated)
    return Merged(Decisions(tuple(sorted([*stored.history, *added], key=_by_person))), **counts)


def format_time(moment: datetime) -> str:
    """Format a time for a decision: UTC, with microseconds."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def parse_time(text: str) -> datetime:
    """Parse a time in ISO 8601; a time without a zone is in UTC. Raises ValueError for any other text."""
    moment = datetime.fromisoformat(text)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _by_person(act: Decision) -> tuple[str, str, str]:
    return act.item, act.reviewer, act.at


@contextmanager
def _lock(path: Path) -> Iterator[None]:
    """Hold an exclusive lock during a merge; the kernel releases the lock of a killed process."""
    path.parent.mkdir(mode=0o700, exist_ok=True)
    with path.open("a") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        yield
