"""Tests of Batch APIs with faulty files and reports: no call is lost, mixed up or paid twice."""

import json

import pytest

from tasks.errors import ModelFailed
from tasks.models.recording.ledger import Ledger
from tasks.models.serving.batch_server import ServedBatch
from tests.models.scenes import LedgerServer, make_request, record, serving
from tests.models.test_batching import MODE, ask, open_dispatcher

N = 6
QUICK = MODE.model_copy(update={"gather_s": 0.02, "poll_s": 0.02})


def change(line: bytes, **fields: object) -> bytes:
    return json.dumps({**json.loads(line), **fields}).encode() + b"\n"


def answer(line: bytes, **fields: object) -> bytes:
    return change(line, response={**json.loads(line)["response"], **fields})


def say_otherwise(line: bytes) -> bytes:
    return line.replace(b"answer to question", b"another answer to")


def fail(line: bytes) -> bytes:
    return change(line, response=None, error={"code": "late", "message": "It expired."})


FILES = {
    "each line twice": lambda lines: [*lines, *lines],
    "each line again, as failed": lambda lines: [*lines, *map(fail, lines)],
    "each line as failed before": lambda lines: [*map(fail, lines), *lines],
    "each line again, with another answer": lambda lines: [*lines, *map(say_otherwise, lines)],
    "lines of calls that nobody made": lambda lines: [change(lines[0], custom_id="ab" * 32), *lines],
    "in another order": lambda lines: lines[::-1],
    "with blank lines and CRLF": lambda lines: [line.replace(b"\n", b"\r\n\r\n") for line in lines],
    "with a byte order mark": lambda lines: [b"\xef\xbb\xbf", *lines],
    "with a line that names no call": lambda lines: [change(lines[0], custom_id=None), *lines],
    "with a line that is a list": lambda lines: [b"[1, 2]\n", *lines],
    "with a line of brackets": lambda lines: [b"[" * 2_000_000 + b"\n", *lines],
    "with a line of NULs": lambda lines: [b"\0" * 1000 + b"\n", *lines],
    "with a number of 9,000 digits": lambda lines: [b"9" * 9_000 + b"\n", *lines],
    "with half a surrogate pair for a name": lambda lines: [change(lines[0], custom_id="\ud800"), *lines],
    "with bytes that are no UTF-8": lambda lines: [b'{"custom_id": "\xff\xfe"}\n', *lines],
}
"""Changes of a complete file after which every call still has its answer."""
CUT = {
    "cut within its last line": lambda lines: [*lines[:-1], lines[-1][:-30]],
    "without its last line": lambda lines: lines[:-1],
    "with a status that is a text": lambda lines: [*lines[:-1], answer(lines[-1], status_code="200")],
    "with a status that is true": lambda lines: [*lines[:-1], answer(lines[-1], status_code=True)],
    "with a response that is a list": lambda lines: [*lines[:-1], change(lines[-1], response=[200])],
}
"""Changes of a file after which the last call has no answer, even when repeated."""
BODIES = {"a text": "sorry", "nothing": None, "no choices": {"choices": []}, "a list": [1]}
FAILED = {"status": "failed", "output_file_id": None}
REPORTS = {
    "errors that are a text": {**FAILED, "errors": "no"},
    "errors that are a list": {**FAILED, "errors": [1]},
    "errors without a message": {**FAILED, "errors": {"data": [{"message": None}]}},
    "errors that are none": {**FAILED, "errors": {"data": None}},
    "a file that is a number": {"output_file_id": 7},
    "a file that is a mapping": {"output_file_id": {"id": "x"}},
    "a file that leads elsewhere": {"output_file_id": "../../v1/batches"},
    "a file that is not there": {"output_file_id": "file-99"},
    "no file": {"output_file_id": None},
    "cancelled": {"status": "cancelled", "output_file_id": None},
    "expired": {"status": "expired", "output_file_id": None},
}


@pytest.fixture
def scene(tmp_path):
    requests = [make_request(number) for number in range(N)]
    with (
        record(tmp_path / "recorded.sqlite", requests) as recorded,
        Ledger(tmp_path / "live.sqlite") as ledger,
    ):
        yield requests, LedgerServer(recorded), ledger


