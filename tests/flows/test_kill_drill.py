"""Drill: SIGKILL at seeded times in runs, streams, evaluations, nights, servers, sandboxes and file work.

Each workload is started, killed and restarted until it is complete, then started from the beginning, until
all kills are used. A complete workload has the bytes of an undisturbed run; no committed call is repeated.
"""

import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil
import pytest
from aiohttp import ClientError, ClientSession, web

from benchloom.yaml_files import write_yaml
from flows.settings import set_params
from tasks.models.recording.ledger import Ledger
from tasks.models.sending.client import KEY_HEADER
from tests.flows.asked import Asked
from tests.flows.night_model import NightModel
from tests.flows.sample import NOWHERE, Sample, make_datasets, make_sample, wait_for
from tests.flows.stream_drill import STREAM, STREAM_GROUND, STREAM_STEPS, make_stream_model, write_stream
from tests.flows.test_evaluate import ROWS
from tests.models.scenes import answering, serving
from tests.scoring.test_ds1000 import CONTEXT, RIGHT
from tests.sources.wikidata.scenes import entity, statement, text, write_dump

KILLS = int(os.environ.get("DRILL_KILLS", "200"))
SEED = 20310709
LANES = 4
SLOWER = 1.2
"""Kill times are sampled up to an undisturbed run's time times this factor, so some are too late."""
MODEL = "qwen25-coder-1b5"
TARGETS = ("grammar-text-templates@flights",)
GROUND = "grammar-assessment@films-weak"
JUDGING = ("reference-verdicts", "reviews", "meta-reviews", "revisions", "error-types")
ENDS = ("longform-reference-verdicts@sample", "longform-error-types@sample")
JUDGED = tuple(
    f"data/longform/sample/sample/{stage.replace('-', '_')}{more}.parquet"
    for stage in JUDGING
    for more in ("", ".calls")
)
MADE = {
    TARGETS: ("data/grammar", "data/raw/flights", "data/worlds/flights.sqlite"),
    (STREAM,): ("data/streambench/drill/drill",),
}
"""Patterns of the files that a run writes."""
LEDGER = ".benchloom/drill.sqlite"
Kind = Callable[[Path], AbstractContextManager["Work"]]
"""A function that opens a workload in a folder."""
LEFT_S = 30.0
"""Maximum seconds that child processes of a killed process may continue to run."""


@dataclass
class Killed:
    """A row of the table. moment: seconds after the victim's start. share: fraction of undisturbed time."""

    kind: str
    victim: str
    moment: float
    share: float
    calls: int


@dataclass
class Work:
    """A workload: functions to start it, to hash its outputs, and to restart it from the beginning.

    left: returns hashes of the outputs by name. check_cut: if set, child processes are killed, too, and this
    function checks the outputs if the process then succeeds.
    """

    kind: str
    sample: Sample
    words: tuple[str, ...]
    left: Callable[[], dict[str, str]]
    wipe: Callable[[], None]
    asked: Asked | None = None
    check_cut: Callable[[], None] | None = None
    seconds: float = 0.0
    undisturbed: dict[str, str] = field(default_factory=dict)
    table: list[Killed] = field(default_factory=list)
    whole: int = 0

    def start(self) -> subprocess.Popen[str]:
        return subprocess.Popen(
            self.sample.command("flows.cli", *self.words),
            cwd=self.sample.root, env=self.sample.environment, stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE, text=True, start_new_session=True,
        )  # fmt: skip

    def finish(self) -> None:
        """Run the workload to its end."""
        process = self.start()
        said = process.communicate(timeout=900)[1]
        assert process.returncode == 0, f"{self.kind}: {said}"
        assert "Traceback" not in said, f"{self.kind}: {said}"

    def measure(self) -> None:
        """Run the workload undisturbed, and measure its time and outputs."""
        self.wipe()
        begun = time.monotonic()
        self.finish()
        self.undisturbed, self.seconds = self.left(), time.monotonic() - begun
        assert self.undisturbed, self.kind
        self.wipe()

    def check_whole(self) -> None:
        """Assert that the outputs equal the outputs of an undisturbed run."""
        left = self.left()
        differing = {
            name: (self.undisturbed.get(name), left.get(name))
            for name in self.undisturbed.keys() | left
            if self.undisturbed.get(name) != left.get(name)
        }
        assert not differing, f"{self.kind}: {differing}"
        self.whole += 1

    def kill_through(self, kills: int) -> None:
        """Kill the workload `kills` times, and then run it to its end."""
        self.measure()
        dice = random.Random(f"{SEED} {self.kind}")
        while len(self.table) < kills:
            moment = dice.uniform(0, SLOWER * self.seconds)
            process = self.start()
            with suppress(subprocess.TimeoutExpired):
                process.wait(moment)
            if process.poll() is None:
                self.kill(process, moment, dice)
                continue
            said = process.communicate()[1]
            assert process.returncode == 0, f"{self.kind}: {said}"
            self.check_whole()
            self.wipe()
        self.finish()
        self.check_whole()

    def kill(self, process: subprocess.Popen[str], moment: float, dice: random.Random) -> None:
        """Kill a process, a process with its child processes, or one child process."""
        parent = psutil.Process(process.pid)
        family = [parent, *parent.children(recursive=True)]
        victim = dice.choice(["process", "group", *(["child"] if self.check_cut else [])])
        if victim == "child" and len(family) > 1:
            with suppress(psutil.NoSuchProcess):
                dice.choice(family[1:]).kill()
        elif victim == "group":
            os.killpg(process.pid, signal.SIGKILL)
        else:
            victim = "process"
            process.kill()
        if victim == "child":  # the process may continue, or report the loss
            said = process.communicate(timeout=900)[1]
            assert "Traceback" not in said, said
            if process.returncode == 0:
                self.check_cut()
        process.communicate()
        calls = self.asked.requests if self.asked is not None else 0
        self.table.append(Killed(self.kind, victim, moment, moment / self.seconds, calls))
        _, alive = psutil.wait_procs(family, timeout=LEFT_S)
        assert not alive, f"{self.kind}: {alive}"


