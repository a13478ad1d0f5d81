"""Search all files of a run for a secret, in plain and encoded forms."""

import base64
import gzip
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from urllib.parse import quote, quote_plus

import pyarrow.parquet as pq


def list_forms(secret: str) -> list[bytes]:
    """List the encodings of a secret: plain, in a URL, in JSON, in base64 at any offset, in hex."""
    raw = secret.encode()
    forms = {raw, quote(secret).encode(), quote(secret, safe="").encode(), quote_plus(secret).encode()}
    forms |= {json.dumps(secret)[1:-1].encode(), raw.hex().encode(), repr(secret)[1:-1].encode()}
    for before in range(3):
        # Three bytes become four letters: preceding bytes shift the letters, and both ends share bits.
        letters = base64.b64encode(bytes(before) + raw).rstrip(b"=")
        whole = letters[-(-8 * before // 6) : 8 * (before + len(raw)) // 6]
        forms |= {whole, whole.translate(bytes.maketrans(b"+/", b"-_"))}
    return sorted(forms)


def find_secrets(folder: Path, secrets: Iterable[str]) -> list[tuple[str, str]]:
    """List files, including compressed files, that contain an encoding of a secret, as (file, encoding)."""
    forms = [form for secret in secrets for form in list_forms(secret)]
    found = []
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not path.is_symlink():
            found += [
                (str(path), form.decode()) for text in read_texts(path) for form in forms if form in text
            ]
    return found


def read_texts(path: Path) -> Iterator[bytes]:
    """Yield a file's bytes, and the decoded content of Parquet and gzip, regardless of the file's name."""
    data = path.read_bytes()
    yield data
    if data[:4] == b"PAR1":
        yield json.dumps(pq.read_table(path).to_pylist(), ensure_ascii=False).encode()
    if data[:2] == b"\x1f\x8b":
        yield gzip.decompress(data)
