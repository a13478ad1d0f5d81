"""Count and list the data that a Wikidata reader could not use, with reason and position."""

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
    """A skipped entity or statement, or `count` values of a property that were skipped for the same reason.

    - `where`: the position of the first skipped value.
    - `rank`: the statement's rank; empty if unknown.
    - `value`: the item in the statement; empty if unreadable.
    - `statements`: for a row without an id, the property and value of each statement; values may be empty.
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
    """Collects skipped data. Memory use grows with the number of properties, not with the size of the data.

    `write`: called with each line of JSON, without the line break.
    """

    def __init__(self, write: Callable[[str], None] = lambda line: None) -> None:
        self._write = write
        self._kept_out: dict[tuple[str, str, str], SkippedEntity] = {}
        self._kept_counts: Counter[tuple[str, str, str]] = Counter()
        self.counts: Counter[str] = Counter()
        """Reason -> number of skipped entities and statements."""
        self.not_asked = 0
        """Number of entities that were read but not selected."""
        self.foreign = ""
        """Host name of another Wikibase whose items are used as units or globes, or an empty string."""
        self.redirects: dict[str, str] = {}
        """Id of a redirect -> id of the entity that it redirects to."""

    def skip(self, skipped: SkippedEntity) -> None:
        """Count and write one skipped entity or statement."""
        self.counts[skipped.reason] += skipped.count
        short = replace(skipped, entity=skipped.entity[:40], detail=skipped.detail[:LONGEST])
        record = {name: value for name, value in asdict(short).items() if value not in ("", None, ())}
        # Names may contain lone surrogates, which can be written only as escapes.
        self._write(json.dumps(record, ensure_ascii=True))

    def keep_out(self, reason: str, where: str, entity: str, name: str, detail: str, count: int = 1) -> None:
        """Count values that are valid but not imported.

        `finish` writes one line per reason, property and detail.
        """
        key = (reason, name, detail)
        self._kept_counts[key] += count
        if key not in self._kept_out:
            self._kept_out[key] = SkippedEntity(reason, where, entity, name, detail)

    def list_redirects(self) -> dict[str, list[str]]:
        """Map each entity's id to the ids that redirect to the entity; circular redirects are ignored."""
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
        """Return the records that `finish` writes, each with its number of values.

        There is one record per reason, property and detail.
        """
        return [
            replace(skipped, count=self._kept_counts[key]) for key, skipped in sorted(self._kept_out.items())
        ]

    def finish(self) -> None:
        """Write one line per reason, property and detail for the values that were not imported."""
        for skipped in self.list_kept_out():
            self.skip(skipped)
        self._kept_out.clear()
        self._kept_counts.clear()