@dataclass
class ServedWork(Work):
    """A run whose model server is killed and restarted while the run makes calls."""

    server: "Served | None" = None

    def kill_through(self, kills: int) -> None:
        self.measure()
        dice = random.Random(f"{SEED} {self.kind}")
        process = self.start()
        while len(self.table) < kills:
            moment = dice.uniform(0, 8)  # a server starts in one to four seconds
            with suppress(subprocess.TimeoutExpired):
                process.wait(moment)
            if process.poll() is not None:
                said = process.communicate()[1]
                assert "Traceback" not in said, said
                if process.returncode == 0:
                    self.check_whole()
                    self.wipe()
                process = self.start()
                continue
            self.server.kill()
            share = moment / self.seconds
            self.table.append(Killed(self.kind, "ledger serve", moment, share, self.asked.requests))
            self.server.start()
        said = process.communicate(timeout=900)[1]
        assert "Traceback" not in said, said
        self.finish()
        self.check_whole()


class Served:
    """`benchloom ledger serve` on a separate port, behind a proxy that counts requests."""

    def __init__(self, sample: Sample) -> None:
        self.sample = sample
        self.start()

    def start(self) -> None:
        self.process = subprocess.Popen(
            self.sample.command("flows.cli", "ledger", "serve", "--port", "0", "--latency", "0.05"),
            cwd=self.sample.root, env=self.sample.environment, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        self.url = ""
        threading.Thread(target=self._read_url, args=(self.process,), daemon=True).start()

    def _read_url(self, process: subprocess.Popen[str]) -> None:
        line = process.stdout.readline()
        if process is self.process and "http://" in line:
            self.url = next(word for word in line.split() if word.startswith("http://"))

    def kill(self) -> None:
        self.url = ""
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    async def pass_on(self, request: web.Request) -> web.StreamResponse:
        body = await request.read()
        headers = {name: request.headers[name] for name in (KEY_HEADER, "Content-Type")}
        try:
            async with (
                ClientSession() as session,
                session.post(
                    f"{self.url}{request.path.removeprefix('/v1')}", data=body, headers=headers
                ) as reply,
            ):
                return web.Response(
                    body=await reply.read(), status=reply.status, content_type=reply.content_type
                )
        except (ClientError, OSError, ValueError):
            request.transport.abort()  # like a server that is gone
            return web.Response()


def hash_files(*places: Path) -> dict[str, str]:
    files = [file for place in places for file in sorted(place.rglob("*")) or [place]]
    return {
        str(file.relative_to(file.parents[2])): hashlib.sha256(file.read_bytes()).hexdigest()
        for file in files
        if file.is_file() and not file.name.startswith(".")
    }


def forget(sample: Sample, *places: str) -> None:
    for place in (*places, *(f"{LEDGER}{more}" for more in ("", "-wal", "-shm"))):
        path = sample.root / place
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)


def point(sample: Sample, url: str, **more: object) -> None:
    endpoint = {"url": url, "in_flight": 8, "timeout_s": 300, "deadline_s": 900, **more}
    set_params(sample.root, [f"run.endpoints.{MODEL}={json.dumps(endpoint)}"])


