"""A process that makes scripted calls through the whole model layer; drills start and kill such processes.

`python -m tests.models.worker LEDGER URL CALLS OUT [--in-flight N] ...`
"""

import argparse
import asyncio
import json
import sys
import time
from pathlib import Path

from tasks.artifacts.parquet import write_rows
from tasks.models.ask import Role
from tasks.models.calls import Call
from tasks.models.recorded_model import RecordedModel
from tasks.models.recording.ledger import Ledger
from tasks.models.recording.ledger_address import read_address
from tasks.models.request_builder import RequestBuilder
from tasks.models.sending.budget import Budget
from tasks.models.sending.client import ModelClient
from tasks.models.sending.dispatcher import Dispatcher
from tasks.models.settings import BatchMode, Endpoint
from tests.models.scenes import MODEL, make_entry

PROMPT = "# user\nHow much is {{ number }} plus {{ number }}?\n"
ROLE = Role(model=MODEL, max_tokens=16)


def make_builder(folder: Path) -> RequestBuilder:
    folder.mkdir(exist_ok=True)
    (folder / "sum.md").write_text(PROMPT)
    return RequestBuilder("drill.sum", folder, {"adder": ROLE})


async def ask_all(ask: RecordedModel, calls: int, rounds: int) -> list[int | None]:
    async def one(number: int) -> int | None:
        return (await ask("sum", {"number": number}, role="adder", row=str(number), parse=int)).value

    values: list[int | None] = []
    size = -(-calls // rounds)
    for start in range(0, calls, size):
        values += await asyncio.gather(*map(one, range(start, min(start + size, calls))))
    return values


def record_sums(ledger: Ledger, folder: Path, calls: int) -> list[str]:
    """Record distinct scripted answers into a ledger for a server; return the keys."""
    builder = make_builder(folder)
    requests = [
        builder.request(builder.render("sum", {"number": number}), ROLE, 0) for number in range(calls)
    ]
    ledger.put_many(make_entry(request, str(2 * number)) for number, request in enumerate(requests))
    return [request.key() for request in requests]


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("ledger", type=read_address)
    parser.add_argument("url")
    parser.add_argument("calls", type=int)
    parser.add_argument("out", type=Path)
    parser.add_argument("--in-flight", type=int, default=16)
    parser.add_argument("--timeout", type=float, default=60.0)
    parser.add_argument("--batch", action="store_true")
    parser.add_argument("--clock-ahead", type=float, default=0.0, help="seconds")
    parser.add_argument("--rounds", type=int, default=1, help="each waits for the one before")
    options = parser.parse_args()
    if options.clock_ahead:
        right = time.time
        time.time = lambda: right() + options.clock_ahead
    budget = Budget()
    endpoint = Endpoint(url=options.url, in_flight=options.in_flight, timeout_s=options.timeout)
    mode = BatchMode(stages=("*",) if options.batch else (), gather_s=0.1, poll_s=0.1)
    with Ledger(options.ledger) as ledger:
        client = ModelClient({MODEL: endpoint}, budget, record_possibly_paid=ledger.record_possibly_paid)
        with Dispatcher(ledger, client, budget, mode) as dispatcher:
            ask = RecordedModel(make_builder(options.out.parent / "prompts"), dispatcher)
            values = asyncio.run(ask_all(ask, options.calls, options.rounds))
    write_rows(options.out, Call, ask.call_rows())
    spent = {"tokens": budget.spent.tokens, "doubtful": budget.possibly_paid.tokens}
    print(json.dumps({"values": values, "live": ask.usage().live_calls, **spent}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
