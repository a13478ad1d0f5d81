"""Tests of hostile document folders: a file that is not a text in the folder is omitted with a message."""

import gzip
import json
import os
from pathlib import Path

import pytest

from tasks.artifacts.parquet import write_rows
from tasks.errors import BadInput
from tasks.systems.contract import Document
from tasks.systems.corpus import read_corpus
from tests.systems.scripted import document


def test_every_kind_of_file_is_read_and_sorted_by_id(tmp_path):
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "b.md").write_text("Some words.\n\n# The quarry\n\nIt is old.\n")
    (tmp_path / "a.txt").write_bytes(b"\xef\xbb\xbfThe mill\r\nin Vex.\r\n")
    (tmp_path / "page.HTML").write_text(
        "<html><head><title> The\n inn </title><style>p {}</style></head>"
        "<body><script>alert(1)</script><p>Open <b>late</b>.</p><p>Warm.</p></body>"
    )
    rows = [
        {"id": "x1", "title": "Xanadu", "text": "A house."},
        {"text": "No id."},
        {"id": 3, "text": "Three."},
    ]
    (tmp_path / "rows.jsonl").write_text("\n".join([json.dumps(row) for row in rows] + [""]))
    write_rows(tmp_path / "more.parquet", Document, [document("From a table.", "p1", "Table")])
    corpus = read_corpus(tmp_path)
    found = {document.id: (document.title, document.text) for document in corpus.documents}
    assert found == {
        "3": ("", "Three."),
        "a.txt": ("a", "The mill\nin Vex."),
        "deep/b.md": ("The quarry", "Some words.\n\n# The quarry\n\nIt is old."),
        "p1": ("Table", "From a table."),
        "page.HTML": ("The inn", "Open late.\n\nWarm."),
        "rows.jsonl#2": ("", "No id."),
        "x1": ("Xanadu", "A house."),
    }
    assert list(found) == sorted(found)
    assert corpus.problems == ()
    assert corpus.documents[0].origin[0].reference == "rows.jsonl"


def test_every_id_and_title_can_be_written_as_utf8(tmp_path):
    named = Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9.txt"))
    named.write_bytes(b"Open late.")
    rows = tmp_path / "rows.jsonl"
    rows.write_text(json.dumps({"id": "a\ud800", "title": "b\ud800", "text": "c\ud800"}) + "\n")
    for path in (named, rows, tmp_path):
        for found in read_corpus(path).documents:
            f"{found.id}{found.title}{found.text}".encode()
    (only,) = read_corpus(rows).documents
    assert (only.id, only.title, only.text) == ("a?", "b?", "c?")


def test_what_is_amiss_is_left_out_with_one_line_each(tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.txt").write_text("secret")
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "good.txt").write_text("good")
    (folder / "link.txt").symlink_to(outside / "secret.txt")
    (folder / "linked").symlink_to(outside)
    (folder / "binary.txt").write_bytes(b"\x00\x01\x02 text")
    (folder / "large.txt").write_text("x" * 5_000)
    (folder / "empty.md").write_text(" \n")
    (folder / "sheet.xlsx").write_bytes(b"PK")
    (folder / "table.parquet").write_bytes(b"PAR1 but no more")
    lines = [
        '{"text": "kept", "id": "k"}',
        '{"text": 5}',
        "not json",
        '["list"]',
        '{"text": "twice", "id": "k"}',
    ]
    (folder / "rows.jsonl").write_text("\n".join(lines))
    (folder / ".hidden.txt").write_text("not looked at")
    os.mkfifo(folder / "pipe.txt")
    corpus = read_corpus(folder, most_bytes=4_000)
    assert [document.text for document in corpus.documents] == ["good", "kept"]
    assert sorted(corpus.problems) == [
        "binary.txt: is binary",
        "empty.md: contains no text",
        "large.txt: is larger than 4000 bytes",
        "link.txt: is a symbolic link, which is not followed",
        "linked: is a symbolic link, which is not followed",
        "pipe.txt: is not a regular file",
        "rows.jsonl: line 2 has no text",
        "rows.jsonl: line 3 is not valid JSON",
        "rows.jsonl: line 4 is not an object",
        "rows.jsonl: the id 'k' occurs twice; the first document is kept",
        "sheet.xlsx: has an unsupported file type; supported: .htm, .html, .jsonl, .md, .parquet, .txt",
        "table.parquet: is not a readable Parquet file",
    ]


def test_other_encodings_are_read_and_said(tmp_path):
    text = "東京都の人口は約千四百万人です。大阪は西日本の中心であり、京都には寺が多いことで知られています。"
    (tmp_path / "utf16.txt").write_text(text, encoding="utf-16")
    (tmp_path / "old.txt").write_text(text, encoding="cp932")
    corpus = read_corpus(tmp_path)
    assert {document.id: document.text for document in corpus.documents} == {
        "utf16.txt": text,
        "old.txt": text,
    }
    assert len(corpus.problems) == 1
    assert corpus.problems[0].startswith("old.txt: is not UTF-8; read as ")


def test_a_name_that_is_no_utf8_can_be_written_down(tmp_path):
    (tmp_path / os.fsdecode(b"caf\xe9.txt")).write_text("coffee")
    (found,) = read_corpus(tmp_path).documents
    write_rows(tmp_path / "out.parquet", Document, [found])
    assert found.id == "caf\ufffd.txt"


def test_deep_json_and_endless_lines_do_not_stop_the_rest(tmp_path, monkeypatch):
    monkeypatch.setattr("tasks.systems.corpus.MOST_LINE", 300_000)
    (tmp_path / "deep.jsonl").write_text("[" * 100_000 + "\n" + '{"text": "after"}\n')
    (tmp_path / "long.jsonl").write_text('{"text": "before"}\n{"text": "' + "x" * 400_000 + '"}\n')
    corpus = read_corpus(tmp_path)
    assert [document.text for document in corpus.documents] == ["after", "before"]
    assert [problem.partition(":")[0] for problem in corpus.problems] == ["deep.jsonl", "long.jsonl"]


def test_nothing_to_read_is_bad_input(tmp_path):
    with pytest.raises(BadInput, match="no such file or folder"):
        read_corpus(tmp_path / "nowhere")
    with pytest.raises(BadInput, match="contains no document"):
        read_corpus(tmp_path)
    (tmp_path / "x.gz").write_bytes(gzip.compress(b"text"))
    with pytest.raises(BadInput, match=r"contains no document .*x\.gz: has an unsupported file type"):
        read_corpus(tmp_path)


def test_one_file_is_a_corpus(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"id": "1", "text": "one"}')
    assert read_corpus(tmp_path / "a.jsonl").documents[0].text == "one"
