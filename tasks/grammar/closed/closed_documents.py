"""Stage: replace the names in a closed-domain variant's documents."""

from __future__ import annotations

from tasks.artifacts.rows import Drafts, Origin
from tasks.grammar.closed.closed import split_names
from tasks.grammar.closed.closed_entry import Renaming
from tasks.grammar.closed.rewriting import rewrite
from tasks.systems.contract import Document


def closed_documents(documents: list[Document], closed_names: list[Renaming]) -> Drafts[Document]:
    """Replace every name in the titles and texts of the documents.

    Documents keep their ids, so references to them stay valid.
    """
    names, people = split_names(closed_names)
    rows = []
    for document in documents:
        # Rewrite title and text together, because a full name in the text identifies a surname in the title.
        title, _, text = rewrite(f"{document.title}\n\n{document.text}", names, people).partition("\n\n")
        rows.append(Document(document.id, title, text, (Origin("row", f"documents#{document.id}"),)))
    return Drafts(rows)
