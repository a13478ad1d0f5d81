"""Protect loopback servers from requests that other sites' web pages send through a browser."""

from __future__ import annotations

import logging

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError
from aiohttp.typedefs import Handler

from tasks.lines import clean
from tasks.models.incoming import LOOPBACK, find_origin


@web.middleware
async def refuse_foreign(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Refuse a request with status 403 if its Host is not loopback or its Origin is another site.

    Without this check, a web page could send requests to the server through the user's browser.
    """
    own = find_origin(f"http://{request.headers.get('Host', '')}")
    origin = request.headers.get("Origin")
    if own is None or own[1] not in LOOPBACK:
        return web.json_response(
            {"error": {"message": "this server answers only requests to 127.0.0.1"}}, status=403
        )
    if origin is not None and find_origin(origin) != own:
        return web.json_response({"error": {"message": "pages of other origins are refused"}}, status=403)
    return await handler(request)


def make_runner(application: web.Application, stop_s: float = 60.0) -> web.AppRunner:
    """Return an application's runner, which logs one line for each request that is not valid HTTP.

    `stop_s`: seconds to wait for running requests when the server stops.
    """
    logging.getLogger("aiohttp.server").addFilter(shorten_refusal)
    return web.AppRunner(application, access_log=None, shutdown_timeout=stop_s)


def shorten_refusal(record: logging.LogRecord) -> bool:
    """Shorten the log record of a request that is not valid HTTP; return True to keep every record."""
    error = record.exc_info[1] if record.exc_info else None
    if isinstance(error, HttpProcessingError):
        record.msg, record.args = f"refused a request that is not HTTP: {clean(error.message)[:200]}", ()
        record.exc_info = None
    return True
