"""Looks for a secret in everything that a run left: as it is, and as programs write it down."""

import base64
import gzip
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from urllib.parse import quote, quote_plus

import pyarrow.parquet as pq


def list_forms(secret: str) -> list[bytes]:
    """List how a secret may be written: plain, in a URL, in JSON, in base64 wherever it begins, in hex."""
    raw = secret.encode()
    forms = {raw, quote(secret).encode(), quote(secret, safe="").encode(), quote_plus(secret).encode()}
    forms |= {json.dumps(secret)[1:-1].encode(), raw.hex().encode(), repr(secret)[1:-1].encode()}
    for before in range(3):
        # Three bytes make four letters: what stands before shifts them, and the ends hold neighbours' bits.
        letters = base64.b64encode(bytes(before) + raw).rstrip(b"=")
        whole = letters[-(-8 * before // 6) : 8 * (before + len(raw)) // 6]
        forms |= {whole, whole.translate(bytes.maketrans(b"+/", b"-_"))}
    return sorted(forms)


def find_secrets(folder: Path, secrets: Iterable[str]) -> list[tuple[str, str]]:
    """List the files, also packed ones, that hold a form of a secret, and which form."""
    forms = [form for secret in secrets for form in list_forms(secret)]
    found = []
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not path.is_symlink():
            found += [
                (str(path), form.decode()) for text in read_texts(path) for form in forms if form in text
            ]
    return found


def read_texts(path: Path) -> Iterator[bytes]:
    """Read a file's bytes, and what is packed in them: Parquet and gzip, whatever the file is called."""
    data = path.read_bytes()
    yield data
    if data[:4] == b"PAR1":
        yield json.dumps(pq.read_table(path).to_pylist(), ensure_ascii=False).encode()
    if data[:2] == b"\x1f\x8b":
        yield gzip.decompress(data)
