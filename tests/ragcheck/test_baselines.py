import asyncio
import re
import sys
from types import ModuleType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rouge_score.rouge_scorer import RougeScorer

from tasks.ragcheck.answers import SystemAnswer
from tasks.ragcheck.baselines import baselines, compute_cosine, compute_rouge_l, compute_word_recall
from tasks.ragcheck.entries import Assessment
from tests.ragcheck.scripted import ScriptedAsk, make_question


def test_word_recall_counts_content_words_by_their_stem():
    # combine, results, SELECT, statements: the answer has combining and statement
    assert (
        compute_word_recall("combine the results of SELECT statements", "It is combining a statement", "en")
        == 0.5
    )


def test_a_reference_of_stop_words_counts_by_all_its_words():
    assert compute_word_recall("he is not", "no, he is", "en") == pytest.approx(2 / 3)


def test_rouge_l_is_the_longest_common_subsequence():
    # LCS "the cat sat" of 4 and 5 words: P = 3/5, R = 3/4, F = 2/3
    assert compute_rouge_l("The cat sat down.", "the black cat then sat", "en") == pytest.approx(2 / 3)


def test_japanese_is_split_without_spaces():
    # 5月 から 7月 against 7月: some words match
    assert compute_word_recall("5月から7月", "7月です。", "ja") == pytest.approx(2 / 3)  # 5 月 7: 月 and 7
    assert 0 < compute_rouge_l("東アジアの広範囲", "梅雨は東アジアで見られます。", "ja") < 1
    assert compute_rouge_l("小笠原諸島", "小笠原諸島", "ja") == 1


LETTERS = st.characters(codec="ascii") | st.sampled_from("\u00e9\u00dc\u00df\u2013\u2019\u201c \u00b2")
TEXTS = st.text(LETTERS, max_size=60)


@settings(max_examples=60)
@given(TEXTS, TEXTS)
def test_rouge_l_of_english_is_that_of_the_package_and_of_its_rule(reference, answer):
    scorer = RougeScorer(["rougeL"])
    found = compute_rouge_l(reference, answer, "en")
    assert found == scorer.score(reference, answer)["rougeL"].fmeasure
    words, others = (re.findall("[a-z0-9]+", text.lower()) for text in (reference, answer))
    common = measure_common(words, others)
    assert found == pytest.approx(2 * common / (len(words) + len(others)) if common else 0)


def measure_common(one, other):
    """Return the length of the longest common subsequence, by definition."""
    lengths = [[0] * (len(other) + 1) for _ in range(len(one) + 1)]
    for row, word in enumerate(one):
        for column, name in enumerate(other):
            lengths[row + 1][column + 1] = (
                lengths[row][column] + 1
                if word == name
                else max(lengths[row][column + 1], lengths[row + 1][column])
            )
    return lengths[-1][-1]


def test_what_the_package_would_lose_is_read_by_our_words():
    assert compute_rouge_l("don't", "don t", "en") == 1  # like the package
    assert compute_rouge_l("über die Brücke", "die Brücke", "de") == pytest.approx(0.8)
    assert compute_rouge_l("小笠原諸島", "小笠原諸島", "en") == 1


@settings(max_examples=40)
@given(st.text(max_size=60), st.text(max_size=60), st.sampled_from(["en", "ja"]))
def test_overlap_lies_between_nothing_and_all(reference, answer, language):
    assert 0 <= compute_word_recall(reference, answer, language) <= 1
    assert 0 <= compute_rouge_l(reference, answer, language) <= 1


def measure(**options):
    answers = [
        SystemAnswer("a1", "q1", "s", "1", "aab", "", (), ()),
        SystemAnswer("a2", "q1", "s", "1", None, "it is down", (), ()),
    ]
    entry = Assessment(systems=("s",), ratings="x.csv", **options)
    questions = [make_question(1, reference="abb")]
    drafts = asyncio.run(baselines(questions, answers, entry, ScriptedAsk([])))
    assert {row.answer for row in drafts.rows} == {"a1"}
    return {row.measure: (row.value, row.problem) for row in drafts.rows}


def test_what_is_not_measured_says_why():
    found = measure(bertscore="some-model")
    assert found["embedding"] == (None, "the parameters name no embedder")
    assert found["bertscore"] == (None, "the package bert-score is not installed")
    assert measure()["bertscore"] == (None, "the parameters name no model")


def test_embeddings_are_compared_by_their_cosine():
    # (2, 1, 0) and (1, 2, 0): 4 / 5
    assert measure(embedder="embedder")["embedding"] == (0.8, "")
    assert compute_cosine([0.0], [1.0]) is None


def test_bertscore_is_taken_where_its_package_is(monkeypatch):
    fake = ModuleType("bert_score")
    fake.score = lambda texts, references, model_type: ([0], [0], [len(texts) / 4])
    fake.__spec__ = object()
    monkeypatch.setitem(sys.modules, "bert_score", fake)
    assert measure(bertscore="some-model")["bertscore"] == (0.25, "")
