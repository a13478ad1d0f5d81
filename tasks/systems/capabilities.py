"""What a system under test can do by its entry: retrieve from a corpus of ours, search without answering."""

from __future__ import annotations

from tasks.errors import BadInput
from tasks.systems.entries import CallableEntry, HttpEntry, RagEntry, SystemEntry


def needs_documents(entry: SystemEntry) -> bool:
    """Tell whether a system retrieves from a corpus of ours."""
    return isinstance(entry, RagEntry) and entry.retriever != "none"


def can_search(entry: SystemEntry) -> bool:
    """Tell whether a system retrieves without answering, as contexts for a judge want it."""
    if isinstance(entry, HttpEntry | CallableEntry):
        return entry.search is not None
    return needs_documents(entry)


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
