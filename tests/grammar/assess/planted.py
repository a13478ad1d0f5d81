"""Datasets with documents on three databases, and a system with planted faults of four kinds.

The stages create the questions and the corpus, and the built-in retriever retrieves. The reader returns the
true answer if the retrieved texts contain it next to the values that the question names. The reader does not
know which document states a fact.
"""

import asyncio
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from tasks.artifacts.rows import make_id
from tasks.databases.columns import Column
from tasks.databases.entry import DatabaseEntry
from tasks.grammar.assess.answers import AssessedAnswer, make_answer
from tasks.grammar.assess.assessment import join_rows
from tasks.grammar.assess.judged import JudgedRow
from tasks.grammar.assess.judgements import Judgement
from tasks.grammar.construct.balanced import Balanced, balanced
from tasks.grammar.construct.fill_in import FillIn, fill_in
from tasks.grammar.construct.queries import Query, write_template
from tasks.grammar.construct.schema import schema as read_schema
from tasks.grammar.construct.sql_templates import SqlTemplate
from tasks.grammar.construct.text_templates import TextTemplate
from tasks.grammar.corpus.answer_facts import AnswerFactsParams, answer_facts
from tasks.grammar.corpus.documents import Documents, documents
from tasks.grammar.corpus.profiles import Profiles, profiles
from tasks.grammar.corpus.questions import AskedQuestion, Questions, questions
from tasks.grammar.corpus.statements import AnswerFacts
from tasks.grammar.corpus.true_documents import TrueDocuments, true_documents
from tasks.judging.equality import holds_answer
from tasks.scoring.correctness import Correctness
from tasks.sources.films import Films, films
from tasks.sources.packages import copy_packaged
from tasks.systems.build import build_system
from tasks.systems.contract import Document, Passage, Response
from tasks.systems.entries import RagEntry
from tests.grammar.world import ask_nobody
from tests.newcomer.boatyard import make_boatyard

DATABASE, RETRIEVAL, MODEL, JUDGE = "database", "retrieval", "model", "judge"
SHARE = 0.6
"""Fraction of the groups or answers that a fault affects."""
UNKNOWN = "I do not know."
Ask = tuple[str, tuple[str, ...], tuple[tuple[str, str], ...]]
"""The requested columns, the given columns, and the joins; columns as `table.column`."""

FILMS: Sequence[Ask] = (
    *(
        (f"films.{column}", ("films.title", "films.release_year"), ())
        for column in ("runtime_minutes", "release_date", "content_rating", "tomatometer_percent",
                       "metacritic_score", "box_office_usd")
    ),
    *(
        (
            f"{table}.{name}",
            ("films.title", "films.release_year"),
            ((f"{link}.film_id", "films.film_id"), (f"{link}.{key}", f"{table}.{key}")),
        )
        for table, name, link, key in (
            ("people", "full_name", "film_directors", "person_id"),
            ("countries", "country_name", "film_countries", "country_id"),
            ("languages", "language_name", "film_languages", "language_id"),
            ("companies", "company_name", "film_companies", "company_id"),
        )
    ),
)  # fmt: skip
OWNER = (("Owners.own_id", "tbl_Vessel.OwnerRef"),)
SUPPLIER = (("Parts.supp_id", "Suppliers.supp_id"),)
YARD: Sequence[Ask] = (
    ("tbl_Vessel.Yr_Built", ("tbl_Vessel.Vessel Name",), ()),
    ("tbl_Vessel.LOA_m", ("tbl_Vessel.Vessel Name",), ()),
    ("tbl_Vessel.Hull Mat%2E", ("tbl_Vessel.Vessel Name",), ()),
    ("Owners.full_name", ("tbl_Vessel.Vessel Name",), OWNER),
    ("Owners.Town", ("tbl_Vessel.Vessel Name",), OWNER),
    ("Owners.Town", ("Owners.full_name",), ()),
    ("Owners.mbr_since", ("Owners.full_name",), ()),
    ("Suppliers.city", ("Suppliers.Supplier Name",), ()),
    ("Suppliers.Lead Days", ("Suppliers.Supplier Name",), ()),
    ("tblWrkr.trade", ("tblWrkr.nm",), ()),
    ("tblWrkr.dt_start", ("tblWrkr.nm",), ()),
)
HALL = (("concerts.hall_id", "halls.hall_id"),)
CHOIR = (("choirs.choir_id", "concerts.choir_id"),)
CONCERTS: Sequence[Ask] = (
    *((f"halls.{name}", ("halls.name",), ()) for name in ("town", "seats", "opened", "keeper")),
    *((f"choirs.{name}", ("choirs.name",), ()) for name in ("leader", "founded")),
    *((f"halls.{name}", ("concerts.title",), HALL) for name in ("name", "town", "seats", "keeper")),
    *((f"choirs.{name}", ("concerts.title",), CHOIR) for name in ("name", "leader")),
    ("concerts.day", ("concerts.title",), ()),
    ("concerts.price", ("concerts.title",), ()),
)


