"""Drills with a faulty system and killed clients: no answer is lost, and no call is repeated."""

import asyncio
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter

import pytest
from aiohttp import web

from tests.flows.sample import ROOT
from tests.models.scenes import serving
from tests.models.system_worker import IN_FLIGHT

pytestmark = pytest.mark.drill
CALLS = 300
FAULTS = ("429", "500", "503", "drop", "hang")


class Drilled:
    """A system that answers with twice the number; the fraction `faults` of questions fails at first."""

    def __init__(self, faults=0.0, latency_s=0.02):
        self.faults, self.latency_s = faults, latency_s
        self.put, self.answered, self.failed = (
            Counter(),
            Counter(),
            Counter(),
        )

    @property
    def app(self):
        app = web.Application()
        app.router.add_post("/v1/ask", self.answer)
        return app

    async def answer(self, request):
        number = (await request.json())["q"]
        self.put[number] += 1
        await asyncio.sleep(self.latency_s)
        dice = random.Random(f"fault {number}")
        if self.put[number] == 1 and dice.random() < self.faults:
            kind = dice.choice(FAULTS)
            self.failed[kind] += 1
            return await self.misbehave(request, kind)
        self.answered[number] += 1
        return web.json_response(2 * number)

    async def misbehave(self, request, kind):
        if kind.isdigit():
            return web.Response(status=int(kind), headers={"Retry-After": "0"})
        if kind == "hang":
            await asyncio.sleep(30)
        request.transport.abort()
        return web.Response()


def start(folder, url):
    command = [
        "tests.models.system_worker",
        str(folder / "l.sqlite"),
        url,
        str(CALLS),
        str(folder / "out.json"),
    ]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.Popen([sys.executable, "-m", *command], cwd=ROOT, env=environment)


def read(folder):
    answers, calls = json.loads((folder / "out.json").read_text())
    return answers, calls


def test_faults_are_overcome_and_nothing_is_asked_after_its_answer(tmp_path):
    server = Drilled(faults=0.3)
    with serving(server.app) as url:
        assert start(tmp_path, url).wait(600) == 0
    answers, calls = read(tmp_path)
    assert answers == [[2 * number, ""] for number in range(CALLS)]
    assert len(calls) == CALLS
    assert sum(server.failed.values()) > 50
    assert set(server.failed) == set(FAULTS)
    assert set(server.answered.values()) == {1}


def test_a_killed_process_loses_no_more_than_was_in_flight(tmp_path):
    server, dice, kills = Drilled(latency_s=0.1), random.Random(7), 0
    with serving(server.app) as url:
        while True:
            process, before = start(tmp_path, url), sum(server.put.values())
            while process.poll() is None and sum(server.put.values()) - before < dice.randint(20, 80):
                time.sleep(0.01)
            if process.poll() is None and kills < 5:
                process.send_signal(signal.SIGKILL)
                kills += 1
            if process.wait(600) == 0:
                break
    assert read(tmp_path)[0] == [[2 * number, ""] for number in range(CALLS)]
    assert kills >= 3
    assert sum(server.put.values()) <= CALLS + kills * IN_FLIGHT
