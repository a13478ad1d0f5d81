"""Splitting text into words."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from tasks.systems.tokenization import load_tokenizer


def test_threads_may_split_at_once():
    pytest.importorskip("sudachipy", reason="needs the extra `japanese`")
    split = load_tokenizer("ja")
    text = "東京都は日本の首都である。" * 300
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(split, [text] * 24))
    assert all(words == found[0] for words in found)
    assert found[0][:3] == ["東京", "都", "は"]
