"""Build a system under test from its entry in params.yaml."""

from __future__ import annotations

from collections.abc import Sequence

from tasks.models.ask import Ask
from tasks.systems.code import CodeSystem, find_plugged
from tasks.systems.contract import Document, System
from tasks.systems.endpoint import EndpointSystem
from tasks.systems.entries import (
    CallableEntry,
    HttpEntry,
    OpenAiEntry,
    PlugEntry,
    RagEntry,
    ReplayEntry,
    SystemEntry,
)
from tasks.systems.http import HttpSystem
from tasks.systems.rag import build_rag
from tasks.systems.replayed import ReplayedSystem

__all__ = ["SystemEntry", "build_system"]


def build_system(name: str, entry: SystemEntry, corpus: Sequence[Document], ask: Ask) -> System:
    """Build the system `systems.<name>`.

    `corpus`: the documents for the reference RAG; other kinds of systems ignore it. `ask`: the stage's `Ask`,
    through which the system makes all calls. Raises BadInput if a required library is not installed, or if
    two documents have the same id.
    """
    if isinstance(entry, RagEntry):
        return build_rag(name, entry, corpus, ask)
    if isinstance(entry, HttpEntry):
        return HttpSystem(name, entry, ask)
    if isinstance(entry, ReplayEntry):
        searcher = build_rag(name, entry.search, corpus, ask) if entry.search else None
        return ReplayedSystem(name, entry, searcher)
    if isinstance(entry, PlugEntry):
        plugged = find_plugged(name, entry)
        return CodeSystem(name, plugged.entry, ask, plugged.locate)
    if isinstance(entry, CallableEntry):
        return CodeSystem(name, entry, ask)
    assert isinstance(entry, OpenAiEntry)  # noqa: S101 - the union has no more
    return EndpointSystem(name, entry, ask)
