"""Contract rules for documents that are written from facts. A row rule returns what is wrong, or ""."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from tasks.artifacts.contracts import Expectation, Record, RowRule, expect_no_match
from tasks.grammar.corpus.entities import Fact
from tasks.grammar.corpus.machine_reading import missing_values

FactsByDocument = Mapping[str, Sequence[Fact]]
"""Document id -> the facts that the document is written from."""
UnreadFacts = Collection[tuple[str, str]]
"""(document id, id of a fact that the reader did not find in the document)."""


def expect_no_bracket() -> Expectation:
    """Expect prose without brackets of any kind."""
    return expect_no_match("no_bracket_left", "No bracket stands in it.", "text", r"[\[\]{}<>]")


def expect_lengths(bounds: Mapping[str, tuple[int, int]]) -> RowRule:
    """Expect a number of words within bounds. bounds: document id -> (minimum, maximum)."""

    def check(record: Record) -> str:
        words = len(record["text"].split())
        minimum, maximum = bounds.get(record["id"], (words, words))
        return (
            "" if minimum <= words <= maximum else f"has {words:,} words; {minimum:,} to {maximum:,} are due"
        )

    return RowRule("words", "It is as long as it should be.", ("id", "text"), check)


def expect_facts_named(facts: FactsByDocument, left_out: UnreadFacts = frozenset()) -> RowRule:
    """Expect a document to name every value of its facts, except those in `left_out`."""

    def check(record: Record) -> str:
        for fact in facts.get(record["id"], ()):
            missing = missing_values(record["text"], fact)
            if missing and (record["id"], fact.id) not in left_out:
                return f"does not name {fact.attribute}: {', '.join(missing)}"
        return ""

    return RowRule("facts_told", "It names every value of its facts.", ("id", "text"), check)


def expect_readable(facts: FactsByDocument, unread: UnreadFacts, least: float) -> RowRule:
    """Expect the reader to have found at least a share of a document's facts. least: 0 to 1."""

    def check(record: Record) -> str:
        expected = facts.get(record["id"], ())
        missing = [fact for fact in expected if (record["id"], fact.id) in unread]
        found = len(expected) - len(missing)
        if found >= least * len(expected):
            return ""
        return f"{found} of {len(expected)} facts were read, not {missing[0].attribute}"

    says = f"A reader found at least {100 * least:g}% of its facts in it."
    return RowRule("facts_read", says, ("id",), check)
