"""Tests of each retriever against rankings computed by hand."""

import asyncio
import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.errors import BadInput
from tasks.systems.chunks import Chunk, Hit, fit_chunks, make_chunks
from tasks.systems.contract import Document
from tasks.systems.entries import Chunking
from tasks.systems.retrievers import Bm25Retriever, DenseRetriever, KeywordRetriever, fuse
from tasks.systems.tokenization import load_tokenizer
from tests.systems.scripted import ScriptedAsk, build, document


def chunk_texts(*texts):
    return make_chunks([document(text, f"d{number}") for number, text in enumerate(texts)], None, "gpt-4")


def search(retriever, query, count=10):
    return [(hit.place, hit.score) for hit in asyncio.run(retriever.search(query, count, row="r"))]


def test_keywords_are_distinct_words_with_case_punctuation_and_stop_words_kept():
    # query: {Who, is, the, Boss, ?}; "boss" is not the word "Boss"
    retriever = KeywordRetriever(
        chunk_texts(
            "the the the boss",  # the                   1
            "Boss of the firm",  # Boss, the             2
            "Who is it?",  #        Who, is, ?           3
            "Nothing here",  #      none: no hit
            "It is the Boss.",  #   is, the, Boss        3, later than the other
        ),
        "en",
    )
    assert search(retriever, "Who is the Boss?") == [(2, 3.0), (4, 3.0), (1, 2.0), (0, 1.0)]
    assert search(retriever, "Who is the Boss?", count=2) == [(2, 3.0), (4, 3.0)]
    assert search(retriever, "Boss Boss Boss") == [(1, 1.0), (4, 1.0)]


def test_english_words_are_spacys():
    split = load_tokenizer("en")
    assert split("Who's the U.S. director,  isn't it?\n\nYes") == [
        "Who", "'s", "the", "U.S.", "director", ",", "is", "n't", "it", "?", "Yes",
    ]  # fmt: skip


def test_japanese_is_split_without_spaces():
    split = load_tokenizer("ja")
    assert split("東京都の人口は約1,400万人です。") == [
        "東京", "都", "の", "人口", "は", "約", "1,400万", "人", "です", "。",
    ]  # fmt: skip


def test_a_japanese_question_finds_its_document():
    texts = chunk_texts("大阪は西日本の中心です。", "東京都の人口は多い。", "京都には寺が多い。")
    # 東京 / の / 人口 / は / ? shares all but ? with 東京 / 都 / の / 人口 / は / 多い / 。
    assert search(KeywordRetriever(texts, "ja"), "東京の人口は?")[0] == (1, 4.0)
    assert search(Bm25Retriever(texts, "ja"), "東京の人口は?")[0][0] == 1


@pytest.mark.parametrize("language", ["en", "ja"])
def test_a_text_longer_than_a_tokenizer_takes_is_split_whole(language):
    words = load_tokenizer(language)("word 語 " * 20_000)
    assert words.count("word") == words.count("語") == 20_000


def test_a_language_without_a_tokenizer_is_told():
    with pytest.raises(BadInput, match="no tokenizer is available for 'xq'"):
        load_tokenizer("xq")


def test_bm25_is_lucenes():
    # N = 3, average length 3; df(cat) = 2, df(fish) = 1.
    # idf = ln(1 + (N - df + 0.5) / (df + 0.5)): cat ln 1.6, fish ln(8/3)
    # weight = idf * tf / (tf + 1.5 * (0.25 + 0.75 * length / 3))
    retriever = Bm25Retriever(chunk_texts("cat sat down", "Cat ate fish today", "dog ran"), "en")
    first = math.log(1.6) / (1 + 1.5 * 1.0)
    second = (math.log(1.6) + math.log(8 / 3)) / (1 + 1.5 * (0.25 + 0.75 * 4 / 3))
    assert search(retriever, "CAT fish fish unheard") == [(1, round(second, 6)), (0, round(first, 6))]
    assert search(retriever, "unheard") == []


def test_equal_bm25_scores_stand_in_corpus_order():
    retriever = Bm25Retriever(chunk_texts("x y", "q w", "x z", "x y"), "en")
    assert [place for place, _ in search(retriever, "x")] == [0, 2, 3]


def test_reciprocal_rank_fusion_by_hand():
    # first: a b c; second: c a. a = 1/61 + 1/62, c = 1/63 + 1/61, b = 1/62
    a, b, c = 0, 1, 2
    first = [Hit(a, 9.0), Hit(b, 8.0), Hit(c, 7.0)]
    second = [Hit(c, 0.9), Hit(a, 0.8)]
    assert fuse([first, second]) == [
        Hit(a, round(1 / 61 + 1 / 62, 6)), Hit(c, round(1 / 63 + 1 / 61, 6)), Hit(b, round(1 / 62, 6)),
    ]  # fmt: skip
    assert fuse([[Hit(5, 1.0)], [Hit(3, 1.0)]]) == [Hit(3, round(1 / 61, 6)), Hit(5, round(1 / 61, 6))]


