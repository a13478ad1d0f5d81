"""What must hold of any document that was written to tell facts: each function says what is wrong, or ""."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from tasks.artifacts.contracts import Expectation, Record, RowRule, expect_no_match
from tasks.grammar.corpus.entities import Fact
from tasks.grammar.corpus.machine_reading import missing_values

Facts = Mapping[str, Sequence[Fact]]
"""What is to be told, by the id of the document that tells it."""
Lost = Collection[tuple[str, str]]
"""A document's id, and that of a fact which is not read from it."""


def expect_no_bracket() -> Expectation:
    """Expect plain prose: no bracket of any kind."""
    return expect_no_match("no_bracket_left", "No bracket stands in it.", "text", r"[\[\]{}<>]")


def expect_lengths(bounds: Mapping[str, tuple[int, int]]) -> RowRule:
    """Expect a document to have so many words: least and greatest, by its id."""

    def check(record: Record) -> str:
        words = len(record["text"].split())
        least, most = bounds.get(record["id"], (words, words))
        return "" if least <= words <= most else f"has {words:,} words; {least:,} to {most:,} are due"

    return RowRule("words", "It is as long as it should be.", ("id", "text"), check)


def expect_told(facts: Facts, left_out: Lost = frozenset()) -> RowRule:
    """Expect a document to name every value of its facts, as the stage that wrote it does."""

    def check(record: Record) -> str:
        for fact in facts.get(record["id"], ()):
            missing = missing_values(record["text"], fact)
            if missing and (record["id"], fact.id) not in left_out:
                return f"does not name {fact.attribute}: {', '.join(missing)}"
        return ""

    return RowRule("facts_told", "It names every value of its facts.", ("id", "text"), check)


def expect_readable(facts: Facts, lost: Lost, least: float) -> RowRule:
    """Expect a reader to have found so many of a document's facts. lost: those that none found."""

    def check(record: Record) -> str:
        own = facts.get(record["id"], ())
        unread = [each for each in own if (record["id"], each.id) in lost]
        if len(own) - len(unread) >= least * len(own):
            return ""
        return f"{len(own) - len(unread)} of {len(own)} facts were read, not {unread[0].attribute}"

    says = f"A reader found at least {100 * least:g}% of its facts in it."
    return RowRule("facts_read", says, ("id",), check)
