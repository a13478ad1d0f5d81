"""Connections that carry one request and one reply, so that no reply can be taken for another's.

A server, or a proxy before it, may send a reply twice, or late. On a connection that is used again, a client
reads these bytes as the reply to the next request, and the ledger replays them under the wrong question.
HTTP/1.1 has nothing that tells them apart, so a connection is closed after its first reply. A handshake costs
little beside a model's answer.
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
"""Seconds after connecting in which a server that sends before it is asked shows itself."""
EARLY = "a reply came before its request"


class OneReplyProtocol(ResponseHandler):
    """Reads the reply to one request; one that began before the request is none."""

    def set_response_params(self, **params: Any) -> None:
        """Begin to read a reply. Raises ClientConnectionError if the server has sent anything before."""
        if self.should_close:
            raise aiohttp.ClientConnectionError(EARLY)
        super().set_response_params(**params)


class OneReplyConnector(aiohttp.TCPConnector):
    """Opens a connection for every request, and closes it after the reply."""

    async def connect(self, *request: Any, **settings: Any) -> Any:
        """Connect, and give a server that sends before it is asked the time to show it."""
        connection = await super().connect(*request, **settings)
        try:
            await asyncio.sleep(GRACE_S)
        except BaseException:
            connection.close()
            raise
        return connection

    def __init__(self, ssl: SSLContext | bool = True) -> None:
        # How many requests are under way is the rate limiter's to say.
        super().__init__(ssl=ssl, limit=0, force_close=True)
        self._factory = partial(OneReplyProtocol, loop=self._loop)  # type: ignore[assignment] # of its type


class OneReplyClient(DefaultAioHttpClient):
    """The openai library's client over aiohttp, with a connection for every request."""

    def _init_transport(self, *args: Any, **settings: Any) -> Any:
        return _set_connector(super()._init_transport(*args, **settings))

    def _init_proxy_transport(self, *args: Any, **settings: Any) -> Any:
        return _set_connector(super()._init_proxy_transport(*args, **settings))


def _set_connector(transport: Any) -> Any:
    """Make the transport open its session with our connector, when its event loop runs."""
    transport.client = partial(_open_session, transport.ssl_context)
    return transport


def _open_session(ssl: SSLContext) -> aiohttp.ClientSession:
    return aiohttp.ClientSession(connector=OneReplyConnector(ssl))


class OneReplyHttpx(httpx.AsyncClient):
    """The same for httpx, which providers' libraries use."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(limits=httpx.Limits(max_keepalive_connections=0), **settings)

    def _init_transport(self, *args: Any, **settings: Any) -> Any:
        return _guard(super()._init_transport(*args, **settings))

    def _init_proxy_transport(self, *args: Any, **settings: Any) -> Any:
        return _guard(super()._init_proxy_transport(*args, **settings))


class _GuardedNetwork(httpcore.AsyncNetworkBackend):
    """Opens connections, and gives a server that sends before it is asked the time to show it.

    What comes before a handshake of TLS shows there.
    """

    def __init__(self, network: httpcore.AsyncNetworkBackend) -> None:
        self._network = network

    async def connect_tcp(self, *place: Any, **settings: Any) -> httpcore.AsyncNetworkStream:
        """Open a connection. Raises ConnectError if the server has sent anything."""
        stream = await self._network.connect_tcp(*place, **settings)
        await self.sleep(GRACE_S)
        if stream.get_extra_info("is_readable"):
            await stream.aclose()
            raise httpcore.ConnectError(EARLY)
        return stream

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        await self._network.sleep(seconds)


def _guard(transport: Any) -> Any:
    transport._pool._network_backend = _GuardedNetwork(transport._pool._network_backend)
    return transport
