import asyncio
import time

import pytest

from tasks.errors import ModelFailed
from tasks.models.sending.failures import Failure
from tasks.models.sending.rate_limiter import RateLimiter, TokenBucket
from tests.models.scenes import make_endpoint

BROKEN = Failure("answered 500", retry=True, paid=False)
THROTTLED = Failure("answered 429", retry=True, paid=False, kind="throttled")
REFUSED = Failure("answered 400", retry=False, paid=False, kind="refused")


def open_gate(**settings):
    return RateLimiter("tester", make_endpoint("http://127.0.0.1:9/v1", **settings))


async def enter_all(limiter, count):
    return [await limiter.acquire(1) for _ in range(count)]


async def is_let_in(limiter):
    turn = asyncio.ensure_future(limiter.acquire(1))
    await asyncio.sleep(0.02)
    if not turn.done():
        turn.cancel()
        return False
    limiter.release_unsent(turn.result())
    return True


@pytest.mark.parametrize("per_minute", [1, 2, 30, 59, 60, 61, 600, 6_000])
def test_no_minute_holds_more_than_is_allowed(per_minute):
    bucket, now, taken = TokenBucket(per_minute, 0.0), 0.0, []
    while now < 200:
        wait_s = bucket.find_wait(1, now)
        if wait_s == 0:
            bucket.take(1, now)
            taken.append(now)
        now += wait_s
    fullest = max(
        sum(start <= moment < start + 60 for moment in taken) for start in taken[:: max(1, per_minute // 60)]
    )
    assert fullest <= per_minute
    # The long-run limit: 200 s are three minutes and a third.
    assert len(taken) >= per_minute * 3 * 0.98


def test_what_is_larger_than_the_bucket_waits_for_a_full_one_and_leaves_a_debt():
    bucket = TokenBucket(600, 0.0)  # capacity ten, refilled by about ten per second
    assert bucket.find_wait(100, 0.0) == 0
    bucket.take(100, 0.0)
    assert bucket.find_wait(1, 0.0) == pytest.approx(9.2, abs=0.2)
    bucket.refund(90)
    assert bucket.find_wait(1, 0.0) == pytest.approx(0.1, abs=0.05)


def test_a_count_that_no_call_can_have_does_not_stop_the_others_for_hours():
    bucket = TokenBucket(600, 0.0)
    bucket.take(10, 0.0)
    bucket.refund(10 - 100_000_000)
    assert bucket.find_wait(10, 0.0) < 70


def test_no_limit_is_no_limit():
    bucket = TokenBucket(None, 0.0)
    bucket.take(1e12, 0.0)
    assert bucket.find_wait(1e12, 0.0) == 0


def test_a_turn_comes_first_come_first_served_and_a_cancelled_one_is_passed_over():
    async def play():
        limiter, order = open_gate(in_flight=1), []
        held = await limiter.acquire(1)

        async def wait(name):
            permit = await limiter.acquire(1)
            order.append(name)
            limiter.release_answered(permit, 1)

        tasks = [asyncio.ensure_future(wait(name)) for name in "abcd"]
        await asyncio.sleep(0)
        tasks[1].cancel()
        await asyncio.sleep(0)
        assert order == []
        limiter.release_answered(held, 1)
        await asyncio.gather(*tasks, return_exceptions=True)
        return order

    assert asyncio.run(play()) == ["a", "c", "d"]


def test_one_cancelled_as_its_turn_comes_gives_it_on():
    async def play():
        limiter = open_gate(in_flight=1)
        held = await limiter.acquire(1)
        first, second = asyncio.ensure_future(limiter.acquire(1)), asyncio.ensure_future(limiter.acquire(1))
        await asyncio.sleep(0)
        limiter.release_answered(held, 1)
        first.cancel()
        await asyncio.wait_for(second, 1)

    asyncio.run(play())


def test_a_429_halves_what_is_allowed_once_for_all_under_way_and_answers_win_it_back():
    async def play():
        limiter = open_gate(in_flight=16)
        tickets = await enter_all(limiter, 16)
        for permit in tickets[:8]:
            limiter.release_failed(permit, THROTTLED, 0.0)
        halved = limiter.allowed
        for permit in tickets[8:]:
            limiter.release_answered(permit, 1)
        (permit,) = await enter_all(limiter, 1)
        limiter.release_failed(permit, THROTTLED, 0.0)
        cut = limiter.allowed
        for _ in range(200):
            (permit,) = await enter_all(limiter, 1)
            limiter.release_answered(permit, 1)
        return halved, cut, limiter.allowed

    halved, cut, after = asyncio.run(play())
    assert halved == 8
    assert cut == 4  # eight answers had restored one of nine
    assert after == 16


def test_one_429_stops_nobody_else_and_two_in_a_row_stop_all():
    async def play():
        limiter = open_gate(in_flight=4)
        (permit,) = await enter_all(limiter, 1)
        limiter.release_failed(permit, THROTTLED, 0.3)
        after_one = await is_let_in(limiter)
        (permit,) = await enter_all(limiter, 1)
        limiter.release_failed(permit, THROTTLED, 0.3)
        after_two = await is_let_in(limiter)
        await asyncio.sleep(0.35)
        return after_one, after_two, await is_let_in(limiter)

    assert asyncio.run(play()) == (True, False, True)


def test_the_circuit_opens_after_failures_in_a_row_lets_one_try_and_closes_with_an_answer():
    async def play():
        limiter = open_gate(in_flight=8, breaker=3, breaker_s=0.2)
        for permit in await enter_all(limiter, 3):
            limiter.release_failed(permit, BROKEN, 0.0)
        assert not await is_let_in(limiter)
        await asyncio.sleep(0.25)
        probe = await limiter.acquire(1)
        assert not await is_let_in(limiter)  # only one call is tried
        limiter.release_answered(probe, 1)
        assert limiter.allowed == 8
        assert await is_let_in(limiter)

    asyncio.run(play())


def test_the_wait_doubles_while_tries_fail():
    async def play():
        limiter = open_gate(breaker=1, breaker_s=0.1)
        for wait_s in (0.1, 0.2, 0.4):
            permit = await limiter.acquire(1)
            limiter.release_failed(permit, BROKEN, 0.0)
            await asyncio.sleep(wait_s - 0.05)
            assert not await is_let_in(limiter)
            await asyncio.sleep(0.06)

    asyncio.run(play())


def test_a_refusal_or_an_answer_shows_that_the_endpoint_lives():
    async def play():
        limiter = open_gate(breaker=3)
        for failure in (BROKEN, BROKEN, REFUSED, BROKEN, BROKEN):
            (permit,) = await enter_all(limiter, 1)
            limiter.release_failed(permit, failure, 0.0)
        return await is_let_in(limiter)

    assert asyncio.run(play())


def test_an_endpoint_that_stays_down_turns_all_away_in_one_line():
    async def play():
        limiter = open_gate(in_flight=2, breaker=1, breaker_s=0.05, deadline_s=0.1)
        first = await limiter.acquire(1)
        waiting = [asyncio.ensure_future(limiter.acquire(1)) for _ in range(5)]
        limiter.release_failed(first, BROKEN, 0.0)
        for _ in range(3):
            done, _ = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            permit = next(task for task in done if task.exception() is None).result()
            waiting = [task for task in waiting if task not in done]
            limiter.release_failed(permit, BROKEN, 0.0)
            await asyncio.sleep(0)
            if all(task.done() for task in waiting):
                break
        return [task.exception() for task in waiting]

    errors = asyncio.run(play())
    assert errors
    assert all(isinstance(error, ModelFailed) for error in errors)
    assert "tester: the endpoint has failed" in str(errors[0])


def test_nobody_waits_longer_than_the_deadline_for_the_next_try_of_an_endpoint_that_is_down():
    async def play():
        limiter = open_gate(in_flight=2, breaker=1, breaker_s=60, deadline_s=0.2)
        began = time.monotonic()
        first = await limiter.acquire(1)
        waiting = asyncio.ensure_future(limiter.acquire(1))
        last = asyncio.ensure_future(limiter.acquire(1))
        limiter.release_failed(first, BROKEN, 0.0)
        limiter.release_failed(await waiting, BROKEN, 0.0)
        await asyncio.wait([last])
        return last.exception(), time.monotonic() - began

    error, seconds = asyncio.run(play())
    assert isinstance(error, ModelFailed)
    assert 0.2 <= seconds < 30


def test_what_is_sent_again_comes_before_what_is_new():
    async def play():
        limiter = open_gate(in_flight=1)
        first = await limiter.acquire(1)
        turns = {name: asyncio.ensure_future(limiter.acquire(1)) for name in ("new", "newer")}
        await asyncio.sleep(0)
        turns["again"] = asyncio.ensure_future(limiter.acquire(1, again=True))
        await asyncio.sleep(0)
        limiter.release_failed(first, REFUSED, 0.0)
        order = []
        while turns:
            done, _ = await asyncio.wait(turns.values(), return_when=asyncio.FIRST_COMPLETED)
            (name,) = [name for name, turn in turns.items() if turn in done]
            order.append(name)
            limiter.release_answered(turns.pop(name).result(), 1)
        return order

    assert asyncio.run(play()) == ["again", "new", "newer"]


def test_an_endpoint_that_only_fails_is_in_trouble_until_it_answers():
    async def play():
        limiter = open_gate(in_flight=4, breaker=9)
        said = [limiter.failure_report]
        tickets = await enter_all(limiter, 4)
        for permit in tickets[:3]:
            limiter.release_failed(permit, BROKEN, 0.0)
            said.append(limiter.failure_report)
        limiter.release_answered(tickets[3], 1)
        return [*said, limiter.failure_report]

    never, once, twice, thrice, well = asyncio.run(play())
    assert (never, once, well) == ("", "", "")
    assert twice.startswith("tester: 2 failures in a row, for ")
    assert thrice.startswith("tester: 3 failures in a row, for ")
    assert thrice.endswith(f"s (http://127.0.0.1:9/v1: {BROKEN.problem})")
