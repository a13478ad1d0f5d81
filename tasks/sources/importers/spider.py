"""Import Spider (Yu et al., 2018; CC BY-SA 4.0) from its published layout: databases and SQL questions.

`tables.json` lists the databases, which are `database/<id>/<id>.sqlite`. Files such as `dev.json` and
`train_spider.json` contain the questions, each with the database's `db_id`, the `question` and its SQL
`query`.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from tasks.artifacts.rows import make_id
from tasks.errors import BadInput
from tasks.sources.base_importer import Imported, Project, argument, option
from tasks.sources.releases import open_release
from tasks.sources.sql_importer import SqlImporter
from tasks.sources.sql_questions import Placed, read_pairs
from tasks.sources.whole_json import read_json_list

MARKER = "tables.json"
TEST_MARKER = "test_tables.json"
"""Name of the file that lists the databases used only by the test split; the 2024 release has this file."""
SPLITS = {
    "dev.json": "dev",
    "train_spider.json": "train",
    "train_others.json": "train",
    "train.json": "train",
    "test.json": "test",
}
"""Name of a question file -> its split."""
FOLDERS = ("database", "test_database")
ATTRIBUTION = "Spider (Yu et al., 2018)"
FOLDER = Path("data/raw/spider")
QUESTIONS = FOLDER / "questions.jsonl"
SET_NAME = re.compile(r"\w[\w-]{0,79}")
"""Matches valid names of the params.yaml entries that stages iterate over (flows/params_file.py)."""
# Maximum number of known databases that an error message lists.
NAMED = 20


class Spider(SqlImporter):
    """Import databases from Spider with their questions (docs/databases.md, docs/streambench.md).

    Example: benchloom import spider spider_data.zip --database concert_singer --take 5
    """

    name = "spider"
    title, licence, source = "Spider", "CC BY-SA 4.0", "https://yale-lily.github.io/spider"
    files = ("test.json", "dev.json")
    """StreamBench uses the test split (STREAMBENCH, section 3.2).

    If the test split is missing, the development split is read.
    """
    train = ("train_spider.json", "train_others.json", "train.json")
    database_folders = tuple(reversed(FOLDERS))
    """Folders to search for databases.

    The folder with the test databases comes first, because it contains all databases of the release.
    """

    path: Path = argument("The published Spider folder, or an archive of the folder.", "PATH")
    database: list[str] | None = option("A database to import. Repeatable.", "ID")
    take: int | None = option(
        "Also import N other databases that have rows, sampled with a seed.", "N", least=1
    )
    seed: int = option("Seed of the sample.", "N", default=0)
    every: bool = option("Import all databases that have rows.", None, "--all", default=False)
    longform: str | None = option(
        "Also add a set of long-form questions over these databases to `longform.sets`.", "SET"
    )
    streambench: str | None = option(
        "Import only the test questions, as a dataset for streambench; --take and --seed sample them.",
        "NAME",
    )
    called: str = ""
    databases: Path | None = None

    def read_questions(self, path: Path) -> Placed:
        """Yield the questions of a file."""
        return read_pairs(path)

    def bring_in(self, project: Project) -> Imported:
        """Import databases; with `--streambench`, import the test questions as a dataset instead."""
        if self.streambench is None:
            if self.shots is not None:
                raise BadInput("--shots", "needs --streambench")
            return self._bring_in_databases(project)
        if self.database or self.every or self.longform:
            raise BadInput("--streambench", "cannot be combined with --database, --all or --longform")
        self.called = self.streambench
        return super().bring_in(project)

    def _bring_in_databases(self, project: Project) -> Imported:
        """Copy databases and their questions to data/raw/spider, and add the databases to params.yaml.

        Raises BadInput if the release, an id or an entry is invalid, or if no database can be used.
        """
        release = read_release(project.hold(open_release(self.path, MARKER)))
        names = list(dict.fromkeys(self.database or ()))
        wanted = self._choose(release, names)
        if self.longform is not None:
            check_set(project, self.longform)
        done: dict[str, str] = {}
        left = list(release.problems)
        most = None if self.take is None else self.take + len(names)
        for name in wanted:
            if name not in names and len(done) == most:
                break
            check_entry(project, "databases", name)
            if self.longform is not None:
                check_entry(project, "longform.databases", name)
            problem, size = project.look_at(release.databases[name])
            if not problem:
                asked = sum(question.database == name for question in release.questions)
                done[name] = f"{name}: {size}, {asked} questions"
            elif name in names:
                raise BadInput(self.path, f"{name}: {problem}")
            else:
                left.append(f"{name}: {problem}")
        if most is not None and len(done) < most:
            left.append(f"--take {self.take}: no more than {len(done) - len(names)} can be used")
        if not done:
            what = f"none of its {len(wanted)} databases can be used"
            raise BadInput(self.path, what, hint="; ".join(left[:3]))
        for name in done:
            shutil.copyfile(str(release.databases[name]), project.place(FOLDER / f"{name}.sqlite"))
        return self._describe(project, release, done, left)

    def _choose(self, release: SpiderRelease, names: Sequence[str]) -> list[str]:
        """Return the ids of the databases to try: first the ids in `names`, then other ids in seeded order.

        Other ids are included only with `--take` or `--all`. Raises BadInput if an id is unknown, or if no
        option selects a database.
        """
        if unknown := [name for name in names if name not in release.databases]:
            there = ", ".join(sorted(release.databases)[:NAMED])
            raise BadInput(
                "--database", f"the release has no database {unknown[0]!r}", hint=f"known: {there}, ..."
            )
        if not names and self.take is None and not self.every:
            which = f"requires a choice among {len(release.databases)} databases"
            raise BadInput("benchloom import spider", which, hint="give --database ID, --take N or --all")
        others = [name for name in release.databases if name not in names and (self.every or self.take)]
        return [*names, *sorted(others, key=lambda name: make_id("spider", self.seed, name))]

    def _describe(
        self, project: Project, release: SpiderRelease, done: Mapping[str, str], left: Sequence[str]
    ) -> Imported:
        """Return the questions, params.yaml entries and printed lines for the imported databases.

        `done`: id of an imported database -> its printed line. `left`: lines on databases and records that
        were left out; this method prints them.
        """
        names = list(done)
        files = {QUESTIONS: merge_questions(project.root / QUESTIONS, release, names)}
        settings: dict[tuple[str, ...], object] = {}
        for name in names:
            settings |= {
                ("databases", name, "file"): name_file(name),
                ("databases", name, "title"): name.replace("_", " "),
                ("databases", name, "licence"): self.licence,
                ("databases", name, "source"): self.source,
                ("databases", name, "attribution"): ATTRIBUTION,
            }
        place = f"{FOLDER.as_posix()}, questions: {QUESTIONS.as_posix()}"
        lines = [*done.values(), f"{len(done)} databases: {place}"]
        if self.longform is not None:
            asked = {name: list_questions(release, name) for name in names}
            files |= {FOLDER / f"{name}.seeds.json": write_json(texts) for name, texts in asked.items()}
            settings |= make_set(project, self.longform, names)
            steered = sum(map(bool, asked.values()))
            lines.append(
                f"longform.sets.{self.longform}: {len(done)} databases; for {steered} of them, the questions "
                "in *.seeds.json guide which topics are asked about; for the rest, only the tables do"
            )
        project.tell("left out: ", left)
        lines.append(f"now: benchloom graph, then benchloom run grammar-dataset@{names[0]}")
        return Imported(lines, files, settings)


def name_file(name: str) -> str:
    """Return the path of an imported database's file, relative to the project."""
    return (FOLDER / f"{name}.sqlite").as_posix()


