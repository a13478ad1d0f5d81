"""Perform the steps of a nightly run in its worktree.

The steps fetch the data, run the gold queries and the stages, compare scores, record the run, send alarms,
and push the artifacts.
"""

from __future__ import annotations

import json
import os
import signal
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from flows.discovery import find_stage
from flows.graph import DeclaredGraph
from flows.night_settings import FOLDER, EvaluatedEntry, Nightly, find_evaluation
from flows.nights.asked import AskedPart, count_calls, count_whole_calls
from flows.nights.history import find_against, read_history, write_night
from flows.nights.night_rows import derive_gold, find_rows
from flows.nights.once import GOES_ON, read_unfinished, write_unfinished
from flows.nights.outcome import compare_night, read_before
from flows.nights.preparation import (
    check_upstream,
    fetch_upstream,
    push_artifacts,
    select_contracts,
    select_nights,
)
from flows.nights.subset import NightPlan, WholeNight
from flows.nights.webhook import send_alarm
from flows.run.binding import Places, bind, load_database
from flows.run.failures import describe_error
from flows.run.node import Node
from flows.run.outcomes import DONE
from flows.run.runner import Run
from flows.settings import get_section
from tasks.databases.entry import DatabaseEntry
from tasks.errors import Alarm, BadInput, BudgetSpent, ContractBroken
from tasks.files import write_text
from tasks.judging.gold import GoldAnswer
from tasks.judging.night_forecast import NightPart, describe_doubt, find_doubt, find_next_step
from tasks.judging.night_subset import NightSubset
from tasks.judging.nights import AlarmKind, GoldDifference, Night, NightAlarm
from tasks.lineage.selection import Selection

BringUp = Callable[[Run, Sequence[str]], int]
"""Type of a function that brings stages up to date and returns the exit code."""
DIGESTS = "gold.json"
"""File with the digest of each gold answer that no dataset stores: entry -> item -> digest."""


