"""Contract rules for the corpus: profiles, documents, true documents, and sampled questions.

For a database without entity tables, these artifacts exist and are empty.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from sqlglot.errors import SqlglotError

from tasks.artifacts.contracts import (
    Expectation,
    Record,
    RowRule,
    expect_no_match,
    read_ids,
    read_records,
)
from tasks.artifacts.parquet import read_valid_rows
from tasks.artifacts.rows import Dropped
from tasks.databases.columns import Column
from tasks.databases.execution import SafeDatabase
from tasks.databases.literals import bind
from tasks.databases.rendering import write_plain
from tasks.errors import BadInput, SqlError
from tasks.grammar.corpus.checked_sentences import require_words
from tasks.grammar.corpus.document_rules import (
    FactsByDocument,
    expect_facts_named,
    expect_lengths,
    expect_no_bracket,
    expect_readable,
    expect_sentences,
)
from tasks.grammar.corpus.documents import UNREAD, UNTOLD, Documents, list_profile_facts
from tasks.grammar.corpus.entities import EntityProfile
from tasks.grammar.corpus.questions import AskedQuestion, Questions
from tasks.grammar.corpus.sentence_rules import KnownFacts
from tasks.grammar.corpus.statements import AnswerFacts, suffices
from tasks.grammar.corpus.true_documents import TrueDocument
from tasks.grammar.publish.row_rules import Index, expect_known, expect_same, read_index
from tasks.systems.contract import Document

ROWS: Mapping[str, type] = {
    "profiles": EntityProfile,
    "documents": Document,
    "true_documents": TrueDocument,
    "questions": AskedQuestion,
    "answer_facts": AnswerFacts,
}
"""The row type of each artifact."""
AS_QUESTION = ("group", "criterion", "question", "answer", "sql_template", "text_template")
"""The columns that must be equal in a sampled question and its row in the balanced or unbalanced set."""


def declare_corpus(
    paths: Mapping[str, Path],
    documents_dropped: Path,
    groups: Index,
    documents: Documents,
    questions: Questions,
    schema: Sequence[Column],
    database: SafeDatabase,
) -> dict[str, Sequence[Expectation | RowRule]]:
    """Return the rules by artifact, except the rules for ids and origins.

    `documents_dropped` contains the dropped rows of the stage `documents`. `groups` contains the rows of
    fill_in.
    """
    profiles = {profile.id: profile for profile in read_valid_rows(paths["profiles"], EntityProfile)}
    facts = {profile.id: profile.facts for profile in profiles.values()}
    written = read_ids(paths["documents"])
    dropped = read_valid_rows(documents_dropped, Dropped)
    true = read_index(paths["true_documents"], ["documents"])
    known_facts = _list_known_facts(profiles, schema, database)
    unread, untold = (list_left_out(facts, dropped, reason) for reason in (UNREAD, UNTOLD))
    texts = list(read_records(paths["documents"], ["id", "sentences"]))
    return {
        "profiles": [
            expect_one_each(paths["profiles"], profiles),
            expect_reproducible(profiles, schema, database),
        ],
        "documents": [
            expect_known("profile_exists", "id", "profile", profiles),
            expect_one_each(paths["documents"], profiles),
            expect_lengths(
                {
                    name: require_words(len(table_facts), documents.words, documents.written_by)
                    for name, table_facts in facts.items()
                }
            ),
            expect_no_bracket(),
            *expect_sentences(texts, dropped, {name: [facts] for name, facts in known_facts.items()}),
            expect_facts_named(facts, untold),
            expect_readable(texts, facts, unread | untold, documents.readable),
        ],
        "true_documents": [
            expect_known("group_exists", "id", "group", groups),
            expect_written(
                paths["true_documents"],
                "documents",
                "Every listed document is in the corpus, or is among the dropped documents.",
                written | {row.id for row in dropped},
            ),
        ],
        "answer_facts": [
            expect_known("group_exists", "id", "group", groups),
            expect_sufficient(paths["answer_facts"], paths["questions"]),
        ],
        "questions": [
            *expect_asked(paths["balanced"], paths["unbalanced"]),
            expect_no_match("no_bracket_left", "The question contains no brackets.", "question", r"[\[\]]"),
            expect_true(true),
            *(
                [
                    expect_written(
                        paths["questions"],
                        "true_document_ids",
                        "The question has true documents, and every true document is in the corpus.",
                        written,
                    )
                ]
                if questions.grounded
                else []
            ),
        ],
    }


def _list_known_facts(
    profiles: Mapping[str, EntityProfile], schema: Sequence[Column], database: SafeDatabase
) -> Mapping[str, KnownFacts]:
    """Return the known facts by document id.

    If the schema is invalid or a query fails, the known facts do not include the database's other values.
    """
    try:
        # The database's name occurs only in errors, which are caught here.
        return list_profile_facts("", profiles.values(), schema, database)
    except (BadInput, SqlError):
        return {
            name: KnownFacts(profile.kind, (profile.name,), profile.facts)
            for name, profile in profiles.items()
        }


def expect_one_each(path: Path, profiles: Mapping[str, EntityProfile]) -> RowRule:
    """Expect at most one row per entity. The table and the primary key identify an entity."""
    known = (profiles[row["id"]] for row in read_records(path, ["id"]) if row["id"] in profiles)
    counts = Counter((profile.table, profile.key) for profile in known)

    def check(record: Record) -> str:
        profile = profiles.get(record["id"])
        if profile is None or counts[profile.table, profile.key] == 1:
            return ""
        count = counts[profile.table, profile.key]
        return f"is one of {count} rows for {profile.table} {', '.join(profile.key)}"

    return RowRule("one_per_entity", "No two rows describe the same row of the database.", ("id",), check)


def list_left_out(facts: FactsByDocument, dropped: Sequence[Dropped], reason: str) -> set[tuple[str, str]]:
    """Return the facts that were dropped for a reason, as (profile id, fact id) pairs.

    A fact was dropped if a row of `dropped` has the fact's id and the reason.
    """
    found = {row.id for row in dropped if row.reason == reason}
    return {
        (name, fact.id) for name, table_facts in facts.items() for fact in table_facts if fact.id in found
    }


def expect_reproducible(
    profiles: Mapping[str, EntityProfile], schema: Sequence[Column], database: SafeDatabase
) -> RowRule:
    """Expect that the query of every fact returns the fact's values. Each distinct query runs once."""
    seen: dict[str, set[str] | str] = {}

    def run(sql: str) -> set[str] | str:
        try:
            statement, values = bind(sql, database.dialect, schema)
            stream = database.stream(statement, parameters=values)
            cells = [row[0] for batch in stream for row in batch]
        except (SqlError, SqlglotError) as error:
            return f"the query fails: {type(error).__name__}: {' '.join(str(error).split())}"
        return {write_plain(cell) for cell in cells if cell not in (None, "")}

    def check(record: Record) -> str:
        profile = profiles.get(record["id"])
        for fact in profile.facts if profile else ():
            if fact.sql not in seen:
                seen[fact.sql] = run(fact.sql)
            found = seen[fact.sql]
            if isinstance(found, str):
                return f"{fact.attribute}: {found}"
            if found != set(fact.values):
                own, theirs = ", ".join(fact.values), ", ".join(sorted(found))
                return f"{fact.attribute} is {own}, but the database returns {theirs}"
        return ""

    says = "The query of each fact, run again on the database, returns the values of the fact."
    return RowRule("facts_reproduce", says, ("id",), check)