def check_entry(project: Project, section: str, name: str) -> None:
    """Raise BadInput if a section of params.yaml already has another database with this name."""
    entry = (project.find(section) or {}).get(name)
    known = entry.get("file") if isinstance(entry, Mapping) else None
    if entry is not None and known != name_file(name):
        raise BadInput(
            "params.yaml", f"{section}.{name} already names another database", hint="rename that database"
        )


def check_set(project: Project, name: str) -> None:
    """Raise BadInput if a name is invalid, or if `longform.sets` has an invalid entry with this name."""
    if not SET_NAME.fullmatch(name):
        raise BadInput(
            "--longform",
            f"{name[:80]!r} is not a valid name",
            hint="use letters, digits, hyphens and underscores",
        )
    entry = (project.find("longform.sets") or {}).get(name) or {}
    if not isinstance(entry, Mapping) or not isinstance(entry.get("databases") or [], list):
        raise BadInput("params.yaml", f"longform.sets.{name} is not a set of databases")


def make_set(project: Project, name: str, databases: Sequence[str]) -> dict[tuple[str, ...], object]:
    """Return params.yaml settings for databases with their questions, and for a set of these databases.

    The result maps key paths to values. A new set has one question per database. An existing set keeps its
    other databases and settings.
    """
    settings: dict[tuple[str, ...], object] = {}
    for database in databases:
        place = ("longform", "databases", database)
        settings[*place, "file"] = name_file(database)
        settings[*place, "questions"] = (FOLDER / f"{database}.seeds.json").as_posix()
    entry = (project.find("longform.sets") or {}).get(name)
    there = list((entry or {}).get("databases") or [])
    if not entry:
        settings["longform", "sets", name, "questions"] = 1
    added = [database for database in databases if database not in there]
    settings["longform", "sets", name, "databases"] = [*there, *added]
    return settings


