"""Send requests to systems under test, with a rate limit, retries and a deadline; classify failures.

If a system sends an unusable reply, or no reply in time, the call is recorded as failed, with the reason as
its text. If a system cannot be reached, refuses the key, or is always busy, its quality is unknown. The stage
then fails, and the next run continues it.

The transport is HTTP, with a key and size limits, or a Python function that the user provides.
"""

from __future__ import annotations

import asyncio
import importlib
import inspect
import json
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from urllib.parse import urljoin

import aiohttp

from tasks.errors import BadInput, ModelFailed
from tasks.models.ask import Request, Send
from tasks.models.incoming import RefusedReply, Secret, find_origin, is_loopback, plain, read_bounded
from tasks.models.recording.entries import LedgerEntry
from tasks.models.request_builder import FAILED
from tasks.models.sending.connections import OneReplyConnector
from tasks.models.sending.failures import (
    MAX_REDIRECTS,
    NEVER_CONNECTED,
    RETRIED,
    THROTTLED,
    Failure,
    choose_wait,
    read_retry_after,
    refuse_connection,
)
from tasks.models.sending.rate_limiter import RateLimiter
from tasks.models.sending.results import CallResult, RecordEntries
from tasks.models.settings import SystemRun, read_secret
from tasks.plugs import tell_error

BLOCK = 1 << 16
"""Number of bytes per read."""
KEEPS_THE_BODY = frozenset({307, 308})
"""Statuses of redirects that keep the request's body."""
NO_KEY = 401
"""The status for a missing or wrong key."""


class SendFailed(Exception):
    """Raised if an attempt failed; `failure` describes the problem."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.problem)
        self.failure = failure


class LiveTransport:
    """The `Transport` (tasks.models.ask) that connects to a system. Must be used from one event loop."""

    def __init__(self, name: str, settings: SystemRun) -> None:
        self._place = f"params.yaml: run.systems.{name}"
        self._settings = settings
        self._secret = Secret(read_secret(self._place, settings.key_env))
        self._session: aiohttp.ClientSession | None = None

    async def post(self, path: str, body: Mapping[str, object]) -> str:
        """Post JSON, following redirects on the same host; return the reply's text. Raises SendFailed."""
        if self._settings.url is None:
            raise BadInput(f"{self._place}.url", "is missing", hint="Benchloom calls the system over HTTP")
        url = first = self._settings.url + path
        for _ in range(MAX_REDIRECTS + 1):
            try:
                reply = await self._exchange(url, body)
            except RefusedReply as error:
                raise SendFailed(_refuse(str(error))) from error
            except (aiohttp.ClientError, OSError) as error:
                raise SendFailed(_judge_connection(error)) from error
            if isinstance(reply, str):
                return reply
            url = _join(url, reply.location)
            if find_origin(url) != find_origin(first):
                raise SendFailed(_refuse(f"answered {reply.status}: a redirect to another host"))
        raise SendFailed(_refuse(f"redirected more than {MAX_REDIRECTS} times"))

    async def call(self, function: str, **arguments: object) -> str:
        """Await an async function, or run any other function in a thread; return its result as JSON.

        Raises SendFailed if the function raises an exception, and BadInput if the function does not exist.
        """
        found = find_function(self._place, function)
        try:
            if inspect.iscoroutinefunction(found):
                result = await found(**arguments)
            else:
                result = await run_in_thread(lambda: found(**arguments))
            text = json.dumps(result, ensure_ascii=False, sort_keys=True, allow_nan=False)
            return self._secret.remove(text.encode("utf-8", "replace").decode())
        except asyncio.CancelledError:
            raise
        except Exception as error:
            said = plain(self._secret.remove(f"{type(error).__name__}: {error}"))
            raise SendFailed(_refuse(f"raised {said}")) from error

    async def close(self) -> None:
        """Close the connections."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def _exchange(self, url: str, body: Mapping[str, object]) -> str | _Redirect:
        headers = {"Accept": "application/json", "Accept-Encoding": "identity"}
        if self._secret.value:
            bearer = self._settings.key_header.lower() == "authorization"
            headers[self._settings.key_header] = (
                f"Bearer {self._secret.value}" if bearer else self._secret.value
            )
        # On a redirect to another host, aiohttp would remove the header Authorization, but not a custom
        # key header. `post` therefore follows redirects, after a check of the host.
        async with self._open().post(url, json=body, headers=headers, allow_redirects=False) as reply:
            if reply.status in KEEPS_THE_BODY and "Location" in reply.headers:
                return _Redirect(reply.status, reply.headers["Location"])
            encoding = reply.headers.get("Content-Encoding", "")
            blocks = reply.content.iter_chunked(BLOCK)
            raw = await read_bounded(blocks, reply.status, encoding, self._settings.max_bytes)
            text = self._secret.remove_from_body(raw).decode("utf-8", "replace")
            if 200 <= reply.status < 300:
                return text
            raise SendFailed(_judge_status(reply, text))

    def _open(self) -> aiohttp.ClientSession:
        if self._session is None:
            # A proxy from the environment must not be used for loopback addresses.
            is_remote = not is_loopback(self._settings.url or "")
            # Later than the timeout in `_send`, which ends an attempt and also respects the deadline.
            timeout = aiohttp.ClientTimeout(total=self._settings.timeout_s + 5)
            self._session = aiohttp.ClientSession(
                connector=OneReplyConnector(), timeout=timeout, trust_env=is_remote, auto_decompress=False
            )
        return self._session


class _Redirect:
    def __init__(self, status: int, location: str) -> None:
        self.status, self.location = status, location


def find_function(place: str, function: str) -> Callable[..., object]:
    """Import and return the function `package.module:name`. Raises BadInput if it cannot be imported."""
    module, _, name = function.partition(":")
    try:
        found = getattr(importlib.import_module(module), name, None)
    except Exception as error:
        advice = "set PYTHONPATH" if isinstance(error, ImportError) else "correct it"
        said = f"{function} cannot be imported: {tell_error(error)}"
        raise BadInput(place, said, hint=advice) from error
    if not callable(found):
        raise BadInput(place, f"{module} has no function {name!r}")
    checked: Callable[..., object] = found
    return checked


async def run_in_thread(function: Callable[[], object]) -> object:
    """Run a function in a daemon thread, so that it cannot block the process's exit; return its result."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[object] = loop.create_future()

    def settle(result: object, error: Exception | None) -> None:
        # The caller may have stopped waiting, because the attempt timed out.
        if done.done():
            return
        if error is None:
            done.set_result(result)
        else:
            done.set_exception(error)

    def work() -> None:
        try:
            result, error = function(), None
        except Exception as raised:  # noqa: BLE001 - raised again where the result is awaited
            result, error = None, raised
        loop.call_soon_threadsafe(settle, result, error)

    threading.Thread(target=work, name="system", daemon=True).start()
    return await done


