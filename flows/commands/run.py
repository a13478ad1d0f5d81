"""Implement `benchloom run`: bring artifacts up to date."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flows.commands.cli_recorder import open_recorder
from flows.commands.snapshot import find_servers, refresh_records
from flows.graph_file import require_graph
from flows.lineage.git import Git
from flows.lineage.openlineage import FailedStage, emit_run, is_disabled
from flows.parameters import validate
from flows.run.binding import Places, bind
from flows.run.engine.computing import Computing
from flows.run.engine.engines import THREADS, ClusterEngine, read_settings, require_engine
from flows.run.engine.processes import Processes
from flows.run.failures import Interrupted
from flows.run.forecast import Forecast
from flows.run.hooking import open_hooks
from flows.run.lost_rows import list_empty, require_rows
from flows.run.node import Node
from flows.run.outcomes import DONE, StageOutcome, find_last_time, save_outcome
from flows.run.previewing import PREVIEW, shrink_params
from flows.run.record.recorder import Recorder
from flows.run.runner import Run, count_calls, describe_work, run_plain
from flows.run.selection import explain_nothing, select_again, select_failed, select_nodes
from flows.run.unanswered import CALLS, tell_unanswered
from flows.settings import Workers, find_project, get_section, load_params, set_params
from tasks.errors import BadInput, BenchloomError, BudgetSpent, CallMissing, LockHeld
from tasks.lineage.records import CODE
from tasks.models.sending.budget import NOTHING, Amount
from tasks.models.work_board import WORK, WorkProgress

if TYPE_CHECKING:
    from flows.run.session import Session

PRECEDENCE: tuple[type[BenchloomError], ...] = (Interrupted, BudgetSpent, CallMissing, LockHeld, BadInput)
"""Error classes in order of precedence.

If several of these errors occurred, the first class in this order determines the exit code.
"""
SHOWN_FRESH = 200
"""Number of stages above which Prefect does not show fresh stages: each `Cached` task costs 20 ms."""
COLUMNS = ["id", "model", "prompt_tokens", "completion_tokens"]


def run_command(
    targets: Sequence[str],
    *,
    replay: bool = False,
    plain: bool = False,
    only_failed: bool = False,
    assignments: Sequence[str] = (),
    limit: int | None = None,
    budget_usd: float | None = None,
    budget_tokens: int | None = None,
    engine: str | None = None,
    ask_again: Sequence[str] = (),
) -> int:
    """Run `benchloom run`; return the exit code."""
    if engine is not None:
        require_engine(engine)
    if ask_again and (replay or limit is not None):
        other = "--replay" if replay else "--limit"
        raise BadInput(
            "--ask-again", f"cannot be combined with {other}", hint="use only one of the two options"
        )
    root = find_project()
    os.chdir(root)
    if assignments:
        set_params(root, list(assignments))
    params = load_params(root)
    require_graph(root, params)
    servers = find_servers(root, params)
    recorder = open_recorder(root)
    if not recorder.nodes:
        raise BadInput("benchloom run", explain_nothing())
    names = select_nodes(recorder.nodes, targets)
    if only_failed:
        names = select_failed(root, recorder.nodes, names)
    again = select_again(recorder.nodes, names, ask_again)
    run = make_run(
        root,
        recorder,
        params,
        replay=replay,
        budget_usd=budget_usd,
        budget_tokens=budget_tokens,
        again=again,
    )
    if limit is None:
        run.hooks = open_hooks(run)  # before a server is contacted: a hook may be unusable
    refresh_records(servers, (recorder.nodes[name].key for name in names), run.say)
    if limit is not None:
        return run_preview(run, names, limit)
    if not replay:
        from flows.run.long_runs import tell_length

        tell_length(run, names, targets)
    code = bring_up_stages(run, names, plain=plain, title=" ".join(targets) or "everything", engine=engine)
    for line in list_empty(recorder.nodes, targets, root):
        run.say(line)
    return code


def bring_up_stages(
    run: Run, names: Sequence[str], *, plain: bool, title: str, engine: str | None = None
) -> int:
    """Run stale stages, with Prefect unless `plain` is true; return the exit code.

    `title`: the flow's name in Prefect. `engine`: where shards run; overrides params.yaml. Raises BadInput,
    before any stage runs, for an invalid parameter that a stale stage reads.
    """
    from flows.sections import check_refused, check_stale

    check_refused(run.root, run.params, [run.recorder.nodes[name] for name in names])
    if stale := list_stale(run, names):
        check_stale(run.root, run.params, [run.recorder.nodes[name] for name in stale])
    given = get_section(run.params, "run").get("workers", 4)
    workers = validate(Workers, given, ["run", "workers"], run.params)
    run.hooks = run.hooks or open_hooks(run)
    run.count_to_come = Forecast(run, names).count_to_come
    run.require_needs = partial(require_run_needs, run, names)
    run.computing = open_computing(run, workers, engine, plain=plain)
    run.listen()
    try:
        with run.recorder.keep_flushing():
            if plain or not names:
                run_plain(run, names, workers)
            else:
                run_with_prefect(run, names, workers, title)
    except KeyboardInterrupt:
        end_at_once(run)
    finally:
        run.finish()
    code = conclude(run, names)
    tell_lineage(run)
    if run.hooks is not None:
        run.hooks.end_run(run, names, title, code, Git(run.root).find_head() or "")
    return code


def require_run_needs(run: Run, names: Sequence[str]) -> None:
    """Raise BadInput if a requirement of a run's remaining stages is missing."""
    from flows.run.needs import require_needs

    nodes = run.recorder.nodes
    waiting = [nodes[name] for name in list_stale(run, names)]
    made = {out for node in nodes.values() for out in node.outs}
    require_needs(run.root, run.params, waiting, made)


