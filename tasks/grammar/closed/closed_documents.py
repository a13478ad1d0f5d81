"""Stage: the documents of a closed-domain variant: the same texts under the same fictitious names."""

from __future__ import annotations

from tasks.artifacts.rows import Drafts, Origin
from tasks.grammar.closed.closed import split_names
from tasks.grammar.closed.closed_entry import Renaming
from tasks.grammar.closed.rewriting import rewrite
from tasks.systems.contract import Document


def closed_documents(documents: list[Document], closed_names: list[Renaming]) -> Drafts[Document]:
    """Change every name in titles and texts. A document keeps its id: what points at it still does."""
    names, people = split_names(closed_names)
    rows = []
    for each in documents:
        # Title and text are one: a surname in the title may be told by the full name in the text.
        title, _, text = rewrite(f"{each.title}\n\n{each.text}", names, people).partition("\n\n")
        rows.append(Document(each.id, title, text, (Origin("row", f"documents#{each.id}"),)))
    return Drafts(rows)
