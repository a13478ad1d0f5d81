"""Tests of all methods over 200 steps with two seeds and k = 16, on models with predictable results."""

from collections.abc import Callable, Mapping, Sequence
from random import Random

import pytest

from tasks.streambench.build.items import StreamItem
from tasks.streambench.build.sequence import SequencePlace
from tasks.streambench.solve.stream_step import StreamStep
from tests.streambench.scripted import (
    Asked,
    StreamAsk,
    follow_examples,
    know_all,
    know_nothing,
    make_items,
    make_shots,
    order,
    run_steps,
)

STEPS, K, SEEDS = 200, 16, (42, 7)
WITHOUT = ("zero_shot", "chain", "self_refine")
"""Methods without examples in prompts."""
BY_MEMORY = ("self_stream_icl", "mam_stream_icl")
WITH_ALL = ("grow_prompt", "mem_prompt")
"""Methods whose memory also contains wrong steps."""
METHODS = (*WITHOUT, "few_shot", *WITH_ALL, *BY_MEMORY)
KNOWN = range(60, 63)
"""One item of each class that the third model knows without examples."""
ITEMS = make_items(STEPS)
Runs = Mapping[tuple[str, int], Sequence[StreamStep]]


def shuffle(seed: int) -> list[SequencePlace]:
    """Return a different order of the items for each seed."""
    items = list(ITEMS)
    Random(seed).shuffle(items)
    return order(items, seed)


def run(reply: Callable[[Asked], str]) -> Runs:
    """Run all methods with one model (MAM with two equal models); return the steps by method and seed."""
    ask = StreamAsk(lambda asked: "NO NEED TO REFINE" if asked.prompt == "critique" else reply(asked))
    runs = run_steps(
        ask,
        ITEMS,
        *METHODS,
        seeds=SEEDS,
        sequence=[place for seed in SEEDS for place in shuffle(seed)],
        shots=make_shots(K),
        k=K,
        method_models={"mam_stream_icl": ("agent", "other")},
    )
    found = {(rows[0].method, rows[0].seed): rows for rows in runs.values()}
    assert sorted(found) == sorted((method, seed) for method in METHODS for seed in SEEDS)
    assert {len(rows) for rows in found.values()} == {STEPS}
    return found


def is_known(number: int) -> bool:
    return number in KNOWN


def know_a_few(asked: Asked) -> str:
    """Answer three items correctly, and other items only with a similar example in the prompt."""
    return know_all(asked) if is_known(int(asked.question.split()[1])) else follow_examples(asked)


@pytest.fixture(scope="module")
def taught() -> Runs:
    return run(know_a_few)


def list_seen(seed: int) -> list[tuple[str, int]]:
    """Return class and number of the items by position."""
    by_id: dict[str, StreamItem] = {item.id: item for item in ITEMS}
    words = [by_id[place.item].text.split() for place in shuffle(seed)]
    return [(colour, int(number)) for colour, number in words]


def bits(rows: Sequence[StreamStep]) -> list[bool]:
    return [row.bit for row in rows]


def test_a_model_that_is_always_right_is_right_by_every_method() -> None:
    runs = run(know_all)
    for (method, _), rows in runs.items():
        assert all(bits(rows)), method
        grows = method in (*WITH_ALL, *BY_MEMORY)
        assert [row.memory_size for row in rows] == [t if grows else 0 for t in range(1, STEPS + 1)]
        shown = [min(t, K) if grows else K if method == "few_shot" else 0 for t in range(STEPS)]
        assert [len(row.shown) for row in rows] == shown, method


def test_a_model_that_is_always_wrong_is_wrong_by_every_method() -> None:
    for (method, _), rows in run(know_nothing).items():
        assert not any(bits(rows)), method
        assert rows[-1].memory_size == (STEPS if method in WITH_ALL else 0), method
        assert all(not row.shown for row in rows) is (method in (*WITHOUT, *BY_MEMORY)), method


@pytest.mark.parametrize("seed", SEEDS)
def test_without_examples_it_is_right_on_what_it_knows_and_with_shots_always(taught: Runs, seed: int) -> None:
    known = [is_known(number) for _, number in list_seen(seed)]
    for method in WITHOUT:
        assert bits(taught[method, seed]) == known, method
    assert all(bits(taught["few_shot", seed])), "every class is among the shots"


@pytest.mark.parametrize("seed", SEEDS)
def test_with_a_memory_of_right_answers_it_is_right_from_the_first_of_a_class(
    taught: Runs, seed: int
) -> None:
    learned, expected = set(), []
    for colour, number in list_seen(seed):
        if is_known(number):
            learned.add(colour)
        expected.append(colour in learned)
    assert 0.1 < sum(expected) / STEPS < 1
    for method in BY_MEMORY:
        rows = taught[method, seed]
        assert bits(rows) == expected, "others of the class are always nearer than those of another"
        assert [row.memory_size for row in rows] == [sum(expected[:t]) for t in range(1, STEPS + 1)]
    agents = [row.agent for row in taught["mam_stream_icl", seed]]
    assert agents == ["other", "agent"] * (STEPS // 2), "the index moves before it is used"


@pytest.mark.parametrize("seed", SEEDS)
def test_a_window_forgets_what_is_older_than_k_steps(taught: Runs, seed: int) -> None:
    expected: list[bool] = []
    seen = list_seen(seed)
    for t, (colour, number) in enumerate(seen):
        window = range(max(0, t - K), t)
        expected.append(is_known(number) or any(expected[s] and seen[s][0] == colour for s in window))
    assert bits(taught["grow_prompt", seed]) == expected


@pytest.mark.parametrize("seed", SEEDS)
def test_a_memory_of_all_steps_helps_where_a_right_one_is_among_the_nearest(taught: Runs, seed: int) -> None:
    seen, rows = list_seen(seed), taught["mem_prompt", seed]
    for t, row in enumerate(rows):
        colour, number = seen[t]
        like = {s + 1 for s in range(t) if seen[s][0] == colour}
        shown = {entry.position for entry in row.shown}
        # Examples of the same class come first, whether correct or not.
        assert len(shown) == min(t, K)
        assert shown <= like if len(like) >= K else shown >= like
        right = any(rows[position - 1].bit for position in shown & like)
        assert row.bit is (is_known(number) or right), t
    own = [sum(bits(taught[method, seed])) for method in ("zero_shot", "mem_prompt", "self_stream_icl")]
    assert own == sorted(own)
    assert own[0] < own[1], "it learns"
