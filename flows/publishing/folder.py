"""Write the folder of a published dataset: rows in two formats, calls, ledger, card and checksums.

The folder can be uploaded to a hub with Hugging Face's API.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq

from flows.publishing.choice import Choice
from tasks.artifacts.export import draft_folder, write_jsonl
from tasks.artifacts.parquet import read_rows
from tasks.artifacts.statistics import name_beside
from tasks.errors import BadInput, BenchloomError
from tasks.files import write_text
from tasks.models.calls import Call
from tasks.models.recording.shipped import write_shipped

if TYPE_CHECKING:
    from tasks.models.recording.entries import LedgerEntry
    from tasks.models.recording.ledger import Ledger

RECORD, SUMS, CARD, LICENCES = "publication.json", "SHA256SUMS", "README.md", "LICENSE.md"
LEDGER = "ledger/calls.jsonl.gz"
TOKEN, ENDPOINT = "HF_TOKEN", "HF_ENDPOINT"
"""Environment variables for the hub's token and URL. The token is read only from its variable."""
# The hub adds this file to every new repository.
OF_THE_HUB = frozenset({".gitattributes"})
DATASET = "dataset"


def check_own(folder: Path, entry: str) -> None:
    """Raise BadInput if a folder contains anything other than an unmodified publication of the entry."""
    if not folder.exists():
        return
    if not folder.is_dir():
        raise BadInput(folder, "is a file", hint="choose a new folder")
    files = {path.relative_to(folder).as_posix() for path in list_files(folder)}
    if not files:
        return
    record, listed = (
        (folder / name).read_text("utf-8", errors="replace") if name in files else ""
        for name in (RECORD, SUMS)
    )
    check_record(str(folder), entry, record, files, listed)
    sums = parse_sums(listed)
    changed = sorted(name for name in files & sums.keys() if digest(folder / name) != sums[name])
    if changed:
        raise BadInput(folder / changed[0], "was edited after it was published", hint="choose a new folder")


def check_record(where: str, entry: str, record: str, files: Iterable[str], sums: str) -> None:
    """Raise BadInput if files in a folder or repository are not a publication of this entry."""
    try:
        told = json.loads(record or "{}")
        published = told.get("dataset", "")
    except (ValueError, AttributeError) as error:
        raise BadInput(
            where, f"contains a {RECORD} that Benchloom did not write", hint="choose another destination"
        ) from error
    if not published:
        raise BadInput(
            where, "is not empty and was not published by Benchloom", hint="choose another destination"
        )
    if published != entry:
        raise BadInput(where, f"contains another dataset, {published}", hint="choose another destination")
    foreign = sorted(set(files) - parse_sums(sums).keys() - {SUMS})
    if foreign:
        raise BadInput(
            where, f"contains {foreign[0]}, which was not published", hint="choose another destination"
        )


def find_entries(root: Path, choice: Choice, ledger: Ledger) -> list[LedgerEntry]:
    """Return the ledger entries of the artifacts' calls. Raises BadInput if an entry is missing."""
    beside = (name_beside(root / node.artifact, "calls") for node in choice.stages)
    keys = sorted({call.id for path in beside if path.is_file() for call in read_rows(path, Call)})
    found = {key: ledger.get(key) for key in keys}
    entries = [entry for entry in found.values() if entry is not None]
    if len(entries) < len(keys):
        lost = next(key for key, entry in found.items() if entry is None)
        raise BadInput(
            choice.entry,
            f"{len(keys) - len(entries)} of {len(keys)} calls are not in any ledger, for example {lost[:12]}",
            hint="run `benchloom ledger import` with the ledger in which they were recorded",
        )
    return entries