def record_dataset(root: Path) -> Sample:
    """Build the project's datasets; return the project without shipped ledger, so that runs make calls."""
    sample = make_datasets(root)
    shutil.rmtree(sample.root / "data/ledger")
    return sample


def make_run(
    sample: Sample,
    kind: type[Work],
    asked: Asked,
    name: str = "run",
    targets: tuple[str, ...] = TARGETS,
    **more: object,
) -> Work:
    """Return the workload of a run to targets; all other stages have run."""
    made = MADE.get(targets, JUDGED)
    begun = (sample.root / "dvc.lock").read_bytes()
    cache, kept = sample.root / ".dvc/cache", sample.root.parent / f"{name}.cache"
    if targets != TARGETS:
        shutil.copytree(cache, kept)

    def left() -> dict[str, str]:
        recorded = sample.lock()["stages"].items()
        return {**sample.artifacts(), **{f"dvc.lock: {name}": json.dumps(made) for name, made in recorded}}

    def wipe() -> None:
        forget(sample, *made, ".dvc/cache", ".dvc/tmp", "dvc.lock", ".benchloom")
        if targets != TARGETS:
            (sample.root / "dvc.lock").write_bytes(begun)
            shutil.copytree(kept, cache)  # stages without cached outputs would run again

    return kind(name, sample, ("run", "--plain", *targets), left, wipe, asked, **more)


@contextmanager
def serve_ledgers(sample: Sample, **more: object) -> Iterator[tuple[Asked, Served]]:
    """Answer a project's calls with `benchloom ledger serve` in a copy that has the shipped ledgers."""
    served = Served(make_sample(sample.root.parent / f"{sample.root.name}-serving"))
    asked = Asked(sample.root / LEDGER, served.pass_on)
    try:
        wait_for(lambda: bool(served.url), served.process)
        with answering(asked.handle) as url:
            point(sample, url, **more)
            yield asked, served
    finally:
        served.kill()


@contextmanager
def open_run(folder: Path) -> Iterator[Work]:
    sample = record_dataset(folder / "run")
    with serve_ledgers(sample) as (asked, _):
        yield make_run(sample, Work, asked)


@contextmanager
def open_judging(folder: Path) -> Iterator[Work]:
    """Open a workload that starts with existing answers, so that every kill happens during judging."""
    sample = make_sample(folder / "judging")
    sample.run("longform-interactions@sample", "--set", NOWHERE)
    shutil.rmtree(sample.root / "data/ledger")
    lock = sample.lock()
    lock["stages"] = {
        name: made
        for name, made in lock["stages"].items()
        if name not in {f"longform-{stage}@sample" for stage in JUDGING}
    }
    write_yaml(sample.root / "dvc.lock", lock)
    with serve_ledgers(sample) as (asked, _):
        yield make_run(sample, Work, asked, "judging", ENDS)


@contextmanager
def open_stream(folder: Path) -> Iterator[Work]:
    """Run two sequential streams of 200 steps against `benchloom ledger serve`."""
    sample, serving_sample = make_sample(folder / "stream"), make_sample(folder / "stream-serving")
    for project in (sample, serving_sample):
        write_stream(project)
    (serving_sample.root / LEDGER).parent.mkdir(exist_ok=True)
    with serving(make_stream_model()) as url:  # in a separate project, without a run cache
        point_stream(serving_sample, url)
        done = serving_sample.call("flows.cli", "run", "--plain", STREAM)
        assert done.returncode == 0, done.stderr
    with Ledger(serving_sample.root / LEDGER) as ledger:
        assert len(list(ledger.iterate())) > 2 * STREAM_STEPS
    sample.run(*STREAM_GROUND)
    served = Served(serving_sample)
    asked = Asked(sample.root / LEDGER, served.pass_on)
    app = web.Application()
    for path in ("/v1/chat/completions", "/v1/embeddings"):
        app.router.add_post(path, asked.handle)
    try:
        wait_for(lambda: bool(served.url), served.process)
        with serving(app) as url:
            point_stream(sample, url)
            yield make_run(sample, Work, asked, "stream", (STREAM,))
    finally:
        served.kill()


def point_stream(sample: Sample, url: str) -> None:
    point(sample, url)
    set_params(sample.root, [f"run.endpoints.drill-embedder={json.dumps({'url': url})}"])


