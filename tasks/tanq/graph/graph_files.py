"""The two tables of an imported graph: entities.parquet and claims.parquet (docs/wikidata.md)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

from tasks.artifacts.parquet import StoredRows
from tasks.errors import BadInput
from tasks.sources.wikidata.rows import ClaimRow, EntityRow
from tasks.sources.wikidata.values import Text

Row = TypeVar("Row")
ENGLISH, WIKI = "en", "enwiki"
INSTANCE_OF = "P31"


def read_entities(folder: Path) -> Iterator[EntityRow]:
    """Yield the entities of a graph. Raises BadInput for a folder that is none."""
    return _read(folder / "entities.parquet", EntityRow)


def read_claims(folder: Path) -> Iterator[ClaimRow]:
    """Yield the claims of a graph. Raises BadInput for a folder that is none."""
    return _read(folder / "claims.parquet", ClaimRow)


def find_label(texts: Iterable[Text]) -> str:
    """Return the English text of several; empty if there is none."""
    return next((own.text for own in texts if own.language == ENGLISH), "")


def find_article(entity: EntityRow) -> str:
    """Return the title of an entity's article in the English Wikipedia; empty if there is none."""
    return next((link.title for link in entity.sitelinks if link.site == WIKI), "")


def pick_best(claims: Sequence[ClaimRow]) -> list[ClaimRow]:
    """Pick the claims of the best rank there is, as Wikidata's own truthy statements are."""
    preferred = [claim for claim in claims if claim.rank == "preferred"]
    return preferred or [claim for claim in claims if claim.rank == "normal"]


def _read(path: Path, row: type[Row]) -> Iterator[Row]:
    if not path.is_file():
        raise BadInput(path, "is not there", hint="`benchloom import wikidata` writes it; see docs/tanq.md")
    return iter(StoredRows(path, row))