def write_folder(
    out: Path,
    root: Path,
    choice: Choice,
    entries: Sequence[LedgerEntry],
    texts: Mapping[str, str],
    write_more: Callable[[Path], object] = lambda draft: None,
) -> int:
    """Write the folder as a draft, rename it, and return the number of its files.

    `entries`: the ledger entries to include. `texts`: name of a file -> its text. `write_more`: function that
    writes additional files into the folder. Raises BadInput for a row that JSON cannot represent.
    """
    with draft_folder(out) as draft:
        (draft / "data").mkdir()
        for node in choice.stages:
            copy_rows(root / node.artifact, draft / "data")
        write_more(draft)
        if entries:
            write_shipped(draft / LEDGER, entries)
        for name, text in texts.items():
            write_text(draft / name, text)
        sums = {path.relative_to(draft).as_posix(): digest(path) for path in list_files(draft)}
        write_text(draft / SUMS, "".join(f"{sums[name]}  {name}\n" for name in sorted(sums)))
        return len(sums) + 1


def copy_rows(artifact: Path, folder: Path) -> None:
    """Copy an artifact and its calls, and write the artifact's rows as JSON Lines."""
    shutil.copyfile(artifact, folder / artifact.name)
    calls = name_beside(artifact, "calls")
    if calls.is_file():
        shutil.copyfile(calls, folder / calls.name)
    batches = pq.ParquetFile(artifact).iter_batches()
    try:
        write_jsonl(
            folder / f"{artifact.stem}.jsonl", (row for batch in batches for row in batch.to_pylist())
        )
    except (TypeError, ValueError) as error:
        raise BadInput(artifact, f"has a value that JSON cannot represent: {error}") from error


def list_files(folder: Path) -> list[Path]:
    """List the files below a folder, sorted."""
    return sorted(path for path in folder.rglob("*") if not path.is_dir())


def parse_sums(text: str) -> dict[str, str]:
    """Parse checksums in the format of sha256sum: name -> checksum."""
    pairs = (line.split("  ", 1) for line in text.splitlines() if "  " in line)
    return {name: checksum for checksum, name in pairs}


def digest(path: Path) -> str:
    """Return a file's SHA-256."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def upload(folder: Path, repository: str, entry: str, *, public: bool) -> str:
    """Upload a published folder to a hub's repository in one commit; return the dataset's URL.

    A new repository is private unless `public` is true. Raises BadInput in these cases:
    - the environment contains no token.
    - the repository contains files that are not a publication of this entry.
    - the repository is public, and `public` is false.

    Raises BenchloomError, with the hub's message, if the upload fails.
    """
    import httpx2
    from huggingface_hub import HfApi
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError

    token = os.environ.get(TOKEN)
    if not token:
        raise BadInput(
            TOKEN,
            "is not set",
            hint="set it to a token with write access, from the settings page of the Hugging Face Hub",
        )
    api = HfApi(endpoint=os.environ.get(ENDPOINT), token=token)
    try:
        url = api.create_repo(repository, repo_type=DATASET, private=not public, exist_ok=True)
        info = api.dataset_info(repository)
        if not (public or info.private):
            raise BadInput(repository, "is public", hint="if this is intended, add --public")
        there = {file.rfilename for file in info.siblings or ()} - OF_THE_HUB
        if there:
            record, sums = (
                read_file(api, repository, name) if name in there else "" for name in (RECORD, SUMS)
            )
            check_record(repository, entry, record, there, sums)
        new = {path.relative_to(folder).as_posix() for path in list_files(folder)}
        # With parent_commit, the hub rejects the upload if somebody has committed since the check above.
        api.upload_folder(
            repo_id=repository, repo_type=DATASET, folder_path=folder,
            commit_message=f"Publish {entry}", parent_commit=info.sha, delete_patterns=sorted(there - new),
        )  # fmt: skip
    except HFValidationError as error:
        raise BadInput(repository, "is not a repository name", hint="expected OWNER/NAME") from error
    except HfHubHTTPError as error:
        said = " ".join(str(error.server_message or error).split())[:300]
        raise BenchloomError(f"{api.endpoint}: {repository}: {error.response.status_code}: {said}") from error
    except httpx2.HTTPError as error:
        raise BenchloomError(f"{api.endpoint}: cannot be reached: {error}") from error
    return str(url)


def read_file(api: Any, repository: str, name: str) -> str:
    """Read a text file of a repository, bypassing caches."""
    with tempfile.TemporaryDirectory() as folder:
        path = api.hf_hub_download(repository, name, repo_type=DATASET, local_dir=folder)
        return Path(path).read_text(encoding="utf-8", errors="replace")
