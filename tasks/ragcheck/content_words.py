"""List a text's words and content words (stems without stop words), in any language that spaCy supports."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from functools import lru_cache

from tasks.systems.tokenization import load_language, load_tokenizer

STEMMED = {
    "ar": "arabic", "da": "danish", "de": "german", "en": "english", "es": "spanish", "fi": "finnish",
    "fr": "french", "hu": "hungarian", "it": "italian", "nl": "dutch", "nb": "norwegian", "pt": "portuguese",
    "ro": "romanian", "ru": "russian", "sv": "swedish",
}  # fmt: skip
"""Language code -> its Snowball stemmer. Words of other languages are compared without stemming."""

JAPANESE_AUXILIARIES = frozenset(
    [
        "ます", "まし", "ませ", "ましょ", "です", "でし", "でしょ", "だっ", "だろ", "たら", "なら",
        "られ", "れる", "られる", "せる", "させ", "させる", "ない", "なく", "なかっ", "たい", "たく",
        "しまう", "しまっ", "おり", "ござい", "そう", "よう",
    ]
)  # fmt: skip
"""Japanese auxiliary forms that Sudachi splits off and that are missing from spaCy's stop words."""


def list_words(text: str, language: str) -> list[str]:
    """List the words of a text in order, NFKC-normalised and case-folded, without punctuation.

    Raises BadInput for a language without a spaCy tokenizer.
    """
    tokenize = load_tokenizer(language)
    words = tokenize(unicodedata.normalize("NFKC", text))
    return [word.casefold() for word in words if any(character.isalnum() for character in word)]


def find_content_words(text: str, language: str) -> dict[str, str]:
    """Map the stem of each content word of a text to the case-folded word at its first occurrence."""
    stop, stem = _load_stop_words(language), _load_stemmer(language)
    found: dict[str, str] = {}
    for word in list_words(text, language):
        if word not in stop:
            found.setdefault(stem(word), word)
    return found


@lru_cache(maxsize=16)
def _load_stop_words(language: str) -> frozenset[str]:
    stop = frozenset(word.casefold() for word in load_language(language).Defaults.stop_words)
    return stop | JAPANESE_AUXILIARIES if language == "ja" else stop


@lru_cache(maxsize=16)
def _load_stemmer(language: str) -> Callable[[str], str]:
    if language not in STEMMED:
        return str
    # nltk takes 2 s to import. Code that only reads the artifacts of guards and baselines does not need nltk.
    from nltk.stem.snowball import SnowballStemmer

    stemmer = SnowballStemmer(STEMMED[language])
    return lambda word: str(stemmer.stem(word))