@dataclass(frozen=True)
class NightWork:
    """A nightly run in its worktree.

    `home`: the user's project. `run`: runs the stages in the worktree. `show`: function that prints a
    recorded nightly run.
    """

    home: Path
    label: str
    nightly: Nightly
    run: Run
    show: Callable[[Night], None]
    plan: NightPlan | WholeNight

    def carry_out(self, bring_up: BringUp) -> int:
        """Perform the nightly run; return the exit code, or GOES_ON if the run must evaluate more items.

        Raises BadInput if a stage that the nightly run depends on is not up to date, unless a gold query's
        answer has changed. A changed answer is an alarm.
        """
        evaluations = [find_evaluation(self.run.params, name) for name in self.nightly.assessments]
        nodes = self.run.recorder.nodes
        chosen = select_nights(nodes, evaluations)
        names = [*select_contracts(nodes, chosen), *chosen]
        fetch_upstream(self.home, self.run.recorder, names, self.run.say)
        against = find_against(read_history(self.home), self.label)
        before = read_before(self.home, evaluations, against)  # before any model call, because it may fail
        proof = self._prove_gold(evaluations, names, against)
        try:
            check_upstream(self.run.recorder, names)
        except BadInput as stale:
            if not proof.differences:
                raise
            self.run.say(str(stale))  # the database has changed; the alarm reports this per item
            return self._leave(Night(self.label, against, "unfinished", tuple(proof.list_alarms())), proof)
        if changed := self._find_changed(chosen):
            return self._go_on(0, f"the items of {changed} differ from the items of the last whole night")
        code = bring_up(self.run, names)
        if code and not self._is_whole(names):
            return self._tell_unfinished(code, against, proof)
        night, comparison, bases = compare_night(
            self.run.root,
            evaluations,
            self.label,
            against,
            before,
            self.nightly.alarm,
            self._count_part(chosen, against),
        )
        alarms = (*night.alarms, *proof.list_alarms())
        if night.part is not None and (doubt := self._find_doubt(night.part, alarms)):
            return self._go_on(find_next_step(night.part.parts), doubt)
        night = replace(night, alarms=alarms, state="alarm" if alarms else "accepted")
        night = replace(night, gold=proof.n, differences=proof.differences)
        if isinstance(self.plan, WholeNight):
            night = replace(night, whole=self.plan.why)
        bases |= derive_gold(night, proof.rows)
        write_night(self.home, night, comparison, bases)
        write_digests(self.home, self.label, proof)
        self._announce(night)
        whole = push_artifacts(self.run.recorder, names, self.run.say)
        return Alarm.exit_code if night.alarms else code or int(not whole)

    def _find_changed(self, chosen: Sequence[str]) -> str:
        """Return an entry whose items changed since the last nightly run on all items; '' if none changed."""
        if isinstance(self.plan, WholeNight):
            return ""
        nodes = self.run.recorder.nodes
        return self.plan.find_changed(self.run.root, self.run.params, [nodes[name] for name in chosen])

    def _count_part(self, chosen: Sequence[str], against: str | None) -> AskedPart | None:
        """Count the calls of a nightly run on a subset, and of the last nightly run on all items."""
        if isinstance(self.plan, WholeNight) or against is None:
            return None
        nodes = self.run.recorder.nodes
        return AskedPart(
            self.plan,
            against,
            count_calls(self.run.root, nodes, chosen),
            count_whole_calls(self.home, against, nodes, chosen),
        )

    def _find_doubt(self, part: NightPart, alarms: Sequence[NightAlarm]) -> str:
        """Return why the subset is too small to accept the nightly run; '' if the subset is large enough."""
        subset = self.nightly.subset or NightSubset()
        fallen = find_doubt(part, subset.near, self.nightly.alarm.drop)
        if fallen is not None:
            return describe_doubt(fallen)
        return (
            f"an alarm was raised on a part of the items: {alarms[0].kind}: {alarms[0].what}"
            if alarms
            else ""
        )

    def _go_on(self, parts: int, why: str) -> int:
        """Record that the run continues with `parts` parts of the items, and why; return GOES_ON.

        `parts`: 0 means all items.
        """
        self.run.say(why)
        self.run.say(f"the run continues with {f'{parts} subsets of the items' if parts else 'all items'}")
        begun = read_unfinished(self.home)
        if begun is None or begun.label != self.label:
            raise BadInput(
                self.label,
                "is not the label of an unfinished nightly run",
                hint="run `benchloom nightly once`",
            )
        write_unfinished(self.home, replace(begun, parts=parts, why=why))
        return GOES_ON

    def _is_whole(self, names: Sequence[str]) -> bool:
        """Return whether all stages are up to date; stages in which some calls failed count as up to date."""
        states = [outcome.state for name in names if (outcome := self.run.outcomes.get(name)) is not None]
        return len(states) == len(names) and all(state in DONE for state in states)

    def _prove_gold(
        self, evaluations: Sequence[EvaluatedEntry], names: Sequence[str], against: str | None
    ) -> GoldProof:
        try:
            return prove_gold(self.home, self.run.root, self.run.params, evaluations, against)
        except BadInput:
            check_upstream(self.run.recorder, names)  # if an artifact is missing, names the stage to run
            raise

    def _leave(self, night: Night, proof: GoldProof) -> int:
        """Record an unfinished nightly run with its gold query results; send alarms; return the exit code."""
        night = replace(night, gold=proof.n, differences=proof.differences)
        write_night(self.home, night, bases=derive_gold(night, proof.rows))
        self._announce(night)
        return Alarm.exit_code

    def _tell_unfinished(self, code: int, against: str | None, proof: GoldProof) -> int:
        """Record a run that ended because of its budget or a violated contract; return the exit code.

        `code`: exit code of the stages. A run that ended for another reason is not recorded.
        """
        alarms = [
            NightAlarm(kind, f"{stage}: {describe_error(error)}")
            for stage, error in sorted(self.run.errors.items())
            if (kind := classify_error(error)) is not None
        ]
        if not alarms or self.run.stopping.is_set():
            return code
        broken = any(alarm.kind == "contract" for alarm in alarms)
        night = Night(self.label, against, "unfinished", (*alarms, *proof.list_alarms()))
        alarmed = self._leave(night, proof)
        return alarmed if broken else code

    def _announce(self, night: Night) -> None:
        """Print a recorded nightly run, then send its alarms."""
        # Printed first, because the webhook's receiver may be slow or may not answer.
        self.show(night)
        if line := send_alarm(self.home.name, self.nightly.webhook, night):
            self.run.say(line)


def classify_error(error: BaseException) -> AlarmKind | None:
    """Return the kind of alarm that a stage's error causes; None if it causes no alarm."""
    if isinstance(error, BudgetSpent):
        return "budget"
    return "contract" if isinstance(error, ContractBroken) else None


def stop_with_parent(run: Run) -> None:
    """Stop the run, like Ctrl-C, when the parent process ends (detected by the end of stdin)."""

    def watch() -> None:
        while os.read(0, 1024):
            pass
        if not run.stopping.is_set():
            # Only a signal interrupts the main thread, which handles the end of the run.
            os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=watch, name="parent", daemon=True).start()