def twist_files(server, twist, until: int = 1_000) -> None:
    """Change the first `until` files of results."""
    keep, made = server.batches._keep, []

    def keep_twisted(content: bytes) -> str:
        if b'"response"' not in content:
            return keep(content)
        made.append(content)
        lines = content.splitlines(keepends=True)
        return keep(b"".join(twist(lines) if len(made) <= until else lines))

    server.batches._keep = keep_twisted


@pytest.mark.parametrize("name", FILES)
@pytest.mark.timeout(60)
def test_what_can_be_read_is_recorded_under_its_own_call(scene, name):
    requests, server, ledger = scene
    twist_files(server, FILES[name])
    with (
        serving(server.application()) as url,
        open_dispatcher(url, ledger, mode=QUICK, retries=1) as dispatcher,
    ):
        sent = ask(dispatcher, requests)
    assert [reply.entry.text for reply in sent] == [f"answer to question {number}" for number in range(N)]
    assert ledger.stats().live_calls == N
    assert len(server.batches.batches) == 1
    assert ledger.list_batches() == []


@pytest.mark.parametrize("name", CUT)
@pytest.mark.timeout(60)
def test_what_was_answered_beside_a_lost_line_is_kept_and_not_paid_again(scene, name):
    requests, server, ledger = scene
    twist_files(server, lambda lines: CUT[name](lines))
    with (
        serving(server.application()) as url,
        open_dispatcher(url, ledger, mode=QUICK, retries=1) as dispatcher,
    ):
        with pytest.raises(ModelFailed, match="in batch mode, the endpoint") as failed:
            ask(dispatcher, requests)
        kept = [request.key() for request in requests if ledger.get(request.key()) is not None]
        assert len(kept) == N - 1
        assert "\n" not in str(failed.value)
        server.batches._keep = type(server.batches)._keep.__get__(server.batches)
        ask(dispatcher, requests)
    sizes = [len(server.batches.files[batch.input].splitlines()) for batch in server.batches.batches.values()]
    assert sizes == [N, 1, 1]


@pytest.mark.parametrize("name", BODIES)
@pytest.mark.timeout(60)
def test_a_call_whose_answer_is_none_fails_alone(scene, name):
    requests, server, ledger = scene
    twist_files(server, lambda lines: [*lines[:-1], answer(lines[-1], body=BODIES[name])])
    with (
        serving(server.application()) as url,
        open_dispatcher(url, ledger, mode=QUICK, retries=1) as dispatcher,
    ):
        sent = ask(dispatcher, requests)
    assert [reply.entry.is_unanswered for reply in sent] == [False] * (N - 1) + [True]


@pytest.mark.parametrize("name", REPORTS)
@pytest.mark.timeout(60)
def test_a_report_that_is_not_as_it_should_be_is_one_line(scene, name, monkeypatch):
    requests, server, ledger = scene
    report = ServedBatch.report

    def twist(self, *, done: bool) -> dict[str, object]:
        return {**report(self, done=done), **(REPORTS[name] if done else {})}

    monkeypatch.setattr(ServedBatch, "report", twist)
    with (
        serving(server.application()) as url,
        open_dispatcher(url, ledger, mode=QUICK, retries=1) as dispatcher,
    ):
        with pytest.raises(ModelFailed) as failed:
            ask(dispatcher, requests)
        assert "\n" not in str(failed.value)
        assert [request for request in requests if ledger.get(request.key()) is not None] == []


@pytest.mark.parametrize("listed", [{"created_at": None}, {"metadata": ["x"]}, {"id": None}, {"id": 5}])
@pytest.mark.timeout(60)
def test_a_batch_whose_id_was_lost_is_looked_for_in_an_odd_list(scene, listed, monkeypatch):
    requests, server, ledger = scene
    report, created = ServedBatch.report, []

    def twist(self, *, done: bool) -> dict[str, object]:
        created.append(self)
        return {**report(self, done=done), **listed}

    monkeypatch.setattr(ServedBatch, "report", twist)
    with (
        serving(server.application()) as url,
        open_dispatcher(url, ledger, mode=QUICK, retries=1) as dispatcher,
    ):
        try:
            told = [reply.entry.text for reply in ask(dispatcher, requests)]
        except ModelFailed as error:
            told = str(error).splitlines()
    assert told == [f"answer to question {number}" for number in range(N)] or len(told) == 1
    assert len(server.batches.batches) == 1, "it is not made a second time, unseen"
