"""Tests of memories: order, ties, growth, and the index against a plain computation."""

import numpy as np
import pytest

from tasks.errors import ModelFailed
from tasks.streambench.memory import NO_VECTOR, MemoryEntry
from tasks.streambench.solve.stream_runs import normalise
from tasks.streambench.solve.vector_memory import VectorMemory


def entry(position, agent="a"):
    return MemoryEntry(f"i{position}", position, agent, f"key {position}", "yes", True, "")


def fill(memory, vectors):
    for position, vector in enumerate(vectors, 1):
        memory.add(entry(position), vector)


def sort_plainly(vectors, query, k):
    """Return the nearest entries by rounded distances in double precision; ties are sorted by position."""
    far = [
        (round(sum((float(a) - float(b)) ** 2 for a, b in zip(vector, query, strict=True)), 6), position)
        for position, vector in enumerate(vectors, 1)
    ]
    return [(position, distance) for distance, position in sorted(far)[:k]]


def draw(count, width=12, seed=5):
    dice = np.random.default_rng(seed)
    return [normalise(list(row)) for row in dice.normal(size=(count, width))]


def test_the_nearest_first_by_hand():
    memory = VectorMemory(100)
    fill(memory, [normalise(values) for values in ([1, 0], [0, 1], [1, 1], [-1, 0])])
    found = memory.nearest(normalise([1, 0]), 3)
    # Squared distances: 0; 2 - 2 * 0; 2 - 2 / sqrt(2); 4.
    assert [(result.entry.position, result.distance) for result in found] == [
        (1, 0.0),
        (3, 0.585786),
        (2, 2.0),
    ]
    assert [listed_entry.entry.position for listed_entry in memory.nearest(normalise([1, 0]), 9)] == [
        1,
        3,
        2,
        4,
    ]
    assert memory.nearest(normalise([1, 0]), 0) == ()


def test_ties_go_by_position_then_agent():
    memory = VectorMemory(100)
    same = normalise([3, 4])
    for position, agent in ((2, "b"), (2, "a"), (1, "c"), (3, "a")):
        memory.add(entry(position, agent), same)
    found = memory.nearest(same, 3)
    assert [(result.entry.position, result.entry.agent) for result in found] == [(1, "c"), (2, "a"), (2, "b")]


def test_every_growth_finds_what_a_plain_computation_finds():
    memory, vectors = VectorMemory(10_000), draw(300)
    vectors[40:60] = [vectors[7]] * 20
    queries = [vectors[7], *draw(5, seed=9)]
    for position, vector in enumerate(vectors, 1):
        memory.add(entry(position), vector)
        if position % 37 == 0 or position == 300:
            for query in queries:
                found = memory.nearest(query, 16)
                assert [(result.entry.position, result.distance) for result in found] == sort_plainly(
                    vectors[:position], query, 16
                )
    assert len(memory) == 300


def test_an_index_has_the_order_of_an_exact_search_for_what_it_finds():
    vectors, queries = draw(400, width=8), draw(20, width=8, seed=2)
    indexed, exact = VectorMemory(100), VectorMemory(10_000)
    fill(indexed, vectors[:250])
    indexed.nearest(queries[0], 4)
    for position in range(250, 400):  # after the index was built
        indexed.add(entry(position + 1), vectors[position])
    fill(exact, vectors)
    for query in queries:
        assert indexed.nearest(query, 8) == exact.nearest(query, 8)


def test_the_last_k_the_oldest_first():
    memory = VectorMemory(100)
    fill(memory, draw(5))
    assert [listed_entry.position for listed_entry in memory.latest(3)] == [3, 4, 5]
    assert [listed_entry.position for listed_entry in memory.latest(9)] == [1, 2, 3, 4, 5]
    assert memory.latest(0) == ()


def test_what_was_never_embedded_is_kept_and_not_found():
    memory = VectorMemory(100)
    memory.add(entry(1), NO_VECTOR)
    assert memory.nearest(normalise([1, 0]), 3) == ()
    memory.add(entry(2), normalise([1, 0]))
    assert [listed_entry.entry.position for listed_entry in memory.nearest(normalise([1, 0]), 3)] == [2]
    assert memory.nearest(NO_VECTOR, 3) == ()
    assert [listed_entry.position for listed_entry in memory.latest(3)] == [1, 2]


def test_another_width_is_refused():
    memory = VectorMemory(100)
    memory.add(entry(1), normalise([1, 0]))
    with pytest.raises(ModelFailed, match=r"different lengths \(2 and 3\)"):
        memory.add(entry(2), normalise([1, 0, 0]))


def test_a_vector_of_zeros_stays():
    assert normalise([0.0, 0.0]).tolist() == [0.0, 0.0]
    assert normalise([3.0, 4.0]).tolist() == pytest.approx([0.6, 0.8])