@dataclass(frozen=True)
class GoldProof:
    """The results of the gold queries on the databases in the user's project.

    `n`: number of queries that were run. `digests`: entry -> item -> digest of the answer, for answers that
    no dataset stores. `rows`: the items that have a gold query.
    """

    n: int
    differences: tuple[GoldDifference, ...]
    digests: Mapping[str, Mapping[str, str]]
    rows: tuple[Selection, ...] = ()

    def list_alarms(self) -> list[NightAlarm]:
        """Return an alarm if a query's answer changed since the last nightly run; otherwise an empty list."""
        if not self.differences:
            return []
        first, n = self.differences[0], len(self.differences)
        return [
            NightAlarm(
                "gold",
                (
                    f"{n} of {self.n} gold queries return a different answer; the first is {first.entry} "
                    f"{first.item}: {first.what}"
                ),
            )
        ]


def prove_gold(
    home: Path,
    root: Path,
    params: Mapping[str, Any],
    evaluations: Iterable[EvaluatedEntry],
    against: str | None,
) -> GoldProof:
    """Run the gold queries of the entries' datasets, once per dataset.

    `home`: the project with the databases. `root`: the project with the datasets. `against`: the last
    accepted nightly run. Raises BadInput if an artifact is missing.
    """
    graph, seen = DeclaredGraph(root), set[tuple[str, ...]]()
    before = read_digests(home, against)
    n, differences, digests = 0, list[GoldDifference](), dict[str, dict[str, str]]()
    rows: list[Selection] = []
    for evaluation in evaluations:
        scope, name = evaluation.scope, f"{evaluation.scope.over}.{evaluation.key}"
        evaluated = find_stage(scope.evaluates)
        if not scope.gold or evaluated is None:
            continue
        reads = (*evaluated.reads, *evaluated.covered)
        reader = scope.stage(scope.gold, reads=reads, settings=(f"{scope.over}.${{key}}",))
        entry = get_section(params, name)
        node = graph.place_reader(reader, evaluation.key, entry if isinstance(entry, Mapping) else {})
        if node.deps in seen:
            continue
        seen.add(node.deps)
        answers = run_gold(home, root, params, node)
        rows += select_items(root, node, [answer.id for answer in answers])
        for answer in answers:
            n += 1
            if answer.digest:
                digests.setdefault(name, {})[answer.id] = answer.digest
            earlier = before.get(name, {}).get(answer.id, answer.digest)
            changed = "the answer differs from the previous night's" if earlier != answer.digest else ""
            if problem := answer.problem or changed:
                differences.append(GoldDifference(name, answer.id, " ".join(problem.split())))
    return GoldProof(n, tuple(differences), digests, tuple(rows))


def select_items(root: Path, node: Node, ids: Sequence[str]) -> list[Selection]:
    """Select the rows `ids` in a stage's first input that contains all of them; empty if no input does."""
    deps = [dep for dep in node.deps if dep.endswith(".parquet")] if ids else []
    found = (find_rows(root / dep, dep.removesuffix(".parquet"), ids) for dep in deps)
    return [rows.select(ids) for rows in found if rows is not None][:1]


def run_gold(home: Path, root: Path, params: Mapping[str, Any], node: Node) -> list[GoldAnswer]:
    """Run a stage's gold queries; return the answers.

    The function reads databases and files (arguments that are paths) from `home` if they exist there, and
    everything else from `root`.
    """
    bound = bind(node, params, Places(root, root), refuse_ask)

    def place(value: Any) -> Any:
        if isinstance(value, DatabaseEntry):
            now = load_database(node, params, home)
            return now if now.url is not None or (now.file or Path()).is_file() else value
        if isinstance(value, Path) and (home / value.relative_to(root)).exists():
            return home / value.relative_to(root)
        return value

    function: Callable[..., list[GoldAnswer]] = bound.function
    return function(**{name: place(value) for name, value in bound.arguments.items()})


def refuse_ask(stage: str, prompts: Path, epoch: str) -> Any:
    """Raise BadInput, since a function that runs gold queries must not call a model."""
    raise BadInput(stage, "runs gold queries, so it must not call a model")


def read_digests(home: Path, label: str | None) -> dict[str, dict[str, str]]:
    """Read the digests of a nightly run's gold answers; empty if the run is missing or has no digests."""
    path = home / FOLDER / (label or "") / DIGESTS
    if label is None or not path.is_file():
        return {}
    found: dict[str, dict[str, str]] = json.loads(path.read_bytes())
    return found


def write_digests(home: Path, label: str, proof: GoldProof) -> None:
    """Write the digests of a nightly run's gold answers, for the next nightly run."""
    text = json.dumps(proof.digests, indent=1, sort_keys=True)
    write_text(home / FOLDER / label / DIGESTS, text + "\n")
