"""Whether a system under test retrieves from a corpus of ours, and so needs documents."""

from __future__ import annotations

from tasks.errors import BadInput
from tasks.systems.entries import RagEntry, SystemEntry


def needs_documents(entry: SystemEntry) -> bool:
    """Tell whether a system retrieves from a corpus of ours."""
    return isinstance(entry, RagEntry) and entry.retriever != "none"


def check_documents(name: str, entry: SystemEntry, given: bool, found: bool) -> None:
    """Hold that a system that retrieves has a corpus, and that no other is given one. Raises BadInput."""
    if needs_documents(entry) and not found:
        raise BadInput(
            f"systems.{name}",
            "retrieves, and there are no documents",
            hint="--documents PATH, a file or folder",
        )
    if given and not needs_documents(entry):
        raise BadInput("--documents", f"the system {name!r} does not retrieve from documents of ours")
