"""Split text into words with spaCy's tokenizer for a language (SudachiPy for Japanese).

The pipelines are blank: they have rules and a dictionary, but no statistical model. As in GRAMMAR's
retriever, case, punctuation and stop words are kept, and white space is dropped.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from tasks.errors import BadInput
from tasks.systems.extras import load_library

BLOCK = 10_000
"""Maximum number of characters per tokenizer call.

Sudachi rejects more than 49,149 bytes, and a kanji has three bytes.
"""
MOST_WITHOUT_SPACE = 1_000
"""Maximum number of characters that are searched for white space before a block's end."""

Tokenize = Callable[[str], list[str]]
LOADING = threading.Lock()
"""Lock for loading a pipeline.

Loading changes spaCy's process-wide registries, and stages run in threads.
"""


def load_language(language: str) -> Any:
    """Load spaCy's blank pipeline for a language (en, ja, de, ...).

    Raises BadInput if spaCy has no pipeline for the language.
    """
    with LOADING:
        return _load_language(language)


@lru_cache(maxsize=8)
def _load_language(language: str) -> Any:
    spacy = load_library("spacy", f"splitting text of language {language!r}")
    try:
        return spacy.blank(language)
    except ImportError:
        hint = (
            "run pip install 'benchloom[japanese]'"
            if language == "ja"
            else "docs/systems.md lists the languages"
        )
        raise BadInput(
            "params.yaml: systems: language", f"no tokenizer is available for {language!r}", hint=hint
        ) from None


@lru_cache(maxsize=8)
def load_tokenizer(language: str) -> Tokenize:
    """Load the tokenizer for a language. Raises BadInput if the language has no tokenizer."""
    tokenizer = load_language(language).tokenizer
    one_at_a_time = threading.Lock()  # stages run in threads, and Sudachi rejects concurrent calls

    def tokenize(text: str) -> list[str]:
        with one_at_a_time:
            return [
                token.text for block in split_blocks(text) for token in tokenizer(block) if not token.is_space
            ]

    return tokenize


def split_blocks(text: str) -> list[str]:
    """Split a text into blocks of at most BLOCK characters, if possible at white space near the end."""
    blocks = []
    while len(text) > BLOCK:
        near = range(BLOCK, BLOCK - MOST_WITHOUT_SPACE, -1)
        end = next((place for place in near if text[place].isspace()), BLOCK)
        blocks.append(text[:end])
        text = text[end:]
    return [*blocks, text]
