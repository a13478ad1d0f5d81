"""The command `benchloom evaluate grammar`: GRAMMAR-Eval's figures (section 4.3) on the user's dataset.

The stages of an assessment ask the system and judge its answers. A user's dataset has no balanced or
unbalanced set, and no baselines.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from tasks.artifacts.parquet import read_rows
from tasks.artifacts.rows import Origin, make_id
from tasks.errors import BadInput
from tasks.grammar.assess.assessment import AssessmentParams, join_rows
from tasks.grammar.assess.judged import JudgedRow
from tasks.grammar.assess.set_figures import attribute_wrong, contrast_sets, count_gaps, rate_set
from tasks.grammar.corpus.answer_columns import AnswerColumn
from tasks.grammar.corpus.questions import AskedQuestion
from tasks.grammar.corpus.statements import AnswerFacts
from tasks.grammar.corpus.true_documents import TrueDocument
from tasks.judging.canaries import measure_further, measure_health
from tasks.judging.findings import NO_ANSWER
from tasks.judging.health_derivation import derive_health
from tasks.judging.trust import TrustThresholds, find_warnings
from tasks.lineage.bases import escape_pointer
from tasks.lineage.derivation import Derivation
from tasks.lineage.selection import Selection
from tasks.reports.own_evaluation import Evaluation, Measured, OwnRows, list_unread
from tasks.reports.printed import Printed, PrintedColumn, Rows
from tasks.scoring.correctness import Correctness
from tasks.scoring.items import BadItem, Record, describe_type
from tasks.scoring.label import score_label
from tasks.scoring.running import Bootstrap
from tasks.sources.stream_dataset import digest_file
from tasks.systems.contract import Document
from tasks.systems.corpus import read_corpus
from tasks.systems.entries import SystemEntry, check_documents, needs_documents
from tasks.systems.evaluation import EvaluationOptions, OwnDataset, ReadSection
from tasks.systems.own_items import ItemReader, ItemSource, OwnItems, read_items, sample_groups, take_text

QUESTIONS = "balanced.jsonl"
"""The file with the questions in a dataset folder."""
RESERVED = frozenset({"all", "mutual"})
"""The reserved names: figures use these names for all criteria together.

