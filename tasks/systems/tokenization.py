"""Splits text into words by spaCy's tokenizer of a language; Japanese by SudachiPy behind it.

It is a blank pipeline: rules and a dictionary, no statistical model. Case, punctuation and stop words
are kept, as in GRAMMAR's own retriever; only white space is no word.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from tasks.errors import BadInput
from tasks.systems.extras import load_library

BLOCK = 10_000
"""Characters that are split at once: Sudachi refuses more than 49,149 bytes, three for a kanji."""
MOST_WITHOUT_SPACE = 1_000

Tokenize = Callable[[str], list[str]]


@lru_cache(maxsize=8)
def load_tokenizer(language: str) -> Tokenize:
    """Load the splitter of a language (a code of spaCy's: en, ja, de, ...). Raises BadInput."""
    spacy = load_library("spacy", f"splitting text of language {language!r}")
    try:
        tokenizer = spacy.blank(language).tokenizer
    except ImportError as error:
        raise BadInput(
            "params.yaml: systems: language",
            f"{language!r} has no tokenizer here ({' '.join(str(error).split())[:120]})",
            hint="pip install 'benchloom[japanese]' brings Japanese",
        ) from None
    one_at_a_time = threading.Lock()  # stages run in threads, and Sudachi refuses a second one meanwhile

    def split(text: str) -> list[str]:
        with one_at_a_time:
            return [word for block in cut_blocks(text) for word in _split(tokenizer, block)]

    return split


def cut_blocks(text: str) -> list[str]:
    """Cut a text into blocks of at most BLOCK characters, at white space where there is any near."""
    blocks = []
    while len(text) > BLOCK:
        near = range(BLOCK, BLOCK - MOST_WITHOUT_SPACE, -1)
        end = next((place for place in near if text[place].isspace()), BLOCK)
        blocks.append(text[:end])
        text = text[end:]
    return [*blocks, text]


def _split(tokenizer: Any, text: str) -> list[str]:
    return [token.text for token in tokenizer(text) if not token.is_space]
