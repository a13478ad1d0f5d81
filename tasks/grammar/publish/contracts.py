"""Stage: check every artifact against its contract. If a check fails, no dataset or page is written."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import Field

from tasks.artifacts.contracts import (
    Expectation,
    Record,
    RowRule,
    expect_match,
    expect_no_match,
    read_records,
)
from tasks.artifacts.export import draft_folder
from tasks.artifacts.parquet import read_valid_rows
from tasks.artifacts.rows import Counts
from tasks.artifacts.statistics import name_beside
from tasks.databases.columns import Column
from tasks.databases.content import ensure_unchanged
from tasks.databases.entry import DatabaseEntry
from tasks.databases.execution import QueryLimits, SafeDatabase
from tasks.grammar.construct.balanced import Balanced, count_texts
from tasks.grammar.construct.fill_in import Group
from tasks.grammar.construct.free_reading import read_stored
from tasks.grammar.construct.own_templates import TEXTS
from tasks.grammar.construct.pairs import Question
from tasks.grammar.construct.sql_reading import BrokenRule
from tasks.grammar.construct.sql_templates import SHAPE, OwnTemplate, SqlTemplate
from tasks.grammar.construct.style_rules import find_copied, list_long_sentences
from tasks.grammar.construct.text_requests import TextTemplates
from tasks.grammar.construct.text_templates import TextTemplate
from tasks.grammar.construct.verbalisation import find_scope
from tasks.grammar.corpus.documents import Documents
from tasks.grammar.corpus.questions import Questions
from tasks.grammar.publish import corpus_contracts
from tasks.grammar.publish.authorship import list_own
from tasks.grammar.publish.corpus_contracts import declare_corpus
from tasks.grammar.publish.rerun import Rerun, choose_skipped_sql, expect_true_in_world
from tasks.grammar.publish.row_rules import (
    Index,
    expect_balance,
    expect_filled_sql,
    expect_filled_text,
    expect_known,
    expect_placeholders,
    expect_query,
    expect_references,
    expect_same,
    expect_template,
    read_index,
)
from tasks.reports.contract_stage import Rules, check_artifacts, expect_hash, require_contracts
from tasks.settings import Settings, read_section

ROWS: Mapping[str, type] = {
    "schema": Column,
    "own_templates": OwnTemplate,
    "sql_templates": SqlTemplate,
    "text_templates": TextTemplate,
    "back_check": TextTemplate,
    "second_reading": TextTemplate,
    "fill_in": Group,
    "unbalanced": Question,
    "balanced": Question,
    **corpus_contracts.ROWS,
}
"""The row type of each artifact."""
AS_GROUP = ("sql", "sql_template", "answer", "answer_rows")
"""The columns that must be equal in a question and its group."""
SHARE = 0.03
"""The maximum share of a criterion's texts with the same sentence, after placeholders are masked."""


class Contracts(Settings):
    """The settings in params.yaml under `grammar.contracts`."""

    answers: int | None = Field(default=None, ge=1)
    """The maximum number of answers per SQL template to check by running the SQL; null means all."""
    seed: int = 0
    """The seed for sampling the answers whose SQL is run again."""
    limits: QueryLimits = QueryLimits()
    """The limits of each answer's query."""


@dataclass(frozen=True)
class Sections:
    """The parameters of the stages that wrote the checked artifacts."""

    balanced: Balanced
    documents: Documents
    questions: Questions
    examples: Mapping[str, Sequence[str]]
    """The texts of the prompts' examples, by criterion."""
    any_sql: bool = False
    """Whether a model may write free-form SQL, as people may."""


