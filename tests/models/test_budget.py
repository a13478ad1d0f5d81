import asyncio
import random
import threading

import pytest

from tasks.errors import BadInput, BudgetSpent
from tasks.models.recording.entries import estimate_tokens
from tasks.models.sending.budget import Budget
from tasks.models.settings import BudgetLimits, Price

PRICES = {"m": Price(input_usd_per_million=1.0, output_usd_per_million=2.0)}


def test_a_call_costs_its_tokens_times_the_price():
    # 1,000 x $1 / 10^6 + 500 x $2 / 10^6 = $0.002
    assert Budget(prices=PRICES).price("m", 1_000, 500).usd == pytest.approx(0.002)


def test_what_would_pass_the_limit_is_refused_by_name():
    budget = Budget(BudgetLimits(tokens=100))
    with pytest.raises(
        BudgetSpent, match=r"0 tokens spent.*may need 101.*limit is 100 tokens.*run\.budget\.tokens"
    ):
        asyncio.run(budget.reserve("m", 51, 50))


def test_a_prompt_in_another_script_is_not_taken_for_a_short_one():
    # Common tokenizers count 2 to 5 tokens for these five characters; a quarter of five would be 1.
    assert estimate_tokens("数据库查询") == 3
    assert estimate_tokens("database") == 2
    assert estimate_tokens("") == 1


def test_settling_gives_back_what_was_not_used():
    async def spend():
        budget = Budget(BudgetLimits(tokens=100))
        for _ in range(9):  # each reserves 90 and uses 10
            budget.settle(await budget.reserve("m", 10, 10 if budget.spent.tokens > 60 else 20), 5, 5)
        return budget

    assert asyncio.run(spend()).spent.tokens == 90


def test_a_call_waits_for_those_in_flight_rather_than_give_up():
    async def play():
        budget = Budget(BudgetLimits(tokens=100))
        first = await budget.reserve("m", 40, 40)
        second = asyncio.create_task(budget.reserve("m", 40, 40))
        await asyncio.sleep(0.01)
        assert not second.done()
        budget.settle(first, 10, 0)
        return (await second).amount.tokens, budget.spent.tokens

    assert asyncio.run(play()) == (80, 10)


def test_a_waiting_call_is_refused_once_the_money_is_really_gone():
    async def play():
        budget = Budget(BudgetLimits(tokens=100))
        first = await budget.reserve("m", 40, 40)
        second = asyncio.create_task(budget.reserve("m", 40, 40))
        await asyncio.sleep(0.01)
        budget.settle(first, 40, 40)
        await second

    with pytest.raises(BudgetSpent):
        asyncio.run(play())


def test_a_lost_reply_counts_as_spent_and_a_refused_one_does_not():
    async def play():
        budget = Budget(prices=PRICES)
        budget.record_possibly_paid(await budget.reserve("m", 10, 10))
        budget.release(await budget.reserve("m", 10, 10))
        return budget

    budget = asyncio.run(play())
    assert (budget.spent.tokens, budget.possibly_paid.tokens, budget.reserved.tokens) == (20, 20, 0)


def test_dollars_need_a_price():
    with pytest.raises(BadInput, match=r"run\.prices\.other: is missing"):
        asyncio.run(Budget(BudgetLimits(usd=1.0), PRICES).reserve("other", 1, 1))


def test_spent_plus_reserved_never_passes_the_limit_in_threads():
    budget, worst = Budget(BudgetLimits(usd=0.01), PRICES), []

    def spend(seed):
        dice = random.Random(seed)

        async def run():
            while True:
                held = await budget.reserve("m", dice.randint(1, 200), 300)
                worst.append((budget.spent + budget.reserved).usd)
                await asyncio.sleep(0)
                budget.settle(held, held.prompt_tokens, dice.randint(0, 300))

        with pytest.raises(BudgetSpent):
            asyncio.run(run())

    threads = [threading.Thread(target=spend, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(worst) > 20
    assert max(worst) <= 0.01 + 1e-9
    assert budget.spent.usd > 0.008  # the budget stops near the limit
