"""Convert your own tables to a graph for tanq: rows become entities, cells become facts and evidence."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tasks.artifacts.parquet import write_rows
from tasks.english import make_plural, make_singular
from tasks.errors import BadInput
from tasks.scoring.item_tables import read_table
from tasks.scoring.items import BadItem, Record
from tasks.sources.base_importer import (
    NOT_STATED,
    BaseImporter,
    Imported,
    Project,
    argument,
    check_name,
    option,
)
from tasks.sources.graph_draft import GraphDraft
from tasks.sources.wikidata.cells import looks_like, read_date
from tasks.sources.wikidata.values import NoValue, Quantity, Value, make_amount
from tasks.sources.wikipedia.article import INFOBOX, TEXT
from tasks.sources.wikipedia.rows import ArticleRow, PartRow
from tasks.sources.wikipedia.sentences import split_sentences

GRAPHS, ARTICLES = Path("data/raw/wikidata"), Path("data/raw/wikipedia")
SOURCES, SETS = ("tanq", "sources"), ("tanq", "sets")
LABELS = ("name", "title", "label")
"""Possible headers of the column with the names of the rows, in order of preference.

The default is the first column.
"""
LONGEST_NAME = 80
"""Maximum number of characters in a cell that contains a name.

If a cell is longer, all texts in its column are split into sentences, which serve as evidence.
"""
YEARS = range(1000, 2200)
"""The numbers that count as years in a column whose header contains the word `year`."""
INSTANCE_OF = "P31"
TEXTS, NUMBERS, DATES, NAMES = "texts", "numbers", "dates", "names"


@dataclass(frozen=True)
class OwnColumn:
    """A column other than the name column.

    kind: `TEXTS`, `NUMBERS`, `DATES` or `NAMES`. label: the displayed name.
    """

    name: str
    label: str
    kind: str
    property: str
    unit: str | None = None


@dataclass(frozen=True)
class ThingTable:
    """One of your own tables. rows: maps the name of each row to the row, in the order of the file."""

    path: Path
    noun: str
    """The plural noun for the rows, such as `films`."""
    rows: Mapping[str, Record]
    columns: Sequence[OwnColumn]

    @property
    def key(self) -> str:
        """The noun as it is used in ids, such as `short-films`."""
        return make_key(self.noun)

    @property
    def class_id(self) -> str:
        """The id of the class to which the table's rows belong."""
        return f"class/{self.key}"


class OwnTables(BaseImporter):
    """Import your own tables, from which tanq builds its questions (docs/tanq.md).

    Each row becomes an entity, each column becomes a relation, and each cell becomes a fact and its evidence.
    A column with long text serves only as evidence.

    Example: benchloom import own-tables films.csv people.csv --name cinema
    """

    name = "own-tables"

    paths: list[Path] = argument(
        "CSV, TSV or Parquet files. Name each file after its rows, such as films.csv.", "FILE..."
    )
    called: str = option("Name of the source and of the new folders.", "NAME", "--name", default="tables")
    named: list[str] | None = option(
        "Column with the names of a table's rows. Default: name, title, label or the first column.",
        "films=COLUMN",
    )
    unit: list[str] | None = option(
        "Unit of a column of numbers: runtime=minutes. Repeatable.", "COLUMN=UNIT"
    )
    licence: str = option("Licence of the tables, such as CC0-1.0.", "LICENCE", default=NOT_STATED)
    questions: int = option("Number of questions to select.", "N", default=60, least=1)

    def bring_in(self, project: Project) -> Imported:
        """Write the graph and the evidence, and add both to params.yaml.

        Raises BadInput for an invalid option, table or row.
        """
        check_name(self.called)
        tables = self.read_tables()
        things = name_things(tables)
        draft = GraphDraft()
        articles, parts = list[ArticleRow](), list[PartRow]()
        for table in tables:
            add_table(draft, table, things)
            for name, record in table.rows.items():
                found = list_parts(things[name].article, table, record)
                articles.append(
                    ArticleRow(things[name].article, None, None, (), len(found), self.licence, "")
                )
                parts += found
        graph, evidence = GRAPHS / self.called, ARTICLES / self.called
        about: dict[str, object] = {
            "name": self.called,
            "source": ", ".join(table.path.name for table in tables),
            "licence": self.licence,
            "attribution": NOT_STATED,
        }
        claims = draft.write(project.root / graph, about, Counter())
        (project.root / evidence).mkdir(parents=True, exist_ok=True)
        write_rows(project.root / evidence / "articles.parquet", ArticleRow, articles)
        write_rows(project.root / evidence / "parts.parquet", PartRow, parts)
        return Imported(
            [
                *(describe_table(table) for table in tables),
                f"{claims:,} facts, {len(parts):,} pieces of evidence: {graph}, {evidence}",
                f"next: benchloom run tanq-items@{self.called}",
            ],
            files={evidence / "about.json": json.dumps(about, indent=2) + "\n"},
            settings={
                (*SOURCES, self.called): describe_source(graph, evidence, tables),
                (*SETS, self.called): {"source": self.called, "questions": self.questions},
            },
        )

    def read_tables(self) -> list[ThingTable]:
        """Read the tables. Raises BadInput for a table or row that cannot be used."""
        named = read_pairs("--named", self.named or ())
        units = read_pairs("--unit", self.unit or ())
        tables = [read_own_table(path, named, units) for path in self.paths]
        for option_, given, known in (
            ("--named", named, {table.path.stem for table in tables}),
            ("--unit", units, {column.name for table in tables for column in table.columns}),
        ):
            if unknown := sorted(given.keys() - known):
                raise BadInput(
                    option_,
                    f"names {unknown[0]!r}, which does not exist",
                    hint=f"known: {', '.join(sorted(known))}",
                )
        for number, table in enumerate(tables):
            if table.key in {other.key for other in tables[:number]}:
                raise BadInput(table.path, "has the same name as another table", hint="rename the file")
        return tables


