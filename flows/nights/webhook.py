"""Tell a webhook of an alarm: one POST of JSON to an address from the environment."""

from __future__ import annotations

import json
import os
import urllib.error
import urllib.request
from dataclasses import asdict
from pathlib import Path

from flows.night_settings import BRANCH, Webhook
from tasks.errors import BenchloomError
from tasks.judging.nights import Night
from tasks.reports.night_summary import describe_night

TIMEOUT_S = 20.0


def send_alarm(home: Path, webhook: Webhook, night: Night) -> str:
    """Tell the webhook of a night's alarms; return a line that says so, empty where there is nothing to tell.

    Raises BenchloomError where it cannot be told; the address, which may hold a secret, is in no line.
    """
    if webhook.url_env is None or not night.alarms:
        return ""
    url = os.environ.get(webhook.url_env, "")
    if not url.startswith(("http://", "https://")):
        what = "holds no http address" if url else "is not set"
        raise BenchloomError(f"the webhook was not told: {webhook.url_env} {what} in the environment")
    body = {
        "project": home.name,
        "night": night.label,
        "state": night.state,
        "against": night.against,
        "branch": f"{BRANCH}{night.label}",
        "alarms": [asdict(alarm) for alarm in night.alarms],
        "text": "\n".join(describe_night(night)),
    }
    request = urllib.request.Request(  # noqa: S310 - http or https, above
        url, json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT_S) as reply:  # noqa: S310 - as above
            return f"the webhook of {webhook.url_env} was told ({reply.status})"
    except (urllib.error.URLError, OSError) as error:
        reason = getattr(error, "code", None) or type(getattr(error, "reason", error)).__name__
        raise BenchloomError(
            f"the webhook was not told: what {webhook.url_env} names does not take it ({reason})"
        ) from error
