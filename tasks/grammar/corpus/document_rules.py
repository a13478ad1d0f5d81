"""Contract rules for documents that are written from facts.

A row rule returns a row's problem, or "" if there is none.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from functools import partial

from tasks.artifacts.contracts import Expectation, Record, RowRule, expect_no_match
from tasks.artifacts.rows import Dropped
from tasks.grammar.corpus.checked_sentences import SENTENCE_REASONS
from tasks.grammar.corpus.entities import ProfileFact
from tasks.grammar.corpus.machine_reading import missing_values
from tasks.grammar.corpus.plain_writer import MODEL, PLAIN
from tasks.grammar.corpus.sentence_rules import KnownFacts, find_fault

KnownFactsById = Mapping[str, Sequence[KnownFacts]]
"""The known facts for a document's sentences, by document id. The sequence has one element for the whole
document, or one element per paragraph."""
BROKEN = frozenset(["form", "no_word", "repeats", "sentence_length"])
"""The problems with a sentence's wording, not its content."""
FactsByDocument = Mapping[str, Sequence[ProfileFact]]
"""The facts that a document is written from, by document id."""
UnreadFacts = Collection[tuple[str, str]]
"""Pairs of a document id and the id of a fact that was not found in the document."""


def expect_no_bracket() -> Expectation:
    """Expect text without brackets of any kind."""
    return expect_no_match("no_bracket_left", "The text contains no brackets.", "text", r"[\[\]{}<>]")


def expect_lengths(bounds: Mapping[str, tuple[int, int]]) -> RowRule:
    """Expect a number of words within bounds. `bounds` contains (minimum, maximum) by document id."""

    def check(record: Record) -> str:
        words = len(record["text"].split())
        minimum, maximum = bounds.get(record["id"], (words, words))
        return (
            "" if minimum <= words <= maximum else f"has {words:,} words; expected {minimum:,} to {maximum:,}"
        )

    return RowRule(
        "words", "The number of words is within the limits for the document.", ("id", "text"), check
    )


def expect_facts_named(facts: FactsByDocument, left_out: UnreadFacts = frozenset()) -> RowRule:
    """Expect that a document contains every value of its facts, except facts in `left_out`."""

    def check(record: Record) -> str:
        for fact in facts.get(record["id"], ()):
            missing = missing_values(record["text"], fact)
            if missing and (record["id"], fact.id) not in left_out:
                return f"does not name {fact.attribute}: {', '.join(missing)}"
        return ""

    return RowRule(
        "facts_told",
        "The text names every value of the document's facts, except the values of dropped facts.",
        ("id", "text"),
        check,
    )


def expect_readable(
    documents: Sequence[Record], facts: FactsByDocument, unread: UnreadFacts, least: float
) -> RowRule:
    """Expect that at least the share `least` (0 to 1) of a document's facts was found in its text.

    `documents` contains the rows. The rule's description states how many facts were found by rule, and how
    many by the reader.
    """
    read: Counter[str] = Counter()
    for record in documents:
        for sentence in record["sentences"] or ():
            read[sentence["writer"]] += sentence["facts_read"] or 0

    def check(record: Record) -> str:
        expected = facts.get(record["id"], ())
        missing = [fact for fact in expected if (record["id"], fact.id) in unread]
        found = len(expected) - len(missing)
        if found >= least * len(expected):
            return ""
        return f"{found} of {len(expected)} facts were read back; {missing[0].attribute} was not read back"

    says = (
        f"A rule and a model together find at least {100 * least:g}% of the document's facts in "
        "the text. Facts found: "
        f"{read[PLAIN]:,} by the rule in sentences that code wrote, {read[MODEL]:,} by the model in other "
        "sentences."
    )
    return RowRule("facts_read", says, ("id",), check)


def expect_sentences(
    documents: Sequence[Record], dropped: Sequence[Dropped], known_facts: KnownFactsById
) -> list[RowRule]:
    """Return rules for sentences: a known writer, and no unknown words, contradictions or unsupported claims.

    `documents` contains the rows. The first rule's description states the share of sentences that a model
    wrote, and how many of a model's sentences were dropped.
    """
    written = Counter(sentence["writer"] for record in documents for sentence in record["sentences"] or ())
    total = max(written.total(), 1)
    left_out = Counter(row.reason for row in dropped if row.reason in SENTENCE_REASONS)
    reasons = ", ".join(f"{reason} {count:,}" for reason, count in sorted(left_out.items()))
    says = (
        f"Every sentence is marked as written by a model or by "
        f"code. Of {written.total():,} sentences, a model wrote "
        f"{written[MODEL]:,} ({written[MODEL] / total:.0%}), and code wrote {written[PLAIN]:,} from the "
        f"facts. Dropped sentences: {left_out.total():,}{f' ({reasons})' if reasons else ''}."
    )
    texts = {record["id"]: record["sentences"] for record in documents}
    faults = {
        identity: _find_faults(document_text or (), known_facts.get(identity, ()))
        for identity, document_text in texts.items()
    }

    def check_writers(record: Record) -> str:
        own = texts.get(record["id"]) or ()
        if unknown := [sentence["writer"] for sentence in own if sentence["writer"] not in (MODEL, PLAIN)]:
            return f"unknown writer {unknown[0]!r}"
        joined = " ".join(sentence["text"] for sentence in own)
        return (
            ""
            if joined == " ".join(record["text"].split())
            else "the text is not the concatenation of its sentences"
        )

    def find_fault_of(record: Record, *, words: bool) -> str:
        found = faults.get(record["id"], ())
        return next((fault for fault in found if (fault.partition(": ")[0] in BROKEN) == words), "")

    return [
        RowRule("writers", says, ("id", "text"), check_writers),
        RowRule(
            "no_broken_word",
            "No sentence contains a broken word or a meaningless repetition.",
            ("id",),
            partial(find_fault_of, words=True),
        ),
        RowRule(
            "no_contradiction",
            "No sentence contains a name, number, value or claim that the sentence's facts do not support.",
            ("id",),
            partial(find_fault_of, words=False),
        ),
    ]


def _find_faults(sentences: Sequence[Record], known_facts: Sequence[KnownFacts]) -> list[str]:
    if not known_facts:
        return []
    # If there is only one set of facts, this set applies to all paragraphs.
    return [
        f"{fault} in: {sentence['text']}"
        for sentence in sentences
        if (
            fault := find_fault(
                sentence["text"], known_facts[min(sentence["paragraph"], len(known_facts) - 1)]
            )
        )
    ]