def _join(url: str, location: str) -> str:
    try:
        return urljoin(url, location)
    except ValueError:
        return ""


def _refuse(problem: str) -> Failure:
    return Failure(problem, retry=False, paid=True, kind="refused")


def _judge_connection(error: BaseException) -> Failure:
    if isinstance(error, NEVER_CONNECTED):
        return refuse_connection(error)
    if isinstance(error, aiohttp.InvalidURL):
        return _refuse("redirected to an invalid address")
    return Failure(f"lost the connection ({type(error).__name__})", retry=True, paid=True)


def _judge_status(reply: aiohttp.ClientResponse, text: str) -> Failure:
    said = plain(text)
    problem = f"answered {reply.status}" + (f": {said}" if said else "")
    wait_s = read_retry_after(reply.headers)
    if reply.status == THROTTLED:
        return Failure(problem, retry=True, paid=False, wait_s=wait_s, kind="throttled")
    if reply.status in RETRIED or reply.status >= 500:
        return Failure(problem, retry=True, paid=True, wait_s=wait_s, kind="broken")
    if reply.status == NO_KEY:
        # A refused key is not a failure of the system, whose quality was not tested.
        return Failure(f"{problem}; is its key_env right?", retry=False, paid=False, kind="refused")
    return _refuse(problem)


class SystemConnection:
    """A system under test with its settings, rate limiter and transport."""

    def __init__(self, name: str, settings: SystemRun) -> None:
        self.name, self.settings = name, settings
        self.limiter, self.transport = RateLimiter(name, settings), LiveTransport(name, settings)


