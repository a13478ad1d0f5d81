"""`benchloom import qampari`: published list questions become seeds of the flow tanq."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from flows.settings import edit_params, get_section, load_params
from tasks.artifacts.parquet import write_rows
from tasks.artifacts.spool import Spool
from tasks.errors import BadInput
from tasks.files import write_beside, write_text
from tasks.sources.json_records import BrokenRecord, read_records
from tasks.sources.qampari import ATTRIBUTION, LICENCE, SOURCE, BadQuestion, QampariQuestion, read_question
from tasks.tanq.graph.seed_question import SeedQuestion
from tasks.tanq.imports.graph_names import GraphNames, WantedNames
from tasks.tanq.imports.imported_seeds import find_answers, make_imported_seed, take_given, want_names

FOLDER = Path("data/raw/qampari")
SEEDS = "seeds.parquet"
SOURCES = "tanq.sources"
NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,60}")
LEAST = 2
"""Answers of a list question."""
LONGEST = 300


@dataclass
class SkippedRecords:
    """Writes what a published file has and is not taken, a line each, and counts it by reason."""

    file: IO[str]
    counts: Counter[str] = field(default_factory=Counter)

    def add(self, reason: str, where: str, what: str = "", name: str = "") -> None:
        """Count and write one thing. name: the record's own id."""
        self.counts[reason] += 1
        record = {"reason": reason, "where": where, "id": name[:100], "what": what[:LONGEST]}
        line = {key: value for key, value in record.items() if value}
        self.file.write(json.dumps(line, ensure_ascii=True) + "\n")


@dataclass
class ImportedSeeds:
    """What an import did. kinds: of the questions kept; conditions: those whose demands are known."""

    folder: Path
    read: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    answers: int = 0
    conditions: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    ended: str = ""


def import_qampari(
    root: Path, path: Path, name: str, graph: Path | None, *, whole: bool = False, source: str | None = None
) -> ImportedSeeds:
    """Write a file's list questions to data/raw/qampari/NAME: seeds, about.json and what was skipped.

    graph: a folder of an imported Wikidata, in which answers are found by id, article and name; without one
    only answers with an id are taken. whole: a question that loses an answer is left out. source: a name
    under `tanq.sources` whose `seeds` the file becomes. Raises BadInput, and changes nothing, for a file,
    name, graph or source that is none, and where no question is left.
    """
    check_name(name)
    if source is not None and source not in (get_section(load_params(root), SOURCES) or {}):
        raise BadInput("--source", f"params.yaml has no {SOURCES}.{source}")
    names = _read_graph(path, graph) if graph else None
    folder = root / FOLDER / name
    done = ImportedSeeds(FOLDER / name)
    rows: Spool[SeedQuestion] = Spool()
    with ExitStack() as stack:
        stack.callback(remove_empty, folder)
        draft = stack.enter_context(write_beside(folder / "skipped.jsonl"))
        skipped = SkippedRecords(stack.enter_context(draft.open("w", encoding="utf-8")))
        known: set[str] = set()
        for where, question in _read_questions(path, skipped, done):
            seed = _make_seed(path, where, question, names, skipped, done, whole=whole)
            if seed is None:
                continue
            if seed.id in known:
                skipped.add("twice", where, seed.text, question.id)
                continue
            known.add(seed.id)
            rows.add(seed)
            _count(seed, done)
        done.skipped = skipped.counts
        if not rows:
            raise BadInput(path, f"gave no list question of {done.read:,}", hint=_advise(done, graph))
        write_rows(folder / SEEDS, SeedQuestion, rows)
    write_text(folder / "about.json", json.dumps(_describe(path, name, graph, done), indent=2) + "\n")
    if source is not None:
        with edit_params(root) as data:
            data["tanq"]["sources"][source]["seeds"] = (FOLDER / name / SEEDS).as_posix()
    return done


def check_name(name: str) -> None:
    """Raise BadInput for a name that a folder may not have."""
    if not NAME.fullmatch(name):
        raise BadInput("--name", f"{name[:80]!r} is no name", hint="lower-case letters, digits, - and _")


