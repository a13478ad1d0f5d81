"""Tests that the search for secrets finds planted secrets in all encodings and places."""

import base64
import gzip
import json
from urllib.parse import quote

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.flows.search import find_secrets

SECRET = "sk-0123/+=&%41 é"


@pytest.mark.parametrize(
    "text",
    [
        f"error: {SECRET}!",
        f"postgresql://me:{quote(SECRET, safe='')}@host/db",
        json.dumps({"key": SECRET}),
        *(base64.b64encode(f"{before}{SECRET}:after".encode()).decode() for before in ("", "a", "me", "all")),
        base64.urlsafe_b64encode(f"me:{SECRET}".encode()).decode(),
        SECRET.encode().hex(),
    ],
)
def test_a_secret_is_found_in_every_form_and_wrapping(tmp_path, text):
    (tmp_path / "plain.log").write_text(text)
    (tmp_path / "packed").write_bytes(gzip.compress(text.encode()))
    pq.write_table(pa.table({"a": [text] * 3}), tmp_path / "table.parquet", compression="zstd")
    (tmp_path / "innocent.txt").write_text("sk-0123 and /+=&%41")
    found = {path for path, _ in find_secrets(tmp_path, [SECRET])}
    assert found == {str(tmp_path / name) for name in ("plain.log", "packed", "table.parquet")}