def make_concerts(path: Path) -> Path:
    """Write a database whose documents repeat every fact about a hall and a choir many times."""
    draw = Random(7)
    starts, ends = ("Bal", "Cor", "Dun", "Fen", "Gal", "Hol", "Kel", "Mar"), ("more", "wick", "sey", "ford")
    names = [f"{start}{end}" for start in starts for end in ends]
    draw.shuffle(names)
    people = [f"{first} {last}" for first in ("Ada", "Ben", "Cleo", "Dov") for last in names[:10]]
    with sqlite3.connect(path) as database:
        database.executescript("""
            CREATE TABLE halls (hall_id INTEGER PRIMARY KEY, name TEXT NOT NULL, town TEXT, seats INTEGER,
                opened INTEGER, keeper TEXT);
            CREATE TABLE choirs (choir_id INTEGER PRIMARY KEY, name TEXT NOT NULL, leader TEXT,
                founded INTEGER);
            CREATE TABLE concerts (concert_id INTEGER PRIMARY KEY, title TEXT NOT NULL, day TEXT,
                price INTEGER, hall_id INTEGER NOT NULL REFERENCES halls (hall_id),
                choir_id INTEGER NOT NULL REFERENCES choirs (choir_id));
        """)
        halls = [
            (n, f"{name} Hall", draw.choice(names), 100 + 37 * n, 1850 + 7 * n, people[n])
            for n, name in enumerate(names[:12], 1)
        ]
        choirs = [
            (n, f"{name} Singers", people[20 + n], 1901 + 9 * n) for n, name in enumerate(names[12:20], 1)
        ]
        concerts = [
            (
                n,
                f"Evening at {name} {n}",
                f"2031-{1 + n % 12:02}-{1 + n % 27:02}",
                11 + n,
                1 + n % 12,
                1 + n % 8,
            )
            for n, name in enumerate(draw.choices(names, k=72), 1)
        ]
        database.executemany("INSERT INTO halls VALUES (?, ?, ?, ?, ?, ?)", halls)
        database.executemany("INSERT INTO choirs VALUES (?, ?, ?, ?)", choirs)
        database.executemany("INSERT INTO concerts VALUES (?, ?, ?, ?, ?, ?)", concerts)
    database.close()
    return path


def make_films(path: Path) -> Path:
    """Write the sample's films of three years."""
    packaged = path.with_name("packaged")
    copy_packaged(packaged)
    films(packaged / "movies.db", Films(years=(1990, 1992)), path)
    return path


@dataclass(frozen=True)
class Scene:
    """The settings for a database's dataset. entities: tables whose rows have documents."""

    make: Callable[[Path], Path]
    asks: Sequence[Ask]
    entities: tuple[str, ...]


SCENES: Mapping[str, Scene] = {
    "films": Scene(make_films, FILMS, ("films",)),
    "boatyard": Scene(make_boatyard, YARD, ("tbl_Vessel", "Owners", "Suppliers", "tblWrkr")),
    "overlapping": Scene(make_concerts, CONCERTS, ("halls", "choirs", "concerts")),
}


@dataclass(frozen=True)
class Dataset:
    """Questions and documents. given: group -> the values that its question names."""

    questions: Sequence[AskedQuestion]
    documents: Sequence[Document]
    facts: Sequence[AnswerFacts]
    given: Mapping[str, Sequence[str]]
    retrieved: dict[tuple[str, frozenset[str]], tuple[Passage, ...]] = field(default_factory=dict)


def make_dataset(name: str, folder: Path) -> Dataset:
    """Build the dataset of a scene: 60 groups with a short and a long question each."""
    scene = SCENES[name]
    entry = DatabaseEntry(name=name, file=scene.make(folder / f"{name}.sqlite"))
    columns = list(read_schema([], [], entry).rows)
    templates, texts = write_templates(scene.asks, columns)
    groups = list(fill_in(templates, columns, entry, FillIn(every_value_matters=False)).rows)
    pairs = list(balanced(texts, groups, [], Balanced(criteria=("short", "long"))).rows)
    picked = Profiles(entities={name: scene.entities}, count=90)
    things = list(profiles(pairs, templates, columns, entry, {}, picked).rows)
    plain = Documents(written_by="plain", words=(1, 400), readable=0.0)
    told = asyncio.run(documents(things, columns, entry, plain, ask_nobody))
    dropped = list(told.dropped)
    true = true_documents(things, dropped, groups, templates, columns, entry, TrueDocuments())
    asked = list(
        questions(
            pairs,
            [],
            list(true.rows),
            list(told.rows),
            entry,
            Questions(criteria=("short", "long"), groups=60),
        ).rows
    )
    facts = answer_facts(
        things, list(told.rows), dropped, asked, groups, templates, columns, entry, AnswerFactsParams()
    )
    chosen = {question.group for question in asked}
    given = {
        group.id: [filling.value for filling in group.fillings] for group in groups if group.id in chosen
    }
    return Dataset(asked, list(told.rows), list(facts.rows), given)


