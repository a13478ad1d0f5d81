"""A small consistent set of GRAMMAR's artifacts, in the format of its stages."""

import json
from dataclasses import dataclass, replace
from pathlib import Path

from tasks.artifacts.contracts import RESULTS, ContractFinding
from tasks.artifacts.parquet import write_rows
from tasks.artifacts.rows import Dropped, Origin, make_id
from tasks.databases.columns import Column
from tasks.databases.entry import DatabaseEntry
from tasks.databases.profile.kinds import ColumnProfile
from tasks.grammar.construct.fill_in import Filling, Group
from tasks.grammar.construct.glossary import Term
from tasks.grammar.construct.pairs import Question
from tasks.grammar.construct.sql_templates import OwnTemplate, SqlTemplate
from tasks.grammar.construct.text_templates import TextTemplate
from tasks.grammar.corpus.questions import AskedQuestion
from tasks.models.calls import Call
from tasks.systems.contract import Document

HOSTILE = "</script><img src=x onerror=alert(1)>\u2028[x]' -- "
STEMS = (
    "schema", "sql_templates", "text_templates", "back_check", "second_reading", "fill_in", "unbalanced",
    "balanced",
)  # fmt: skip
CRITERIA = ("long", "short")


@dataclass(frozen=True)
class Sample:
    folder: Path
    entry: DatabaseEntry
    questions: list[Question]

    def paths(self) -> dict[str, Path]:
        return {stem: self.folder / f"{stem}.parquet" for stem in STEMS}

    def inputs(self) -> dict[str, Path]:
        """The inputs of the dataset and its page."""
        own = {
            stem: self.folder / f"{stem}.parquet"
            for stem in ("own_templates", "glossary", "questions", "documents")
        }
        return {**self.paths(), **own, "contracts": self.folder / "contracts"}

    def page_inputs(self) -> dict[str, Path]:
        """The inputs of the dataset's page."""
        inputs = {
            name: path for name, path in self.inputs().items() if name not in ("questions", "documents")
        }
        return {**inputs, "columns": self.folder / "columns.parquet"}


