"""Decide with DVC which stages are stale, and record finished stages in dvc.lock.

A stage runs in this process instead of under `dvc repro`. This module therefore does the work of DVC's
runner: it locks paths, tries the run cache, removes outputs, and hashes dependencies before and after each
stage. `dvc status` and `dvc repro` see the same result.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from dvc.dependency import ParamsDependency
from dvc.stage.cache import RunCacheNotFoundError
from dvc.stage.serialize import to_single_stage_lockfile
from dvc_data.hashfile.hash_info import HashInfo
from dvc_data.hashfile.meta import Meta

from flows.run.node import normalise
from flows.run.origin import check_code
from flows.run.record.code_watch import CodeWatch
from flows.run.record.dvc_boundary import LOCK_PATIENCE_S, hold_repo, translate_errors
from flows.run.record.kept_files import keep_foreign, note_begun, note_ended
from flows.run.record.path_hashes import PathHashes, parse_hash, set_hash
from flows.run.record.path_locks import PathLocks, WholeEntries
from flows.run.record.project_graph import ProjectGraph
from flows.run.record.staleness import Staleness
from tasks.errors import BenchloomError, ChangedWhileRunning, LockHeld, StageFailed
from tasks.files import remove_leftovers

Result = TypeVar("Result")
FLUSH_EVERY_S = 30.0
"""Seconds between two writes of dvc.lock while stages run, since each write rewrites the whole file."""
PATH_PATIENCE_S = 10.0
"""Seconds to wait for another run to release its lock on a path."""
RECORD_PATIENCE_S = 600.0
"""Seconds to wait for the repository lock to record a finished stage; long, so that no result is lost."""
LOOK_AGAIN_S = 0.2
"""Seconds between two attempts to acquire a lock that another process holds."""


@dataclass(frozen=True)
class Begun:
    """The hashes of a stage at its start.

    `hashes`: dependency -> hash. `expected`: output -> hash in dvc.lock; empty unless dvc.lock has the same
    command and dependency hashes.
    """

    hashes: dict[str, str]
    expected: dict[str, str]


class Recorder:
    """Opens a project's graph, and records the stages that run.

    Thread-safe: a mutex protects every access to DVC. Stages run without the mutex.
    """

    def __init__(self, root: Path) -> None:
        check_code(root)
        self.root = root
        self.mutex = threading.RLock()
        logging.getLogger("dvc").setLevel(logging.WARNING)
        self.graph = ProjectGraph(root)
        self.repo, self.nodes = self.graph.repo, self.graph.nodes
        self.repo.stage_cache = WholeEntries(self.repo)
        self.locks = PathLocks(self.repo)
        self.hashes = PathHashes(self.repo)
        self.staleness = Staleness(self.repo, self.hashes)
        self.code = CodeWatch(root, self.nodes)
        self.locked: dict[str, Begun | None] = {}
        self.pending: list[Any] = []

    # Staleness

    def explain(self, name: str, patience_s: float = PATH_PATIENCE_S) -> list[str]:
        """Return why a stage is stale (dependencies, parameters, command, outputs); empty if it is fresh.

        Raises LockHeld if another run works on the stage, or on an upstream stage, for longer than
        `patience_s`. Call `is_running` to find out whether that run works on the stage itself.
        """
        node = self.nodes[name]
        if self.locks.find_writers():
            paths = self._full(node.deps, node.outs)
            self._when_free(name, lambda: self.locks.require_free(paths), patience_s)
        with self.mutex, translate_errors(self.root, name):
            if name in self.graph.plain:
                return self.staleness.explain(node, self.graph.entries.get(name))
        return self._when_free(name, lambda: self._ask_dvc(name), patience_s)

    def is_running(self, name: str) -> bool:
        """Return whether another process is running this stage itself, rather than only an upstream stage."""
        with suppress(ValueError, AttributeError):
            return not self.locks.list_written().isdisjoint(self._full(self.nodes[name].outs))
        return False

    def _ask_dvc(self, name: str) -> list[str]:
        """Return DVC's reasons why a stage is stale, worded as in `Staleness`."""
        reasons = []
        for entry in self.graph.find_stage(name).status().get(name, []):
            if isinstance(entry, str):
                reasons.append("its command or paths changed" if entry == "changed command" else entry)
                continue
            for group in entry.values():
                for path, state in group.items():
                    if isinstance(state, dict):
                        reasons += [f"{key} in {path} {what}" for key, what in state.items()]
                    else:
                        reasons.append(f"{path} {state}")
        return reasons

    def _full(self, *paths: Iterable[str]) -> list[str]:
        return [str(Path(self.repo.root_dir, path)) for group in paths for path in group]

    # Running a stage

    @contextmanager
    def hold(self, name: str) -> Iterator[None]:
        """Hold DVC's read locks on a stage's dependencies and write locks on its outputs."""
        node = self.nodes[name]
        reads, writes = self._full(node.deps, node.settings), self._full(node.outs)
        with ExitStack() as stack:
            # Acquire the repository lock first. DVC's own commands lock paths only while they hold this lock,
            # so any other holder of a path lock is running a stage.
            self._when_free(name, lambda: stack.enter_context(self.locks.hold(reads, writes)))
            yield

    def _when_free(
        self, name: str, work: Callable[[], Result], patience_s: float = PATH_PATIENCE_S
    ) -> Result:
        """Wait until no other process locks the stage's paths, then run `work`.

        Raises LockHeld after `patience_s`.
        """
        deadline = time.monotonic() + patience_s
        while True:
            try:
                with self._touch(name):
                    return work()
            except LockHeld:
                if time.monotonic() > deadline:
                    raise
            time.sleep(LOOK_AGAIN_S)

    def keep_foreign(self, name: str) -> list[tuple[str, str]]:
        """Back up outputs that no run wrote, by moving them; return each path and its new path."""
        if name not in self.graph.plain:
            return []
        with self._touch(name):
            entry = self.graph.entries.get(name)
            return list(keep_foreign(self.root, self.nodes[name], entry, self.hashes))

    def restore(self, name: str, *, cached: bool = True) -> dict[str, str] | None:
        """Remove a stage's outputs; restore them if the run cache has a result for the same inputs.

        Returns the inputs' hashes for `adopt`; None if nothing was restored. Call this method before `begin`.
        If hashes were saved first, DVC would treat the old outputs as correct. `cached`: whether to try the
        run cache; if False, the method only removes the existing outputs.
        """
        with self._touch(name):
            self._require_deps(name)
            stage = self._find_stage(name)
            stage.remove_outs(ignore_remove=False, force=False)
            for out in stage.outs:  # leftovers of a killed run would be hashed with their folder
                remove_leftovers(Path(out.fs_path).parent, f".{Path(out.fs_path).name}.")
            if not cached:
                return None
            try:
                self.repo.stage_cache.restore(stage)
            except RunCacheNotFoundError:
                return None
            return self._dep_hashes(stage)

    def find_restorable(self, name: str) -> dict[str, tuple[Meta, HashInfo]] | None:
        """Return output -> size and hash that `restore` would restore; None if the stage must run.

        The stage's inputs may have assumed hashes (`PathHashes.assumed`). The stage cannot be recorded after
        this call.
        """
        node, entry = self.nodes[name], self.graph.entries.get(name)
        with self._touch(name):
            if name not in self.graph.plain or any(self.hashes.find(dep) is None for dep in node.deps):
                return None
            if (
                entry is None
                or entry.get("cmd") != node.command
                or not self.staleness.are_inputs_recorded(node, entry)
            ):
                stage = self._find_stage(name)
                stage.save_deps()
                for dep in stage.deps:
                    dep.get_hash = partial(getattr, dep, "hash_info")  # the files may not exist yet
                entry = self.repo.stage_cache._load(stage) if node.outs else None
            outs = (entry or {}).get("outs") or ()
            found = {normalise(out["path"]): parse_hash(out) for out in outs}
            cached = all(self.hashes.is_cached(str(info.value)) for _, info in found.values())
            return found if found.keys() == set(node.outs) and cached else None

    def _require_deps(self, name: str) -> None:
        """Raise StageFailed, with the path, if a dependency of a stage does not exist."""
        node = self.nodes[name]
        gone = [dep for dep in node.deps if not (self.root / dep).exists()]
        if gone:
            raise StageFailed(
                f"{name}: {gone[0]} does not exist; restore it, or correct its path in params.yaml, and run "
                "the same command again"
            )

    def begin(self, name: str) -> Begun:
        """Hash a stage's dependencies and create the folders of its outputs. Call `restore` first.

        Pass the returned value to `finish`.
        """
        with self._touch(name):
            stage = self._find_stage(name)
            locked = self.locked[name]
            hashes = self.hash_inputs(name)
            for out in stage.outs:
                Path(out.fs_path).parent.mkdir(parents=True, exist_ok=True)
            note_begun(self.root, name)
            same = locked is not None and locked.hashes == hashes
            return Begun(hashes, locked.expected if locked and same else {})

    def finish(self, name: str, begun: Begun, *, must_match: bool = False) -> None:
        """Record a stage that ran. Raises an error, and records nothing, if a dependency has changed.

        `must_match`: whether the outputs must have the hashes that dvc.lock has for the same dependencies.
        """
        with self._touch(name, RECORD_PATIENCE_S):
            stage = self._find_stage(name)
            # Outputs are saved in the run cache only after the check, since an input may have changed.
            stage.save(run_cache=False)
            self._check_inputs(name, begun.hashes)
            for out in stage.outs if must_match else ():
                if begun.expected.get(out.def_path, out.hash_info.value) != out.hash_info.value:
                    raise StageFailed(f"{name}: {out.def_path} does not match the checksum in dvc.lock")
            self.repo.stage_cache.save(stage)
            stage.commit()
            note_ended(self.root, name)
        self._enqueue(stage)

    def adopt(self, name: str, hashes: dict[str, str]) -> None:
        """Record a stage whose outputs were restored from the run cache. `hashes`: dependency -> hash."""
        with self._touch(name, RECORD_PATIENCE_S):
            stage = self._find_stage(name)
            stage.save()
            self._check_inputs(name, hashes)
            stage.commit()
        self._enqueue(stage)

    def _enqueue(self, stage: Any) -> None:
        with self.mutex:
            self.graph.entries[stage.addressing] = to_single_stage_lockfile(stage)
            self.pending.append(stage)

    def flush(self) -> None:
        """Write all pending stages into dvc.lock at once. Raises StageFailed if dvc.lock cannot be written.

        DVC's `stage.dump` rewrites the whole file for each stage. With many stages, this takes longer than
        the stages' work.
        """
        with self.mutex:
            if not self.pending:
                return
            try:
                with self._touch("dvc.lock", RECORD_PATIENCE_S):
                    for place in {Path(stage.path).with_suffix(".lock") for stage in self.pending}:
                        here = [stage for stage in self.pending if Path(stage.path).parent == place.parent]
                        entries = {stage.name: self.graph.entries[stage.addressing] for stage in here}
                        self.graph.find_lock(place).update(entries)
                        self.repo.scm_context.track_file(str(place))
            except OSError as error:
                raise StageFailed(
                    f"dvc.lock cannot be written: {error.strerror or error}; run the same command again, and "
                    f"the run cache restores the {len(self.pending)} stages that are missing from dvc.lock"
                ) from error
            self.pending.clear()

    @contextmanager
    def keep_flushing(self, every_s: float = FLUSH_EVERY_S) -> Iterator[None]:
        """Write dvc.lock at intervals while the block runs, and once more when it ends."""
        done = threading.Event()

        def flush() -> None:
            while not done.wait(every_s):
                with suppress(BenchloomError):  # the final write below reports errors
                    self.flush()

        thread = threading.Thread(target=flush, name="flush", daemon=True)
        thread.start()
        try:
            yield
        finally:
            done.set()
            self.flush()

    def close(self) -> None:
        """Close the repository's handles."""
        self.repo.close()

    # Access to DVC

    @contextmanager
    def _touch(self, what: str, patience_s: float = LOCK_PATIENCE_S) -> Iterator[None]:
        """Let the block access DVC: hold the mutex and the repository lock, and convert DVC's errors."""
        with self.mutex, translate_errors(self.root, what), hold_repo(self.repo, patience_s):
            yield

    def _find_stage(self, name: str) -> Any:
        """Return DVC's object for a stage, and remember the stage's current entry from dvc.lock."""
        stage = self.graph.find_stage(name)
        if name not in self.locked:
            self.locked[name] = self._read_locked(stage)
            if name in self.graph.plain:
                # When DVC records a stage, it would hash all dependencies three times, and parse the
                # parameter files seven times.
                stage.save_deps = partial(self._save_deps, stage)
                stage.deps_cached = partial(self._are_deps_recorded, name)
                for dep in stage.params:
                    dep.read_params = partial(self._read_params, dep)
        return stage

    def _save_deps(self, stage: Any, allow_missing: bool = False) -> None:
        for dep in stage.deps:
            found = None if isinstance(dep, ParamsDependency) else self.hashes.find(dep.def_path)
            if found is None:
                dep.save()  # a parameter or a missing file; DVC reports a missing file
            else:
                set_hash(dep, found)

    def _read_params(self, dep: Any, **_: Any) -> dict[str, Any]:
        return self.staleness.read_values(normalise(dep.def_path), dep.params)

    def _are_deps_recorded(self, name: str) -> bool:
        entry = self.graph.entries.get(name)
        return entry is not None and self.staleness.are_inputs_recorded(self.nodes[name], entry)

    def _read_locked(self, stage: Any) -> Begun | None:
        """Read a stage's entry in dvc.lock; None if the entry is missing or has a different command."""
        if stage.changed_stage() or not all(out.hash_info for out in stage.outs):
            return None
        return Begun(self._dep_hashes(stage), {out.def_path: out.hash_info.value for out in stage.outs})

    def _dep_hashes(self, stage: Any) -> dict[str, str]:
        return {str(dep): str(dep.hash_info.value) for dep in stage.deps}

    # Checks that inputs and code have not changed

    def hash_inputs(self, name: str) -> dict[str, str]:
        """Hash a stage's dependencies.

        Raises ChangedWhileRunning if this process runs code other than the code on disk.
        """
        self.code.check(self.nodes[name])
        with self._touch(name):
            stage = self._find_stage(name)
            stage.save_deps()
            return self._dep_hashes(stage)

    def require_unchanged(self, name: str, hashes: dict[str, str]) -> None:
        """Raise ChangedWhileRunning if a stage's code or inputs changed. `hashes`: the earlier hashes."""
        with self._touch(name, RECORD_PATIENCE_S):
            self._find_stage(name).save_deps()
            self._check_inputs(name, hashes)

    def _check_inputs(self, name: str, hashes: dict[str, str]) -> None:
        self.code.check(self.nodes[name])
        for path, value in self._dep_hashes(self._find_stage(name)).items():
            if hashes.get(path) != value:
                raise ChangedWhileRunning(name, path)
