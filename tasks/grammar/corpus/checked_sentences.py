"""Check each sentence of a model's text, write plain sentences for missing facts, and search for all facts.

A rule finds facts in plain sentences. Code writes these sentences from the facts alone, so it is enough to
check that the values occur. In a model's sentences, only a reader model can find the facts.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from tasks.artifacts.rows import Dropped, Origin, make_id
from tasks.grammar.corpus.entities import ProfileFact
from tasks.grammar.corpus.machine_reading import Reading, check_reading, names_fact
from tasks.grammar.corpus.plain_writer import MODEL, PLAIN, CheckedSentence, PlainWriter
from tasks.grammar.corpus.sentence_rules import KnownFacts, find_fault, says_fact, split_sentences
from tasks.models.ask import Ask
from tasks.systems.contract import Sentence

SENTENCE_REASONS = frozenset([
    "beyond_facts", "claim", "contradicts", "form", "length", "no_fact", "no_word", "other_value", "repeats",
    "sentence_length", "unknown_name", "unknown_number",
])  # fmt: skip
"""The drop reasons for the sentences and the parts of a document that a model writes."""
# Plain documents are shorter, because one plain sentence joins several related facts.
WORDS_PER_FACT = {MODEL: 8, PLAIN: 4}
"""The minimum number of words per fact, by writer. The minimum applies to documents with few facts."""


@dataclass(frozen=True)
class SentenceFault:
    """A removed sentence, or a fact that no sentence can state. `problem` is `<reason>: <detail>`."""

    text: str
    problem: str

    def drop(self, title: str, origin: tuple[Origin, ...]) -> Dropped:
        """Return the fault as a dropped row. `title` is the document's title."""
        reason, _, detail = self.problem.partition(": ")
        row = make_id("sentence", title, self.text)
        return Dropped(row, reason, f"{title}: {self.text} ({detail})", origin)


@dataclass(frozen=True)
class CheckedPart:
    """The valid sentences of a paragraph, and the problems of its other sentences and facts.

    `untold` contains the facts that no sentence can state without breaking a rule.
    """

    sentences: tuple[CheckedSentence, ...]
    faults: tuple[SentenceFault, ...]
    untold: tuple[ProfileFact, ...] = ()


def check_part(
    text: str | None,
    facts: Sequence[ProfileFact],
    known_facts: KnownFacts,
    writer: PlainWriter,
    attempts: Mapping[str, int],
) -> CheckedPart:
    """Return the valid sentences of a model's paragraph, with plain sentences for the missing facts.

    `text` is None if the model's reply was not usable. For `attempts`, see `PlainWriter.write_fact`.
    """
    kept: list[CheckedSentence] = []
    faults: list[SentenceFault] = []
    for sentence in split_sentences(text, known_facts) if text else []:
        fault = find_fault(sentence, known_facts)
        told = tuple(fact.id for fact in facts if says_fact(sentence, fact, known_facts))
        # The database cannot support a sentence that states no fact.
        if fault or not told:
            faults.append(SentenceFault(sentence, fault or "no_fact: tells no fact"))
        elif not any(sentence == other.text for other in kept):
            kept.append(CheckedSentence(sentence, MODEL, told))
    untold = []
    for fact in facts:
        if any(fact.id in sentence.facts for sentence in kept):
            continue
        plain, fault = writer.write_fact(fact, len(kept), attempts.get(fact.id, 0))
        if plain is None:
            untold.append(fact)
            faults.append(
                SentenceFault(f"{fact.attribute} of {fact.subject}: {', '.join(fact.values)}", fault)
            )
        else:
            kept.append(plain)
    order = {fact.id: number for number, fact in enumerate(facts)}
    kept.sort(key=lambda sentence: order[sentence.facts[0]])
    return CheckedPart(tuple(kept), tuple(faults), tuple(untold))


def join_parts(
    parts: Iterable[Sequence[CheckedSentence]], read: Collection[str] = ()
) -> tuple[str, tuple[Sentence, ...]]:
    """Return the text and the sentences of paragraphs. Paragraphs without sentences are left out.

    `read` contains the ids of the facts that were found in the text. Each returned sentence has the number
    of these facts that the sentence states. A fact in several sentences is counted once, in a plain sentence
    if possible, because the reader does not check plain sentences.
    """
    filled = [part for part in parts if part]
    text = "\n\n".join(" ".join(sentence.text for sentence in part) for part in filled)
    ordered = sorted((s for part in filled for s in part), key=lambda sentence: sentence.writer != PLAIN)
    first = {fact: sentence for sentence in reversed(ordered) for fact in sentence.facts}
    return text, tuple(
        Sentence(
            sentence.text,
            sentence.writer,
            number,
            sum(fact in read and first[fact] is sentence for fact in sentence.facts),
        )
        for number, part in enumerate(filled)
        for sentence in part
    )


def require_words(facts: int, words: tuple[int, int], writer: str = MODEL) -> tuple[int, int]:
    """Return `words` (minimum, maximum), with a lower minimum if the document has few facts."""
    return min(words[0], WORDS_PER_FACT[writer] * facts), words[1]


Parts = Iterable[Sequence[CheckedSentence]]
"""The paragraphs of a document."""


async def read_facts(
    title: str, parts: Parts, facts: Sequence[ProfileFact], ask: Ask, *, row: str, sample: int, at_once: int
) -> list[Reading]:
    """Search a document for facts: by rule in plain sentences, otherwise by the reader.

    For `sample` and `at_once`, see `check_reading`.
    """
    parts = list(parts)
    text, _ = join_parts(parts)
    ruled = read_by_rule((sentence for part in parts for sentence in part), facts)
    told = {reading.fact.id for reading in ruled}
    others = [fact for fact in facts if fact.id not in told]
    asked = await check_reading(title, text, others, ask, row=row, sample=sample, at_once=at_once)
    return [*ruled, *asked]


def read_by_rule(sentences: Iterable[CheckedSentence], facts: Iterable[ProfileFact]) -> list[Reading]:
    """Search plain sentences for facts. A fact is found if one sentence has all its values."""
    plain = [sentence for sentence in sentences if sentence.writer == PLAIN]
    readings = []
    for fact in facts:
        telling = [sentence.text for sentence in plain if fact.id in sentence.facts]
        if telling:
            found = [text for text in telling if names_fact(text, fact)]
            readings.append(Reading(fact, (found or telling)[0], bool(found), None))
    return readings
