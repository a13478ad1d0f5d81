"""A repository of a hub that speaks Hugging Face's protocol: what is there is replaced at once."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

from flows.publishing.folder import RECORD, SUMS, check_record, list_files
from tasks.errors import BadInput, BenchloomError

TOKEN, ENDPOINT = "HF_TOKEN", "HF_ENDPOINT"
"""Environment variables: the token stands nowhere else, also not where the hub's own library would look."""
OF_THE_HUB = frozenset({".gitattributes"})
DATASET = "dataset"


def upload(folder: Path, repository: str, entry: str, *, public: bool) -> str:
    """Make a hub's repository hold a published folder, by one commit; returns the dataset's address.

    A new one is private unless `public`. Raises BadInput where no token is in the environment, and where the
    repository is another's or, without `public`, public; BenchloomError with what the hub said.
    """
    import httpx2
    from huggingface_hub import HfApi
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError

    token = os.environ.get(TOKEN)
    if not token:
        raise BadInput(TOKEN, "is not set", hint="export a token that may write, of the hub's settings page")
    api = HfApi(endpoint=os.environ.get(ENDPOINT), token=token)
    try:
        url = api.create_repo(repository, repo_type=DATASET, private=not public, exist_ok=True)
        info = api.dataset_info(repository)
        if not (public or info.private):
            raise BadInput(repository, "is public", hint="--public, if that is meant")
        there = {file.rfilename for file in info.siblings or ()} - OF_THE_HUB
        if there:
            record, sums = (
                read_file(api, repository, name) if name in there else "" for name in (RECORD, SUMS)
            )
            check_record(repository, entry, record, there, sums)
        new = {path.relative_to(folder).as_posix() for path in list_files(folder)}
        api.upload_folder(
            repo_id=repository, repo_type=DATASET, folder_path=folder,
            commit_message=f"Publish {entry}", parent_commit=info.sha, delete_patterns=sorted(there - new),
        )  # fmt: skip
    except HFValidationError as error:
        raise BadInput(repository, "is no name of a repository", hint="OWNER/NAME") from error
    except HfHubHTTPError as error:
        said = " ".join(str(error.server_message or error).split())[:300]
        raise BenchloomError(f"{api.endpoint}: {repository}: {error.response.status_code}: {said}") from error
    except httpx2.HTTPError as error:
        raise BenchloomError(f"{api.endpoint}: cannot be reached: {error}") from error
    return str(url)


def read_file(api: Any, repository: str, name: str) -> str:
    """Read a text file of a repository, past any cache."""
    with tempfile.TemporaryDirectory() as folder:
        path = api.hf_hub_download(repository, name, repo_type=DATASET, local_dir=folder)
        return Path(path).read_text(encoding="utf-8", errors="replace")