def write_templates(
    asks: Sequence[Ask], columns: Sequence[Column]
) -> tuple[list[SqlTemplate], list[TextTemplate]]:
    """Return a SQL template for each `Ask`, with a short and a long text template."""
    templates, texts = [], []
    for projection, placeholders, joins in asks:
        query = Query(
            (projection,), tuple(sorted(tuple(sorted(pair)) for pair in joins)), tuple(sorted(placeholders))
        )
        templates.append(
            SqlTemplate(
                query.id, write_template(query), query.tables, query.projection, query.placeholders, 1, ()
            )
        )
        words = projection.replace(".", " ").replace("_", " ")
        named = " and ".join(f"[{name}]" for name in placeholders)
        for criterion, text in (
            ("short", f"{words} of {named}"),
            (
                "long",
                f"I am asking this for a friend of mine: could anyone tell me the {words} of {named}?",
            ),
        ):
            texts.append(TextTemplate(make_id("text", query.id, text), query.id, criterion, text, ()))
    return templates, texts


def assess(dataset: Dataset, fault: str = "", *, seed: int = 0, slips: float = 0.05) -> list[JudgedRow]:
    """Return the judged answers of a system with a fault of one kind, by default without a fault.
    slips: fraction of other answers that are wrong."""
    draw = Random(seed)
    ill = {group for group in sorted(dataset.given) if draw.random() < SHARE}
    corpus = withhold(dataset, ill) if fault == DATABASE else dataset.documents
    answered, judged = [], []
    for question in dataset.questions:
        passages = retrieve(dataset, question, corpus)
        if fault == RETRIEVAL and question.group in ill:
            strange = draw.sample(list(corpus), 3)
            passages = tuple(Passage(document.id, document.title, document.text, 0.0) for document in strange)
        right = reads(dataset, question, passages)
        if draw.random() < slips or (fault == MODEL and draw.random() < SHARE):
            right = False
        response = Response(f"It is {question.answer}" if right else UNKNOWN, passages, ())
        answer = make_answer("planted", question, response, {document.id for document in corpus})
        correct = right and not (fault == JUDGE and draw.random() < SHARE)
        answered.append(answer)
        judged.append(judge(answer, correct))
    return join_rows(judged, answered, dataset.questions, corpus, dataset.facts)


def judge(answer: AssessedAnswer, correct: bool) -> Judgement:
    label = Correctness.CORRECT if correct else Correctness.INCORRECT
    asked = (answer.id, answer.question, answer.group, answer.criterion)
    return Judgement(*asked, label, rule="", found="", verdicts=(label,), problem="", origin=())


def withhold(dataset: Dataset, groups: set[str]) -> list[Document]:
    """Return the corpus without the documents about the entities of these groups."""
    names = {value for group in groups for value in dataset.given[group] if not value.isdigit()}
    return [
        document
        for document in dataset.documents
        if not any(name in f"{document.title}\n{document.text}" for name in names)
    ]


def retrieve(dataset: Dataset, question: AskedQuestion, corpus: Sequence[Document]) -> tuple[Passage, ...]:
    """Return the passages that the built-in system retrieves for a question."""
    key = (question.id, frozenset(document.id for document in corpus))
    if key not in dataset.retrieved:
        entry = RagEntry(kind="rag", retriever="bm25", top_k=3)
        system = build_system("good", entry, list(corpus), ask_nobody)

        async def ask_all() -> None:
            for question in dataset.questions:
                found = await system.retrieve(question.question, row=question.id)
                dataset.retrieved[question.id, key[1]] = found or ()

        asyncio.run(ask_all())
    return dataset.retrieved[key]


def reads(dataset: Dataset, question: AskedQuestion, passages: Sequence[Passage]) -> bool:
    """Return whether a text contains the answer next to all values that the question names. Two texts
    together also suffice if one text names the other."""
    texts = [f"{passage.title}\n{passage.text}" for passage in passages]
    joined = [*texts, *(f"{text}\n{two.text}" for text in texts for two in passages if two.title in text)]
    wanted = [*dataset.given[question.group], *question.answer.split(";")]
    return any(all(holds_answer(value, text) for value in wanted) for text in joined)