def remove_empty(folder: Path) -> None:
    """Remove a folder if nothing is in it."""
    with suppress(OSError):
        folder.rmdir()


def say_seeds(done: ImportedSeeds) -> list[str]:
    """Say what an import did, a line each."""
    place = done.folder.as_posix()
    kinds = ", ".join(f"{count:,} {kind}" for kind, count in sorted(done.kinds.items()))
    lines = [
        f"{done.kinds.total():,} of {done.read:,} list questions ({kinds}), {done.answers:,} answers: "
        f"{place}/{SEEDS}",
        f"what the question demands is known by the graph: {done.conditions:,} questions",
    ]
    lines += [f"skipped: {reason}: {count:,}" for reason, count in sorted(done.skipped.items())]
    if done.skipped:
        lines.append(f"each of these is a line of {place}/skipped.jsonl")
    return [*lines, f"licence: {LICENCE}; {ATTRIBUTION}", f"now: tanq.sources.*.seeds: {place}/{SEEDS}"]


def _read_graph(path: Path, graph: Path) -> GraphNames:
    """Read the names of all answers, then the graph: twice through the file, so that memory stays bounded."""
    wanted = WantedNames()
    for _, record in read_records(path):
        if not isinstance(record, BrokenRecord):
            with suppress(BadQuestion):
                want_names(read_question(record), wanted)
    return GraphNames(graph, wanted)


def _read_questions(
    path: Path, skipped: SkippedRecords, done: ImportedSeeds
) -> Iterator[tuple[str, QampariQuestion]]:
    for where, record in read_records(path):
        if isinstance(record, BrokenRecord):
            skipped.add("broken", where, record.why)
            done.ended = f"{path.name}, {where}: {record.why}" if record.ended else done.ended
            continue
        done.read += 1
        try:
            question = read_question(record)
        except BadQuestion as error:
            reason, _, what = str(error).partition(": ")
            skipped.add(reason, where, what)
            continue
        yield where, question


def _make_seed(
    path: Path,
    where: str,
    question: QampariQuestion,
    names: GraphNames | None,
    skipped: SkippedRecords,
    done: ImportedSeeds,
    *,
    whole: bool,
) -> SeedQuestion | None:
    """Make a question's row, and write down what it loses; None if too little is left."""
    own = find_answers(question, names) if names else take_given(question)
    for answer in own.lost:
        skipped.add(f"answer_{answer.reason}", where, answer.name, question.id)
    for reason, count in (("answer_unread", question.unread), ("proof_unread", question.unread_proofs)):
        if count:
            skipped.add(reason, where, f"{count} of them", question.id)
    if len(own.found) < LEAST:
        skipped.add("few_answers", where, question.text, question.id)
        return None
    if whole and (own.lost or question.unread):
        skipped.add("lost_answers", where, question.text, question.id)
        return None
    return make_imported_seed(question, own.found, names, f"{path.name}#{question.id or where}")


def _count(seed: SeedQuestion, done: ImportedSeeds) -> None:
    done.kinds[seed.kind] += 1
    done.answers += len(seed.answers)
    done.conditions += bool(seed.conditions)


def _advise(done: ImportedSeeds, graph: Path | None) -> str:
    if graph is None and done.skipped["answer_no_id"]:
        return "its answers have no Wikidata ids: --graph FOLDER finds them in an imported graph"
    return "; ".join(f"{reason}: {count:,}" for reason, count in done.skipped.most_common(3)) or "it is empty"


def _describe(path: Path, name: str, graph: Path | None, done: ImportedSeeds) -> dict[str, object]:
    return {
        "name": name,
        "source": SOURCE,
        "licence": LICENCE,
        "attribution": ATTRIBUTION,
        "read_from": path.name,
        "graph": graph.name if graph else None,
        "counts": {
            "read": done.read,
            "questions": dict(sorted(done.kinds.items())),
            "answers": done.answers,
            "with_conditions": done.conditions,
            "skipped": dict(sorted(done.skipped.items())),
        },
    }
