"""HTTP library hooks with safety checks on every exchange with an endpoint."""

from __future__ import annotations

import asyncio
from types import ModuleType
from typing import Any

import httpx
import httpx2

from tasks.models.incoming import RefusedReply, Secret, find_origin, read_bounded
from tasks.models.settings import Endpoint


class IncomingHooks:
    """Hooks that the HTTP library calls for every request and response, including after redirects."""

    def __init__(self, url: str, secret: Secret, settings: Endpoint, library: ModuleType = httpx2) -> None:
        """Store the endpoint's settings.

        `url`: the endpoint's base URL; other hosts are refused. `library`: httpx2 or httpx.
        """
        self._origin, self._secret, self._settings = find_origin(url), secret, settings
        self._library = library

    async def check_request(self, request: httpx2.Request | httpx.Request) -> None:
        """Raise RefusedReply if a redirect led to another host; request an uncompressed body."""
        if find_origin(str(request.url)) != self._origin:
            raise RefusedReply("redirects to another host")
        request.headers["Accept-Encoding"] = "identity"
        if self._settings.headers and self._settings.key_env is None:
            # The key is in a custom header, and the library would add a placeholder as Authorization.
            request.headers.pop("Authorization", None)

    async def read_response(self, response: httpx2.Response | httpx.Response) -> None:
        """Read the body, limited in size and time, and remove the API key. Raises RefusedReply."""
        stream: Any = response.stream
        # The path of a result file of the Batch API is files/ID/content.
        is_file = response.request.url.path.endswith("/content")
        limit = self._settings.max_file_bytes if is_file else self._settings.max_bytes
        # `read_bounded` decompresses the body, so the library must not decompress it again.
        encoding = response.headers.pop("Content-Encoding", "")
        try:
            async with asyncio.timeout(self._settings.deadline_s):
                body = await read_bounded(stream, response.status_code, encoding, limit)
        finally:
            await stream.aclose()
        response.stream = self._library.ByteStream(self._secret.remove_from_body(body))
        # The body is decoded later, without the declared charset, which could hide the key from the removal
        # above.
        response.headers["Content-Type"] = "application/json"
