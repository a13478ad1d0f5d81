"""Count and list what a Wikidata reader could not use, with reason and position."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace

LONGEST = 300
UNKNOWN_VALUE, NO_VALUE = "unknown value", "no value"
OTHER_TYPE = "value of another type"
NO_LABEL = "no label"
MISSING = "no such entity"
NO_ID = "no item id"
LIKE_NAMED = "row without an id of the same label"


@dataclass(frozen=True)
class SkippedEntity:
    """A thing that was skipped, or `count` values of a property for the same reason, from this place on.

    rank: of a statement, empty if it is not known. value: the item that a statement names, if that much was
    read. statements: property and value of each statement of a thing without an id; a value may be empty.
    """

    reason: str
    where: str
    entity: str = ""
    property: str = ""
    detail: str = ""
    count: int = 1
    rank: str = ""
    value: str = ""
    statements: Sequence[Sequence[str]] = ()


class ReadingReport:
    """Collects what is skipped; memory is bounded by the number of properties, not by the data.

    write: takes each line of JSON, without its end.
    """

    def __init__(self, write: Callable[[str], None] = lambda line: None) -> None:
        self._write = write
        self._kept_out: dict[tuple[str, str, str], SkippedEntity] = {}
        self._kept_counts: Counter[tuple[str, str, str]] = Counter()
        self.counts: Counter[str] = Counter()
        """Skipped things by reason."""
        self.not_asked = 0
        """Entities that were read and not asked for."""
        self.foreign = ""
        """The host of another Wikibase whose items are units or globes here; empty where there is none."""
        self.redirects: dict[str, str] = {}
        """Id that was asked for -> id of the entity that it has become."""

    def skip(self, skipped: SkippedEntity) -> None:
        """Count and write one skipped thing."""
        self.counts[skipped.reason] += skipped.count
        short = replace(skipped, entity=skipped.entity[:40], detail=skipped.detail[:LONGEST])
        record = {name: value for name, value in asdict(short).items() if value not in ("", None, ())}
        self._write(json.dumps(record, ensure_ascii=True))

    def keep_out(self, reason: str, where: str, entity: str, name: str, detail: str, count: int = 1) -> None:
        """Count sound values that are not taken; `finish` writes one line for all of a property."""
        key = (reason, name, detail)
        self._kept_counts[key] += count
        if key not in self._kept_out:
            self._kept_out[key] = SkippedEntity(reason, where, entity, name, detail)

    def list_redirects(self) -> dict[str, list[str]]:
        """List the old ids of each entity that redirects end at; a circle of redirects ends nowhere."""
        old: defaultdict[str, list[str]] = defaultdict(list)
        for name in sorted(self.redirects):
            seen, target = {name}, self.redirects[name]
            while target in self.redirects and target not in seen:
                seen.add(target)
                target = self.redirects[target]
            if target not in seen:
                old[target].append(name)
        return dict(old)

    def list_kept_out(self) -> list[SkippedEntity]:
        """List what `finish` would write."""
        return [
            replace(skipped, count=self._kept_counts[key]) for key, skipped in sorted(self._kept_out.items())
        ]

    def finish(self) -> None:
        """Write the lines of what was kept out."""
        for skipped in self.list_kept_out():
            self.skip(skipped)
        self._kept_out.clear()
        self._kept_counts.clear()