@dataclass
class SystemCall:
    """The state of one `SystemClient.put` call: the request, and the attempts and seconds so far."""

    connection: SystemConnection
    key: str
    send: Send
    admit: Callable[[str], bool]
    record_entries: RecordEntries
    attempts: int = 0
    used_s: float = 0.0
    """Seconds spent in attempts and in waits between attempts."""

    def may_go_on(self, failure: Failure, wait_s: float) -> bool:
        """Return whether the request may be retried after `wait_s` seconds."""
        limit = self.connection.settings
        return failure.retry and self.attempts <= limit.retries and self.used_s + wait_s < limit.deadline_s

    async def record(self, text: str, finish_reason: str) -> LedgerEntry:
        """Record the outcome, with 0 tokens because a system's token use is unknown; return the entry."""
        seconds = round(self.used_s, 3)
        entry = LedgerEntry(
            self.key, text, finish_reason, 0, 0,
            latency_s=seconds, attempts=self.attempts, at=time.time(),
        )  # fmt: skip
        await self.record_entries([entry])
        return entry


class SystemClient:
    """Sends requests to all systems of a run. Must be used from the model layer's event loop."""

    def __init__(self, settings: Mapping[str, SystemRun]) -> None:
        self._settings = settings
        self._connections: dict[str, SystemConnection] = {}

    async def put(
        self,
        key: str,
        request: Request,
        send: Send,
        admit: Callable[[str], bool],
        record_entries: RecordEntries,
    ) -> dict[str, CallResult]:
        """Send a request to its system; retry until the call succeeds or fails.

        Returns {} if `admit` rejects the call.

        Raises ModelFailed if the system cannot be reached, refuses the key or is always busy. Raises
        BadInput if the system's URL or function is missing.
        """
        call = SystemCall(self.connect(request.model), key, send, admit, record_entries)
        while True:
            result = await self._try(call)
            if result is None:
                return {}
            if isinstance(result, LedgerEntry):
                return {key: CallResult(result, live=True)}
            wait_s = choose_wait(call.attempts, result)
            if not call.may_go_on(result, wait_s):
                return {key: CallResult(await self._give_up(call, result), live=True)}
            await asyncio.sleep(wait_s)
            call.used_s += wait_s

    async def close(self) -> None:
        """Close all connections."""
        for connection in self._connections.values():
            await connection.transport.close()

    def list_failing(self) -> list[str]:
        """Return a report line for each system with at least two consecutive failures."""
        # A copy, because the event loop's thread may add a connection during the iteration.
        reports = [connection.limiter.failure_report for connection in list(self._connections.values())]
        return [report for report in reports if report]

    def connect(self, name: str) -> SystemConnection:
        """Return the connection to a system; a system without an entry in `run.systems` uses the defaults."""
        if name not in self._connections:
            self._connections[name] = SystemConnection(name, self._settings.get(name, SystemRun()))
        return self._connections[name]

    async def _try(self, call: SystemCall) -> LedgerEntry | Failure | None:
        """Send one attempt once the rate limiter admits it; return None if `admit` rejects the call."""
        connection = call.connection
        # Retries go first; otherwise, a question would fail only after all questions were tried once.
        permit = await connection.limiter.acquire(0, again=call.attempts > 0)
        try:
            reply = await self._send(call) if call.admit(call.key) else None
        except BaseException:
            connection.limiter.release_unsent(permit)
            raise
        if reply is None:
            connection.limiter.release_unsent(permit)
            return None
        if isinstance(reply, Failure):
            connection.limiter.release_failed(permit, reply, reply.wait_s or 0.0)
            return reply
        try:
            # The permit is released only after the reply is on disk, so killing the process loses only calls
            # in flight.
            return await call.record(reply, "stop")
        finally:
            connection.limiter.release_answered(permit, 0)

    async def _send(self, call: SystemCall) -> str | Failure:
        # The deadline starts now, so it excludes the wait for the rate limiter.
        started, limit = time.monotonic(), call.connection.settings
        call.attempts += 1
        try:
            async with asyncio.timeout(min(limit.timeout_s, limit.deadline_s - call.used_s)):
                return await call.send(call.connection.transport)
        except SendFailed as error:
            return error.failure
        except TimeoutError:
            return Failure("gave no reply in time", retry=True, paid=True)
        finally:
            call.used_s += time.monotonic() - started

    async def _give_up(self, call: SystemCall, failure: Failure) -> LedgerEntry:
        if not failure.paid:
            raise ModelFailed(
                f"{call.connection.name}: no answer after {call.attempts} tries; the system {failure.problem}"
            )
        return await call.record(f"the system {failure.problem}", FAILED)
