"""Tests of the one-line error if the user's Prefect server is down, another program, or another release."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from aiohttp import web

from tests.flows.sample import find_port
from tests.models.scenes import serving

ROOT = Path(__file__).parents[3]
ASK = """
import sys
from pathlib import Path
from flows.run.prefect_server import use_prefect
from tasks.errors import BenchloomError
try:
    with use_prefect(Path(sys.argv[1]), print, needed=True):
        print("in")
except BenchloomError as error:
    print(error)
"""


def ask(folder: Path, url: str) -> list[str]:
    environment = {**os.environ, "PREFECT_API_URL": url}
    done = subprocess.run(
        [sys.executable, "-c", ASK, str(folder)], cwd=ROOT, env=environment, capture_output=True, text=True
    )
    return (done.stdout + done.stderr).splitlines()


@contextmanager
def playing(version: str | None) -> Iterator[str]:
    """Serve a fake Prefect server that reports a version; None: answer 404 to all requests."""
    app = web.Application()
    if version is not None:
        app.router.add_get("/v1/health", lambda _: answer(True))
        app.router.add_get("/v1/admin/version", lambda _: answer(version))
    with serving(app) as url:
        yield url


async def answer(value: object) -> web.Response:
    return web.json_response(value)


def test_a_dead_server_is_one_line(tmp_path: Path) -> None:
    url = f"http://127.0.0.1:{find_port()}/api"
    (line,) = ask(tmp_path, url)
    assert line.startswith(f"PREFECT_API_URL: no Prefect server responds at {url} (ConnectError: ")
    assert "start it, or set another URL" in line


@pytest.mark.parametrize(
    ("version", "said"),
    [
        (None, "(status 404)"),
        ("2.20.1", "runs Prefect 2.20.1; start it, or set another URL"),
    ],
)
def test_another_or_an_older_server_is_one_line(version: str | None, said: str, tmp_path: Path) -> None:
    with playing(version) as url:
        (line,) = ask(tmp_path, url)
    assert said in line


def test_a_server_of_this_release_is_taken(tmp_path: Path) -> None:
    with playing("3.8.8") as url:
        assert ask(tmp_path, url) == ["in"]
