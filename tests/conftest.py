"""What holds for every test."""

from __future__ import annotations

import os
import sys
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# What is installed is the launcher alone: a child process that a test starts elsewhere finds the code here.
ROOT = str(Path(__file__).parents[1])
os.environ["PYTHONPATH"] = os.pathsep.join(path for path in (ROOT, os.environ.get("PYTHONPATH")) if path)
os.environ["DVC_NO_ANALYTICS"] = "1"  # its reports are further processes, and nothing leaves loopback

# Tests run stages by the hundred: only those of the events have their runs emit them.
os.environ.setdefault("OPENLINEAGE_DISABLED", "true")

# A slow machine would add a line to what a command says: only tests of progress turn the lines on.
os.environ.setdefault("BENCHLOOM_PROGRESS", "off")

# How long an example takes is the machine's affair, and not what a property says.
settings.register_profile("busy", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("busy")

IN_CI = os.environ.get("CI", "").lower() in {"1", "true", "yes"}
PARTS = ("postgresql", "mariadb", "driver", "Chromium", "bubblewrap", "extra `")
"""Words of the reasons by which a test skips where a part of the machine or of the set-up is missing."""


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip what a browser is needed for where there is none."""
    if item.get_closest_marker("browser"):
        from tests.browser.watch import find_chromium

        if find_chromium() is None:
            pytest.skip("no Chromium on this machine")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Fail in CI what elsewhere skips for want of a server, a browser or a sandbox."""
    report = yield
    reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else ""
    if IN_CI and report.skipped and not hasattr(report, "wasxfail") and any(part in reason for part in PARTS):
        report.outcome = "failed"
        report.longrepr = f"{item.nodeid}: must not be skipped in CI ({reason})"
    return report


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Give a folder that packages can be installed into, and forget what a test imported from it."""
    monkeypatch.syspath_prepend(str(tmp_path))
    yield tmp_path
    for name in [name for name in sys.modules if name.startswith("acme")]:
        del sys.modules[name]


@pytest.fixture(scope="module", autouse=True)
def own_code() -> Iterator[None]:
    """Forget parts of `flows` and `tasks` that a module's tests imported from folders of theirs."""
    yield
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if name.partition(".")[0] in {"flows", "tasks"} and file and not file.startswith(f"{ROOT}{os.sep}"):
            del sys.modules[name]


@pytest.fixture(scope="module", autouse=True)
def no_warm_commands() -> Iterator[None]:
    """End the processes that hold the code imported for a module's commands."""
    yield
    if warm := sys.modules.get("tests.flows.warm"):
        warm.close_all()