def expect_written(path: Path, column: str, says: str, written: set[str]) -> RowRule:
    """Expect that `column` lists at least one document, and only documents in `written`; NULL is an error.

    `path` is the artifact with the column, and `says` is the rule's description.
    """
    named = {row["id"]: row[column] for row in read_records(path, ["id", column])}

    def check(record: Record) -> str:
        ids = named[record["id"]]
        gaps = [document for document in ids or () if document not in written]
        if gaps:
            return f"lists the document {gaps[0]}, which does not exist"
        return "" if ids else "does not list a document"

    return RowRule("documents_exist", says, ("id",), check)


def expect_asked(balanced: Path, unbalanced: Path) -> list[RowRule]:
    """Expect that a question is flagged for at least one set, and is an unchanged row of each flagged set."""
    one, other = (read_index(path, AS_QUESTION) for path in (balanced, unbalanced))

    def check(record: Record) -> str:
        if record["in_balanced"] != (record["id"] in one):
            return f"is {'not ' if record['in_balanced'] else ''}in the balanced set, contrary to in_balanced"
        if record["in_unbalanced"] and record["id"] not in other:
            return "is not in the unbalanced set, contrary to in_unbalanced"
        return "" if record["in_balanced"] or record["in_unbalanced"] else "is not flagged for any set"

    return [
        RowRule(
            "set_exists",
            "At least one of in_balanced and in_unbalanced is true, and the question is in each set whose "
            "flag is true.",
            ("id", "in_balanced", "in_unbalanced"),
            check,
        ),
        expect_same(
            "as_in_its_set",
            "The question is an unchanged row of the balanced or the unbalanced set.",
            "id",
            AS_QUESTION,
            {**other, **one},
        ),
    ]


def expect_true(true: Index) -> RowRule:
    """Expect that a question has the true documents of its group.

    `true` contains the rows of true_documents by id.
    """

    def check(record: Record) -> str:
        row = true.get(record["group"])
        due, given = row and list(row["documents"]), list(record["true_document_ids"])
        if given == due:
            return ""
        return f"has {', '.join(given) or 'none'}; its group has {', '.join(due or ['none'])}"

    return RowRule(
        "as_its_group",
        "The question has the same true documents as its group.",
        ("group", "true_document_ids"),
        check,
    )


def expect_sufficient(facts: Path, questions: Path) -> RowRule:
    """Expect that the true documents of each sampled group state all facts that the answer needs."""
    asked = read_index(questions, ["group", "true_document_ids"])
    true = {record["group"]: list(record["true_document_ids"]) for record in asked.values()}
    known = {row.id: row for row in read_valid_rows(facts, AnswerFacts)}

    def check(record: Record) -> str:
        documents, row = true.get(record["id"]), known.get(record["id"])
        if row is None or not documents or suffices(row, documents):
            return ""
        return f"is not fully stated by its true documents: {', '.join(documents)}"

    return RowRule(
        "true_documents_suffice",
        "A group's true documents, from which its answer is computed, state every fact that the answer "
        "needs.",
        ("id",),
        check,
    )
