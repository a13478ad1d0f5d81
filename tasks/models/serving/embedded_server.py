"""The server process of an embedded text model; one slot and no cache make the replies reproducible.

Run the server as `python -m tasks.models.serving.embedded_server --state FILE --model FILE ...`; the parent
waits for the state file. The process ends automatically after `--idle` seconds without use (0: never).
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import secrets
import signal
import threading
import time
from pathlib import Path
from typing import Any

import psutil

from tasks.files import write_text
from tasks.processes import read_start

POLL_S = 2.0
"""Seconds between two checks of whether the server is idle."""
BUSY_SHARE = 0.05
"""A process that uses more than this share of one core between two polls counts as busy."""


def main() -> None:
    """Serve a model file on loopback until the process is stopped or idle."""
    options = read_options(__doc__)
    stopping = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopping.set())
    path = make_path()
    server = _start_server(options, path)
    write_state(options, f"{server.listening_address}{path}")
    wait_until_idle(options.state, options.idle, stopping)
    with contextlib.suppress(FileNotFoundError):
        options.state.unlink()
    # llama.cpp's worker threads may prevent the interpreter's exit, and there is no data left to save.
    os._exit(0)


def wait_until_idle(state: Path, idle_s: float, stopping: threading.Event, poll_s: float = POLL_S) -> None:
    """Wait until `stopping` is set, the state file is deleted, or `idle_s` seconds have passed without use.

    The server counts as used if its process uses the CPU, or if the state file's modification time changes.
    """
    process = psutil.Process()
    used_at, cpu_s = time.time(), _read_cpu_seconds(process)
    while not stopping.wait(poll_s):
        cpu_now_s = _read_cpu_seconds(process)
        if cpu_now_s - cpu_s > BUSY_SHARE * poll_s:
            used_at = time.time()
        cpu_s = cpu_now_s
        try:
            used_at = max(used_at, state.stat().st_mtime)
        except FileNotFoundError:
            return
        if idle_s and time.time() - used_at > idle_s:
            return


def _read_cpu_seconds(process: psutil.Process) -> float:
    times = process.cpu_times()
    return times.user + times.system


def read_options(description: str | None) -> argparse.Namespace:
    """Parse the command-line options with which `tasks.models.serving.embedded` starts a server."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--state", type=Path, required=True)
    parser.add_argument("--model", type=Path, nargs="+", required=True)
    parser.add_argument("--name", required=True)
    parser.add_argument("--sha256", required=True)
    parser.add_argument("--context", type=int, required=True)
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--idle", type=float, required=True)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--prompt-cache", action="store_true", help="for measurements only")
    return parser.parse_args()


def make_path() -> str:
    """Return a secret URL path for the server; other users cannot read the state file with this path."""
    return f"/{secrets.token_urlsafe(24)}"


def _start_server(options: argparse.Namespace, path: str) -> Any:
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = str(options.model[0])
    params.model_alias = {options.name}
    params.hostnames = ["127.0.0.1"]
    params.port = options.port
    params.api_prefix = path
    params.n_parallel = 1
    params.n_ctx = options.context
    params.n_gpu_layers = 0
    params.fit_params = False
    params.cpuparams.n_threads = options.threads
    params.cpuparams_batch.n_threads = options.threads
    # Cached and new prefixes are computed in different batches, so the generated texts would differ.
    params.cache_prompt = options.prompt_cache
    params.cache_ram_mib = 0
    params.cache_idle_slots = False
    params.n_ctx_checkpoints = 0
    params.slot_prompt_similarity = 0.0
    params.warmup = True
    params.ui = False
    params.endpoint_slots = False
    params.offline = True
    return xllamacpp.Server(params)


def write_state(options: argparse.Namespace, address: str) -> None:
    """Write the state file, from which the parent and other processes read the server's address."""
    state = {
        "pid": os.getpid(),
        "started": read_start(os.getpid()),
        "name": options.name,
        "sha256": options.sha256,
        "context": options.context,
        "threads": options.threads,
        "url": f"{address}/v1",
    }
    write_text(options.state, json.dumps(state))


if __name__ == "__main__":
    main()
