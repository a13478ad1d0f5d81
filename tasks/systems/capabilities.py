"""What a system under test can do by its entry: retrieve from given documents, search without answering."""

from __future__ import annotations

from tasks.errors import BadInput
from tasks.systems.entries import CallableEntry, HttpEntry, RagEntry, SystemEntry


def needs_documents(entry: SystemEntry) -> bool:
    """Tell whether a system retrieves from documents that it is given."""
    return isinstance(entry, RagEntry) and entry.retriever != "none"


def can_search(entry: SystemEntry) -> bool:
    """Tell whether a system can retrieve without answering, which contexts for a judge require."""
    if isinstance(entry, HttpEntry | CallableEntry):
        return entry.search is not None
    return needs_documents(entry)


def check_documents(name: str, entry: SystemEntry, given: bool, found: bool) -> None:
    """Check that documents exist if a system needs them, and are not given to one that ignores them.

    given: by --documents; found: there or in the dataset. Raises BadInput.
    """
    if needs_documents(entry) and not found:
        raise BadInput(
            f"systems.{name}",
            "retrieves, and there are no documents",
            hint="--documents PATH, a file or folder",
        )
    if given and not needs_documents(entry):
        raise BadInput("--documents", f"the system {name!r} does not retrieve from documents of ours")