def read_pairs(option_: str, texts: Sequence[str]) -> dict[str, str]:
    """Parse option values such as `films=title` into a map. Raises BadInput if a value is not KEY=VALUE."""
    pairs = {}
    for text in texts:
        left, equals, right = text.partition("=")
        if not (left.strip() and equals and right.strip()):
            raise BadInput(option_, f"{text!r} is not of the form KEY=VALUE")
        pairs[left.strip()] = right.strip()
    return pairs


def read_own_table(path: Path, named: Mapping[str, str], units: Mapping[str, str]) -> ThingTable:
    """Read a table, and index its rows by name. Raises BadInput with the line number of an invalid row."""
    if not path.is_file():
        raise BadInput(path, "no such file", hint="give a CSV, TSV or Parquet file")
    records: list[tuple[int, Record]] = []
    for number, record in read_table(str(path), texts=()):
        if isinstance(record, BadItem):
            raise BadInput(path, str(record), line=number)
        records.append((number, record))
    there = list(dict.fromkeys(name for _, record in records for name in record))
    if not there:
        raise BadInput(path, "contains no row")
    stem = path.name.partition(".")[0]
    key = named.get(stem) or next((name for name in LABELS if name in there), there[0])
    if key not in there:
        raise BadInput(path, f"has no column {key!r}", hint=f"known: {', '.join(there)}")
    rows: dict[str, Record] = {}
    for number, record in records:
        name = clean(record.get(key))
        if not name:
            raise BadInput(path, f"the column {key!r}, which names the row, is empty", line=number)
        if name in rows:
            raise BadInput(
                path,
                f"two rows are named {name!r}",
                line=number,
                hint="give each row a unique name, such as 'Hamlet (1996)', or name another column with "
                f"--named {stem}=COLUMN",
            )
        rows[name] = record
    noun = make_plural(make_singular(say_words(stem)))
    columns = [make_column(name, noun, list(rows.values()), units) for name in there if name != key]
    return ThingTable(path, noun, rows, columns)


def make_column(name: str, noun: str, records: Sequence[Record], units: Mapping[str, str]) -> OwnColumn:
    """Return a column, with its kind inferred from the cells: numbers, dates, names or longer texts."""
    cells = [record.get(name) for record in records if clean(record.get(name))]
    label = say_words(name)
    kind = NAMES
    if cells and all(isinstance(cell, int | float) and not isinstance(cell, bool) for cell in cells):
        years = all(isinstance(cell, int) and cell in YEARS for cell in cells)
        kind = DATES if years and "year" in label.split() else NUMBERS
    elif cells and all(is_date(cell) for cell in cells):
        kind = DATES
    elif any(len(clean(cell)) > LONGEST_NAME for cell in cells):
        kind = TEXTS
    return OwnColumn(name, label, kind, f"{make_key(noun)}-{make_key(name)}", units.get(name))


def is_date(cell: object) -> bool:
    """Return whether a cell is a date in ISO format."""
    try:
        return looks_like(cell, "time") and read_date(cell) is not None
    except NoValue:
        return False


@dataclass(frozen=True)
class NamedThing:
    """An entity: a row of a table, or a name in a cell.

    article: the title of its article; empty for a name in a cell.
    """

    id: str
    article: str


