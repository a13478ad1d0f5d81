"""Drills with live calls on the whole sample, by the real command: budgets stop runs, secrets stay secret.

A server answers from the shipped ledger, which the calling project lacks.
"""

import json
import re
import secrets
import shutil
import subprocess
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml
from aiohttp import web
from sqlalchemy import make_url, text

from flows.run.prefect_server import SERVER, server_folder
from flows.run.servers import find_server, stop_servers
from tasks.models.recording.ledger import Ledger
from tests.databases.servers import copy_tables, open_place
from tests.flows.prefect_api import ask_prefect, make_headers
from tests.flows.sample import COMPARED, ROOT, Sample, make_datasets, replay_datasets
from tests.flows.search import find_secrets, list_forms
from tests.models.scenes import LedgerServer, serving

pytestmark = [pytest.mark.drill, pytest.mark.timeout(3600)]
MODEL = "qwen25-coder-1b5"
SHIPPED = ROOT / "data/ledger/grammar.jsonl.gz"
PRICE = {"input_usd_per_million": 1.0, "output_usd_per_million": 4.0}


@pytest.fixture(scope="module")
def replayed(tmp_path_factory) -> Sample:
    return replay_datasets(tmp_path_factory.mktemp("replayed"))


@pytest.fixture
def asking(tmp_path) -> Sample:
    """The project without its shipped ledger, so that no call is recorded."""
    sample = make_datasets(tmp_path / "project")
    shutil.rmtree(sample.root / "data/ledger")
    return sample


def point(sample: Sample, url: str, **more: object) -> list[str]:
    """Return the arguments with which a run calls a URL."""
    endpoint = {"url": url, "in_flight": 8, "timeout_s": 300, "deadline_s": 900, **more}
    return ["--set", f"run.endpoints.{MODEL}={json.dumps(endpoint)}"]


def ask(sample: Sample, *words: str) -> subprocess.CompletedProcess[str]:
    """Run with live calls, without Prefect."""
    done = sample.call("flows.cli", "run", "--plain", *words)
    assert "Traceback" not in done.stderr
    return done


def count_tokens(sample: Sample) -> int:
    with Ledger(sample.root / ".benchloom/drill.sqlite") as ledger:
        stats = ledger.stats()
        assert ledger.list_possibly_paid() == []
    return stats.prompt_tokens + stats.completion_tokens


class Meter(LedgerServer):
    """Tracks the amount spent by a run, and the maximum cost of calls in flight."""

    def __init__(self, ledger: Ledger, **options) -> None:
        super().__init__(ledger, **options)
        self.begin_run()

    def begin_run(self) -> None:
        self.spent = self.reserved = self.peak = 0

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        (entry,) = self._find([request.headers["x-benchloom-key"]], body)
        worst = entry.prompt_tokens + body["max_tokens"]
        self.reserved += worst
        self.peak = max(self.peak, self.spent + self.reserved)
        try:
            return await super()._answer(request)
        finally:
            self.reserved -= worst
            self.spent += entry.prompt_tokens + entry.completion_tokens


def test_a_token_limit_stops_a_run_and_a_higher_one_lets_it_go_on(asking, replayed):
    with Ledger(replayed.root / ".benchloom/served.sqlite", [SHIPPED]) as ledger:
        server = Meter(ledger, latency_s=0.02)
        with serving(server.application()) as url:
            before = 0
            for limit in (15_000, 40_000):
                server.begin_run()
                done = ask(asking, *point(asking, url), "--budget-tokens", str(limit))
                assert done.returncode == 3, done.stderr
                line = f"the limit is {limit} tokens; raise run.budget.tokens (--budget-tokens)"
                told = [printed for printed in done.stderr.splitlines() if line in printed]
                assert told, done.stderr
                assert all("run the same command again" in printed for printed in told)
                spent = count_tokens(asking) - before
                print(f"limit {limit}: spent {spent}, at most spent and reserved {server.peak}")
                print("\n".join(told))
                assert 0.8 * limit < spent <= limit
                assert (server.spent, server.reserved) == (spent, 0)
                assert server.peak <= limit
                before += spent
                assert server.counts.paid_twice == 0

            server.begin_run()
            done = ask(asking, "--budget-tokens", "1000000")
            assert done.returncode == 0, done.stderr
        print(f"then {server.spent} more; {server.counts.report()}")
        assert (server.counts.paid_twice, server.counts.missing) == (0, 0)
        assert server.counts.requests == len(server.counts.answered)
    assert count_tokens(asking) == before + server.spent
    assert (asking.artifacts(), asking.lock()) == (replayed.artifacts(), replayed.lock())


