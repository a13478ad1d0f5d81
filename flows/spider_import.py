"""`benchloom import spider`: databases of a release become databases of the project, with their questions."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from flows import spider_longform
from flows.settings import edit_params, get_section, load_params
from tasks.artifacts.rows import make_id
from tasks.databases.entry import DatabaseEntry
from tasks.databases.execution import QueryLimits, SafeDatabase
from tasks.databases.reflection import reflect
from tasks.errors import BadInput, BenchloomError
from tasks.files import write_beside, write_text
from tasks.sources.releases import open_release
from tasks.sources.spider import ATTRIBUTION, LICENCE, MARKER, Release, read_release

FOLDER = Path("data/raw/spider")
QUESTIONS = FOLDER / "questions.jsonl"
SOURCE = "https://yale-lily.github.io/spider"
LIMITS = QueryLimits(timeout_s=60, bytes=100_000_000)
NAMED = 20


def import_spider(
    root: Path,
    path: Path,
    names: Sequence[str],
    take: int | None,
    seed: int,
    *,
    every: bool,
    question_set: str | None = None,
) -> tuple[list[str], list[str]]:
    """Bring databases of a release into a project; return what was done and what was left out, a line each.

    names: ids of databases. take: as many others with rows, drawn by seed. every: all of them.
    question_set: a name under `longform.sets`; then they are sources of long-form questions, too.
    Files go to data/raw/spider, entries to `databases` of params.yaml, questions to questions.jsonl. Raises
    BadInput, and changes nothing, for a release, id or entry that is none, and where nothing can be used.
    """
    with open_release(path, MARKER) as folder:
        release = read_release(folder)
        names = list(dict.fromkeys(names))
        wanted = choose(release, names, take, seed, every=every)
        params = load_params(root)
        entries = get_section(params, "databases") or {}
        if question_set is not None:
            spider_longform.check_set(params, question_set)
        done: dict[str, str] = {}
        left = list(release.problems)
        for name in wanted:
            drawn = name not in names
            if drawn and take is not None and len(done) == take + len(names):
                break
            file = (FOLDER / f"{name}.sqlite").as_posix()
            if name in entries and (entries[name] or {}).get("file") != file:
                raise BadInput("params.yaml", f"databases.{name} is another database", hint="rename that one")
            if question_set is not None:
                spider_longform.check_source(params, name, file)
            asked = sum(question.database == name for question in release.questions)
            problem, size = look_at(release.databases[name])
            if problem and not drawn:
                raise BadInput(path, f"{name}: {problem}")
            if problem:
                left.append(f"{name}: {problem}")
            else:
                done[name] = f"{name}: {size}, {asked} questions"
        if take is not None and len(done) < take + len(names):
            left.append(f"--take {take}: no more than {len(done) - len(names)} can be used")
        if not done:
            raise BadInput(path, f"none of its {len(wanted)} databases can be used", hint="; ".join(left[:3]))
        for name in done:
            source = release.databases[name]
            with write_beside(root / FOLDER / f"{name}.sqlite") as draft:
                shutil.copyfile(str(source), draft)
    keep_questions(root, release, list(done))
    steered = spider_longform.write_seeds(root / FOLDER, release, list(done)) if question_set else 0
    with edit_params(root) as data:
        data["databases"] = data.get("databases") or {}
        for name in done:
            file = (FOLDER / f"{name}.sqlite").as_posix()
            data["databases"][name] = {
                **(data["databases"].get(name) or {}),
                "file": file,
                "title": name.replace("_", " "),
                "licence": LICENCE,
                "source": SOURCE,
                "attribution": ATTRIBUTION,
            }
        if question_set is not None:
            files = {name: (FOLDER / f"{name}.sqlite").as_posix() for name in done}
            spider_longform.enter_set(data, question_set, files)
    lines = [*done.values(), f"{len(done)} databases: {FOLDER.as_posix()}, questions: {QUESTIONS.as_posix()}"]
    if question_set is not None:
        lines.append(
            f"longform.sets.{question_set}: {len(done)} databases; {steered} have questions of their own, "
            "which steer what is asked (*.seeds.json), of the others the tables alone do"
        )
    first = next(iter(done))
    return [*lines, f"now: benchloom graph, then benchloom run grammar-dataset@{first}"], left


def choose(release: Release, names: Sequence[str], take: int | None, seed: int, *, every: bool) -> list[str]:
    """Choose ids of a release's databases: those named, then the others in an order by seed."""
    if unknown := [name for name in names if name not in release.databases]:
        there = ", ".join(sorted(release.databases)[:NAMED])
        raise BadInput("--database", f"the release has no {unknown[0]!r}", hint=f"there: {there}, ...")
    if not names and take is None and not every:
        which = f"which of its {len(release.databases)} databases?"
        raise BadInput("benchloom import spider", which, hint="--database ID, --take N or --all")
    others = [name for name in release.databases if name not in names] if every or take else []
    return [*names, *sorted(others, key=lambda name: make_id("spider", seed, name))]


def look_at(file: Path | None) -> tuple[str, str]:
    """Say what is wrong with a database, and how large it is; it is opened where model-written SQL is run."""
    if file is None:
        return "its SQLite file is missing", ""
    entry = DatabaseEntry(name=file.stem, file=file)
    try:
        tables = sorted({column.table for column in reflect(entry)})
        with SafeDatabase(entry, LIMITS) as safe:
            quoted = [table.replace('"', '""') for table in tables]
            counts = [safe.query(f'SELECT COUNT(*) FROM "{table}"').rows[0][0] for table in quoted]  # noqa: S608
    except BenchloomError as error:
        return " ".join(str(error).split()), ""
    rows = sum(int(str(count)) for count in counts)
    if not rows:
        return f"has {len(tables)} tables and no row", ""
    return "", f"{len(tables)} tables, {rows:,} rows"


def keep_questions(root: Path, release: Release, names: Sequence[str]) -> None:
    """Write the questions about these databases, beside those about others that were brought in before."""
    path = root / QUESTIONS
    before = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    kept = [line for line in before if json.loads(line)["database"] not in names]
    new = [
        json.dumps(asdict(question), ensure_ascii=False)
        for question in release.questions
        if question.database in names
    ]
    write_text(path, "".join(f"{line}\n" for line in sorted([*kept, *new])))