def list_questions(release: SpiderRelease, name: str) -> list[str]:
    """Return the distinct questions about a database; the stage `longform.control` uses them as seeds."""
    asked = (question.question for question in release.questions if question.database == name)
    return list(dict.fromkeys(asked))


def write_json(texts: Sequence[str]) -> str:
    """Convert a list of strings to JSON."""
    return json.dumps(texts, ensure_ascii=False, indent=1) + "\n"


def merge_questions(path: Path, release: SpiderRelease, names: Sequence[str]) -> str:
    """Return the lines of a JSON Lines file, with the release's questions about the databases `names`.

    These questions replace the file's own questions about the same databases.
    """
    before = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    kept = [line for line in before if json.loads(line)["database"] not in names]
    new = [
        json.dumps(asdict(question), ensure_ascii=False)
        for question in release.questions
        if question.database in names
    ]
    return "".join(f"{line}\n" for line in sorted([*kept, *new]))


@dataclass(frozen=True)
class SpiderQuestion:
    """A question from Spider. `id`: the file's name and the question's index, such as `dev-12`."""

    id: str
    split: str
    database: str
    question: str
    query: str


@dataclass(frozen=True)
class SpiderRelease:
    """The content of a release.

    - `databases`: id -> SQLite file; None if the file is missing.
    - `problems`: one line per unreadable record.
    """

    databases: Mapping[str, Path | None]
    questions: Sequence[SpiderQuestion]
    problems: Sequence[str]


def read_release(folder: Path) -> SpiderRelease:
    """Read a release. Raises BadInput if tables.json or a question file is not in Spider's layout."""
    ids = [str(table["db_id"]) for table in _read_list(folder / MARKER, ("db_id",))]
    if (folder / TEST_MARKER).is_file():
        ids += [str(table["db_id"]) for table in _read_list(folder / TEST_MARKER, ("db_id",))]
    databases = {name: _find_database(folder, name) for name in dict.fromkeys(ids)}
    questions: list[SpiderQuestion] = []
    problems: list[str] = []
    for file, split in SPLITS.items():
        if (folder / file).is_file():
            for question, problem in _read_questions(folder / file, split, databases):
                questions += [question] if question else []
                problems += [problem] if problem else []
    return SpiderRelease(databases, questions, problems)


def _find_database(folder: Path, name: str) -> Path | None:
    if Path(name).name != name:
        raise BadInput(folder / MARKER, f"has a database with the invalid name {name[:80]!r}")
    places = (folder / part / name / f"{name}.sqlite" for part in FOLDERS)
    return next((place for place in places if place.is_file()), None)


def _read_questions(
    path: Path, split: str, databases: Mapping[str, object]
) -> Iterator[tuple[SpiderQuestion | None, str]]:
    """Yield (question, "") for a valid question, and (None, problem) for any other record."""
    for number, record in enumerate(_read_list(path, ())):
        texts = [record.get(name) for name in ("db_id", "question", "query")]
        where = f"{path.name}, question {number}"
        if not all(isinstance(text, str) and text.strip() for text in texts):
            yield None, f"{where}: has no db_id, question or query"
        elif texts[0] not in databases:
            yield None, f"{where}: is about {str(texts[0])[:80]!r}, which {MARKER} does not have"
        else:
            name, question, query = (" ".join(str(text).split()) for text in texts)
            yield SpiderQuestion(f"{path.stem}-{number}", split, name, question, query), ""


def _read_list(path: Path, needed: Sequence[str]) -> list[dict[str, object]]:
    found: list[dict[str, object]] = []
    for number, record in enumerate(read_json_list(path)):
        if not isinstance(record, dict) or any(not isinstance(record.get(name), str) for name in needed):
            raise BadInput(
                path,
                f"record {number} is not a Spider record",
                hint=f"expected {', '.join(needed) or 'an object'}",
            )
        found.append(record)
    return found