@contextmanager
def ledger_serve(sample: Sample, *words: str) -> Iterator[str]:
    """Run `benchloom ledger serve` in a project; yield its URL."""
    process = subprocess.Popen(
        sample.command("flows.cli", "ledger", "serve", "--port", "0", *words),
        cwd=sample.root, env=sample.environment, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        yield re.search(r"http://\S+", process.stdout.readline()).group()
    finally:
        process.terminate()
        process.communicate()


def read_stats(url: str) -> dict[str, object]:
    with urllib.request.urlopen(url.removesuffix("/v1") + "/stats") as reply:
        return json.load(reply)


def test_a_dollar_limit_stops_a_run_and_a_higher_one_lets_it_go_on(asking, replayed):
    with ledger_serve(replayed, "--latency", "0.02") as url:
        priced = [*point(asking, url), "--set", f"run.prices={json.dumps({MODEL: PRICE})}"]
        limit = 0.05
        done = ask(asking, *priced, "--budget-usd", str(limit))
        assert done.returncode == 3, done.stderr
        assert "the limit is $0.050000; raise" in done.stderr
        paid = count_dollars(asking)
        print(f"limit ${limit}: paid ${paid:.6f}")
        print(done.stderr)
        assert 0.8 * limit < paid <= limit

        done = ask(asking, *priced, "--budget-usd", "1")
        assert done.returncode == 0, done.stderr
        print(done.stderr)
        counts = read_stats(url)
        print(f"in all ${count_dollars(asking):.6f}; {counts}")
        assert (counts["paid_twice"], counts["missing"]) == (0, 0)
        assert counts["requests"] == counts["distinct"]
    assert (asking.artifacts(), asking.lock()) == (replayed.artifacts(), replayed.lock())


def count_dollars(sample: Sample) -> float:
    with Ledger(sample.root / ".benchloom/drill.sqlite") as ledger:
        return sum(
            entry.prompt_tokens * PRICE["input_usd_per_million"] / 1e6
            + entry.completion_tokens * PRICE["output_usd_per_million"] / 1e6
            for entry in ledger.iterate()
        )


@pytest.fixture
def watched(asking, tmp_path) -> Sample:
    """A project with all files, including temporary files, under one folder."""
    for name in ("tmp", "home"):
        (tmp_path / name).mkdir()
    asking.environment |= {
        "TMPDIR": str(tmp_path / "tmp"),
        "HOME": str(tmp_path / "home"),
        "XDG_DATA_HOME": str(tmp_path / "home/data"),
        "XDG_STATE_HOME": str(tmp_path / "home/state"),
        "PYTHONASYNCIODEBUG": "1",
        "OPENAI_LOG": "debug",
        "PREFECT_LOGGING_LEVEL": "DEBUG",
    }
    asking.environment.pop("PREFECT_API_URL", None)
    yield asking
    stop_servers(server_folder(asking.root))


def test_a_key_and_a_password_are_found_nowhere_after_runs_with_faults_under_prefect(
    watched, replayed, tmp_path
):
    key, password = (f"{word}-{secrets.token_hex(9)}/+=&%41" for word in ("sk", "pw"))
    watched.environment |= {"DRILL_KEY": key, "DRILL_PASSWORD": password}
    outputs = []

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        done = watched.call("flows.cli", "run", *words)
        outputs.append(done.stdout + done.stderr)
        assert "Traceback" not in done.stderr
        return done

    with open_place("postgresql") as place:
        copy_tables(replayed.root / "data/raw/flights/flights.sqlite", place)
        with place.admin.connect() as connection:
            quoted = password.replace(":", "\\:")
            connection.execute(text(f"ALTER ROLE {place.reader} PASSWORD '{quoted}'"))
        move_to_server(watched, place.entry.url)

        # An endpoint that echoes the key, like hosted endpoints, and a rejected password.
        with serving(make_echo()) as url:
            refused = run(*point(watched, url, key_env="DRILL_KEY", retries=0))
        assert refused.returncode == 1, refused.stderr
        assert "Incorrect API key provided" in refused.stderr
        move_to_server(watched, make_url(place.entry.url).set(port=1).render_as_string(hide_password=False))
        gone = run("grammar-fill-in@flights")
        assert gone.returncode == 1
        assert "databases.flights" in gone.stderr
        move_to_server(watched, place.entry.url)

        with ledger_serve(replayed, "--faults", "0.3", "--seed", "5") as url:
            done = run(*point(watched, url, key_env="DRILL_KEY", timeout_s=10))
            counts = read_stats(url)
        assert done.returncode == 0, done.stderr
        print(f"secrets: {counts}")
        assert len(counts["faults"]) == 7
        for name in ("films", "flights"):
            for step in COMPARED:
                artifact = f"data/grammar/{name}/{step}.parquet"
                assert (watched.root / artifact).read_bytes() == (replayed.root / artifact).read_bytes()

        told = list_told(watched.root, find_server(server_folder(watched.root), SERVER).url)
    assert {"flow_runs", "task_runs", "logs", "events", "artifacts"} == set(told)
    assert all(told.values())
    print(f"secrets: { ({what: len(rows) for what, rows in told.items()}) }")
    everything = "\n".join([*outputs, json.dumps(told)]).encode()
    assert not [form for secret in (key, password) for form in list_forms(secret) if form in everything]
    stop_servers(server_folder(watched.root))
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    print(f"secrets: {len(files)} files searched, {sum(path.stat().st_size for path in files):,} bytes")
    assert any(path.name == "prefect.db" for path in files)
    assert find_secrets(tmp_path, [key, password]) == []


def move_to_server(sample: Sample, url: str) -> None:
    """Move the flights to a database server."""
    path = sample.root / "params.yaml"
    params = yaml.safe_load(path.read_text())
    entry = {"url": url, "password_env": "DRILL_PASSWORD", "file": "snapshots/flights.json"}
    params["databases"]["flights"] = {**params["databases"]["flights"], **entry}
    path.write_text(yaml.safe_dump(params, sort_keys=False))


def make_echo() -> web.Application:
    """Return an endpoint that rejects every key and echoes it in its message, its headers, and in base64."""

    async def refuse(request: web.Request) -> web.Response:
        header = request.headers["Authorization"]
        message = f"Incorrect API key provided: {header.removeprefix('Bearer ')} ({header})"
        return web.json_response(
            {"error": {"message": message, "type": "invalid_request_error", "code": "invalid_api_key"}},
            status=401,
            headers={"X-Your-Key": header},
        )

    app = web.Application()
    app.router.add_post("/v1/chat/completions", refuse)
    return app


def list_told(root: Path, url: str) -> dict[str, list[object]]:
    """Read all data of Prefect's server through its API, in pages of 200."""
    found: dict[str, list[object]] = {}
    for what in ("flow_runs", "task_runs", "logs", "artifacts"):
        rows: list[object] = []
        while page := post(root, url, what, {"limit": 200, "offset": len(rows)}):
            rows += page
        found[what] = rows
    page = post(root, url, "events", {"limit": 50})
    found["events"] = list(page["events"])
    while page.get("next_page"):
        with urllib.request.urlopen(
            urllib.request.Request(page["next_page"], headers=make_headers(root))
        ) as reply:
            page = json.load(reply)
        found["events"] += page["events"]
    return found


def post(root: Path, url: str, what: str, body: dict[str, object]):
    return ask_prefect(root, f"{url}/api/{what}/filter", body)