def contracts(
    schema: Path,
    own_templates: Path,
    sql_templates: Path,
    text_templates: Path,
    back_check: Path,
    second_reading: Path,
    fill_in: Path,
    unbalanced: Path,
    balanced: Path,
    profiles: Path,
    documents: Path,
    true_documents: Path,
    questions: Path,
    answer_facts: Path,
    database: DatabaseEntry,
    settings: Mapping[str, object],
    params: Contracts,
    out: Path,
) -> Counts:
    """Check the artifacts with their `*.dropped` and `*.calls` files, and write the results.

    `settings` contains the parameters of other stages, by dotted name. Raises ContractBroken after writing,
    with a line that states the artifact, contract, count and ids.
    """
    made = (
        schema, *list_own(own_templates), sql_templates, text_templates, back_check, second_reading,
        fill_in, unbalanced, balanced,
    )  # fmt: skip
    corpus = (profiles, documents, true_documents, questions, answer_facts)
    paths = {path.stem: path for path in (*made, *corpus)}
    sections = Sections(
        read_section(settings, "grammar.balanced", Balanced),
        read_section(settings, "grammar.documents", Documents),
        read_section(settings, "grammar.questions", Questions),
        read_examples(settings),
        settings.get(SHAPE) == "any",
    )
    with (
        draft_folder(out) as folder,
        ensure_unchanged(database),
        SafeDatabase(database, params.limits) as safe,
    ):
        findings = check_artifacts(
            f"Contracts of {database.title or database.name}",
            {path: ROWS[stem] for stem, path in paths.items()},
            lambda origins: declare(paths, database, safe, sections, params, origins),
            folder,
        )
    return require_contracts(findings, out)


def declare(
    paths: Mapping[str, Path],
    database: DatabaseEntry,
    safe: SafeDatabase,
    sections: Sections,
    params: Contracts,
    origins: RowRule,
) -> Rules:
    """Return the rules for each artifact.

    The artifacts must have all columns, with the right types. Cells may be NULL.
    """
    columns = read_valid_rows(paths["schema"], Column)
    templates = read_index(paths["sql_templates"], ["sql", "placeholders"])
    written = read_index(paths["text_templates"], ["sql_template", "criterion", "text"])
    confirmed = read_index(paths["back_check"], ["sql_template", "criterion", "text"])
    texts = read_index(paths["second_reading"], ["sql_template", "criterion", "text"])
    groups = read_index(paths["fill_in"], [*AS_GROUP, "fillings"])
    reruns = Rerun(safe, columns, choose_skipped_sql(paths["fill_in"], params.answers, params.seed)).rule()
    persons = list(read_valid_rows(paths["own_templates"], OwnTemplate)) if "own_templates" in paths else []
    own_sql = frozenset(template.sql for template in persons)
    own_ids = frozenset(template.id for template in persons)
    if sections.any_sql:
        own_sql |= {record["sql"] for record in templates.values()}
        own_ids |= templates.keys()
    texts_each = count_texts(persons, sections.balanced)
    known = expect_known("sql_template_exists", "sql_template", "SQL template", templates)
    parsed, world = expect_query(columns, own_ids), database.find_world()
    whole = [] if world is None else [_expect_world(paths, parsed, safe, columns, world)]
    own: dict[str, Sequence[Expectation | RowRule]] = {
        "schema": [expect_references(column.id for column in columns)],
        "own_templates": [expect_hash(), expect_template(columns, own_sql), origins],
        "sql_templates": [expect_hash(), expect_template(columns, own_sql), origins],
        "text_templates": [expect_hash(), known, expect_placeholders(templates, own_ids), origins],
        "back_check": [
            expect_hash(),
            known,
            expect_same(
                "as_written",
                "The SQL template, criterion and text equal those of the text_templates row with the same "
                "id.",
                "id",
                ("sql_template", "criterion", "text"),
                written,
            ),
            expect_known("text_exists", "id", "text template", written),
            expect_placeholders(templates, own_ids),
            expect_own_sentences(paths["back_check"]),
            expect_no_example(sections.examples),
            origins,
        ],
        "second_reading": [
            expect_hash(),
            known,
            expect_same(
                "as_confirmed",
                "The SQL template, criterion and text equal those of the back_check row with the same id.",
                "id",
                ("sql_template", "criterion", "text"),
                confirmed,
            ),
            expect_known("text_exists", "id", "text in back_check", confirmed),
            origins,
        ],
        "fill_in": [
            expect_hash(),
            known,
            parsed,
            expect_filled_sql(templates, columns),
            expect_match("answer_given", "The answer is not empty.", "answer", r"\S"),
            reruns,
            *whole,
            origins,
        ],
        "unbalanced": _expect_questions(known, parsed, texts, groups, reruns, origins),
        "balanced": [
            *_expect_questions(known, parsed, texts, groups, reruns, origins),
            expect_balance(paths["balanced"], sections.balanced.criteria, texts_each),
        ],
    }
    documents_dropped = name_beside(paths["documents"], "dropped")
    corpus = declare_corpus(
        paths, documents_dropped, groups, sections.documents, sections.questions, columns, safe
    )
    own |= {stem: [expect_hash(), *rules, origins] for stem, rules in corpus.items()}
    return {path: own[stem] for stem, path in paths.items()}


