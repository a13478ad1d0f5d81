"""Read the tables of an imported graph: entities.parquet and claims.parquet (docs/wikidata.md)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from tasks.artifacts.parquet import StoredRows
from tasks.errors import BadInput
from tasks.sources.wikidata.languages import MUL, pick_label
from tasks.sources.wikidata.report import SkippedEntity
from tasks.sources.wikidata.rows import ClaimRow, EntityRow
from tasks.sources.wikidata.values import Text

Row = TypeVar("Row")
ENGLISH, WIKI = "en", "enwiki"
INSTANCE_OF = "P31"


def read_entities(folder: Path) -> Iterator[EntityRow]:
    """Yield the entities of a graph. Raises BadInput if the folder is not a graph."""
    return _read(folder / "entities.parquet", EntityRow)


def read_claims(folder: Path) -> Iterator[ClaimRow]:
    """Yield the claims of a graph. Raises BadInput if the folder is not a graph."""
    return _read(folder / "claims.parquet", ClaimRow)


def follow_redirects(claims: Iterable[ClaimRow], redirects: Mapping[str, str]) -> Iterator[ClaimRow]:
    """Yield the claims, with redirected entity ids in their values replaced by the current ids."""
    for claim in claims:
        target = redirects.get(claim.value.item or "")
        yield replace(claim, value=replace(claim.value, item=target)) if target else claim


def read_skipped(folder: Path) -> Iterator[SkippedEntity]:
    """Yield the records that the import of a graph skipped, if the graph has a skipped.jsonl file.

    Raises BadInput if a line of the file is not a valid record.
    """
    path = folder / "skipped.jsonl"
    if not path.is_file():
        return
    with path.open(encoding="utf-8") as file:
        for number, line in enumerate(file, start=1):
            try:
                yield SkippedEntity(**json.loads(line))
            except (ValueError, TypeError) as error:
                hint = "import the graph again; see docs/wikidata.md"
                raise BadInput(
                    path, f"was not written by an import: {error}", line=number, hint=hint
                ) from error


def find_label(texts: Iterable[Text]) -> str:
    """Return the English label, or a fallback in another language; empty if there is no label."""
    label = pick_label(texts, ENGLISH)
    return label.text if label else ""


def list_aliases(texts: Iterable[Text]) -> tuple[str, ...]:
    """List the aliases in English, and the aliases for all languages (`mul`)."""
    return tuple(dict.fromkeys(text.text for text in texts if text.language in (ENGLISH, MUL)))


def find_article(entity: EntityRow) -> str:
    """Return the title of an entity's article in the English Wikipedia; empty if there is no article."""
    return next((link.title for link in entity.sitelinks if link.site == WIKI), "")


def find_best_rank(ranks: Iterable[str]) -> str:
    """Return the rank of truthy statements: `preferred` if it is among the ranks, otherwise `normal`."""
    return "preferred" if "preferred" in ranks else "normal"


def _read(path: Path, row: type[Row]) -> Iterator[Row]:
    if not path.is_file():
        raise BadInput(path, "does not exist", hint="`benchloom import wikidata` writes it; see docs/tanq.md")
    return iter(StoredRows(path, row))
