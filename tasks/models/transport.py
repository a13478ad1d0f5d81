"""Transports to systems under test: HTTP with key and size limits, or a Python function of the user's."""

from __future__ import annotations

import asyncio
import importlib
import inspect
import json
import threading
from collections.abc import Callable, Mapping
from urllib.parse import urljoin, urlsplit

import aiohttp

from tasks.errors import BadInput
from tasks.models.client import is_loopback
from tasks.models.failures import NEVER_CONNECTED, RETRIED, THROTTLED, Failure, read_retry_after
from tasks.models.settings import SystemRun, read_secret

BLOCK = 1 << 16
MAX_REDIRECTS = 3
KEEPS_THE_BODY = frozenset({307, 308})
NO_KEY = 401
MAX_ERROR_CHARACTERS = 300
"""How much of an error reply is kept."""


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
        self._secret = read_secret(self._place, settings.key_env)
        self._session: aiohttp.ClientSession | None = None

    async def post(self, path: str, body: Mapping[str, object]) -> str:
        """Post JSON and read the reply's text; redirects only on the same host. Raises SendFailed."""
        if self._settings.url is None:
            raise BadInput(f"{self._place}.url", "is missing", hint="the system is asked over HTTP")
        url = first = self._settings.url + path
        for _ in range(MAX_REDIRECTS + 1):
            try:
                reply = await self._exchange(url, body)
            except (aiohttp.ClientError, OSError) as error:
                raise SendFailed(_judge_connection(error)) from error
            if isinstance(reply, str):
                return reply
            url = urljoin(url, reply.location)
            if _origin(url) != _origin(first):
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
            return json.dumps(result, ensure_ascii=False, sort_keys=True, allow_nan=False)
        except asyncio.CancelledError:
            raise
        except Exception as error:
            said = " ".join(f"{type(error).__name__}: {error}".split())
            raise SendFailed(_refuse(f"raised {said}")) from error

    def scrub(self, text: str) -> str:
        """Remove the API key from a text in which the system may have echoed it."""
        return text.replace(self._secret, "***") if self._secret else text

    async def close(self) -> None:
        """Close the connections."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def _exchange(self, url: str, body: Mapping[str, object]) -> str | _Redirect:
        headers = {"Accept": "application/json", "Accept-Encoding": "identity"}
        if self._secret:
            bearer = self._settings.key_header.lower() == "authorization"
            headers[self._settings.key_header] = f"Bearer {self._secret}" if bearer else self._secret
        async with self._open().post(url, json=body, headers=headers, allow_redirects=False) as reply:
            if reply.status in KEEPS_THE_BODY and "Location" in reply.headers:
                return _Redirect(reply.status, reply.headers["Location"])
            text = await self._read(
                reply, MAX_ERROR_CHARACTERS if reply.status >= 300 else self._settings.max_bytes
            )
            if 200 <= reply.status < 300:
                if text is None:
                    raise SendFailed(_refuse(f"sent more than {self._settings.max_bytes} bytes"))
                return text
            raise SendFailed(_judge_status(reply, text or ""))

    async def _read(self, reply: aiohttp.ClientResponse, max_bytes: int) -> str | None:
        """Read a reply's text, at most `max_bytes`; None if a successful reply is larger."""
        parts, size = [], 0
        async for part in reply.content.iter_chunked(BLOCK):
            parts.append(part)
            size += len(part)
            if size > max_bytes:
                if reply.status < 300:
                    return None
                break
        return b"".join(parts).decode("utf-8", "replace")

    def _open(self) -> aiohttp.ClientSession:
        if self._session is None:
            # A proxy named in the environment is not meant for loopback ports.
            is_remote = not is_loopback(self._settings.url or "")
            timeout = aiohttp.ClientTimeout(total=self._settings.timeout_s + 5)
            self._session = aiohttp.ClientSession(timeout=timeout, trust_env=is_remote)
        return self._session


class _Redirect:
    def __init__(self, status: int, location: str) -> None:
        self.status, self.location = status, location


def find_function(place: str, function: str) -> Callable[..., object]:
    """Import `package.module:name`. Raises BadInput if there is no such function."""
    module, _, name = function.partition(":")
    try:
        found = getattr(importlib.import_module(module), name, None)
    except ImportError as error:
        raise BadInput(place, f"{function} cannot be imported: {error}", hint="set PYTHONPATH") from error
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


def _origin(url: str) -> tuple[str, str | None, int | None]:
    parts = urlsplit(url)
    return parts.scheme, parts.hostname, parts.port


def _refuse(problem: str) -> Failure:
    return Failure(problem[:MAX_ERROR_CHARACTERS], retry=False, paid=True, kind="refused")


def _judge_connection(error: BaseException) -> Failure:
    if isinstance(error, NEVER_CONNECTED):
        return Failure("cannot be connected to", retry=True, paid=False)
    if isinstance(error, aiohttp.InvalidURL):
        return _refuse("redirected to what is no address")
    return Failure(f"lost the connection ({type(error).__name__})", retry=True, paid=True)


def _judge_status(reply: aiohttp.ClientResponse, text: str) -> Failure:
    said = " ".join(text[:MAX_ERROR_CHARACTERS].split())
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