def open_computing(run: Run, workers: int, engine: str | None, *, plain: bool) -> Computing:
    """Return the executor of stages without model calls. Raises BadInput for an unavailable engine."""
    settings = read_settings(run.params)
    name = engine or settings.name
    require_engine(name)
    processes = Processes(min(workers, os.cpu_count() or 1), run.stopping, run.say)
    if name == THREADS:
        return Computing(processes, say=run.say)
    if plain and engine is not None:
        raise BadInput("--plain", f"--engine {engine} needs Prefect", hint="use only one of the two options")
    if plain:
        run.say(
            f"run.engine.name is {name}, which needs Prefect; --plain disables both the engine and Prefect"
        )
        return Computing(processes, say=run.say)
    return Computing(processes, ClusterEngine(name, settings, processes, run.stopping, run.say), run.say)


def end_at_once(run: Run) -> None:
    """End this process on a second Ctrl-C, without waiting for stages; this releases all path locks."""
    run.say("interrupted; run the same command again to continue from the recorded calls and stages")
    os._exit(Interrupted.exit_code)


def make_run(
    root: Path,
    recorder: Recorder,
    params: Mapping[str, Any],
    *,
    replay: bool = False,
    budget_usd: float | None = None,
    budget_tokens: int | None = None,
    again: frozenset[str] = frozenset(),
) -> Run:
    """Make a run whose model session opens when the first stage calls a model. `again`: see `Run`."""

    def open_session() -> Any:
        from flows.run.session import open_session as open_models

        return open_models(
            root,
            params,
            replay=replay,
            budget_usd=budget_usd,
            budget_tokens=budget_tokens,
            again=again,
        )

    return Run(root, recorder, params, open_session, replay, again)


def run_with_prefect(run: Run, names: Sequence[str], workers: int, title: str) -> None:
    """Run stages with the Prefect server at PREFECT_API_URL or, by default, the project's own server.

    If the project's server does not start, the stages run without Prefect.
    """
    from flows.run.prefect_server import is_server_up, use_prefect

    stale = list_stale(run, names)
    many = len(names) > SHOWN_FRESH
    # No server is started only to show fresh stages.
    if many or not (stale or is_server_up(run.root)):
        for name in names:
            if name not in stale:
                run.keep(StageOutcome(name, "fresh"))
        names = stale
    if not names:
        return
    with use_prefect(run.root, run.say) as url:
        if url is None:
            run_plain(run, names, workers)
            return
        from flows.run.reproduce import run_flow

        run_flow(run, names, workers, title)


def tell_lineage(run: Run) -> None:
    """Emit OpenLineage events for the stages that ran or failed; an error is printed, not raised."""
    ran = {name: outcome.seconds for name, outcome in run.outcomes.items() if outcome.state == "ran"}
    failed = [describe_failed(run, outcome) for outcome in run.outcomes.values() if outcome.state == "failed"]
    if not (ran or failed) or run.stopping.is_set() or is_disabled():
        return
    try:
        emit_run(run.root, ran, failed)
    except BenchloomError as error:
        run.say(f"OpenLineage: {error}")


def describe_failed(run: Run, outcome: StageOutcome) -> FailedStage:
    """Describe a stage that failed in this run, for its OpenLineage event."""
    node = run.recorder.nodes[outcome.stage]
    kept = find_last_time(run.root, node.name)
    return FailedStage(
        node.name,
        node.command,
        tuple(path for path in node.deps if not path.startswith(CODE)),
        outcome.error.replace(f"{run.root}{os.sep}", ""),
        datetime.now(UTC) if kept is None else datetime.fromtimestamp(kept, UTC),
        outcome.seconds,
    )


def list_stale(run: Run, names: Sequence[str]) -> list[str]:
    """List the stages that are stale or depend on stale stages, in the order of `names`."""
    stale = dict[str, None]()
    for name in names:
        try:
            waits = any(upstream in stale for upstream in run.recorder.nodes[name].upstream)
            if waits or name in run.again or run.recorder.explain(name):
                stale[name] = None
        except LockHeld:  # the run waits for the lock before it runs the stage
            stale[name] = None
    return list(stale)


