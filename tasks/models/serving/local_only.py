"""Servers on loopback answer this machine's programs, not what a web page elsewhere lets a browser send."""

from __future__ import annotations

from aiohttp import web
from aiohttp.typedefs import Handler

from tasks.models.incoming import LOOPBACK, find_origin


@web.middleware
async def refuse_foreign(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Refuse a request to another host's name, or from another origin's page, with 403."""
    own = find_origin(f"http://{request.headers.get('Host', '')}")
    origin = request.headers.get("Origin")
    if own is None or own[1] not in LOOPBACK:
        return web.json_response({"error": {"message": "this server is 127.0.0.1's alone"}}, status=403)
    if origin is not None and find_origin(origin) != own:
        return web.json_response({"error": {"message": "pages of other origins are refused"}}, status=403)
    return await handler(request)
