"""Build the systems under test that an entry names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from tasks.artifacts.parquet import read_rows
from tasks.errors import BadInput
from tasks.models.ask import Ask
from tasks.systems.build import SystemEntry, build_system
from tasks.systems.contract import Document, System


def build_systems(
    names: Sequence[str], entries: Mapping[str, SystemEntry], corpus: Path, ask: Ask
) -> tuple[list[System], set[str]]:
    """Build systems by name; return the systems, and the ids of all documents that a system may retrieve.

    entries: the section `systems` of params.yaml. corpus: Parquet file of the documents. Raises BadInput if a
    system is missing from params.yaml.
    """
    documents = read_rows(corpus, Document)
    for name in names:
        if name not in entries:
            known = ", ".join(sorted(entries)) or "none"
            raise BadInput(f"params.yaml: systems.{name}", f"is missing (known: {known})")
    built = [build_system(name, entries[name], documents, ask) for name in names]
    return built, {document.id for document in documents}
