"""Check the style of a model's texts; user-written texts are not checked.

The drop reasons are:

- `doubled_word`: a word occurs twice in a row, or on both sides of an article or `of`.
- `wrong_article`: `a` comes before a vowel, or `an` before a consonant.
- `unknown_word`: a word is neither English nor in the schema.
- `no_question`: full sentences are required, and the last sentence is not a question.
- `no_verb`: full sentences are required, and a sentence has no verb.
- `shared_sentence`: the text shares a sentence of at least six words with an earlier text.
- `copied_example`: the text shares a sentence of at least six words with the prompt's example.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from tasks.databases.columns import Column
from tasks.english import choose_article, is_word, make_singular
from tasks.grammar.construct.names import list_column_words
from tasks.grammar.construct.queries import PLACEHOLDER
from tasks.models.ask import Unparsed

SHARED = 6
"""Sentences with fewer words are not compared with other texts."""
DOUBLED = re.compile(r"\b([^\W\d_]+),? (?:(?:the|a|an|of) )?\1\b")
ARTICLE = re.compile(r"\b(an?) ([^\W\d_]+)", re.IGNORECASE)
VERBS = frozenset([
    "am", "are", "be", "been", "can", "could", "did", "do", "does", "feature", "features", "find",
    "gave", "give", "had", "has", "have", "is", "knew", "know", "knows", "look", "made", "may", "might",
    "must", "need", "needs", "say", "says", "shall", "should", "tell", "want", "wants", "was", "were",
    "will", "wonder", "would",
])  # fmt: skip
"""Verb forms; each full sentence must contain at least one."""


def check_style(text: str, columns: Sequence[Column], *, sentences: bool) -> None:
    """Check the style of a text template. Raises Unparsed with `<reason>: <detail>`.

    `sentences` sets whether the text must consist of full sentences and end with a question.
    """
    masked = PLACEHOLDER.sub("[]", text)
    if doubled := DOUBLED.search(masked.lower()):
        raise Unparsed(f"doubled_word: {doubled[0]}")
    for article, word in ARTICLE.findall(masked):
        if article.lower() != choose_article(word):
            raise Unparsed(f"wrong_article: {article} {word}")
    own = {word for column in columns for word in list_column_words(column.id, columns)}
    own |= {word for column in columns for word in list_column_words(column.id)}
    for word in re.findall(r"[^\W\d_]+(?:'s)?", masked):
        plain = word.lower().removesuffix("'s")
        if not (is_word(plain) or plain in own or make_singular(plain) in own):
            raise Unparsed(f"unknown_word: {word}")
    if sentences:
        if not masked.endswith("?"):
            raise Unparsed("no_question: the last sentence is not a question")
        for sentence in split_sentences(text):
            if not VERBS.intersection(sentence.split()):
                raise Unparsed(f"no_verb: {sentence}")


def split_sentences(text: str) -> list[str]:
    """Split a text into lower-case sentences, with placeholders masked and punctuation removed."""
    masked = PLACEHOLDER.sub("[]", text).lower()
    sentences = (" ".join(re.findall(r"\[\]|[^\W_]+", part)) for part in re.split(r"[.?!]+", masked))
    return [sentence for sentence in sentences if sentence]


def list_long_sentences(text: str) -> list[str]:
    """List the sentences of a text with at least `SHARED` words."""
    return [sentence for sentence in split_sentences(text) if len(sentence.split()) >= SHARED]


def find_copied(text: str, examples: Iterable[str]) -> str:
    """Return the first long sentence of a text that is also in an example, or an empty string."""
    known = {sentence for example in examples for sentence in list_long_sentences(example)}
    return next((sentence for sentence in list_long_sentences(text) if sentence in known), "")
