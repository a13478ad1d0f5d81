"""Settings and fixtures for all tests."""

from __future__ import annotations

import os
import sys
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# Only the launcher is installed: child processes in other folders import the code from this checkout.
ROOT = str(Path(__file__).parents[1])
os.environ["PYTHONPATH"] = os.pathsep.join(path for path in (ROOT, os.environ.get("PYTHONPATH")) if path)
os.environ["DVC_NO_ANALYTICS"] = "1"  # analytics would start processes and send data

# Only tests of OpenLineage events enable events, since tests run hundreds of stages.
os.environ.setdefault("OPENLINEAGE_DISABLED", "true")

# Only tests of progress enable progress lines, which would otherwise depend on the machine's speed.
os.environ.setdefault("BENCHLOOM_PROGRESS", "off")

# The time of an example depends on the machine, so properties have no deadline.
settings.register_profile("busy", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("busy")

IN_CI = os.environ.get("CI", "").lower() in {"1", "true", "yes"}
PARTS = ("postgresql", "mariadb", "driver", "Chromium", "bubblewrap", "extra `", "make reproduce")
"""Words in skip reasons for a missing part of the machine, the set-up or the sample."""


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip browser tests if no browser is installed."""
    if item.get_closest_marker("browser"):
        from tests.browser.watch import find_chromium

        if find_chromium() is None:
            pytest.skip("no Chromium on this machine")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """In CI, fail tests that are skipped elsewhere because a part of the machine or the sample is missing."""
    report = yield
    reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else ""
    if IN_CI and report.skipped and not hasattr(report, "wasxfail") and any(part in reason for part in PARTS):
        report.outcome = "failed"
        report.longrepr = f"{item.nodeid}: must not be skipped in CI ({reason})"
    return report


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Yield a folder for installing packages; afterwards remove the modules imported from it."""
    monkeypatch.syspath_prepend(str(tmp_path))
    yield tmp_path
    for name in [name for name in sys.modules if name.startswith("acme")]:
        del sys.modules[name]


@pytest.fixture(scope="module", autouse=True)
def own_code() -> Iterator[None]:
    """Remove modules of `flows` and `tasks` that a test module imported from its own folders."""
    yield
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if name.partition(".")[0] in {"flows", "tasks"} and file and not file.startswith(f"{ROOT}{os.sep}"):
            del sys.modules[name]


@pytest.fixture(scope="module", autouse=True)
def no_warm_commands() -> Iterator[None]:
    """End the processes with imported code that ran a test module's commands."""
    yield
    if warm := sys.modules.get("tests.flows.warm"):
        warm.close_all()
