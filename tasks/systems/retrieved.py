"""Name the documents that a system retrieved as origins of a row."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from tasks.artifacts.rows import Origin
from tasks.systems.contract import Passage


def name_documents(
    passages: Iterable[Passage] | None, artifact: str, corpus: Collection[str]
) -> list[Origin]:
    """Name the documents of passages, each once, best first: rows of `artifact`, whose ids are `corpus`.

    A system may search documents of its own: one that is not in the corpus is named as evidence.
    """
    documents = dict.fromkeys(passage.document for passage in passages or ())
    return [
        Origin("row", f"{artifact}#{document}") if document in corpus else Origin("evidence", document)
        for document in documents
        if document
    ]