No criterion may have a reserved name.
"""
SCORED = tuple(label for label in Correctness if label.score is not None)
JUDGEMENTS = Selection("judgements")
MOST_CRITERIA = 12
"""The maximum number of criteria with separate rates. With more criteria, only the rates over all
rows are computed."""


def read_own(options: EvaluationOptions, entry: SystemEntry, read: ReadSection) -> OwnDataset:
    """Return the dataset of an evaluation: the checked questions, documents and facts.

    `read` returns a section of params.yaml. Raises BadInput with a one-line message.
    """
    found = read_questions(options.dataset)
    place = options.documents or find_documents(options.dataset, entry)
    check_documents(options.system, entry, given=options.documents is not None, found=place is not None)
    problems, notes = list(found.problems), []
    documents: Sequence[Document] = ()
    if place is not None:
        corpus = read_corpus(place)
        documents = corpus.documents
        problems += corpus.problems
    questions: Sequence[AskedQuestion] = found.items
    if place is not None and options.documents is None:
        questions = keep_grounded(questions, (document.id for document in documents))
        notes.append(
            f"{len(questions)} of {len(found.items)} questions have their true documents in "
            f"{place.name}; the others are not asked (--documents PATH asks all)"
        )
    questions = sample_groups(questions, options.limit, read("grammar.assessment", AssessmentParams).seed)
    if not questions:
        raise BadInput(
            options.dataset,
            "contains no question with `true_document_ids`",
            hint="give --documents PATH to ask all questions",
        )
    corpus_digest = make_id(*((document.id, document.title, document.text) for document in documents))
    settings = entry.model_dump(mode="json")
    facts = read_facts(place, questions) if options.documents is None else []
    key = make_id(
        "evaluation",
        options.system,
        digest_file(found.file),
        settings,
        corpus_digest,
        options.limit,
        options.as_of,
    )
    return OwnDataset(
        key,
        {"assessments": {"database": key, "system": options.system, "llm_only": key}},
        {
            "questions": (AskedQuestion, questions),
            "documents": (Document, documents),
            "answer_facts": (AnswerFacts, facts),
            "answer_columns": (AnswerColumn, read_columns(options.dataset)),
        },
        ("grammar.answers", "grammar.judgements", "grammar.canaries"),
        problems,
        notes,
        {"documents": len(documents)},
        kept=("questions", "documents", *(["answer_facts"] if facts else [])),
    )


def read_questions(path: Path) -> OwnItems[AskedQuestion]:
    """Read questions from a folder with `balanced.jsonl`, or from a .jsonl, .jsonl.gz or .parquet file.

    Required fields of a row are `question` (or `query`) and `answer`. Optional fields are:

    - `id` (default: a hash of the row);
    - `group` (default: the id);
    - `criterion` and `sql_template` (default: empty);
    - `true_document_ids` (default: unknown, or from `true_documents.parquet` in the folder's parent).

    Raises BadInput if no row is valid.
    """
    found = read_items(path, ItemReader(make_question, names=(QUESTIONS,), page="docs/assessment.md"))
    if not path.is_dir():
        return found
    named = name_documents(found.items, path.parent / "true_documents.parquet")
    return replace(found, items=tuple(named))


def read_columns(path: Path) -> tuple[AnswerColumn, ...]:
    """Read `answer_columns.parquet` in a dataset folder's parent; return () if there is no such file."""
    file = path.parent / "answer_columns.parquet"
    return tuple(read_rows(file, AnswerColumn)) if path.is_dir() and file.is_file() else ()


def make_question(record: Record, source: ItemSource) -> AskedQuestion:
    """Convert one row to a question. Raises BadItem with a one-clause message."""
    question = read_text(record, "question" if record.get("question") is not None else "query")
    answer, criterion = read_text(record, "answer"), read_text(record, "criterion", "")
    if criterion in RESERVED:
        raise BadItem(
            f"criterion is {criterion!r}, which is reserved for figures that combine several criteria"
        )
    given = read_text(record, "group", "")
    own_id = read_text(record, "id", "") or make_id("question", given, criterion, question, answer)
    return AskedQuestion(
        id=own_id,
        group=given or own_id,
        criterion=criterion,
        question=question,
        answer=answer,
        sql_template=read_text(record, "sql_template", ""),
        text_template="",
        in_balanced=True,
        in_unbalanced=False,
        true_document_ids=read_documents(record),
        origin=(Origin("file", source.reference),),
    )


def read_text(record: Record, name: str, default: str | None = None) -> str:
    """Return a string field without stripping its whitespace, because call keys depend on the whitespace.

    Raises BadItem if the field is not a string, or is missing and has no default.
    """
    return take_text(record, name, default=default, verbatim=True)


def read_documents(record: Record) -> tuple[str, ...] | None:
    """Return the sorted distinct ids of the true documents, or None if unknown. Raises BadItem."""
    value = record.get("true_document_ids")
    if value is None:
        return None
    if not isinstance(value, list):
        raise BadItem(f"true_document_ids is {describe_type(value)}; expected a list of ids")
    return tuple(
        sorted({read_text({"true_document_ids": document}, "true_document_ids") for document in value})
    )


def name_documents(questions: Iterable[AskedQuestion], path: Path) -> list[AskedQuestion]:
    """Return the questions with missing true document ids filled in from `path`, by group.

    `path` is true_documents.parquet. If there is no such file, the questions remain unchanged.
    """
    if not path.is_file():
        return list(questions)
    true = {row.id: row.documents for row in read_rows(path, TrueDocument) if not row.untold}
    return [
        replace(question, true_document_ids=true.get(question.group))
        if question.true_document_ids is None
        else question
        for question in questions
    ]


def read_facts(documents: Path | None, questions: Iterable[AskedQuestion]) -> list[AnswerFacts]:
    """Read the facts for the questions' groups from answer_facts.parquet in the folder of `documents`.

    Returns an empty list if there is no such file.
    """
    path = documents and documents.with_name("answer_facts.parquet")
    if path is None or not path.is_file():
        return []
    asked = {question.group for question in questions}
    return [row for row in read_rows(path, AnswerFacts) if row.id in asked]


def keep_grounded(questions: Iterable[AskedQuestion], documents: Iterable[str]) -> list[AskedQuestion]:
    """Return the questions whose true documents are known and all in the corpus."""
    there = set(documents)
    return [
        question
        for question in questions
        if question.true_document_ids and there.issuperset(question.true_document_ids)
    ]


def find_documents(dataset: Path, entry: SystemEntry) -> Path | None:
    """Return the path of documents.parquet in the dataset folder's parent.

    Returns None if there is no such file, the dataset is not a folder, or the system needs no documents.
    """
    if not dataset.is_dir() or not needs_documents(entry):
        return None
    beside = dataset.parent / "documents.parquet"
    return beside if beside.is_file() else None


def measure(rows: OwnRows, options: EvaluationOptions, read: ReadSection) -> Measured:
    """Compute the figures from the stages' rows, with the parameters of params.yaml."""
    given = read("grammar.assessment", AssessmentParams)
    thresholds = read("judging.thresholds", TrustThresholds)
    figures = make_figures(rows, given.criteria, thresholds, Bootstrap(given.draws, given.seed))
    both = (JUDGEMENTS, Selection("answers"))
    rest = dict.fromkeys(("/counts", "/rates", "/gaps", "/attribution", "/hypothesis"), both)
    return Measured(figures, list_failures(rows), derive_rates(figures["criteria"]), rest)


def make_figures(
    rows: OwnRows, preferred: Sequence[str], thresholds: TrustThresholds, intervals: Bootstrap
) -> dict[str, Any]:
    """Compute the figures of an evaluation; rates have 95% intervals from a bootstrap over whole clusters.

    If `rows` contains no `documents`, the system has its own corpus. `preferred` sets the order of criteria A
    and B, if these are the dataset's only criteria. `unscored` is the number of answers without a verdict.
    `grounded` is the number of rows whose true and retrieved documents are both known. For all other rows,
    closed and open mode give the same outcome.
    """
    corpus = rows["documents"] or None
    judged = join_rows(rows["judgements"], rows["answers"], rows["questions"], corpus, rows["answer_facts"])
    named = list_criteria(judged, preferred)
    criteria = named if len(named) <= MOST_CRITERIA else ()
    health, further = measure_health(rows["canaries"]), measure_further(rows["canaries"])
    unjudged = sum(not row.scored for row in judged)
    grounded = sum(None not in (row.true, row.retrieved) for row in judged)
    sections: dict[str, Mapping[str, object] | None] = {
        "rates": rate_set(judged, criteria, intervals),
        "gaps": count_gaps(judged, criteria),
        "attribution": attribute_wrong(judged, criteria),
        "hypothesis": contrast_sets({"": judged}, (criteria[0], criteria[1]), intervals)[""]
        if len(criteria) == 2
        else None,
    }
    if not grounded:
        # Without true and retrieved documents, closed mode would equal open mode.
        sections = {
            name: modes and {mode: part for mode, part in modes.items() if mode != "closed"}
            for name, modes in sections.items()
        }
    failed = sum(answer.response is None for answer in rows["answers"])
    return {
        "warnings": find_warnings(
            thresholds, n=len(judged), n_unscored=unjudged, canaries=health, further=further
        ),
        "canaries": asdict(health),
        "further_canaries": further and asdict(further),
        "counts": {**count_rows(rows), "unscored": unjudged - failed, "grounded": grounded},
        "criteria": criteria,
        **sections,
    }


def count_rows(rows: OwnRows) -> dict[str, Derivation]:
    """Return the derivations for the numbers of rows and groups.

    `failed` counts rows without a response. `by_rule` counts rows that a rule decided, without the judge.
    `unanswered` counts rows whose response does not answer the question, according to a rule.
    """
    rules = {judgement.rule for judgement in rows["judgements"]} - {""}
    counted = {
        "rows": JUDGEMENTS,
        "scored": Selection("judgements", {"judgement": SCORED}),
        "by_rule": Selection("judgements", {"rule": tuple(sorted(rules))}),
        "unanswered": Selection("judgements", {"rule": tuple(sorted(rules & {*NO_ANSWER}))}),
        "failed": Selection("answers", {"response": None}),
    }
    counts = {name: Derivation("count", (selection,)) for name, selection in counted.items()}
    return {**counts, "groups": Derivation("distinct", (JUDGEMENTS,), "group")}


def derive_rates(criteria: Sequence[str]) -> dict[str, Derivation]:
    """Map JSON pointers to the derivations of accuracies, row counts and canary figures."""
    known: dict[str, Derivation] = {}
    for part in ("all", *criteria):
        where = {} if part == "all" else {"criterion": part}
        place, own = f"/rates/open/{escape_pointer(part)}", (Selection("judgements", where),)
        known[f"{place}/accuracy"] = Derivation("share", own, "judgement", hit=Correctness.CORRECT)
        known[f"{place}/n"] = Derivation("count", own)
        known[f"{place}/n_scored"] = Derivation(
            "count", (Selection("judgements", {**where, "judgement": SCORED}),)
        )
    known |= derive_health("/canaries", Selection("canaries", {"further": False}))
    known |= derive_health("/further_canaries", Selection("canaries", {"further": True}))
    return known


def list_criteria(rows: Sequence[JudgedRow], preferred: Sequence[str]) -> tuple[str, ...]:
    """List the rows' criteria: in the order of `preferred` if it has the same criteria, otherwise by name."""
    found = sorted({row.criterion for row in rows} - {""})
    return tuple(preferred) if sorted(preferred) == found else tuple(found)


def list_failures(rows: OwnRows) -> list[str]:
    """Return one line for each row or canary without a verdict, with the reason."""
    failed = {answer.id for answer in rows["answers"] if answer.response is None}
    return [
        f"question {judgement.question}: {'' if judgement.id in failed else 'unscored: '}{judgement.problem}"
        for judgement in rows["judgements"]
        if score_label(judgement.judgement) is None
    ] + list_unread(rows["canaries"])


def tell_modes(figures: Mapping[str, Any]) -> Iterator[str]:
    """Yield sentences about the coverage of closed mode and the difference in accuracy between criteria.

    The difference is in percentage points.
    """
    counts, criteria = figures["counts"], figures["criteria"]
    if "closed" not in figures["rates"]:
        yield "There is no closed mode, because the true or retrieved documents are not known."
    elif counts["grounded"] < counts["rows"]:
        yield (
            f"True and retrieved documents are known for {counts['grounded']} of {counts['rows']} questions; "
            "closed mode counts the other questions as open mode does."
        )
    for mode, test in (figures["hypothesis"] or {}).items():
        if contrast := test["rates"].get("accuracy"):
            difference, low, high = (contrast[name] for name in ("difference", "low", "high"))
            if difference is None:
                told = "unknown"
            elif low is None or high is None:
                told = f"{100 * difference:+.1f} (no interval)"
            else:
                told = f"{100 * difference:+.1f} ({100 * low:+.1f} to {100 * high:+.1f})"
            yield f"{mode}: accuracy, {' - '.join(criteria)}: {told}"


def show_rate(name: str, label: str) -> Rows:
    """Declare the printed lines of a rate in percent: one line for all rows, then one per criterion.

    The columns are the numbers of rows and scored rows, and the rate in open and in closed mode.
    """
    modes = (
        PrintedColumn(
            mode, f"/rates/{mode}/{{0}}/{name}", f"/rates/{mode}/{{0}}/ci/{name}", scale=100, digits=1
        )
        for mode in ("open", "closed")
    )
    return Rows(
        "/rates/open/*",
        (label, "{0}"),
        (PrintedColumn("n", "n"), PrintedColumn("scored", "n_scored"), *modes),
    )


EVALUATION = Evaluation(
    read_own,
    measure,
    (
        Printed(
            ("figure", "criterion"),
            (
                show_rate("accuracy", "accuracy"),
                show_rate("robustness", "R"),
                show_rate("retrieval_db_accuracy", "Acc_db"),
                show_rate("lambda", "lambda"),
            ),
            (),
            "{rows} questions of {groups} groups, {scored} scored, {failed} failed, {unscored} unscored",
        ),
    ),
    tell_modes,
    takes=frozenset({"documents"}),
)
