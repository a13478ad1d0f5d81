"""Stage: the documents of a question set, from which systems under test retrieve."""

from __future__ import annotations

from tasks.artifacts.rows import Drafts
from tasks.errors import BadInput
from tasks.ragcheck.question_sets import DOCUMENTS, QuestionSet, read_lines, read_text
from tasks.sources.jsquad import read_squad
from tasks.sources.mtrag import list_sources, read_tasks
from tasks.systems.contract import Document


def corpus(entry: QuestionSet) -> Drafts[Document]:
    """Import all documents of a question set, whichever questions are sampled. Raises BadInput."""
    if entry.kind == "mtrag":
        sources = list_sources(read_tasks(entry.path))
        return Drafts([Document(source.id, source.title, source.text, ()) for source in sources])
    if entry.kind == "jsquad":
        paragraphs = read_squad(entry.path)[1]
        return Drafts(
            [Document(paragraph.id, paragraph.title, paragraph.text, ()) for paragraph in paragraphs]
        )
    path = entry.path / DOCUMENTS
    documents: dict[str, Document] = {}
    for line, record in read_lines(entry.path, DOCUMENTS):
        name = read_text(record, "id", path, line)
        if name in documents:
            raise BadInput(path, f"the id {name!r} stands twice", line=line)
        title = read_text(record, "title", path, line, "")
        documents[name] = Document(name, title, read_text(record, "text", path, line), ())
    return Drafts(list(documents.values()))
