"""`benchloom publish`: a dataset, or an evaluation's items, for others: in a folder or on a hub."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from flows.commands.cli_recorder import open_recorder
from flows.commands.ledger import open_ledger
from flows.publishing.card import make_card, write_licences
from flows.publishing.choice import Choice, choose
from flows.publishing.folder import CARD, LICENCES, RECORD, check_own, find_entries, upload, write_folder
from flows.publishing.sources import Source, list_sources
from flows.settings import find_project, load_params
from tasks.errors import BadInput
from tasks.lines import print_line

FOLDER = ".benchloom/published"
"""Where what goes to a hub is written first, unless --to says otherwise."""


@dataclass(frozen=True)
class PublishOptions:
    """Where to, and what may go there. to: a folder; hub: OWNER/NAME; private: its sources too."""

    to: Path | None = None
    hub: str = ""
    public: bool = False
    private: bool = False
    language: str = "en"


def publish_command(name: str, options: PublishOptions, *, as_json: bool) -> int:
    """Carry out `benchloom publish`; returns the exit code.

    Raises BadInput where it is no dataset, is not fresh, has a private source, or the place is another's.
    """
    if not options.to and not options.hub:
        raise BadInput("benchloom publish", "needs a place", hint="--to FOLDER, --hub OWNER/NAME, or both")
    to = options.to.absolute() if options.to else None
    root = find_project()
    os.chdir(root)
    params = load_params(root)
    recorder = open_recorder(root)
    try:
        choice = choose(recorder, name)
        sources = list_sources(recorder.nodes, choice.lead, params, root)
    finally:
        recorder.close()
    check_private(choice, sources, allowed=options.private)
    out = to or root / FOLDER / choice.entry
    check_own(out, choice.entry)
    with open_ledger() as ledger:
        entries = find_entries(root, choice, ledger)
    told, own = [source.told for source in sources], version("benchloom")
    card = make_card(root, choice, told, params, own, language=options.language, calls=len(entries))
    record = {
        "dataset": choice.entry,
        "benchloom": own,
        "sources": [{"title": source.title, "licence": source.licence} for source in told],
    }
    texts = {
        CARD: card,
        LICENCES: write_licences(told),
        RECORD: json.dumps(record, ensure_ascii=False, indent=1) + "\n",
    }
    files = write_folder(out, root, choice, entries, texts)
    url = upload(out, options.hub, choice.entry, public=options.public) if options.hub else None
    tell(choice, out, files, len(entries), url, as_json=as_json)
    return 0


def check_private(choice: Choice, sources: Sequence[Source], *, allowed: bool) -> None:
    """Raise BadInput where a source is not for others."""
    private = [source for source in sources if source.private]
    if private and not allowed:
        named = ", ".join(f"{source.told.title} ({source.told.licence})" for source in private)
        raise BadInput(
            choice.entry,
            f"is made from what is not for others: {named}",
            hint="say its licence in params.yaml, or in an about.json beside it; or --private-sources",
        )


def tell(choice: Choice, out: Path, files: int, calls: int, url: str | None, *, as_json: bool) -> None:
    """Say what was published, and what was left out."""
    names = [Path(node.artifact).stem for node in choice.sets]
    facts = {"dataset": choice.entry, "folder": str(out), "sets": names, "files": files, "calls": calls}
    if as_json:
        print(json.dumps({**facts, "left_out": dict(choice.left_out), "url": url}, ensure_ascii=False))
        return
    print(f"{choice.entry}: {len(names)} sets ({', '.join(names)}), {calls:,} calls, {files} files in {out}")
    for path, why in choice.left_out.items():
        print_line(f"left out: {path} ({why})")
    if url:
        print(url)
