"""Make loopback servers refuse requests that a foreign web page sends through a browser."""

from __future__ import annotations

import logging

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError
from aiohttp.typedefs import Handler

from tasks.lines import clean
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


def make_runner(application: web.Application, stop_s: float = 60.0) -> web.AppRunner:
    """Make what serves an application, and logs a request that is no HTTP as one line without a traceback.

    stop_s: how long requests under way are waited for when it stops.
    """
    logging.getLogger("aiohttp.server").addFilter(shorten_refusal)
    return web.AppRunner(application, access_log=None, shutdown_timeout=stop_s)


def shorten_refusal(record: logging.LogRecord) -> bool:
    """Shorten the record of a request that is not HTTP; other errors of a server keep their tracebacks."""
    error = record.exc_info[1] if record.exc_info else None
    if isinstance(error, HttpProcessingError):
        record.msg, record.args = f"refused a request that is no HTTP: {clean(error.message)[:200]}", ()
        record.exc_info = None
    return True
