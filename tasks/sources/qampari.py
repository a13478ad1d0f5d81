"""Read QAMPARI (Amouyal et al., 2022; CC0 1.0): list questions with their answers, in any published layout.

The release has `qid`, `question_text`, `entity_list` and `answer_list` (each entry with `answer_text`,
`aliases`, `answer_url` and `proof`). Other publishers use `id`, `question` and `answers`, a list of lists of
names.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from tasks.sources.loose_fields import (
    BadRecord,
    find_article,
    find_field,
    find_item,
    find_line,
    list_values,
    make_line,
    read_name,
)

SIMPLE, INTERSECTION, COMPOSITION = "simple", "intersection", "composition"
KINDS = {"simple": SIMPLE, "inter": INTERSECTION, "comp": COMPOSITION}
"""Substring of a question's type or id -> the question's kind."""
IDS, QUESTIONS = ("qid", "id", "question_id", "_id"), ("question_text", "question", "query")
ANSWERS = ("answer_list", "answers", "answer_entities")
NAMES = ("answer_text", "text", "answer", "entity_text", "label", "name", "title")
ITEMS = ("wikidata_id", "answer_wikidata_id", "entity_id", "answer_id", "qid", "id", "wikidata_url", "uri")
ARTICLES = ("answer_url", "wikipedia_url", "wikipedia_title", "entity_url", "url", "link", "wiki_url")
PROOFS = ("proof", "proofs", "evidence")
PROOF_TEXTS = ("proof_text", "text", "sentence", "passage")
PROOF_ARTICLES = ("found_in_url", "url", "wikipedia_title", "title", "page", "article")
# Limits of untrusted input: maximum characters of a question, a name and a proof, and maximum number of
# answers.
MOST_QUESTION, MOST_NAME, MOST_PROOF, MOST_ANSWERS = 1_000, 300, 10_000, 10_000


@dataclass(frozen=True)
class QampariProof:
    """A text that supports an answer, and the title of its article; the title is empty if it is unknown."""

    text: str
    article: str


@dataclass(frozen=True)
class QampariAnswer:
    """An answer.

    - `names`: the answer's names; the published name comes first.
    - `item`: the answer's Wikidata id; empty if unknown.
    - `article`: the title of its article; empty if unknown.
    """

    names: tuple[str, ...]
    item: str
    article: str
    proofs: tuple[QampariProof, ...] = ()


@dataclass(frozen=True)
class QampariQuestion:
    """A list question.

    - `unread`: the number of answers that have no name.
    - `unread_proofs`: the number of proofs that cannot be read.
    """

    id: str
    kind: str
    text: str
    answers: tuple[QampariAnswer, ...]
    unread: int = 0
    unread_proofs: int = 0


def read_question(record: object) -> QampariQuestion:
    """Convert a published record. Raises BadRecord if the record cannot be used."""
    if not isinstance(record, Mapping):
        raise BadRecord("no_object: the record is not a JSON object")
    name, text = find_line(record, IDS), find_line(record, QUESTIONS)
    if not text:
        raise BadRecord("no_question: the record has no question_text or question")
    if len(text) > MOST_QUESTION:
        raise BadRecord(f"too_long: the question has {len(text):,} characters")
    kind = read_kind(find_line(record, ("question_type", "type", "kind")) or name)
    if not kind:
        raise BadRecord("no_kind: neither the type nor the id names a known kind of question")
    given = list_values(find_field(record, ANSWERS))
    if len(given) > MOST_ANSWERS:
        raise BadRecord(f"too_long: the record has {len(given):,} answers")
    read = [_read_answer(answer) for answer in given]
    answers = merge_answers([answer for answer, _ in read if answer])
    if not answers:
        raise BadRecord("no_answers: the record has no answer with a name")
    unread = sum(answer is None for answer, _ in read)
    return QampariQuestion(name, kind, text, answers, unread, sum(left for _, left in read))


def read_kind(name: str) -> str:
    """Return the kind named in a question's type or id, such as `12__wikidata_comp__dev`; empty if none.

    If an id contains the names of several kinds, the last kind counts: `winter-7__simple` is simple.
    """
    found = max(KINDS, key=name.lower().rfind)
    return KINDS[found] if found in name.lower() else ""


def merge_answers(answers: list[QampariAnswer]) -> tuple[QampariAnswer, ...]:
    """Merge answers with the same id or article, or the same name if they have neither; keep the order.

    In the release, a composition question repeats an answer once for each path that leads to the answer.
    """
    merged: dict[tuple[str, str], QampariAnswer] = {}
    for answer in answers:
        key = (answer.item or answer.article, "" if answer.item or answer.article else answer.names[0])
        before = merged.get(key)
        merged[key] = (
            answer
            if before is None
            else replace(
                before,
                names=tuple(dict.fromkeys((*before.names, *answer.names))),
                article=before.article or answer.article,
                proofs=tuple(dict.fromkeys((*before.proofs, *answer.proofs))),
            )
        )
    return tuple(merged.values())


def _read_answer(answer: object) -> tuple[QampariAnswer | None, int]:
    """Return an answer (None if it has no name) and its number of unreadable proofs."""
    if not isinstance(answer, Mapping):
        names, linked = _read_names(list_values(answer))
        return (QampariAnswer(names, "", linked), 0) if names else (None, 0)
    names, linked = _read_names([find_line(answer, NAMES), *list_values(answer.get("aliases"))])
    if not names:
        return None, 0
    given = list_values(find_field(answer, PROOFS))
    proofs = [proof for proof in map(_read_proof, given) if proof]
    article = find_article(answer, ARTICLES) or linked
    found = QampariAnswer(names, find_item(answer, ITEMS), article, tuple(dict.fromkeys(proofs)))
    return found, len(given) - len(proofs)


def _read_names(given: list[object]) -> tuple[tuple[str, ...], str]:
    """Return an answer's names, and the title that the first name links to (empty if none)."""
    read = [read_name(make_line(name)) for name in given]
    if not read or not read[0][0] or len(read[0][0]) > MOST_NAME:
        return (), ""
    return tuple(dict.fromkeys(name for name, _ in read if 0 < len(name) <= MOST_NAME)), read[0][1]


def _read_proof(proof: object) -> QampariProof | None:
    if isinstance(proof, str):
        text, article = make_line(proof), ""
    elif isinstance(proof, Mapping):
        text, article = find_line(proof, PROOF_TEXTS), find_article(proof, PROOF_ARTICLES)
    else:
        return None
    return QampariProof(text, article) if 0 < len(text) <= MOST_PROOF else None
