"""Serve an artifact's items on loopback for review; every decision is written immediately.

The URL contains a token. Anyone with the URL can store decisions under any name, so give the URL only to
people you trust. Requests without the token get status 403.
"""

from __future__ import annotations

import asyncio
import hmac
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from aiohttp import web
from aiohttp.typedefs import Handler

from flows.review.fields import make_decision, read_name, read_text
from flows.review.items import ReviewedArtifact, ReviewItem
from flows.review.store import find_file, record_decisions
from tasks.errors import BadInput
from tasks.judging.decisions import Decision, load_decisions
from tasks.models.serving.local_only import make_runner, refuse_foreign
from tasks.reports.frame import render_alone
from tasks.scoring.items import BadItem, parse_record

MAX_BODY_BYTES = 2 << 20
"""Maximum size of a request in bytes."""
HEADERS = {
    "Cache-Control": "no-store",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",  # the URL contains the token
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
POLICY = re.compile(r'http-equiv="Content-Security-Policy" content="([^"]*)"')
STYLES = ("report.css", "review.css")
SCRIPTS = ("core.js", "review.js")


class ReviewServer:
    """Serves items of an artifact for review. token: the prefix of every path."""

    def __init__(
        self,
        root: Path,
        artifact: ReviewedArtifact,
        items: Sequence[ReviewItem],
        token: str,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._root, self._artifact, self._items, self._clock = root, artifact, items, clock
        self._token = token.encode()
        self._page = render_review(artifact, len(items))
        found = POLICY.search(self._page)
        self._policy = (found[1] if found else "default-src 'none'") + "; frame-ancestors 'none'"

    def application(self) -> web.Application:
        """Build the aiohttp application with routes for the page, the items and the decisions."""
        # The first middleware is the outermost, so that refusals have the headers, too.
        app = web.Application(
            client_max_size=MAX_BODY_BYTES, middlewares=[self._add_headers, refuse_foreign, self._refuse]
        )
        app.add_routes(
            [
                web.get("/{token}/", self._get_page),
                web.get("/{token}/items", self._get_items),
                web.get("/{token}/items/{number:[0-9]{1,9}}", self._get_item),
                web.post("/{token}/decisions", self._post_decision),
            ]
        )
        return app

    @web.middleware
    async def _add_headers(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        try:
            response = await handler(request)
        except web.HTTPException as error:
            response = fail(error.status, error.reason)
        except (BadItem, BadInput) as error:
            response = fail(400 if isinstance(error, BadItem) else 409, str(error))
        response.headers.update({**HEADERS, "Content-Security-Policy": self._policy})
        return response

    @web.middleware
    async def _refuse(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        given = request.path.lstrip("/").partition("/")[0].encode(errors="replace")
        # The duration of this comparison does not reveal which part of a wrong token is right.
        if not hmac.compare_digest(given, self._token):
            return fail(403, "the address needs the token that `benchloom review serve` printed")
        return await handler(request)

    async def _get_page(self, _: web.Request) -> web.Response:
        return web.Response(text=self._page, content_type="text/html")

    async def _get_items(self, request: web.Request) -> web.Response:
        """List the items' ids with the reviewer's decisions; other reviewers' decisions are never shown."""
        name = read_name({"reviewer": request.query.get("reviewer", "")})
        stored = await asyncio.to_thread(load_decisions, find_file(self._root, self._artifact.path))
        own = {item: acts[name] for item, acts in stored.current.items() if name in acts}
        rows = [_show_act(item, own.get(item.id)) for item in self._items]
        return web.json_response({"reviewer": name, "items": rows})

    async def _get_item(self, request: web.Request) -> web.Response:
        number = int(request.match_info["number"])
        if number >= len(self._items):
            return fail(404, "the item does not exist")
        item = self._items[number]
        editable = set(self._artifact.editable)
        rows = [[name, text, name in editable] for name, text in item.shown.items()]
        return web.json_response({"id": item.id, "shown": rows})

    async def _post_decision(self, request: web.Request) -> web.Response:
        # A web page of another site can send this type only with the server's permission (CORS).
        if request.content_type != "application/json":
            return fail(415, "the request body must be JSON")
        fields = parse_record(await request.read())
        item = self._artifact.items.get(read_text(fields, "item"))
        edited = fields.get("edited") or {}
        if item is None or not isinstance(edited, Mapping) or edited.keys() - item.texts.keys():
            return fail(400, "the item or its edited text field does not exist")
        texts = {name: read_text(edited, name).strip() for name in edited}
        if "" in texts.values():
            return fail(400, "the edited text is empty")
        now = self._clock()
        decision = make_decision(self._artifact, item, {**fields, "at": ""}, texts, now)
        path = self._artifact.path
        merged = await asyncio.to_thread(record_decisions, self._root, path, [decision], now)
        return web.json_response(_show_act(item, merged.decisions.current[item.id][decision.reviewer]))


def _show_act(item: ReviewItem, act: Decision | None) -> dict[str, Any]:
    """Return an item's id with the fields of a reviewer's decision; the fields are empty without a decision.

    A decision on an older version of the row is ignored.
    """
    if act is None or act.seen != item.seen:
        return {"item": item.id, "decision": "", "rating": None, "note": "", "edited": {}}
    return {
        "item": item.id,
        "decision": act.decision,
        "rating": act.rating,
        "note": act.note,
        "edited": act.edited,
    }


def fail(status: int, message: str) -> web.Response:
    """Build an error response."""
    return web.json_response({"error": message}, status=status)


def serve_review(server: ReviewServer, port: int, announce: Callable[[str], None]) -> None:
    """Serve on loopback until interrupted; call `announce` with the base URL once the server listens.

    Raises BadInput if the port cannot be used.
    """
    asyncio.run(_serve(server, port, announce))


async def _serve(server: ReviewServer, port: int, announce: Callable[[str], None]) -> None:
    runner = make_runner(server.application(), stop_s=2)
    await runner.setup()
    try:
        try:
            await web.TCPSite(runner, "127.0.0.1", port).start()
        except OSError as error:
            what = f"cannot be used: {error.strerror}"
            raise BadInput(f"--port {port}", what, hint="--port 0 selects a free port") from error
        announce(f"http://127.0.0.1:{runner.addresses[0][1]}")
        await asyncio.Event().wait()
    finally:
        await runner.cleanup()


@dataclass(frozen=True)
class ReviewPage:
    """The content of the review page. count: number of items. editable: names of the editable columns."""

    artifact: str
    count: int
    editable: tuple[str, ...]


def render_review(artifact: ReviewedArtifact, count: int) -> str:
    """Render the page. The page loads items from the server one at a time and shows them as plain text."""
    content = ReviewPage(artifact.path, count, artifact.editable)
    return render_alone("review.html", content, home="", styles=STYLES, scripts=SCRIPTS)
