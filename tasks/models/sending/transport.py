"""Transports to systems under test: HTTP with key and size limits, or a Python function of the user's."""

from __future__ import annotations

import asyncio
import importlib
import inspect
import json
import threading
from collections.abc import Callable, Mapping
from urllib.parse import urljoin

import aiohttp

from tasks.errors import BadInput
from tasks.models.incoming import RefusedReply, Secret, find_origin, is_loopback, plain, read_bounded
from tasks.models.sending.failures import (
    NEVER_CONNECTED,
    RETRIED,
    THROTTLED,
    Failure,
    read_retry_after,
    refuse_connection,
)
from tasks.models.settings import SystemRun, read_secret
from tasks.plugs import tell_error

BLOCK = 1 << 16
MAX_REDIRECTS = 3
KEEPS_THE_BODY = frozenset({307, 308})
NO_KEY = 401


class SendFailed(Exception):
    """One attempt failed; `failure` says how."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.problem)
        self.failure = failure


class LiveTransport:
    """The `Transport` (tasks.models.ask) that really connects. Belongs to one event loop."""

    def __init__(self, name: str, settings: SystemRun) -> None:
        self._place = f"params.yaml: run.systems.{name}"
        self._settings = settings
        self._secret = Secret(read_secret(self._place, settings.key_env))
        self._session: aiohttp.ClientSession | None = None

    async def post(self, path: str, body: Mapping[str, object]) -> str:
        """Post JSON and read the reply's text; redirects only on the same host. Raises SendFailed."""
        if self._settings.url is None:
            raise BadInput(f"{self._place}.url", "is missing", hint="the system is asked over HTTP")
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
        """Await an async function, or call another one in a thread of its own.

        Raises SendFailed for what the function raises, BadInput if there is no such function.
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
            # A proxy named in the environment is not meant for loopback ports.
            is_remote = not is_loopback(self._settings.url or "")
            timeout = aiohttp.ClientTimeout(total=self._settings.timeout_s + 5)
            self._session = aiohttp.ClientSession(timeout=timeout, trust_env=is_remote, auto_decompress=False)
        return self._session


class _Redirect:
    def __init__(self, status: int, location: str) -> None:
        self.status, self.location = status, location


def find_function(place: str, function: str) -> Callable[..., object]:
    """Import `package.module:name`. Raises BadInput if there is no such function."""
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
    """Run a function in a daemon thread, so that one that hangs does not keep the process from ending."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[object] = loop.create_future()

    def settle(result: object, error: Exception | None) -> None:
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
        return _refuse("redirected to what is no address")
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
        # A refused key says nothing about the quality of the system.
        return Failure(f"{problem}; is its key_env right?", retry=False, paid=False, kind="refused")
    return _refuse(problem)
