"""Contract rules for the texts of a dataset: no sentence that stands again and again, none of a prompt's."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

from tasks.artifacts.contracts import Record, RowRule, read_records
from tasks.grammar.construct.own_templates import nest_settings
from tasks.grammar.construct.style_rules import find_copied, list_long_sentences
from tasks.grammar.construct.text_criteria import TextTemplates

SHARE = 0.03
"""The largest share of a criterion's texts that a sentence may stand in, placeholders masked."""


def expect_own_sentences(texts: Path) -> RowRule:
    """Expect no sentence of six words or more in more than 3% of a criterion's texts; one text is no share.

    texts: the confirmed text templates. A person's texts, which no call made, are not held to it.
    """
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    rows: Counter[str] = Counter()
    for record in read_records(texts, ["criterion", "text"]):
        rows[record["criterion"]] += 1
        counts[record["criterion"]].update(set(list_long_sentences(record["text"] or "")))

    def check(record: Record) -> str:
        if not any(origin["kind"] == "call" for origin in record["origin"]):
            return ""
        criterion, own = record["criterion"], list_long_sentences(record["text"])
        most = max(1, int(SHARE * rows[criterion]))
        again = [sentence for sentence in own if counts[criterion][sentence] > most]
        return f"{counts[criterion][again[0]]} of {rows[criterion]} have: {again[0]}" if again else ""

    return RowRule(
        "own_sentences",
        "No sentence of six words or more stands in more than 3% of its criterion's texts.",
        ("criterion", "text", "origin"),
        check,
    )


def read_examples(settings: Mapping[str, object]) -> dict[str, tuple[str, ...]]:
    """Read the texts of the prompts' examples by criterion. settings: of other stages, by dotted name."""
    section = nest_settings(settings, "grammar.text_templates")
    criteria = TextTemplates.model_validate({"criteria": {}, **section}).criteria
    return {name: criterion.example.texts for name, criterion in criteria.items()}


def expect_no_example(examples: Mapping[str, Sequence[str]]) -> RowRule:
    """Expect no text to hold a sentence of six words or more of its prompt's example."""

    def check(record: Record) -> str:
        copied = find_copied(record["text"], examples.get(record["criterion"], ()))
        return f"holds a sentence of the prompt's example: {copied}" if copied else ""

    return RowRule("no_example", "No sentence is that of its prompt's example.", ("criterion", "text"), check)
