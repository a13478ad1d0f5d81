"""Stage: import the documents that belong to a question set; systems under test retrieve from them."""

from __future__ import annotations

from pathlib import Path

from tasks.artifacts.rows import Drafts
from tasks.errors import BadInput
from tasks.ragcheck.question_sets import DOCUMENTS, QuestionSet, read_lines, read_text
from tasks.sources.jsquad import read_squad
from tasks.sources.mtrag import list_sources, read_tasks
from tasks.systems.contract import Document


def corpus(entry: QuestionSet) -> Drafts[Document]:
    """Import all documents of a question set, including documents of questions that are not sampled.

    For MT-RAG, the documents are the passages of all tasks. If the set is a folder, the documents of its
    `documents.jsonl` are added. Raises BadInput if the documents cannot be read.
    """
    if entry.kind == "mtrag":
        sources = list_sources(read_tasks(entry.path))
        found = {source.id: Document(source.id, source.title, source.text, ()) for source in sources}
        if (entry.path / DOCUMENTS).is_file():
            for name, document in _read_documents(entry.path).items():
                if found.setdefault(name, document).text != document.text:
                    raise BadInput(
                        entry.path / DOCUMENTS, f"the text of document {name!r} is different in a task"
                    )
        return Drafts([found[name] for name in sorted(found)])
    if entry.kind == "jsquad":
        paragraphs = read_squad(entry.path)[1]
        return Drafts(
            [Document(paragraph.id, paragraph.title, paragraph.text, ()) for paragraph in paragraphs]
        )
    return Drafts(list(_read_documents(entry.path).values()))


def _read_documents(folder: Path) -> dict[str, Document]:
    path = folder / DOCUMENTS
    documents: dict[str, Document] = {}
    for line, record in read_lines(folder, DOCUMENTS):
        name = read_text(record, "id", path, line)
        if name in documents:
            raise BadInput(path, f"the id {name!r} occurs twice", line=line)
        title = read_text(record, "title", path, line, "")
        documents[name] = Document(name, title, read_text(record, "text", path, line), ())
    return documents
