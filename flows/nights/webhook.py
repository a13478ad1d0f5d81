"""Send a nightly run's alarms to the webhook, and report whether the delivery succeeded."""

from __future__ import annotations

import json
import logging
import os
import threading
from collections.abc import Iterator
from dataclasses import asdict

import httpx2

from flows.night_settings import BRANCH, Webhook
from tasks.judging.nights import Night
from tasks.models.incoming import find_origin
from tasks.reports.night_summary import describe_night

DEADLINE_S = 20.0
"""Maximum seconds for the delivery, including name lookup, all redirects, and slow responses."""
MAX_REDIRECTS = 5
METHOD_KEPT = (307, 308)
"""Redirect status codes that keep the method POST; other redirects may change it to GET."""
LOGGERS = ("httpx2", "httpcore2")
"""Loggers whose messages contain the URL, which may contain a secret."""


class NotTold(Exception):
    """The receiver did not accept the alarm; the message states the reason, without the URL."""


def send_alarm(project: str, webhook: Webhook, night: Night) -> str:
    """Send a nightly run's alarms to the webhook; return a line that reports whether the delivery succeeded.

    The line never contains the URL, and is empty if there is nothing to send. Errors from the receiver are
    never raised.
    """
    if webhook.url_env is None or not night.alarms:
        return ""
    url = os.environ.get(webhook.url_env, "")
    if not url:
        return f"the webhook did not receive the alarm: {webhook.url_env} is not set in the environment"
    replies: list[int | str] = []

    def send() -> None:
        try:
            replies.append(post(url, write_body(project, night)))
        except Exception as error:  # noqa: BLE001 - no error of a receiver may stop the night
            replies.append(explain_failure(error))

    # A separate thread enforces the deadline, since name lookups and slow headers have no timeout.
    thread = threading.Thread(target=send, name="webhook", daemon=True)
    thread.start()
    thread.join(DEADLINE_S)
    reply = replies[0] if replies else f"did not answer within {DEADLINE_S:g} s"
    if isinstance(reply, int):
        return f"the webhook of {webhook.url_env} received the alarm (status {reply})"
    return f"the webhook did not receive the alarm: the address in {webhook.url_env} {reply}"


def write_body(project: str, night: Night) -> bytes:
    """Return the JSON document to post."""
    body = {
        "project": project,
        "night": night.label,
        "state": night.state,
        "against": night.against,
        "branch": f"{BRANCH}{night.label}",
        "alarms": [asdict(alarm) for alarm in night.alarms],
        "text": "\n".join(describe_night(night)),
    }
    return json.dumps(body).encode()


def post(url: str, body: bytes) -> int:
    """Post a body; return the status (2xx) once the receiver has read the body.

    A redirect is followed only if it keeps the scheme, host, port and method. Raises NotTold, or an error
    from the HTTP library.
    """
    for name in LOGGERS:
        logging.getLogger(name).setLevel(logging.WARNING)
    begun = find_origin(url)
    # Without a length, the library would send the generator's body in chunks.
    headers = {"Content-Type": "application/json", "Content-Length": str(len(body))}
    with httpx2.Client(timeout=DEADLINE_S) as client:
        for _ in range(MAX_REDIRECTS + 1):
            sent: list[bool] = []

            def read(sent: list[bool] = sent) -> Iterator[bytes]:
                yield body
                sent.append(True)  # the library accepts a reply even if the body was not fully sent

            with client.stream("POST", url, content=read(), headers=headers) as reply:
                status = reply.status_code
                if reply.is_success and not sent:
                    raise NotTold(f"answered {status} before it read the alarm")
                if reply.is_success:
                    return status
                if status not in METHOD_KEPT:
                    raise NotTold(f"answered {status}")
                url = str(reply.url.join(reply.headers.get("Location", "")))
            if find_origin(url) != begun:
                raise NotTold(f"answered {status}, a redirect to another scheme, host or port")
    raise NotTold(f"redirects more than {MAX_REDIRECTS} times")


def explain_failure(error: Exception) -> str:
    """Return why the delivery failed, without the HTTP library's message, which may contain the URL."""
    match error:
        case NotTold():
            return str(error)
        case httpx2.InvalidURL() | httpx2.UnsupportedProtocol() | httpx2.LocalProtocolError():
            return "is not a valid HTTP URL"
        case httpx2.ConnectError():
            return "cannot be reached: unknown host, connection refused, or no TLS"
        case httpx2.TimeoutException():
            return f"did not answer within {DEADLINE_S:g} s"
        case _:
            return f"did not send an HTTP response ({type(error).__name__})"
