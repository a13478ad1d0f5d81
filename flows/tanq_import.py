"""`benchloom import tanq`: published records become a dataset to evaluate systems on."""

from __future__ import annotations

import json
from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from flows.qampari_import import SkippedRecords, check_name, remove_empty
from tasks.artifacts.parquet import write_rows
from tasks.artifacts.spool import Spool
from tasks.errors import BadInput
from tasks.files import write_beside, write_text
from tasks.sources.json_records import BrokenRecord, read_records
from tasks.sources.tanq_records import ASKED, ATTRIBUTION, LICENCE, SOURCE, BadTanqRecord, read_record
from tasks.tanq.build.tanq_item import TanqItem
from tasks.tanq.imports.published_items import make_published_item

FOLDER = Path("data/raw/tanq")
ITEMS = "items.parquet"
IN_MEMORY = 2_048
"""Items in memory while they are sorted: each holds its proofs."""


@dataclass
class ImportedItems:
    """What an import did. kinds: of the items; skipped: by reason; ended: where the file ended early."""

    folder: Path
    read: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    proofs: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    ended: str = ""


def import_tanq(root: Path, path: Path, name: str, asked: str) -> ImportedItems:
    """Write a file's records to data/raw/tanq/NAME: items, about.json and what was skipped.

    asked: the field that is asked, empty for the best that a record has. Raises BadInput, and changes
    nothing, for a file, name or field that is none, and where no item is left.
    """
    check_name(name)
    if asked and asked not in ASKED:
        raise BadInput("--question", f"{asked[:40]!r} is no field that is read", hint=", ".join(ASKED))
    folder = root / FOLDER / name
    done = ImportedItems(FOLDER / name)
    items: Spool[TanqItem] = Spool(IN_MEMORY)
    with ExitStack() as stack:
        stack.callback(remove_empty, folder)
        draft = stack.enter_context(write_beside(folder / "skipped.jsonl"))
        skipped = SkippedRecords(stack.enter_context(draft.open("w", encoding="utf-8")))
        known: set[str] = set()
        for where, record in read_records(path):
            if isinstance(record, BrokenRecord):
                skipped.add("broken", where, record.why)
                done.ended = f"{path.name}, {where}: {record.why}" if record.ended else done.ended
                continue
            done.read += 1
            item = _read_item(path, where, record, asked, skipped)
            if item is None:
                continue
            if item.id in known:
                skipped.add("twice", where, item.question, item.init_qid)
                continue
            known.add(item.id)
            items.add(item)
            done.kinds[item.kind] += 1
            done.proofs += len(item.proofs)
        done.skipped = skipped.counts
        if not items:
            worst = "; ".join(f"{reason}: {count:,}" for reason, count in done.skipped.most_common(3))
            raise BadInput(path, f"gave no item of {done.read:,} records", hint=worst or "it is empty")
        write_rows(folder / ITEMS, TanqItem, items)
    write_text(folder / "about.json", json.dumps(_describe(path, name, asked, done), indent=2) + "\n")
    return done


def say_items(done: ImportedItems) -> list[str]:
    """Say what an import did, a line each."""
    place = done.folder.as_posix()
    kinds = ", ".join(f"{count:,} {kind}" for kind, count in sorted(done.kinds.items()))
    lines = [
        f"{done.kinds.total():,} of {done.read:,} records ({kinds}), {done.proofs:,} proofs: {place}/{ITEMS}"
    ]
    lines += [f"skipped: {reason}: {count:,}" for reason, count in sorted(done.skipped.items())]
    if done.skipped:
        lines.append(f"each of these is a line of {place}/skipped.jsonl")
    now = f"now: benchloom evaluate tanq --dataset {place} --system NAME"
    return [*lines, f"licence: {LICENCE}; {ATTRIBUTION}", now]


def _read_item(
    path: Path, where: str, record: object, asked: str, skipped: SkippedRecords
) -> TanqItem | None:
    """Make a record's item, and write down what of it cannot be read; None for a record that is none."""
    try:
        own = read_record(record)
        made = make_published_item(own, asked, f"{path.name}#{own.id or where}")
    except BadTanqRecord as error:
        reason, _, what = str(error).partition(": ")
        skipped.add(reason, where, what)
        return None
    for reason, count in (("answer_unread", own.unread), ("answer_not_in_table", made.apart)):
        if count:
            skipped.add(reason, where, f"{count} of them", own.id)
    for name in made.unknown:
        skipped.add("skill_unknown", where, name, own.id)
    return made.item


def _describe(path: Path, name: str, asked: str, done: ImportedItems) -> dict[str, object]:
    return {
        "name": name,
        "source": SOURCE,
        "licence": LICENCE,
        "attribution": ATTRIBUTION,
        "read_from": path.name,
        "question": asked or None,
        "counts": {
            "read": done.read,
            "items": dict(sorted(done.kinds.items())),
            "proofs": done.proofs,
            "skipped": dict(sorted(done.skipped.items())),
        },
    }