def name_things(tables: Sequence[ThingTable]) -> dict[str, NamedThing]:
    """Map every row name, and every other name in a cell, to an entity with a unique id.

    Raises BadInput if two tables have a row with the same name, because a cell with that name is ambiguous.
    """
    things: dict[str, NamedThing] = {}
    taken: set[str] = set()
    for table in tables:
        for name in table.rows:
            if name in things:
                raise BadInput(
                    table.path,
                    f"the row {name!r} has the same name as a row of another table",
                    hint=f"add the kind of entity to the name: '{name} ({make_singular(table.noun)})'",
                )
            things[name] = NamedThing(make_id(f"{table.key}/{make_key(name)}", taken), name)
    for table in tables:
        for column in table.columns:
            for record in table.rows.values() if column.kind == NAMES else ():
                name = clean(record.get(column.name))
                if name and name not in things:
                    things[name] = NamedThing(make_id(f"{column.property}/{make_key(name)}", taken), "")
    return things


def add_table(draft: GraphDraft, table: ThingTable, things: Mapping[str, NamedThing]) -> None:
    """Add a table's rows, with their class and their facts, to a graph draft."""
    draft.add_thing(INSTANCE_OF, "instance of", kind="property")
    draft.add_thing(table.class_id, make_singular(table.noun))
    for name in table.rows:
        draft.add_thing(things[name].id, name, article=things[name].article)
        draft.link(things[name].id, INSTANCE_OF, table.class_id)
    for column in table.columns:
        if column.kind == TEXTS:
            continue
        draft.add_thing(column.property, column.label, kind="property")
        unit = f"unit/{make_key(column.unit)}" if column.unit else None
        if unit and column.unit:
            draft.add_thing(unit, make_singular(column.unit))
        for name, record in table.rows.items():
            cell = record.get(column.name)
            if not clean(cell):
                continue
            if column.kind == NAMES:
                value = clean(cell)
                if not things[value].article:
                    draft.add_thing(f"class/{column.property}", column.label)
                    draft.add_thing(things[value].id, value)
                    draft.link(things[value].id, INSTANCE_OF, f"class/{column.property}")
                draft.link(things[name].id, column.property, things[value].id)
            else:
                draft.add_claim(things[name].id, column.property, make_value(cell, column.kind, unit))


def make_value(cell: object, kind: str, unit: str | None) -> Value:
    """Convert the cell of a number or date column to a value."""
    return Quantity(make_amount(clean(cell)), unit) if kind == NUMBERS else read_date(cell)


def list_parts(article: str, table: ThingTable, record: Record) -> list[PartRow]:
    """Return the evidence for a row: the sentences of long texts, and an infobox entry for any other cell.

    Empty cells are skipped.
    """
    parts: list[PartRow] = []
    for column in table.columns:
        text = clean(record.get(column.name))
        if not text:
            continue
        if column.kind == TEXTS:
            for sentence in split_sentences(text):
                parts.append(PartRow(article, len(parts), TEXT, "", "", (), sentence, None, None, None))
            continue
        shown = f"{text} {column.unit}" if column.unit else text
        headers = (column.name, column.label)
        parts.append(PartRow(article, len(parts), INFOBOX, "", "", headers, shown, 0, None, None))
    return parts


def describe_source(graph: Path, evidence: Path, tables: Sequence[ThingTable]) -> dict[str, object]:
    """Return the entry for `tanq.sources`, with the wording of classes and relations in questions."""
    relations: dict[str, object] = {}
    nouns = {table.class_id: table.noun for table in tables}
    for table in tables:
        for column in table.columns:
            if column.kind == TEXTS:
                continue
            words = {"words": make_plural(column.label), "one": column.label}
            if column.kind == NAMES:
                words["condition"] = f"have {{}} as their {column.label}"
                nouns[f"class/{column.property}"] = words["words"]
            relations[column.property] = words
    return {
        "graph": graph.as_posix(),
        "articles": evidence.as_posix(),
        "seeds": graph.as_posix(),
        "nouns": nouns,
        "relations": relations,
    }


def describe_table(table: ThingTable) -> str:
    """Return a one-line summary of a table's rows and columns."""
    kinds = Counter(column.kind for column in table.columns)
    said = ", ".join(f"{count} of {kind}" for kind, count in sorted(kinds.items()))
    return f"{table.path.name}: {len(table.rows):,} {table.noun}; columns: {said or 'none'}"


def clean(cell: object) -> str:
    """Return the text of a cell on one line; empty for a missing cell."""
    return "" if cell is None else " ".join(str(cell).split())


def say_words(name: str) -> str:
    """Split a file or column name into words: release_date and releaseDate become `release date`."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name)
    return " ".join(re.sub(r"[\W_]+", " ", spaced).lower().split()) or "value"


def make_key(name: str) -> str:
    """Convert a name to lower case, with hyphens between words, for use in an id."""
    return re.sub(r"\W+", "-", name.lower()).strip("-") or "x"


def make_id(wanted: str, taken: set[str]) -> str:
    """Return an unused id (`wanted`, or `wanted` with a number), and add the id to `taken`."""
    found, number = wanted, 1
    while found in taken:
        number += 1
        found = f"{wanted}-{number}"
    taken.add(found)
    return found
