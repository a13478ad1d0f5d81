"""A process that sends numbered questions to a system, and that drills kill. `LEDGER URL CALLS OUT`."""

import asyncio
import json
import sys
from pathlib import Path

from tasks.models.recorded_model import RecordedModel
from tasks.models.recording.ledger import Ledger
from tasks.models.request_builder import RequestBuilder
from tasks.models.sending.budget import Budget
from tasks.models.sending.client import ModelClient
from tasks.models.sending.dispatcher import Dispatcher
from tasks.models.sending.systems import SystemClient
from tasks.models.settings import SystemRun

IN_FLIGHT = 8


async def ask_all(ask, calls):
    async def one(number):
        body = {"q": number}
        answer = await ask.system(
            "drilled",
            "1",
            body,
            send=lambda transport: transport.post("/ask", body),
            row=str(number),
            parse=json.loads,
        )
        return [answer.value, answer.problem]

    return await asyncio.gather(*(one(number) for number in range(calls)))


def main():
    ledger, url, calls, out = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), Path(sys.argv[4])
    settings = SystemRun(
        url=url, in_flight=IN_FLIGHT, timeout_s=10, deadline_s=600, retries=20, breaker=1_000
    )
    budget = Budget()
    with Dispatcher(
        Ledger(ledger), ModelClient({}, budget), budget, systems=SystemClient({"drilled": settings})
    ) as dispatcher:
        ask = RecordedModel(RequestBuilder("drill.ask", out.parent, {}, epoch="night"), dispatcher)
        answers = asyncio.run(ask_all(ask, calls))
        out.write_text(json.dumps([answers, [call.id for call in ask.call_rows()]]))


if __name__ == "__main__":
    main()