@contextmanager
def open_server(folder: Path) -> Iterator[Work]:
    sample = record_dataset(folder / "server")
    with serve_ledgers(sample, in_flight=2, retries=50, breaker=1_000) as (asked, served):
        yield make_run(sample, ServedWork, asked, "server", server=served)


@contextmanager
def open_night(folder: Path) -> Iterator[Work]:
    sample = make_sample(folder / "night")
    sample.run(GROUND, "grammar-contracts@films")
    asked = Asked(sample.root / LEDGER, NightModel(pause_s=0.02).answer)
    git = ("git", "-C", str(sample.root), "-c", "user.name=T", "-c", "user.email=t@example.org")
    subprocess.run([*git, "add", "--all"], check=True)
    subprocess.run([*git, "commit", "-q", "-m", "Begin"], check=True)

    def begin_anew() -> None:
        forget(sample, "data/nightly", ".benchloom/nightly", ".dvc/cache/runs")
        subprocess.run([*git, "worktree", "prune"], check=True)
        subprocess.run([*git, "branch", "-q", "-D", "nightly/one"], check=False)

    with answering(asked.handle) as url:
        point(sample, url)
        set_params(sample.root, ["nightly.assessments=[films-weak]"])
        yield Work(
            "night", sample, ("nightly", "once", "--plain", "--as-of", "one"),
            lambda: hash_files(sample.root / "data/nightly"), begin_anew, asked,
        )  # fmt: skip


