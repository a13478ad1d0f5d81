"""Collect the entities and claims of a graph for the sample data, and write them to files."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from decimal import Decimal
from pathlib import Path

from tasks.artifacts.parquet import StoredRows, write_rows
from tasks.files import write_text
from tasks.sources.wikidata.entities import Sitelink
from tasks.sources.wikidata.rows import ClaimRow, EntityRow, ValueRow, make_value_row
from tasks.sources.wikidata.values import ItemValue, Quantity, Text, Time, Value

ENGLISH = "en"


class GraphDraft:
    """Collects entities and claims. Adding an existing entity or claim again changes nothing."""

    def __init__(self, folder: Path | None = None) -> None:
        """Start empty, or from the graph that an earlier stage wrote to `folder`."""
        self._entities: dict[str, EntityRow] = {}
        self._values: dict[tuple[str, str], list[ValueRow]] = {}
        if folder is not None:
            self._entities |= {row.id: row for row in StoredRows(folder / "entities.parquet", EntityRow)}
            claims = StoredRows(folder / "claims.parquet", ClaimRow)
            for claim in sorted(claims, key=lambda row: (row.entity, row.property, row.position)):
                self._values.setdefault((claim.entity, claim.property), []).append(claim.value)

    def __contains__(self, name: str) -> bool:
        return name in self._entities

    def add_thing(
        self, name: str, label: str, aliases: Iterable[str] = (), article: str = "", kind: str = "item"
    ) -> str:
        """Add an entity with the id `name`, unless this id already exists; return the id.

        `article`: the title of its Wikipedia article; empty if there is none. `kind`: `item` or `property`.
        """
        others = tuple(Text(alias, ENGLISH) for alias in sorted({*aliases} - {label, ""}))
        links = (Sitelink("enwiki", article),) if article else ()
        row = EntityRow(name, kind, None, (Text(label, ENGLISH),), others, links, ())
        self._entities.setdefault(name, row)
        return name

    def add_claim(self, entity: str, prop: str, value: Value) -> None:
        """Add a claim, unless the graph already has an equal claim."""
        values = self._values.setdefault((entity, prop), [])
        row = make_value_row(value)
        if row not in values:
            values.append(row)

    def link(self, entity: str, prop: str, *others: str) -> None:
        """For each entity in `others`, add a claim with that entity as its value."""
        for other in others:
            self.add_claim(entity, prop, ItemValue(other))

    def measure(self, entity: str, prop: str, amount: Decimal | None, unit: str | None = None) -> None:
        """Add a claim with an amount; skip None and 0, which mean an unknown amount in the packages."""
        if amount is not None and amount > 0:
            self.add_claim(entity, prop, Quantity(amount, unit))

    def date(self, entity: str, prop: str, time: Time) -> None:
        """Add a claim whose value is a date."""
        self.add_claim(entity, prop, time)

    def write(self, folder: Path, about: dict[str, object], left_out: Counter[str]) -> int:
        """Write entities.parquet, claims.parquet and about.json; return the number of claims.

        `about`: the fields of about.json without the counts. `left_out`: reason -> number of entries
        that were left out.
        """
        claims = [
            ClaimRow(f"{entity}${prop}${position}", entity, prop, position, "normal", value, ())
            for (entity, prop), values in self._values.items()
            for position, value in enumerate(values)
        ]
        folder.mkdir(parents=True, exist_ok=True)
        write_rows(folder / "entities.parquet", EntityRow, self._entities.values())
        write_rows(folder / "claims.parquet", ClaimRow, claims)
        counts = {
            "entities": len(self._entities),
            "claims": len(claims),
            "left_out": dict(sorted(left_out.items())),
        }
        write_text(
            folder / "about.json",
            json.dumps({**about, "counts": counts}, ensure_ascii=False, indent=2) + "\n",
        )
        return len(claims)