def conclude(run: Run, names: Sequence[str]) -> int:
    """Print the result of the run, and return the exit code."""
    states = [run.outcomes[name].state if name in run.outcomes else "skipped" for name in names]
    words = {
        "ran": "ran",
        "restored": "restored from the run cache",
        "fresh": "up to date",
        "failed": "failed",
        "skipped": "not run",
    }
    counts = [f"{states.count(state)} {word}" for state, word in words.items() if state in states]
    run.say(f"{len(names)} stages: {', '.join(counts) or 'none'}")
    if bill := describe_bill(run):
        run.say(bill)
    has_unanswered = tell_unanswered(run)
    if run.stopping.is_set():
        return Interrupted.exit_code
    for kind in PRECEDENCE:
        if any(isinstance(error, kind) for error in run.errors.values()):
            return kind.exit_code
    return 1 if run.errors or "skipped" in states or has_unanswered else 0


def describe_bill(run: Run) -> str:
    """Return the cost of the run as one line; empty if no stage called a model."""
    if run.session is None:
        return ""
    budget = run.session.dispatcher.budget
    parts = [f"paid in this run: {describe_amount(budget.spent)}"]
    if budget.possibly_paid.tokens:
        parts.append(f"including up to {describe_amount(budget.possibly_paid)} for lost replies")
    if artifacts := find_calls(run):
        total = sum((price_calls(path, run.session) for path in artifacts), NOTHING)
        stages = "1 stage" if len(artifacts) == 1 else f"{len(artifacts)} stages"
        parts.append(f"the artifacts of {stages} cost {describe_amount(total)} in total")
    return f"model calls: {'; '.join(parts)}"


def find_calls(run: Run) -> list[Path]:
    """List the files that contain the model calls of the run's finished stages."""
    done = [name for name, outcome in run.outcomes.items() if outcome.state in DONE]
    outs = [run.root / out for name in sorted(done) for out in run.recorder.nodes[name].outs]
    return [path for path in outs if path.name.endswith(CALLS) and path.is_file()]


def price_calls(path: Path, session: Session) -> Amount:
    """Return the cost of the calls in a file. Batched calls are priced at the batch price."""
    import pyarrow.parquet as pq

    dispatcher, total = session.dispatcher, NOTHING
    for batch in pq.ParquetFile(path).iter_batches(columns=COLUMNS):
        for call in batch.to_pylist():
            counts = call["model"], call["prompt_tokens"], call["completion_tokens"]
            cost = dispatcher.budget.price(*counts)
            if cost.usd and (entry := dispatcher.find_recorded(call["id"])) is not None and entry.batch:
                cost = dispatcher.budget.price(*counts, batch=True)
            total += cost
    return total


def describe_amount(amount: Amount) -> str:
    """Format tokens and dollars."""
    return f"{amount.tokens:,} tokens (${amount.usd:.4f})"


def copy_tables(node: Node, places: Places) -> None:
    """Copy a fresh stage's tables into the preview's folder, and replace the tables of an earlier preview."""
    for path in node.outs:
        source, target = places.root / path, places.place(path)
        if path.endswith(".parquet") and source.is_file():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)


def run_preview(run: Run, names: Sequence[str], limit: int) -> int:
    """Run stages on the first `limit` items, writing to data/.preview/; return the exit code.

    The preview does not run a fresh stage. The next stage reads the first `limit` rows of the fresh stage's
    artifact. The tables of a fresh stage are copied to the preview's folder, since a report traces rows
    within one folder. A flow may reduce its calls in proportion to `limit` (`Flow.preview`). dvc.lock is
    unchanged.
    """
    places, params = Places(run.root, run.root / PREVIEW, limit), shrink_params(run.params, limit)
    done: set[str] = set()
    fresh: list[Node] = []
    try:
        for name in names:
            node = run.recorder.nodes[name]
            if not run.recorder.explain(name) and not done.intersection(node.upstream):
                fresh.append(node)
                continue
            if not node.stage:
                raise BadInput(
                    name,
                    "is a command that you added to dvc.yaml, so --limit cannot run it",
                    hint="remove it from the targets, or run without --limit",
                )
            while fresh:
                copy_tables(fresh.pop(), places)
            bound = bind(node, params, places, run.make_ask)
            with WORK.follow(WorkProgress(name)):
                work = bound.call(run.run_coroutine)
            require_rows(run.recorder.nodes, node, work, run.root, places.find)
            done.add(name)
            calls = count_calls(bound.ask) if bound.ask is not None else {}
            save_outcome(places.outs_root, StageOutcome(**describe_work(node, work), **calls))
            run.say(
                f"{name}: output in {PREVIEW}/; "
                f"rows: {work.rows_out if work.rows_out is not None else 'not counted'}"
            )
    finally:
        run.finish()
    if not done:
        run.say("no stage is stale, so there is nothing to preview (see `benchloom status`)")
    return 0