@contextmanager
def open_evaluation(folder: Path) -> Iterator[Work]:
    sample = make_sample(folder / "evaluate")
    (sample.root / "corpus").mkdir()
    for name in ("mill", "forge", "dairy"):
        (sample.root / f"corpus/{name}.md").write_text(f"# {name}\n\nSomebody leads {name}.\n")
    (sample.root / "questions.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in ROWS))
    asked = Asked(sample.root / LEDGER, NightModel(pause_s=0.1).answer)
    with answering(asked.handle) as url:
        point(sample, url)
        words = ("--dataset", "questions.jsonl", "--system", "weak", "--documents", "corpus", "--out", "mine")
        yield Work(
            "evaluate", sample, ("evaluate", "grammar", *words),
            lambda: hash_files(sample.root / "mine"), lambda: forget(sample, "mine"), asked,
        )  # fmt: skip


@contextmanager
def open_sandbox(folder: Path) -> Iterator[Work]:
    if shutil.which("bwrap") is None:
        pytest.skip("bubblewrap is not here")
    sample = make_sample(folder / "sandbox")
    sample.environment["BENCHLOOM_DS1000"] = sys.prefix
    predictions = [RIGHT if number % 2 else "result = values" for number in range(8)]
    lines = [
        {"id": number, "code_context": CONTEXT, "prediction": f"import time\ntime.sleep(0.2)\n{prediction}"}
        for number, prediction in enumerate(predictions)
    ]
    (sample.root / "programs.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))

    def check_cut() -> None:
        """Assert that a killed program counts as failed, not as passed."""
        for line in (sample.root / "items.jsonl").read_text().splitlines():
            item = json.loads(line)
            assert item["outcome"] in ("correct" if item["id"] % 2 else "wrong", "error", "not-run"), item

    yield Work(
        "sandbox", sample, ("score", "ds1000", "programs.jsonl", "--items", "items.jsonl"),
        lambda: hash_files(sample.root / "items.jsonl"), lambda: forget(sample, "items.jsonl"),
        check_cut=check_cut,
    )  # fmt: skip


@contextmanager
def open_publishing(folder: Path) -> Iterator[Work]:
    sample = make_sample(folder / "publishing")
    sample.run(GROUND, "grammar-contracts@films", "grammar-dataset@films")
    yield Work(
        "publish", sample, ("publish", "films", "--to", "out"),
        lambda: hash_files(sample.root / "out"), lambda: forget(sample, "out"),
    )  # fmt: skip


@contextmanager
def open_importing(folder: Path) -> Iterator[Work]:
    sample = make_sample(folder / "importing")
    claims = [statement(text("P1476", f"title {number}")) for number in range(3)]
    items = [entity(f"Q{number}", *claims, label=f"item {number}") for number in range(1, 6_000)]
    write_dump(sample.root / "dump.json.gz", *items)
    place, files = "data/raw/wikidata/killed", ("params.yaml", "dvc.yaml")
    before = {name: (sample.root / name).read_bytes() for name in files}

    def wipe() -> None:
        forget(sample, place)
        for name, content in before.items():
            (sample.root / name).write_bytes(content)

    yield Work(
        "import", sample, ("import", "wikidata", "dump.json.gz", "--name", "killed"),
        lambda: hash_files(sample.root / place, *(sample.root / name for name in files)), wipe,
    )  # fmt: skip


@contextmanager
def open_reviewing(folder: Path) -> Iterator[Work]:
    sample = make_sample(folder / "reviewing")
    sample.run("grammar-questions@films")
    artifact = "data/grammar/films/questions.parquet"
    done = sample.call("flows.cli", "review", "export", artifact, "--out", "form.jsonl")
    assert done.returncode == 0, done.stderr
    decided = {"decision": "accept", "rating": "4", "reviewer": "ann", "at": "2020-07-09T10:00:00Z"}
    lines = [json.loads(line) | decided for line in (sample.root / "form.jsonl").read_text().splitlines()]
    (sample.root / "form.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    labels = sample.root / "data/labels/review"
    yield Work(
        "review", sample, ("review", "import", "form.jsonl"),
        lambda: hash_files(labels), lambda: shutil.rmtree(labels, ignore_errors=True),
    )  # fmt: skip


KINDS = {
    open_run: 0.1, open_judging: 0.1, open_stream: 0.1, open_night: 0.1, open_evaluation: 0.1,
    open_server: 0.15, open_sandbox: 0.2, open_publishing: 0.05, open_importing: 0.05, open_reviewing: 0.05,
}  # fmt: skip
"""Kind -> share of the kills, in view of the time that a restart costs."""


def choose_kinds(names: str) -> dict[Kind, int]:
    """Divide the kills among the named kinds (`judging run`), by default all."""
    known = {kind.__name__.removeprefix("open_"): kind for kind in KINDS}
    chosen = names.split() or list(known)
    if unknown := sorted({*chosen} - {*known}):
        raise ValueError(f"DRILL_KINDS: no kind {', '.join(unknown)}; there are {', '.join(known)}")
    whole = sum(KINDS[known[name]] for name in chosen)
    return {known[name]: round(KILLS * KINDS[known[name]] / whole) for name in chosen}


@pytest.mark.parametrize(
    ("names", "counts"),
    [
        ("judging", [KILLS]),
        ("run judging", [KILLS - KILLS // 2, KILLS // 2]),
        ("", [round(KILLS * share) for share in KINDS.values()]),
    ],
)
def test_kinds_are_chosen_by_name_and_share_the_kills(names, counts):
    chosen = choose_kinds(names)
    assert list(chosen.values()) == counts
    assert [kind.__name__.removeprefix("open_") for kind in chosen] == (
        names.split() or [kind.__name__.removeprefix("open_") for kind in KINDS]
    )


def test_an_unknown_kind_is_named():
    with pytest.raises(ValueError, match="no kind judge; there are run, judging, "):
        choose_kinds("judge run")


@pytest.mark.drill
@pytest.mark.timeout(5400)
def test_kills_at_seeded_moments_lose_nothing_and_ask_nothing_twice(tmp_path):
    begun = time.monotonic()
    kinds = choose_kinds(os.environ.get("DRILL_KINDS", ""))
    works: list[Work] = []
    errors: list[Exception] = []

    def kill_one(kind) -> None:
        try:
            with kind(tmp_path) as work:
                works.append(work)
                work.kill_through(kinds[kind])
                print(f"{work.kind}: {len(work.table)} kills, {time.monotonic() - begun:.0f} s", flush=True)
        except Exception as error:  # noqa: BLE001 - the table is printed whatever one kind came to
            errors.append(error)

    with ThreadPoolExecutor(LANES) as pool:
        list(pool.map(kill_one, kinds))
    print(f"{'kind':10}{'victim':14}{'at s':>8}{'share':>8}{'asked':>8}")
    for row in (row for work in works for row in work.table):
        print(f"{row.kind:10}{row.victim:14}{row.moment:8.2f}{row.share:8.2f}{row.calls:8}")
    for work in works:
        victims = dict(sorted(Counter(row.victim for row in work.table).items()))
        counts = (
            f"; {work.asked.requests} calls, {work.asked.after_commit} after commit" if work.asked else ""
        )
        print(f"{work.kind}: {len(work.table)} kills {victims}, {work.whole} times whole{counts}")
    print(f"{sum(len(work.table) for work in works)} kills in {time.monotonic() - begun:.0f} s, seed {SEED}")
    if errors:
        raise ExceptionGroup("not every kind of work held", errors)
    assert sum(len(work.table) for work in works) == sum(kinds.values())
    assert [work.kind for work in works if work.asked is not None and work.asked.after_commit] == []
    assert all(work.asked is None or work.asked.requests for work in works)