def write_sample(root: Path, name: str = "films", groups: int = 4, hostile: bool = False) -> Sample:
    """Write two SQL templates with two texts each, `groups` groups per template, and a few dropped rows."""
    folder = root / "data" / "grammar" / name
    entry = DatabaseEntry(
        name=name,
        file=Path(f"data/{name}.sqlite"),
        title="Films",
        licence="CC0-1.0",
        source="https://example.org/films",
    )
    columns = [make_column("film", name) for name in ("title", "runtime", "year")]
    write_rows(folder / "schema.parquet", Column, columns)
    write_rows(folder / "schema.dropped.parquet", Dropped, [])
    calls: dict[str, list[Call]] = {stem: [] for stem in ("sql_templates", "text_templates", "back_check")}

    def call(stem: str, row: str, text: str, **more: object) -> Origin:
        made = make_call(stem, row, text, **more)
        calls[stem].append(made)
        return Origin("call", made.id)

    templates = []
    for wanted in ("runtime", "year"):
        sql = f"SELECT film.{wanted} FROM film WHERE film.title = '[film.title]'"
        origin = (Origin("row", "schema#film.title"), Origin("row", f"schema#film.{wanted}"))
        origin += (call("sql_templates", f"film/{wanted}", sql),)
        templates.append(
            SqlTemplate(make_id(sql), sql, ("film",), (f"film.{wanted}",), ("film.title",), 2, origin)
        )
    refused = [
        Dropped("0badc0de", "unknown column", "film.colour", (call("sql_templates", "x", "?", parsed=False),))
    ]
    write(folder, "glossary", Term, [], [])
    write(folder, "columns", ColumnProfile, [], [])
    write(folder, "own_templates", OwnTemplate, [], [])
    write(folder, "sql_templates", SqlTemplate, templates, refused)

    texts, confirmed, misread = [], [], []
    for template in templates:
        for criterion in CRITERIA:
            text = f"{criterion} wording: {template.projection[0]} of [film.title]?"
            origin = (
                Origin("row", f"sql_templates#{template.id}"),
                call("text_templates", template.id, text),
            )
            texts.append(TextTemplate(make_id(text), template.id, criterion, text, origin))
    for text in texts:
        origin = (Origin("row", f"text_templates#{text.id}"), call("back_check", text.id, "A"))
        confirmed.append(TextTemplate(text.id, text.sql_template, text.criterion, text.text, origin))
    odd = TextTemplate("00dd", templates[0].id, "short", "what of [film.title]", texts[0].origin)
    misread.append(Dropped(odd.id, "misread", HOSTILE, (Origin("row", f"text_templates#{odd.id}"),)))
    write(folder, "text_templates", TextTemplate, [*texts, odd], [])
    write(folder, "back_check", TextTemplate, confirmed, misread)
    kept = [replace(text, origin=(Origin("row", f"back_check#{text.id}"),)) for text in confirmed]
    write(folder, "second_reading", TextTemplate, kept, [])

    filled = []
    for template in templates:
        for number in range(groups):
            title = f"Film {number}" + (HOSTILE if hostile else "")
            sql = template.sql.replace("[film.title]", title.replace("'", "''"))
            rows = json.dumps([[90 + number]])
            origins = (Origin("row", f"sql_templates#{template.id}"),)
            filled.append(
                Group(
                    make_id(sql),
                    template.id,
                    sql,
                    (Filling("film.title", title),),
                    str(90 + number),
                    rows,
                    origins,
                )
            )
    write(folder, "fill_in", Group, filled, [])
    pairs = [
        (text, group) for group in filled for text in confirmed if text.sql_template == group.sql_template
    ]
    questions = [make_question(text, group) for text, group in pairs]
    write(folder, "unbalanced", Question, questions, [])
    kept = questions[:-2]
    title_of = {group.id: group.fillings[0].value for group in filled}
    write(
        folder,
        "balanced",
        Question,
        kept,
        [Dropped(question.id, "group too small", "1 of 2") for question in questions[-2:]],
    )
    titles = sorted({group.fillings[0].value for group in filled})
    documents = [
        Document(f"d{number}", title, f"{title} is a film.", ()) for number, title in enumerate(titles)
    ]
    write_rows(folder / "documents.parquet", Document, documents)
    asked = [
        AskedQuestion(
            pair.id, pair.group, pair.criterion, pair.question, pair.answer, pair.sql_template,
            pair.text_template, True, True, (f"d{titles.index(title_of[pair.group])}",), pair.origin,
        )
        for pair in kept
    ]  # fmt: skip
    write_rows(folder / "questions.parquet", AskedQuestion, asked)
    for stem, made in calls.items():
        write_rows(folder / f"{stem}.calls.parquet", Call, made)
    found = [
        ContractFinding(
            f"{stem}.unique_ids", stem, "unique_ids", "No two rows have the same id.", "held", 9, 0, (), ()
        )
        for stem in STEMS
    ]
    write_rows(folder / "contracts" / RESULTS, ContractFinding, found)
    return Sample(folder, entry, kept)


def make_column(table: str, name: str) -> Column:
    return Column(f"{table}.{name}", table, name, "text", False, False, None, True)


def make_question(text: TextTemplate, group: Group) -> Question:
    words = text.text.replace("[film.title]", group.fillings[0].value)
    origin = (Origin("row", f"second_reading#{text.id}"), Origin("row", f"fill_in#{group.id}"))
    return Question(
        make_id(group.id, text.id), group.id, text.criterion, words, group.answer, group.sql,
        group.sql_template, text.id, group.answer_rows, origin,
    )  # fmt: skip


def make_call(stage: str, row: str, text: str, parsed: bool = True) -> Call:
    return Call(
        id=make_id(stage, row, text) * 4, stage=f"grammar.{stage}", row=row,
        role="reader" if stage == "back_check" else "generator", model="small", identity="ab" * 32,
        prompt=f"{stage}_prompt", prompt_digest="cd" * 32, sample=0, attempt=0, epoch="",
        messages=json.dumps([{"role": "user", "content": f"Write it. {HOSTILE}"}]),
        decoding='{"temperature":1.0}', constraint="{}", text=text, finish_reason="stop",
        prompt_tokens=100, completion_tokens=10,
        estimated=False, parsed=parsed, problem="" if parsed else "no query",
    )  # fmt: skip


def write(folder: Path, stem: str, row: type, rows: list, dropped: list[Dropped]) -> None:
    write_rows(folder / f"{stem}.parquet", row, rows)
    write_rows(folder / f"{stem}.dropped.parquet", Dropped, dropped)
