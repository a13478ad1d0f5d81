"""Run the gold queries of a night's datasets again, on the databases as they lie in the project now."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flows.discovery import find_stage
from flows.graph import DeclaredGraph
from flows.night_settings import FOLDER, EvaluatedEntry
from flows.nights.basis import find_rows
from flows.run.binding import Places, bind, load_database
from flows.run.node import Node
from flows.settings import get_section
from tasks.databases.entry import DatabaseEntry
from tasks.errors import BadInput
from tasks.files import write_text
from tasks.judging.gold import GoldAnswer
from tasks.judging.nights import GoldDifference, NightAlarm
from tasks.lineage.selection import Selection

DIGESTS = "gold.json"
"""What queries gave whose answers nothing stores: entry -> item -> digest."""


@dataclass(frozen=True)
class GoldProof:
    """What the queries gave. n: how many were run; digests: of answers that nothing stores, by entry.

    rows: the items that have one.
    """

    n: int
    differences: tuple[GoldDifference, ...]
    digests: Mapping[str, Mapping[str, str]]
    rows: tuple[Selection, ...] = ()

    def list_alarms(self) -> list[NightAlarm]:
        """Make the alarm for queries that give another answer than before."""
        if not self.differences:
            return []
        first, n = self.differences[0], len(self.differences)
        return [
            NightAlarm(
                "gold",
                f"{n} of {self.n} gold queries give another answer; {first.entry} {first.item}: {first.what}",
            )
        ]


def prove_gold(
    home: Path,
    root: Path,
    params: Mapping[str, Any],
    evaluations: Iterable[EvaluatedEntry],
    against: str | None,
) -> GoldProof:
    """Run the gold queries of the datasets of entries, each dataset's once.

    home: where the databases lie; root: where the datasets do. against: the last accepted night. Raises
    BadInput if an artifact is missing.
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
            changed = "another answer than in the night before" if earlier != answer.digest else ""
            if problem := answer.problem or changed:
                differences.append(GoldDifference(name, answer.id, " ".join(problem.split())))
    return GoldProof(n, tuple(differences), digests, tuple(rows))


def select_items(root: Path, node: Node, ids: Sequence[str]) -> list[Selection]:
    """Select the rows whose queries were run, in the first artifact that has them all; none without any."""
    deps = [dep for dep in node.deps if dep.endswith(".parquet")] if ids else []
    found = (find_rows(root / dep, dep.removesuffix(".parquet"), ids) for dep in deps)
    return [rows.select(ids) for rows in found if rows is not None][:1]


def run_gold(home: Path, root: Path, params: Mapping[str, Any], node: Node) -> list[GoldAnswer]:
    """Call the function of a flow that runs its gold queries: artifacts of root, databases of home."""
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
    """Refuse to ask a model for a gold answer."""
    raise BadInput(stage, "runs gold queries, and must ask no model")


def read_digests(home: Path, label: str | None) -> dict[str, dict[str, str]]:
    """Read what a night's queries gave; nothing of no night, or of one without any."""
    path = home / FOLDER / (label or "") / DIGESTS
    if label is None or not path.is_file():
        return {}
    found: dict[str, dict[str, str]] = json.loads(path.read_bytes())
    return found


def write_digests(home: Path, label: str, proof: GoldProof) -> None:
    """Write what a night's queries gave, for the next night."""
    text = json.dumps(proof.digests, indent=1, sort_keys=True)
    write_text(home / FOLDER / label / DIGESTS, text + "\n")
