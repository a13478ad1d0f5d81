"""Tests of models' speed: from the live ledger, from a trial of an embedded model, and long-run warnings."""

import asyncio
import json
import math
from dataclasses import replace

import pytest
from aiohttp import web

from flows.run import speed_trial
from flows.run.estimates import NOTHING, Range
from flows.run.long_runs import describe_length
from flows.run.speed_trial import SpeedTrial
from flows.run.speeds import Speed, Speeds, TimedCall, measure_calls
from tasks.models.recording.ledger import Ledger
from tests.models.scenes import answering, make_entry, make_request

IDENTITY = "a" * 64
EMBEDDED = {"file": "small.gguf", "bytes": 1, "sha256": IDENTITY, "licence": "MIT"}
PARAMS = {"models": {"small": EMBEDDED}, "run": {"endpoints": {"small": {"kind": "embedded"}}}}


def make_calls(prompts, outputs, *, together=1):
    """Make calls with 40 prompt and 10 output tokens per second, `together` of them concurrently."""
    calls, now = [], 1_000.0
    for prompt, output in zip(prompts, outputs, strict=True):
        seconds = prompt / 40 + output / 10
        now += seconds / together
        calls.append(TimedCall(now, seconds, prompt, output))
    return calls


def test_reading_and_writing_are_told_apart_by_calls_of_different_sizes():
    """Twelve sequential calls: 40 tokens read per second, 10 written per second."""
    speed = measure_calls(make_calls([200, 400, 80] * 4, [10, 20, 60] * 4), embedded=True)
    assert (speed.prompt_per_s, speed.output_per_s) == pytest.approx((40, 10))
    assert speed.call_s == pytest.approx((5 + 1 + 10 + 2 + 2 + 6) / 3)
    assert speed.describe() == "40 prompt tokens/s, 10 output tokens/s"


def test_calls_that_are_all_alike_are_told_apart_by_what_is_usual():
    speed = measure_calls(make_calls([400] * 10, [100] * 10), embedded=True)
    assert speed.prompt_per_s == pytest.approx(4 * speed.output_per_s)
    assert 400 / speed.prompt_per_s + 100 / speed.output_per_s == pytest.approx(20)


def test_pauses_do_not_count_and_calls_at_the_same_time_count_once():
    first = make_calls([100] * 10, [5] * 10)
    later = [replace(call, at=call.at + 100_000) for call in first]
    assert measure_calls([*first, *later], embedded=False).call_s == pytest.approx(3)
    together = measure_calls(make_calls([100] * 40, [5] * 40, together=4), embedded=False)
    assert together.call_s == pytest.approx(3 / 4, rel=0.1)


def test_too_few_calls_tell_nothing():
    assert measure_calls(make_calls([100] * 9, [5] * 9), embedded=True) is None


def test_a_model_s_speed_is_of_its_own_live_calls(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    calls = make_calls([200, 400, 80] * 4, [10, 20, 60] * 4)
    with Ledger(tmp_path / "ledger.sqlite") as ledger:
        ledger.put_many(
            replace(
                make_entry(make_request(number)), model="small", at=call.at, latency_s=call.latency_s,
                prompt_tokens=call.prompt_tokens, completion_tokens=call.completion_tokens,
            )
            for number, call in enumerate(calls)
        )  # fmt: skip
        speeds = Speeds(ledger, {"small": IDENTITY, "other": "b" * 64})
        assert speeds.find("other") is None
        assert speeds.find("small").output_per_s == pytest.approx(10)
        assert speeds.describe() == ["measured: 40 prompt tokens/s, 10 output tokens/s (small)"]


def test_a_try_is_made_once_for_a_machine(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    tried = []

    def measure(model):
        tried.append(model)
        return Speed(2.0, 37.0, 11.0)

    with Ledger(tmp_path / "ledger.sqlite") as ledger:
        for _ in range(2):
            speeds = Speeds(ledger, {"small": IDENTITY}, measure)
            assert speeds.find("small") == Speed(2.0, 37.0, 11.0)
        assert speeds.describe() == ["measured: 37 prompt tokens/s, 11 output tokens/s (small)"]
        assert Speeds(ledger, {}, measure).find("hosted") is None
    assert tried == ["small"]


def test_an_embedded_model_is_tried_by_three_short_calls(monkeypatch):
    asked = []

    async def answer(request: web.Request) -> web.Response:
        body = await request.json()
        prompt, output = len(body["messages"][0]["content"].split()), body["max_tokens"]
        asked.append((prompt, output))
        await asyncio.sleep(prompt / 400 + output / 100)
        usage = {"prompt_tokens": prompt, "completion_tokens": output, "total_tokens": prompt + output}
        return web.json_response({"choices": [], "usage": usage})

    with answering(answer) as url:
        monkeypatch.setattr(speed_trial, "is_here", lambda model, endpoint: True)
        monkeypatch.setattr("tasks.models.serving.embedded.ensure_server", lambda *given: url)
        speed = SpeedTrial(PARAMS).measure("small")
    assert len(asked) == 3
    assert (speed.prompt_per_s, speed.output_per_s) == pytest.approx((400, 100), rel=0.35)


def test_a_model_without_its_file_is_not_tried(tmp_path, monkeypatch):
    monkeypatch.setenv("BENCHLOOM_MODELS", str(tmp_path))
    trial = SpeedTrial(PARAMS)
    assert not trial.can_try("small")
    assert trial.measure("small") is None
    assert trial.measure("unknown") is None


def test_a_long_run_says_so_first_and_offers_its_preview():
    lines = describe_length(
        Range(3_600, 7_200), ["measured: 37 prompt tokens/s, 11 output tokens/s (small)"], ["grammar"]
    )
    assert lines == [
        "this run may take 1:00:00 to 2:00:00 with the model on this machine "
        "(measured: 37 prompt tokens/s, 11 output tokens/s (small))",
        "a preview of 20 items takes minutes: benchloom run --limit 20 grammar; Ctrl-C stops this run",
    ]
    assert "may take 10:00 to 40:00" in describe_length(Range(600, 2_400), [], [])[0]
    assert "to an unknown time" in describe_length(Range(600, math.inf), [], [])[0]
    assert describe_length(Range(600, 1_800), [], []) == []
    assert describe_length(NOTHING, [], []) == []


def test_a_run_on_an_embedded_model_tells_its_length_before_it_asks(trial, monkeypatch, tmp_path):
    from flows.run.long_runs import tell_length
    from flows.run.selection import order_nodes

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(speed_trial, "is_here", lambda model, endpoint: True)
    monkeypatch.setattr(SpeedTrial, "measure", lambda self, name: Speed(60.0, 0.02, 0.01))
    trial.set(models={"tester": EMBEDDED})
    trial.write("source.txt", " ".join(f"word{letter}" for letter in "abcdefghijkl"))
    run = trial.open()
    run.bring_up("trial-words")
    run.finish()
    said = []
    run = trial.open()
    run.say = said.append
    tell_length(run, order_nodes(run.recorder.nodes), ["trial-page"])
    run.recorder.close()
    assert trial.asked == []
    assert "0.02" not in json.dumps(said)
    assert said[0].startswith("this run may take ")
    assert said[1].startswith("a preview of 20 items takes minutes: benchloom run --limit 20 trial-page")