def _expect_world(
    paths: Mapping[str, Path],
    parsed: RowRule,
    safe: SafeDatabase,
    columns: Sequence[Column],
    world: DatabaseEntry,
) -> RowRule:
    confined = {
        template.id
        for template in read_valid_rows(paths["sql_templates"], SqlTemplate)
        if _is_confined(template.sql, columns)
    }
    valid = []
    for group in read_valid_rows(paths["fill_in"], Group):
        record = {"id": group.id, "sql": group.sql, "sql_template": group.sql_template}
        if group.sql_template not in confined and not parsed.check(record):
            valid.append(group)
    asked = {
        record["group"]: record["question"]
        for record in read_records(paths["unbalanced"], ["group", "question"])
    }
    return expect_true_in_world(valid, asked, safe, columns, world)


def _is_confined(sql: str, columns: Sequence[Column]) -> bool:
    try:
        return bool(find_scope(read_stored(sql, columns), columns)[0])
    except BrokenRule:
        return False  # another rule reports this


def _expect_questions(
    known: RowRule, parsed: RowRule, texts: Index, groups: Index, reruns: RowRule, origins: RowRule
) -> list[Expectation | RowRule]:
    return [
        expect_hash(),
        known,
        expect_known("text_exists", "text_template", "text in second_reading", texts),
        expect_known("group_exists", "group", "group", groups),
        expect_no_match("no_bracket_left", "The question contains no brackets.", "question", r"[\[\]]"),
        expect_filled_text(texts, groups),
        parsed,
        expect_same(
            "as_its_group",
            "The question has the same SQL and the same answer as its group.",
            "group",
            AS_GROUP,
            groups,
        ),
        expect_same(
            "as_its_text",
            "The question has the same criterion and the same SQL template as its text.",
            "text_template",
            ("criterion", "sql_template"),
            texts,
        ),
        reruns,
        origins,
    ]


def expect_own_sentences(texts: Path) -> RowRule:
    """Expect that no sentence of six words or more is in more than 3% of a criterion's texts.

    A sentence that occurs in only one text is always allowed. `texts` is the artifact back_check. Texts that
    people wrote, without a model call, are not checked.
    """
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    rows: Counter[str] = Counter()
    for record in read_records(texts, ["criterion", "text"]):
        rows[record["criterion"]] += 1
        counts[record["criterion"]].update(set(list_long_sentences(record["text"] or "")))

    def check(record: Record) -> str:
        if not any(origin["kind"] == "call" for origin in record["origin"]):
            return ""
        criterion, own = record["criterion"], list_long_sentences(record["text"])
        most = max(1, int(SHARE * rows[criterion]))
        again = [sentence for sentence in own if counts[criterion][sentence] > most]
        return (
            f"{counts[criterion][again[0]]} of {rows[criterion]} texts contain: {again[0]}" if again else ""
        )

    return RowRule(
        "own_sentences",
        "Each sentence of six or more words occurs in at most 3% of the texts with the same criterion.",
        ("criterion", "text", "origin"),
        check,
    )


def read_examples(settings: Mapping[str, object]) -> dict[str, tuple[str, ...]]:
    """Return the texts of the prompts' examples, by criterion.

    `settings` contains the parameters of other stages, by dotted name.
    """
    given = {f"{TEXTS}.criteria": {}, **settings}
    criteria = read_section(given, TEXTS, TextTemplates).criteria
    return {name: criterion.example.texts for name, criterion in criteria.items()}


def expect_no_example(examples: Mapping[str, Sequence[str]]) -> RowRule:
    """Expect that no text contains a sentence of six words or more from the prompt's example."""

    def check(record: Record) -> str:
        copied = find_copied(record["text"], examples.get(record["criterion"], ()))
        return f"contains a sentence of the prompt's example: {copied}" if copied else ""

    return RowRule(
        "no_example",
        "The text does not repeat a sentence of six or more words from the example in its prompt.",
        ("criterion", "text"),
        check,
    )
