"""Tests of splitting text into words."""

import time
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest

from tasks.systems import tokenization
from tasks.systems.tokenization import load_language, load_tokenizer


def test_threads_may_split_at_once():
    pytest.importorskip("sudachipy", reason="needs the extra `japanese`")
    split = load_tokenizer("ja")
    text = "東京都は日本の首都である。" * 300
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(split, [text] * 24))
    assert all(words == found[0] for words in found)
    assert found[0][:3] == ["東京", "都", "は"]


def test_languages_are_loaded_one_after_the_other(monkeypatch):
    """Two languages loading concurrently would change a registry while the other iterates over it."""
    loading, most = [], []

    def load(language):
        loading.append(language)
        most.append(len(loading))
        time.sleep(0.02)
        loading.remove(language)
        return language

    monkeypatch.setattr(tokenization, "load_library", lambda *_: SimpleNamespace(blank=load))
    languages = [f"made-{number % 3}" for number in range(12)]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(load_language, languages)) == languages
    assert most == [1, 1, 1]
