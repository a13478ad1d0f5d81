"""Measure commands in a project with many databases: `python -m bench.many SPIDER [--databases 100]`.

SPIDER is the folder of Spider's databases. They become entries of `databases:` in a copy of the checkout and
its artifacts. The module runs whole commands as a user types them, and prints wall time, CPU time (with child
processes), peak memory and the number of output lines.

`--whole` first runs the whole graph, with the endpoint `--model URL` or with an endpoint whose answers are
empty, and then measures again. With 100 databases, this takes long.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from bench.measure import describe_machine
from bench.spider_project import add_databases, copy_checkout

PROGRAMS = Path(sys.executable).parent
EMPTY = {
    "choices": [{"index": 0, "message": {"role": "assistant", "content": ""}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
}


@dataclass(frozen=True)
class MeasuredProject:
    """The copied project whose commands are measured."""

    root: Path

    @property
    def environment(self) -> dict[str, str]:
        """Environment variables that select the copy's code and ledger, and this environment's programs."""
        return {
            **os.environ,
            "PATH": os.pathsep.join([str(PROGRAMS), os.environ["PATH"]]),
            "PYTHONPATH": str(self.root),
            "BENCHLOOM_LEDGER": str(self.root / ".benchloom" / "many.sqlite"),
            "DVC_NO_ANALYTICS": "1",
        }

    def count_stages(self) -> int:
        """Return the number of stages according to DVC."""
        command = [str(PROGRAMS / "dvc"), "stage", "list", "--all", "--name-only"]
        listed = subprocess.run(
            command, cwd=self.root, env=self.environment, check=True, capture_output=True, text=True
        )
        return len(listed.stdout.split())

    def measure(self, name: str, *command: str) -> list[str]:
        """Run a command once and print its cost. Returns the lines of its stdout and stderr."""
        begun = time.perf_counter()
        with tempfile.TemporaryFile("w+", encoding="utf-8") as printed:
            child = subprocess.Popen(
                [PROGRAMS / command[0], *command[1:]],
                cwd=self.root, env=self.environment,
                stdin=subprocess.DEVNULL, stdout=printed, stderr=subprocess.STDOUT,
            )  # fmt: skip
            _, status, usage = os.wait4(child.pid, 0)
            wall = time.perf_counter() - begun
            child.returncode = os.waitstatus_to_exitcode(status)
            printed.seek(0)
            lines = printed.read().splitlines()
        print(
            f"many: {name:42} {wall:7.1f} s, CPU {usage.ru_utime + usage.ru_stime:7.1f} s, "
            f"{usage.ru_maxrss / 1024:7,.0f} MB, {len(lines):6,} lines, exit {child.returncode}",
            flush=True,
        )
        return lines


def main() -> None:
    """Create the project, and print one line per command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("spider", type=Path, help="the folder of Spider, or of its databases")
    parser.add_argument("--databases", type=int, default=100)
    parser.add_argument("--outside", action="store_true", help="their files lie outside of the project")
    parser.add_argument(
        "--checkout", type=Path, default=Path(), help="whose code is measured; else this one's"
    )
    parser.add_argument("--whole", action="store_true", help="bring up the whole graph and measure again")
    parser.add_argument("--model", metavar="URL", help="what answers then; else every answer is empty")
    options = parser.parse_args()
    print(f"{describe_machine()}, load {os.getloadavg()[0]:.1f}")
    with tempfile.TemporaryDirectory() as folder, answer_nothing() as url:
        project = MeasuredProject(Path(folder) / "many")
        copy_checkout(options.checkout, project.root)
        outside = Path(folder) / "elsewhere" if options.outside else None
        names = add_databases(project.root, options.spider, options.databases, options.model or url, outside)
        print(f"many: {len(names)} databases added, {project.count_stages():,} stages", flush=True)
        measure_schemas(project, names)
        if options.whole:
            measure_whole(project)
    print(f"load {os.getloadavg()[0]:.1f}")


def measure_schemas(project: MeasuredProject, names: Sequence[str]) -> None:
    """Measure the new graph, a run of one small stage per database, and the graph after this run."""
    look(project, "of new databases")
    schemas = [f"grammar-schema@{name}" for name in names]
    project.measure(f"run of {len(schemas)} schemas", "benchloom", "run", "--plain", *schemas)
    project.measure("run of them with nothing to do", "benchloom", "run", "--plain", *schemas)
    look(project, "with schemas")


def measure_whole(project: MeasuredProject) -> None:
    """Measure the graph when all stages are up to date."""
    lines = project.measure("run of the whole graph", "benchloom", "run", "--plain")
    print(*lines[-3:], sep="\n")
    project.measure("run of it with nothing to do", "benchloom", "run", "--plain")
    look(project, "of all of it")


def look(project: MeasuredProject, state: str) -> None:
    """Measure the commands that only read the project."""
    project.measure(f"status {state}", "benchloom", "status")
    project.measure(f"plan {state}", "benchloom", "plan")
    project.measure(f"dvc status {state}", "dvc", "status")


@contextmanager
def answer_nothing() -> Iterator[str]:
    """Serve an endpoint on loopback that always answers with an empty text. Yields its base URL."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            body = json.dumps(EMPTY).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Discard log messages."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        server.server_close()


if __name__ == "__main__":
    main()
