"""Implement `benchloom publish`: write a dataset or evaluated items to a folder or a hub."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from flows.commands.cli_recorder import open_recorder
from flows.commands.ledger import open_ledger
from flows.extras import require_extra
from flows.publishing.card import make_card, make_folder_card, write_licences
from flows.publishing.choice import Choice, choose
from flows.publishing.folder import CARD, LICENCES, RECORD, check_own, find_entries, upload, write_folder
from flows.publishing.released import ItemsFolder, Release, find_items_folder, find_release
from flows.publishing.sources import Source, list_sources
from flows.settings import find_project, load_params
from tasks.errors import BadInput
from tasks.lines import print_line

if TYPE_CHECKING:
    from tasks.models.recording.entries import LedgerEntry

FOLDER = ".benchloom/published"
"""The default output folder for uploads to a hub; `--to` overrides it."""


@dataclass(frozen=True)
class PublishOptions:
    """The destination and the permitted content of a publication.

    `to`: the output folder. `hub`: the repository, OWNER/NAME. `public`: whether the repository is public.
    `private`: whether to allow sources that may not be redistributed. `prediction_key`: for a TANQ release,
    the field of a record that receives the predicted table.
    """

    to: Path | None = None
    hub: str = ""
    public: bool = False
    private: bool = False
    language: str = "en"
    prediction_key: str = ""


@dataclass(frozen=True)
class Publication:
    """A prepared publication.

    `root`: the folder that the paths in `choice` are relative to. `entries`: the ledger entries of the
    publication's calls.
    """

    root: Path
    choice: Choice
    sources: Sequence[Source]
    card: str
    release: Release | None
    entries: Sequence[LedgerEntry] = ()


def publish_command(name: str, options: PublishOptions, *, as_json: bool) -> int:
    """Run `benchloom publish`; return the exit code.

    Raises BadInput if the name is not a dataset, the dataset is not fresh, a source may not be redistributed,
    or the destination contains other files.
    """
    require_extra("publish")
    if not options.to and not options.hub:
        raise BadInput(
            "benchloom publish", "needs a destination", hint="give --to FOLDER, --hub OWNER/NAME, or both"
        )
    to, given = options.to.absolute() if options.to else None, Path(name).absolute()
    root = find_project()
    os.chdir(root)
    folder = find_items_folder(root, given)
    made = prepare_folder(folder, options, to) if folder else prepare_entry(root, name, options, to)
    entry = made.choice.entry
    out = to or root / FOLDER / entry
    told = [source.told for source in made.sources]
    record = {
        "dataset": entry,
        "benchloom": version("benchloom"),
        "sources": [{"title": source.title, "licence": source.licence} for source in told],
    }
    texts = {
        CARD: made.card,
        LICENCES: write_licences(told),
        RECORD: json.dumps(record, ensure_ascii=False, indent=1) + "\n",
    }
    notes: list[str] = []

    def write_release(draft: Path) -> None:
        notes.extend(made.release.write(draft) if made.release else ())

    files = write_folder(out, made.root, made.choice, made.entries, texts, write_release)
    url = upload(out, options.hub, entry, public=options.public) if options.hub else None
    tell(made, out, files, notes, url, as_json=as_json)
    return 0


def prepare_entry(root: Path, name: str, options: PublishOptions, to: Path | None) -> Publication:
    """Prepare an entry of params.yaml for publication. Raises BadInput if the entry may not be published."""
    params = load_params(root)
    recorder = open_recorder(root)
    try:
        choice = choose(recorder, name)
        sources = list_sources(recorder.nodes, choice.lead, params, root)
    finally:
        recorder.close()
    check_private(choice, sources, allowed=options.private)
    check_own(to or root / FOLDER / choice.entry, choice.entry)
    release = find_release(root, choice, options.prediction_key)
    with open_ledger() as ledger:
        entries = find_entries(root, choice, ledger)
    told = [source.told for source in sources]
    card = make_card(
        root, choice, told, params, version("benchloom"),
        language=options.language, calls=len(entries), layout=release.flow.name if release else "",
    )  # fmt: skip
    return Publication(root, choice, sources, card, release, entries)


def prepare_folder(folder: ItemsFolder, options: PublishOptions, to: Path | None) -> Publication:
    """Prepare a folder of items, from an import or an evaluation, for publication.

    Raises BadInput if the folder may not be published.
    """
    choice, sources = folder.choice, folder.list_sources()
    check_private(choice, sources, allowed=options.private)
    check_own(to or find_project() / FOLDER / choice.entry, choice.entry)
    card = make_folder_card(
        folder.place, choice, folder.flow.title, [source.told for source in sources],
        version("benchloom"), language=options.language, layout=folder.flow.name,
    )  # fmt: skip
    release = folder.make_release(options.prediction_key)
    return Publication(folder.place, choice, sources, card, release)


def check_private(choice: Choice, sources: Sequence[Source], *, allowed: bool) -> None:
    """Raise BadInput if a source may not be redistributed and `allowed` is false."""
    private = [source for source in sources if source.private]
    if private and not allowed:
        named = ", ".join(f"{source.told.title} ({source.told.licence})" for source in private)
        raise BadInput(
            choice.entry,
            f"uses sources that may not be redistributed: {named}",
            hint="state the licence in params.yaml or in the source's about.json, or use --private-sources",
        )


def tell(
    made: Publication, out: Path, files: int, notes: Sequence[str], url: str | None, *, as_json: bool
) -> None:
    """Print a summary of the published and the omitted files.

    notes: additional lines to print about the release's files.
    """
    choice, calls = made.choice, len(made.entries)
    names = [Path(node.artifact).stem for node in choice.sets]
    facts = {"dataset": choice.entry, "folder": str(out), "sets": names, "files": files, "calls": calls}
    if as_json:
        more = {"left_out": dict(choice.left_out), "notes": list(notes), "url": url}
        print(json.dumps({**facts, **more}, ensure_ascii=False))
        return
    print(
        f"{choice.entry}: {len(names)} artifacts ({', '.join(names)}), {calls:,} calls, {files} files in "
        f"{out}"
    )
    for path, why in choice.left_out.items():
        print_line(f"excluded: {path} ({why})")
    for note in notes:
        print_line(note)
    if url:
        print(url)