def test_similarities_are_rounded_and_ties_stand_in_corpus_order():
    vectors = {"east": [1.0, 0.0], "nearly": [1.0, 1e-8], "north": [0.0, 2.0], "diagonal": [3.0, 3.0]}
    ask = ScriptedAsk(vector=lambda text: vectors[text])
    dense = DenseRetriever(chunk_texts("nearly", "north", "diagonal", "east"), ask, "embedder", 100)
    assert search(dense, "east") == [(0, 1.0), (3, 1.0), (2, 0.707107), (1, 0.0)]
    assert search(dense, "north", 1) == [(1, 1.0)]
    assert ask.embedded == [["nearly", "north", "diagonal", "east"], ["east"], ["north"]]


def test_a_vector_index_finds_what_the_exact_search_finds():
    dice = random.Random(5)
    texts = [f"t{number}" for number in range(1_500)]
    queries = [f"q{number}" for number in range(20)]
    vectors = {text: [dice.gauss(0, 1) for _ in range(24)] for text in [*texts, *queries]}
    ask = ScriptedAsk(vector=vectors.__getitem__)
    exact, indexed = (DenseRetriever(chunk_texts(*texts), ask, "embedder", limit) for limit in (10_000, 100))
    again = DenseRetriever(chunk_texts(*texts), ask, "embedder", 100)
    found = expected = 0
    for query in queries:
        truth, got = search(exact, query, 5), search(indexed, query, 5)
        assert got == search(again, query, 5)
        assert all(hit in truth or hit[1] <= truth[-1][1] for hit in got)
        found, expected = found + len(set(truth) & set(got)), expected + 5
    assert found / expected >= 0.95


def test_a_plan_without_vectors_retrieves_nothing():
    ask = ScriptedAsk(vector=lambda text: [])
    assert search(DenseRetriever(chunk_texts("a", "b"), ask, "embedder", 10), "q") == []
    half = ScriptedAsk(vector=lambda text: [] if text == "q" else [1.0])
    assert search(DenseRetriever(chunk_texts("a", "b"), half, "embedder", 10), "q") == []


@given(st.lists(st.text(alphabet="ab ?", max_size=12), max_size=6), st.text(alphabet="ab ?", max_size=8))
def test_keyword_scores_count_shared_words(texts, query):
    split = load_tokenizer("en")
    expected = {place: len(set(split(query)) & set(split(text))) for place, text in enumerate(texts)}
    hits = search(KeywordRetriever(chunk_texts(*texts), "en"), query)
    assert dict(hits) == {place: float(score) for place, score in expected.items() if score}
    assert hits == sorted(hits, key=lambda hit: (-hit[1], hit[0]))


def test_chunks_are_within_their_tokens_and_keep_their_document():
    text = "\n\n".join(f"Paragraph {number} has a few words in it." for number in range(30))
    made = make_chunks([Document("x", "Title", text, ())], Chunking(tokens=40), "gpt-4")
    assert len(made) > 5
    assert {chunk.document for chunk in made} == {"x"}
    assert [chunk.place for chunk in made] == list(range(len(made)))
    assert " ".join(" ".join(chunk.text for chunk in made).split()) == " ".join(text.split())


def test_a_document_that_stands_twice_is_bad_input():
    with pytest.raises(BadInput, match="document x: occurs twice"):
        make_chunks([document("a", "x"), document("b", "x")], None, "gpt-4")


def test_passages_that_fit_the_budget_are_kept_whole_and_the_first_alone_is_cut():
    # ten tokens each: "one two ... ten" has one token per word
    ten = "one two three four five six seven eight nine ten"
    three = [Chunk(place, f"d{place}", "", ten) for place in range(3)]
    assert fit_chunks(three, "gpt-4", 1_000) == three
    assert fit_chunks(three, "gpt-4", 22) == three[:2]
    assert fit_chunks(three, "gpt-4", 12) == three[:1]
    (truncated,) = fit_chunks(three, "gpt-4", 4)
    assert truncated.text == "one two three four"
    assert fit_chunks([], "gpt-4", 4) == []


def test_an_unknown_encoding_is_told():
    with pytest.raises(BadInput, match="'gpt-none' is unknown"):
        build(ScriptedAsk(), ["x"], encoding="gpt-none", chunk={"tokens": 5})
