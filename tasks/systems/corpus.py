"""Read a corpus: a folder of a user's documents, or a Parquet artifact with rows of `Document`.

A folder is untrusted: files outside the folder are not read, and unreadable files and rows are skipped with a
message.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from tasks.artifacts.rows import Origin
from tasks.errors import BadInput
from tasks.systems.contract import Document
from tasks.systems.extras import load_library

READ = frozenset({".txt", ".md", ".html", ".htm", ".jsonl", ".parquet"})
MOST_BYTES = 20_000_000
"""Maximum size of a text file in bytes."""
MOST_TABLE_BYTES = 2_000_000_000
"""Maximum size in bytes of a .jsonl or .parquet file, which is read in batches."""
MOST_LINE = 5_000_000
"""Maximum length of a line of a .jsonl file, in bytes."""
BATCH = 1_000
"""Number of Parquet rows per read."""
FIELDS = ("id", "title", "text")
# HTML elements whose text browsers do not display.
UNSEEN_TAGS = ("head", "noscript", "template")


@dataclass(frozen=True)
class Corpus:
    """Documents sorted by id.

    `problems`: one line per skipped file or row, and per file whose encoding was guessed.
    """

    documents: tuple[Document, ...]
    problems: tuple[str, ...]


class UnreadableFile(ValueError):
    """Raised for a file or row that is unreadable and skipped; the message states the reason."""


def read_corpus(path: Path, *, most_bytes: int = MOST_BYTES) -> Corpus:
    """Read all .txt, .md, .html, .htm, .jsonl and .parquet files in a folder and its subfolders, or one file.

    A text file is one document. The document's id is the file's path in the folder. The document's title is
    the HTML title, the first top-level heading, or the file name without extension. A .jsonl line or .parquet
    row requires `text`; `id` and `title` are optional. Hidden files are ignored. `most_bytes`: maximum size
    of a text file. Raises BadInput if no document can be read.
    """
    documents: dict[str, Document] = {}
    problems: list[str] = []
    for file, name in _list_files(path, problems):
        try:
            for found in _read_file(file, name, most_bytes, problems):
                if found.id in documents:
                    problems.append(f"{name}: the id {found.id!r} occurs twice; the first document is kept")
                else:
                    documents[found.id] = found
        except UnreadableFile as error:
            problems.append(f"{name}: {error}")
        except OSError as error:
            problems.append(f"{name}: cannot be read ({error.strerror or type(error).__name__})")
    if not documents:
        raise BadInput(path, "contains no document that can be read", hint="; ".join(problems[:3]))
    return Corpus(tuple(documents[name] for name in sorted(documents)), tuple(problems))


def _list_files(path: Path, problems: list[str]) -> Iterator[tuple[Path, str]]:
    """Yield each file in a folder with its relative path, sorted; or the file, if the path is a file.

    Hidden files and folders are skipped. Links to folders are added to `problems`, and are not followed.
    Raises BadInput if the path does not exist.
    """
    if not path.exists():
        raise BadInput(path, "no such file or folder")
    if path.is_file():
        yield path, _write_name(Path(path.name))
        return
    for folder, folders, files in os.walk(path):
        links = [Path(folder) / name for name in sorted(folders) if (Path(folder) / name).is_symlink()]
        problems += [
            f"{_write_name(link.relative_to(path))}: is a symbolic link, which is not followed"
            for link in links
        ]
        # os.walk visits the folders that remain in this list, in the order of this list.
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for file_name in sorted(files):
            if not file_name.startswith("."):
                file = Path(folder) / file_name
                yield file, _write_name(file.relative_to(path))


def _write_name(path: Path) -> str:
    """Convert a path to text; bytes that are not UTF-8 are replaced."""
    return os.fsencode(path.as_posix()).decode("utf-8", "replace")


def _read_file(file: Path, name: str, most_bytes: int, problems: list[str]) -> Iterable[Document]:
    # lstat does not follow links: a link in the folder must not expose a file outside the folder.
    status = file.lstat()
    if stat.S_ISLNK(status.st_mode):
        raise UnreadableFile("is a symbolic link, which is not followed")
    if not stat.S_ISREG(status.st_mode):
        raise UnreadableFile("is not a regular file")
    kind = file.suffix.lower()
    if kind not in READ:
        raise UnreadableFile(f"has an unsupported file type; supported: {', '.join(sorted(READ))}")
    limit = MOST_TABLE_BYTES if kind in (".jsonl", ".parquet") else most_bytes
    if status.st_size > limit:
        raise UnreadableFile(f"is larger than {limit} bytes")
    if kind == ".jsonl":
        return _read_lines(file, name, problems)
    if kind == ".parquet":
        return _read_table(file, name, problems)
    return [_read_text(file, name, kind, problems)]


def _read_text(file: Path, name: str, kind: str, problems: list[str]) -> Document:
    text, guess = decode(file.read_bytes())
    if guess:
        problems.append(f"{name}: is not UTF-8; read as {guess}")
    title = Path(name).stem
    if kind in (".html", ".htm"):
        title, text = read_page(text, title)
    elif kind == ".md":
        heading = next((line[2:].strip() for line in text.splitlines() if line.startswith("# ")), "")
        title = heading or title
    if not text.strip():
        raise UnreadableFile("contains no text")
    return Document(name, title, text.strip(), (Origin("file", name),))


def decode(data: bytes) -> tuple[str, str]:
    """Decode a text file: UTF-8, UTF-16 with a byte order mark, or a guessed encoding.

    Returns (text with unified line breaks, name of the guessed encoding or ""). Raises UnreadableFile for
    binary data, and BadInput if the library that guesses encodings is not installed.
    """
    marked = data.startswith((b"\xff\xfe", b"\xfe\xff"))
    if b"\0" in data and not marked:
        raise UnreadableFile("is binary")
    guess = ""
    try:
        # utf-8 would keep a byte order mark as the first character of the text; utf-8-sig removes the mark.
        text = data.decode("utf-16" if marked else "utf-8-sig")
    except UnicodeDecodeError:
        library = load_library("charset_normalizer", "a text that is not UTF-8")
        best = library.from_bytes(data).best()
        if best is None:
            raise UnreadableFile("is binary, or in an unknown encoding") from None
        text, guess = str(best), best.encoding
    return text.replace("\r\n", "\n").replace("\r", "\n"), guess


def read_page(source: str, title: str) -> tuple[str, str]:
    """Return (title, visible text) of an HTML page, extracted with the library html-text.

    `title`: the fallback if the page has neither <title> nor <h1>. Raises BadInput if the library is missing.
    """
    library = load_library("html_text", "HTML documents")
    if not source.strip():
        return title, ""
    page = library.parse_html(source)
    heading = next((node for tag in ("title", "h1") for node in page.iter(tag)), None)
    if heading is not None:
        title = " ".join(heading.text_content().split()) or title
    for node in list(page.iter(*UNSEEN_TAGS)):
        if node.getparent() is not None:
            node.drop_tree()
    return title, str(library.extract_text(page))


def _read_lines(file: Path, name: str, problems: list[str]) -> Iterator[Document]:
    with file.open("rb") as lines:
        number = 0
        # Without a limit, a file without line breaks would be loaded into memory as a single line.
        while line := lines.readline(MOST_LINE):
            number += 1
            if len(line) == MOST_LINE and not line.endswith(b"\n"):
                raise UnreadableFile(
                    f"line {number} is longer than {MOST_LINE} bytes; the rest of the file is ignored"
                )
            if not line.strip():
                continue
            try:
                yield _make_document(json.loads(line), f"{name}#{number}", name)
            except (ValueError, RecursionError) as error:
                reason = str(error) if isinstance(error, UnreadableFile) else "is not valid JSON"
                problems.append(f"{name}: line {number} {reason}")


def _read_table(file: Path, name: str, problems: list[str]) -> Iterator[Document]:
    try:
        with pq.ParquetFile(file) as table:
            columns = [field for field in FIELDS if field in table.schema_arrow.names]
            if "text" not in columns:
                raise UnreadableFile("has no column 'text'")
            number = 0
            for batch in table.iter_batches(BATCH, columns=columns):
                for row in batch.to_pylist():
                    number += 1
                    try:
                        yield _make_document(row, f"{name}#{number}", name)
                    except UnreadableFile as error:
                        problems.append(f"{name}: row {number} {error}")
    except pa.ArrowException as error:
        raise UnreadableFile("is not a readable Parquet file") from error


def _make_document(row: object, place: str, name: str) -> Document:
    if not isinstance(row, Mapping):
        raise UnreadableFile("is not an object")
    text, title = row.get("text"), row.get("title")
    if not isinstance(text, str) or not text.strip():
        raise UnreadableFile("has no text")
    if len(text) > MOST_BYTES:
        raise UnreadableFile(f"has a text of more than {MOST_BYTES} characters")
    given = row.get("id")
    if given is not None and (isinstance(given, bool) or not isinstance(given, str | int)):
        raise UnreadableFile("has an id that is neither text nor number")
    return Document(
        place if given is None else _encodable(str(given)),
        _encodable(title) if isinstance(title, str) else "",
        _encodable(text),
        (Origin("file", name),),
    )


def _encodable(text: str) -> str:
    """Replace lone surrogates, which JSON may contain but UTF-8 cannot encode."""
    return text.encode("utf-8", "replace").decode()
