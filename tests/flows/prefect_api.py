"""Send requests to a project's own Prefect server, with its password."""

import base64
import json
import urllib.request

from flows.run.prefect_server import read_auth


def make_headers(root):
    token = base64.b64encode(read_auth(root).encode()).decode()
    return {"Content-Type": "application/json", "Authorization": f"Basic {token}"}


def ask_prefect(root, url, body=None):
    request = urllib.request.Request(url, json.dumps(body or {}).encode(), make_headers(root))
    with urllib.request.urlopen(request, timeout=30) as reply:
        return json.load(reply)
