"""Split text into words by spaCy's tokenizer of a language (for Japanese, SudachiPy).

Blank pipelines are used: rules and a dictionary, no statistical model. Case, punctuation and stop words are
kept, as in GRAMMAR's own retriever; white space is dropped.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from tasks.errors import BadInput
from tasks.systems.extras import load_library

BLOCK = 10_000
"""Maximum characters per tokenizer call: Sudachi refuses more than 49,149 bytes, three per kanji."""
MOST_WITHOUT_SPACE = 1_000
"""How far before the end of a block white space is looked for."""

Tokenize = Callable[[str], list[str]]
LOADING = threading.Lock()
"""spaCy fills registries of the whole process while it loads, and stages run in threads."""


def load_language(language: str) -> Any:
    """Load spaCy's blank pipeline of a language (en, ja, de, ...). Raises BadInput if there is none."""
    with LOADING:
        return _load_language(language)


@lru_cache(maxsize=8)
def _load_language(language: str) -> Any:
    spacy = load_library("spacy", f"splitting text of language {language!r}")
    try:
        return spacy.blank(language)
    except ImportError:
        hint = (
            "pip install 'benchloom[japanese]'" if language == "ja" else "docs/systems.md names the languages"
        )
        raise BadInput(
            "params.yaml: systems: language", f"{language!r} has no tokenizer here", hint=hint
        ) from None


@lru_cache(maxsize=8)
def load_tokenizer(language: str) -> Tokenize:
    """Load the tokenizer of a language. Raises BadInput if there is none."""
    tokenizer = load_language(language).tokenizer
    one_at_a_time = threading.Lock()  # stages run in threads, and Sudachi refuses a second one meanwhile

    def tokenize(text: str) -> list[str]:
        with one_at_a_time:
            return [
                token.text for block in split_blocks(text) for token in tokenizer(block) if not token.is_space
            ]

    return tokenize


def split_blocks(text: str) -> list[str]:
    """Split a text into blocks of at most BLOCK characters, at white space if there is any near the end."""
    blocks = []
    while len(text) > BLOCK:
        near = range(BLOCK, BLOCK - MOST_WITHOUT_SPACE, -1)
        end = next((place for place in near if text[place].isspace()), BLOCK)
        blocks.append(text[:end])
        text = text[end:]
    return [*blocks, text]
