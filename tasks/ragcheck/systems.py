"""Build the systems under test that an entry names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tasks.errors import BadInput
from tasks.models.ask import Ask
from tasks.systems.build import SystemEntry, build_system
from tasks.systems.contract import Document, System


def build_systems(
    names: Sequence[str], entries: Mapping[str, SystemEntry], corpus: Sequence[Document], ask: Ask
) -> list[System]:
    """Build systems by name. entries: `systems:` of params.yaml. Raises BadInput if one is missing there."""
    for name in names:
        if name not in entries:
            known = ", ".join(sorted(entries)) or "none"
            raise BadInput(f"params.yaml: systems.{name}", f"is missing (there: {known})")
    return [build_system(name, entries[name], corpus, ask) for name in names]
