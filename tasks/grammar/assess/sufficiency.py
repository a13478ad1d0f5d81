"""Determine whether documents together state every fact that an answer needs.

For documents that were written from a database's rows, the stated facts are known. A user's own documents are
searched: a document is sufficient if it contains the answer and all names in the question. Otherwise,
sufficiency may be unknown.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from tasks.grammar.assess.answers import AssessedAnswer
from tasks.grammar.corpus.questions import AskedQuestion
from tasks.grammar.corpus.statements import AnswerFacts, suffices
from tasks.judging.equality import QUANTITY, normalise, read_date, take_out
from tasks.judging.words import POLAR
from tasks.systems.contract import Document, Passage

NAMED = re.compile(
    r"\"([^\"]+)\"|\u201c([^\u201d]+)\u201d"
    r"|(?<=[a-z,;:] )([A-Z][\w'\u2019.-]*(?: (?:(?:of|the|and|for|in|de|la) )*[A-Z0-9][\w'\u2019.-]*)*)"
    r"|(\d[\d.,:-]*\d|\d)"
)
"""Matches the names in a question: quoted texts, capitalised words within a sentence, and numbers."""


@dataclass(frozen=True)
class Sufficiency:
    """Whether the retrieved documents, and the whole corpus, state all facts that an answer needs.

    A field is None if sufficiency is unknown.
    """

    retrieved: bool | None
    corpus: bool | None


UNKNOWN = Sufficiency(None, None)


@dataclass
class SufficiencyReader:
    """Determines whether the retrieved documents of each question in an assessment are sufficient.

    `corpus` contains the documents that the system could retrieve; None means that the system has its own,
    unknown corpus. `facts` contains the facts that answers need, by group. For groups without an entry, the
    documents are searched.
    """

    corpus: Sequence[Document] | None
    facts: Mapping[str, AnswerFacts]
    _texts: dict[str, str] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        self._there = {document.id: document for document in self.corpus or ()}

    def read(self, question: AskedQuestion, answer: AssessedAnswer) -> Sufficiency:
        """Return whether the retrieved documents, and the corpus, state all facts that an answer needs."""
        if answer.retrieved_document_ids is None:
            return UNKNOWN
        shown = dict.fromkeys(answer.retrieved_document_ids, "") | join_passages(answer.passages or ())
        if (facts := self.facts.get(question.group)) is None or self.corpus is None:
            return self._search(question, shown)
        cut = {name: text for name, text in shown.items() if self._is_cut(name, text)}

        def says(document: str, value: str) -> bool:
            # If the whole document does not contain the value either, the document paraphrases the value, so
            # the retrieved part counts as sufficient.
            wanted = normalise(value) if document in cut else ""
            return (
                not wanted
                or _has_all([wanted], normalise(cut[document]))
                or not _has_all([wanted], self._read_text(document))
            )

        return Sufficiency(
            suffices(facts, shown.keys() & self._there.keys(), says), suffices(facts, self._there.keys())
        )

    def _is_cut(self, document: str, shown: str) -> bool:
        """Return whether only part of a document was retrieved.

        Returns False if no text was retrieved, or if the document is not in the corpus.
        """
        known = self._there.get(document)
        return known is not None and bool(shown.strip()) and known.text.strip() not in shown

    def _read_text(self, document: str) -> str:
        if document not in self._texts:
            known = self._there[document]
            self._texts[document] = normalise(f"{known.title}\n{known.text}")
        return self._texts[document]

    def _search(self, question: AskedQuestion, shown: Mapping[str, str]) -> Sufficiency:
        """Search a user's own documents for the facts that an answer needs.

        If no document contains the searched texts, sufficiency may be unknown, because documents may
        paraphrase facts.
        """
        true = question.true_document_ids
        if true and all(name in shown for name in true):
            return Sufficiency(True, True)
        asked = normalise(question.question)
        titles = (normalise(document.title) for document in self._there.values())
        wanted = list_wanted(question, [title for title in titles if title and _has_all([title], asked)])
        if not wanted:
            return UNKNOWN
        if any(_has_all(wanted, normalise(text)) for text in shown.values()):
            return Sufficiency(True, True)
        if self.corpus is None:
            return UNKNOWN
        if true and not all(name in self._there for name in true):
            return Sufficiency(False, False)
        # A failed search proves nothing, because the documents may paraphrase the facts.
        elsewhere = any(_has_all(wanted, self._read_text(name)) for name in self._there if name not in shown)
        return Sufficiency(False, True) if elsewhere else UNKNOWN


def join_passages(passages: Iterable[Passage]) -> dict[str, str]:
    """Map each document id to its retrieved titles and texts, joined; "" if no text was retrieved."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    for passage in passages:
        found[passage.document] += [passage.title, passage.text]
    return {name: "\n".join(texts) if any(texts[1::2]) else "" for name, texts in found.items()}


def list_wanted(question: AskedQuestion, titles: Sequence[str] = ()) -> list[str]:
    """List the normalised texts that a sufficient document must contain: parts of the answer, and names.

    `titles` contains the document titles that occur in the question. The list is empty if the question has
    neither titles nor names. The list is also empty if a part of the answer is yes, no or a number of one or
    two characters, because a sufficient document need not contain that part.
    """
    items = [normalise(item) for item in question.answer.split(";")]
    found = (next(filter(None, match.groups())) for match in NAMED.finditer(question.question))
    named = list(filter(None, [*titles, *map(normalise, found)]))
    if not all(items) or not named or any(item in POLAR for item in items):
        return []
    counted = any(QUANTITY.fullmatch(item) and len(item) < 3 for item in items)
    return [] if counted else [*items, *named]


def _has_all(wanted: Iterable[str], text: str) -> bool:
    # Most texts do not contain the item. The fast substring test rejects such texts before `take_out` runs.
    return all(
        (item in text or QUANTITY.fullmatch(item) or read_date(item)) and take_out(item, text) is not None
        for item in wanted
    )
