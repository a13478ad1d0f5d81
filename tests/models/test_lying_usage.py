"""Tests of budgets with endpoints that miscount tokens: the actual usage stays within the limit."""

import asyncio

import pytest
from aiohttp import web

from tasks.errors import BudgetSpent
from tasks.models.ask import Request
from tasks.models.recording.entries import estimate_tokens
from tasks.models.sending.budget import Budget
from tasks.models.sending.client import ModelClient
from tasks.models.sending.replies import estimate_worst_case
from tasks.models.settings import BudgetLimits
from tests.models.scenes import MODEL, answering, make_endpoint

CALLS, IN_FLIGHT, LIMIT = 1_000, 16, 60_000
TEXT = "word " * 60
THINKING = 2_000
"""Reasoning tokens of `thinking`, which only the total includes."""
LIES = {
    "no usage": None,
    "zeros": {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0},
    "one token for all": {"prompt_tokens": 1, "completion_tokens": 0, "total_tokens": 1},
    "negative": {"prompt_tokens": -400, "completion_tokens": -80, "total_tokens": -480},
    "text": {"prompt_tokens": "400", "completion_tokens": "80"},
    "floats": {"prompt_tokens": 0.5, "completion_tokens": 0.5},
    "more than any call": {"prompt_tokens": 10**12, "completion_tokens": 10**12},
    "truth values": {"prompt_tokens": True, "completion_tokens": True},
    "a list": [400, 80],
    "half of it": {"prompt_tokens": 400},
    "thinking": ...,
}


def make_request(number: int) -> Request:
    messages = ({"role": "user", "content": f"question {number}: " + "much to read " * 120},)
    return Request(MODEL, messages, {"temperature": 0.0, "max_tokens": 128})


@pytest.mark.parametrize("lie", LIES)
def test_the_endpoints_own_count_stays_within_the_limit(lie):
    counted, costs = 0, set()

    async def answer(request):
        nonlocal counted
        body = await request.json()
        prompt, completion = estimate_tokens(body["messages"][0]["content"]), estimate_tokens(TEXT)
        usage, cost = LIES[lie], prompt + completion
        if lie == "thinking":
            cost += THINKING
            usage = {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": cost}
        counted += cost
        costs.add(cost)
        choice = {"message": {"role": "assistant", "content": TEXT}, "finish_reason": "stop"}
        return web.json_response({"choices": [choice], "usage": usage})

    async def run(url):
        budget = Budget(BudgetLimits(tokens=LIMIT))
        client = ModelClient({MODEL: make_endpoint(url, in_flight=IN_FLIGHT)}, budget)
        requests = [make_request(number) for number in range(CALLS)]
        try:
            done = await asyncio.gather(
                *(client.send({str(number): request}) for number, request in enumerate(requests)),
                return_exceptions=True,
            )
        finally:
            await client.close()
        return budget, done, sum(estimate_worst_case(requests[:1]))

    with answering(answer) as url:
        budget, done, worst = asyncio.run(run(url))
    stopped = [result for result in done if isinstance(result, BudgetSpent)]
    answered = [entry for result in done if isinstance(result, dict) for entry in result.values()]
    assert stopped
    assert len(answered) + len(stopped) == CALLS
    assert counted <= LIMIT + IN_FLIGHT * max(*costs, worst)
    assert budget.spent.tokens >= counted, "nothing that the endpoint counts is left out"
    assert all(sent.entry.estimated for sent in answered) is (lie != "thinking")
    assert "60000 tokens" in str(stopped[0])
