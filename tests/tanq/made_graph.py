"""A fictitious graph of five countries with known answers, as an imported folder.

Varn borders Ostel, Pell and Mirr; Ostel and Pell speak Ostish, Mirr and Tolo speak Mirrian; Varn, Ostel and
Pell are in North, Mirr and Tolo in South.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tasks.artifacts.parquet import write_rows
from tasks.sources.wikidata.entities import Sitelink
from tasks.sources.wikidata.rows import ClaimRow, EntityRow, ValueRow
from tasks.sources.wikidata.values import Text
from tasks.tanq.entries import GraphSource, RelationWords

LANDS = ("Varn", "Ostel", "Pell", "Mirr", "Tolo")
BORDERS = {
    "Varn": ("Ostel", "Pell", "Mirr"),
    "Ostel": ("Varn", "Pell"),
    "Pell": ("Varn", "Ostel"),
    "Mirr": ("Varn",),
}
LANGUAGE = {"Ostel": "Ostish", "Pell": "Ostish", "Mirr": "Mirrian", "Tolo": "Mirrian"}
PART = {"Varn": "North", "Ostel": "North", "Pell": "North", "Mirr": "South", "Tolo": "South"}
PROPERTIES = {"P31": "instance of", "P30": "continent", "P36": "capital", "P37": "official language",
              "P47": "shares border with", "P571": "inception", "P2046": "area"}  # fmt: skip
KM2 = "Q712226"


def write_graph(folder: Path, *more: ClaimRow, without: tuple[str, ...] = ()) -> GraphSource:
    """Write the graph. without: entities to omit; their claims are written."""
    claims = [*list_claims(), *more]
    names = {claim.value.item for claim in claims if claim.value.item} | {claim.entity for claim in claims}
    entities = [make_entity(name) for name in sorted(names - set(without))]
    entities += [make_entity(name, label, kind="property") for name, label in PROPERTIES.items()]
    folder.mkdir(parents=True, exist_ok=True)
    write_rows(folder / "entities.parquet", EntityRow, entities)
    write_rows(folder / "claims.parquet", ClaimRow, claims)
    return GraphSource(
        graph=folder,
        articles=folder,
        seeds=folder,
        relations=dict.fromkeys(PROPERTIES.keys() - {"P31"}) | {"P47": RelationWords(condition="border {}")},
        nouns={"Land": "lands", "City": "cities"},
        incomplete=("City",),
    )


def list_claims() -> list[ClaimRow]:
    claims = []
    for name in LANDS:
        claims += [
            item(name, "P31", "Land"),
            item(name, "P36", f"{name} City"),
            item(name, "P30", PART[name]),
        ]
        claims += [item(f"{name} City", "P31", "City"), item(f"{name} City", "P30", PART[name])]
        claims += [item(name, "P47", other) for other in BORDERS.get(name, ())]
        claims += [item(name, "P37", LANGUAGE[name])] if name in LANGUAGE else []
        claims.append(
            make_claim(name, "P2046", ValueRow("quantity", amount="1500.50", number=1500.5, unit=KM2))
        )
    return claims


def item(entity: str, name: str, value: str, **more: Any) -> ClaimRow:
    return make_claim(entity, name, ValueRow("item", item=value), **more)


def make_claim(entity: str, name: str, value: ValueRow, rank: str = "normal", position: int = 0) -> ClaimRow:
    place = value.item or value.amount or value.text or str(value.year)
    return ClaimRow(f"{entity}/{name}/{place}/{rank}", entity, name, position, rank, value, ())


def make_entity(name: str, label: str = "", kind: str = "item") -> EntityRow:
    links = (Sitelink("enwiki", name),) if kind == "item" else ()
    return EntityRow(name, kind, None, (Text(label or name, "en"),), (), links, ())
