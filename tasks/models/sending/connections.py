"""Open a new connection for every request, so that no reply is assigned to the wrong request.

A server or a proxy may send a reply twice, or late. On a reused connection, a client would read this reply as
the reply to the next request, and the ledger would replay it for the wrong question. HTTP/1.1 replies do not
identify their request, so a connection is closed after its first reply. The extra handshake is cheap compared
with a model's answer.
"""

from __future__ import annotations

import asyncio
from functools import partial
from ssl import SSLContext
from typing import Any

import aiohttp
import httpcore
import httpx
from aiohttp.client_proto import ResponseHandler
from openai import DefaultAioHttpClient

GRACE_S = 0.002
"""Seconds to wait after connecting, to detect servers that send data before a request."""
EARLY = "a reply came before its request"


class OneReplyProtocol(ResponseHandler):
    """Reads the reply to one request; rejects a reply that began before the request was sent."""

    def set_response_params(self, **params: Any) -> None:
        """Start reading a reply. Raises ClientConnectionError if the server has already sent data."""
        # aiohttp sets this property if its buffer contains unread data.
        if self.should_close:
            raise aiohttp.ClientConnectionError(EARLY)
        super().set_response_params(**params)


class OneReplyConnector(aiohttp.TCPConnector):
    """Opens a connection for every request, and closes it after the reply."""

    async def connect(self, *request: Any, **settings: Any) -> Any:
        """Connect and wait GRACE_S, to detect data that the server sends before the request."""
        connection = await super().connect(*request, **settings)
        try:
            await asyncio.sleep(GRACE_S)
        except BaseException:
            connection.close()
            raise
        return connection

    def __init__(self, ssl: SSLContext | bool = True) -> None:
        # The rate limiter limits the number of concurrent requests, so the connector must not limit it.
        super().__init__(ssl=ssl, limit=0, force_close=True)
        # aiohttp has no parameter for the protocol class.
        self._factory = partial(OneReplyProtocol, loop=self._loop)  # type: ignore[assignment] # of its type


class OneReplyClient(DefaultAioHttpClient):
    """The openai library's aiohttp client, with a new connection for every request."""

    def _init_transport(self, *args: Any, **settings: Any) -> Any:
        return _set_connector(super()._init_transport(*args, **settings))

    def _init_proxy_transport(self, *args: Any, **settings: Any) -> Any:
        return _set_connector(super()._init_proxy_transport(*args, **settings))


def _set_connector(transport: Any) -> Any:
    """Make a transport open its sessions with OneReplyConnector; return the transport."""
    transport.client = partial(_open_session, transport.ssl_context)
    return transport


def _open_session(ssl: SSLContext) -> aiohttp.ClientSession:
    return aiohttp.ClientSession(connector=OneReplyConnector(ssl))


class OneReplyHttpx(httpx.AsyncClient):
    """An httpx client with a new connection for every request; providers' libraries use httpx."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(limits=httpx.Limits(max_keepalive_connections=0), **settings)

    def _init_transport(self, *args: Any, **settings: Any) -> Any:
        return _guard(super()._init_transport(*args, **settings))

    def _init_proxy_transport(self, *args: Any, **settings: Any) -> Any:
        return _guard(super()._init_proxy_transport(*args, **settings))


class _GuardedNetwork(httpcore.AsyncNetworkBackend):
    """Opens connections, and waits GRACE_S to detect a server that sends data before a request.

    Data that a server sends before a TLS handshake is also detected.
    """

    def __init__(self, network: httpcore.AsyncNetworkBackend) -> None:
        self._network = network

    async def connect_tcp(self, *place: Any, **settings: Any) -> httpcore.AsyncNetworkStream:
        """Open a connection. Raises ConnectError if the server has already sent data."""
        stream = await self._network.connect_tcp(*place, **settings)
        await self.sleep(GRACE_S)
        if stream.get_extra_info("is_readable"):
            await stream.aclose()
            raise httpcore.ConnectError(EARLY)
        return stream

    async def sleep(self, seconds: float) -> None:
        """Wait for a number of seconds."""
        await self._network.sleep(seconds)


def _guard(transport: Any) -> Any:
    # httpx has no parameter for the network backend.
    transport._pool._network_backend = _GuardedNetwork(transport._pool._network_backend)
    return transport
