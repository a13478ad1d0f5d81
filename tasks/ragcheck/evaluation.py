"""Run `benchloom evaluate ragcheck`: Part I (correctness) and, with --turns, Part II (conversations).

The flow's stages run on a user's questions for one system and one judge, without people's ratings.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TypeVar

from tasks.artifacts.rows import make_id
from tasks.errors import BadInput
from tasks.judging.health_derivation import derive_health
from tasks.judging.trust import TrustThresholds
from tasks.lineage.derivation import Derivation
from tasks.lineage.selection import Selection
from tasks.ragcheck.comparison import FLAGGED, LEAK, MEAN, ConversationFigure, comparison
from tasks.ragcheck.contexts import RULES
from tasks.ragcheck.conversations import End
from tasks.ragcheck.corpus import corpus
from tasks.ragcheck.correlations import MeasureCorrelation, correlations
from tasks.ragcheck.entries import Assessment, Continuity
from tasks.ragcheck.figures import Estimate, Resampling
from tasks.ragcheck.grading import TOP_SCORE
from tasks.ragcheck.guards import ANSWERS, ASKED
from tasks.ragcheck.page_parts import report_judge
from tasks.ragcheck.question_sets import DOCUMENTS, QuestionSet, recognise_set
from tasks.ragcheck.questions import ReferenceQuestion, questions
from tasks.reports.own_evaluation import Evaluation, Measured, OwnRows, list_unread
from tasks.reports.printed import Printed, PrintedColumn, Rows
from tasks.systems.contract import Document
from tasks.systems.corpus import read_corpus
from tasks.systems.entries import SystemEntry, can_search, check_documents, needs_documents
from tasks.systems.evaluation import EvaluationOptions, OwnDataset, ReadSection

Figure = TypeVar("Figure", MeasureCorrelation, ConversationFigure)
JUDGE = "judge"
ALL = "all"
"""The key of the figures over all datasets."""
COUNTS = ("n", "scored", "unsure", "failed", "skipped", "note")
"""Columns that are stored with a row's figure, if the row has them."""
PART_ONE = (
    "ragcheck.answers",
    "ragcheck.contexts",
    "ragcheck.scores",
    "ragcheck.canaries",
    "ragcheck.baselines",
)
PART_TWO = ("ragcheck.conversations", "ragcheck.guards")


def read_own(options: EvaluationOptions, entry: SystemEntry, read: ReadSection) -> OwnDataset:
    """Read the questions and documents of an evaluation, and list the stages to run.

    Raises BadInput if these files cannot be read, or if the system or the options do not fit the data.
    """
    question_set = recognise_set(options.dataset, options.language, options.limit)
    drafts = questions(question_set)
    targets = [question for question in drafts.rows if not question.history]
    if options.turns and not targets:
        raise BadInput(
            options.dataset, "contains no question that begins a conversation, but --turns requires one"
        )
    documents, problems = read_documents(options, entry, question_set)
    notes = [
        f"{count} questions are left out: {reason.replace('_', ' ')}"
        for reason, count in sorted(Counter(dropped.reason for dropped in drafts.dropped).items())
    ]
    if options.turns and len(targets) < len(drafts.rows):
        notes.append(
            f"{len(drafts.rows) - len(targets)} questions do not begin a conversation, so --turns leaves them"
        )
    if not can_search(entry):
        notes.append(
            f"systems.{options.system} has no `search`, so there are no contexts and no grades by E3, only "
            "by what its replies show (E2); give it one (docs/systems.md)"
        )
    about = {"kind": question_set.kind, "language": question_set.language, "turns": options.turns}
    key = make_id(
        "evaluation",
        "ragcheck",
        options.system,
        entry.model_dump(mode="json"),
        [asdict(question) for question in drafts.rows],
        make_id(*((document.id, document.title, document.text) for document in documents)),
        about,
        options.as_of,
    )
    return OwnDataset(
        key,
        {
            "ragcheck.correctness": make_entry(options.system).model_dump(mode="json"),
            "ragcheck.continuity": Continuity(systems=(options.system,), judge=JUDGE).model_dump(mode="json"),
        },
        {"questions": (ReferenceQuestion, drafts.rows), "corpus": (Document, documents)},
        (*PART_ONE, *(PART_TWO if options.turns else ())),
        problems,
        notes,
        {"documents": len(documents), **about},
        {"ragcheck.conversations.turns": options.turns} if options.turns else {},
        kept=("questions", "corpus"),
    )


def read_documents(
    options: EvaluationOptions, entry: SystemEntry, question_set: QuestionSet
) -> tuple[Sequence[Document], Sequence[str]]:
    """Return the documents that the system retrieves from, and one line per unreadable file or row.

    The documents are the dataset's documents, or `options.documents` if given. A system with its own corpus
    gets no documents. Raises BadInput if the system needs documents and none exist, or if the system cannot
    use the given documents.
    """
    given = options.documents is not None
    own = question_set.kind != "lines" or (question_set.path / DOCUMENTS).is_file()
    check_documents(options.system, entry, given=given, found=own or given)
    if options.documents is not None:
        read = read_corpus(options.documents)
        return read.documents, read.problems
    return (corpus(question_set).rows if needs_documents(entry) else ()), ()


def make_entry(system: str) -> Assessment:
    """Make an entry of `ragcheck.correctness` with one system, one judge and no ratings."""
    return Assessment(systems=(system,), judges=(JUDGE,), ratings=Path(__file__).with_name("unrated.csv"))


def measure(rows: OwnRows, options: EvaluationOptions, read: ReadSection) -> Measured:
    """Compute the figures over all questions, and per dataset if there are several.

    For each measure, n = scored + unsure + failed + skipped. `continuity` is None if Part II did not run.
    """
    thresholds, resampling = (
        read("judging.thresholds", TrustThresholds),
        read("ragcheck.correlations", Resampling),
    )
    grades = [score.score for score in rows["scores"]]
    judge = report_judge(JUDGE, grades, rows["canaries"], (), thresholds)
    asked, answers, scores, baselines = (
        list(rows[name]) for name in ("questions", "answers", "scores", "baselines")
    )
    entry = make_entry(options.system)
    means = correlations(asked, answers, scores, baselines, [], entry, resampling).rows
    led = (Selection("conversations"),) if options.turns else ()
    counts = {
        "questions": (Selection("questions"),),
        "failed": (Selection("answers", {"text": None}),),
        "grades": (Selection("scores"),),
        "unscored": (Selection("scores", {"score": None}),),
        "conversations": led,
        "failed_conversations": tuple(replace(every, where={"ended": End.FAILED}) for every in led),
    }
    figures: dict[str, object] = {
        "warnings": judge.warnings,
        "canaries": asdict(judge.canaries),
        "counts": {name: Derivation("count", selections) for name, selections in counts.items()},
        "correctness": nest_figures(means, lambda row: write_estimate(row.mean, derive_correctness(row))),
        "continuity": None,
    }
    if options.turns:
        pair = Continuity(systems=(options.system,), judge=JUDGE)
        texts = comparison(asked, list(rows["conversations"]), list(rows["guards"]), pair, resampling).rows
        figures["continuity"] = nest_figures(
            texts, lambda row: write_estimate(row.estimate, derive_continuity(row))
        )
    bases = derive_health("/canaries", Selection("canaries", {"further": False}))
    bases["/documents"] = Derivation("count", (Selection("corpus"),))
    return Measured(figures, list_failures(rows), bases)


def nest_figures(
    rows: Iterable[Figure], write: Callable[[Figure], dict[str, object]]
) -> dict[str, dict[str, dict[str, object]]]:
    """Nest figures by dataset (or `all`) and measure; each figure has the counts of its row."""
    nested: dict[str, dict[str, dict[str, object]]] = {}
    for row in rows:
        counts = {name: getattr(row, name) for name in COUNTS if hasattr(row, name)}
        nested.setdefault(row.dataset or ALL, {})[row.measure] = {**write(row), **counts}
    return nested


def write_estimate(estimate: Estimate, derivation: Derivation) -> dict[str, object]:
    """Convert a mean or fraction to JSON types, with its 95% interval and its source rows."""
    return {**asdict(estimate), "basis": derivation.to_json()}


def derive_correctness(row: MeasureCorrelation) -> Derivation:
    """Return the derivation of a measure's mean, which excludes "not sure" scores (0) and failures."""
    through = _choose_dataset(row.dataset)
    if row.measure in RULES:
        sure = tuple(range(1, TOP_SCORE + 1))
        scores = Selection("scores", {"rule": row.measure, "score": sure}, through)
        return Derivation("mean", (scores,), "score")
    return Derivation("mean", (Selection("baselines", {"measure": row.measure}, through),), "value")


def derive_continuity(row: ConversationFigure) -> Derivation:
    """Return the derivation of a mean over conversations, or a rate of leaking, probing or flagged texts."""
    if row.kind == MEAN:
        rows = Selection("conversations", {}, _choose_dataset(row.dataset))
        return Derivation("mean", (rows,), row.measure)
    tasks = ANSWERS if row.measure.startswith(LEAK) else (ASKED,)
    own = tuple(task for task in tasks if row.measure == f"{LEAK}_{task}") or tasks
    column = FLAGGED if row.measure == FLAGGED else "words"
    return Derivation("share of those with words", (Selection("guards", {"task": own}),), column)


def _choose_dataset(dataset: str) -> dict[str, Selection]:
    return {"question": Selection("questions", {"dataset": dataset})} if dataset else {}


def list_failures(rows: OwnRows) -> list[str]:
    """List missing answers and grades, unscored canaries, and failed conversations, each with the reason.

    Missing contexts are counted, with one line per reason.
    """
    keys = {question.id: question.key for question in rows["questions"]}
    lines = [
        f"question {keys[answer.question]}: no answer: {answer.problem}"
        for answer in rows["answers"]
        if answer.text is None
    ]
    for reason, count in sorted(Counter(dropped.detail for dropped in rows["contexts_dropped"]).items()):
        lines.append(f"{count} contexts are missing, and their grades: {reason}")
    lines += [
        f"question {keys[score.question]}: {score.rule}: unscored: {score.problem}"
        for score in rows["scores"]
        if score.score is None
    ]
    return [
        *lines,
        *list_unread(rows["canaries"]),
        *(
            f"question {keys[conversation.question]}: conversation failed: {conversation.problem}"
            for conversation in rows.get("conversations", ())
            if conversation.ended == End.FAILED
        ),
    ]


EVALUATION = Evaluation(
    read_own,
    measure,
    (
        Printed(
            ("dataset", "measure"),
            (Rows("/correctness/*/*", ("{0}", "{1}")),),
            (
                PrintedColumn("scored", "scored"),
                PrintedColumn("not sure", "unsure"),
                PrintedColumn("failed", "failed"),
                PrintedColumn("mean", digits=3),
            ),
            "{questions} questions, {failed} without an answer; {grades} grades, {unscored} unscored",
            names={
                "word_recall": "word recall",
                "rouge_l": "ROUGE-L",
                "E2": "E2 (question)",
                "E3": "E3 (with reference)",
            },
            keeps=lambda mean: mean["n"] > mean["skipped"],
        ),
        Printed(
            ("dataset", "figure"),
            (Rows("/continuity/*/*", ("{0}", "{1}")),),
            (PrintedColumn("n", "n"), PrintedColumn("mean or share", digits=3)),
            "{conversations} conversations of at most {turns} turns, {failed_conversations} failed",
        ),
    ),
    takes=frozenset({"documents", "turns", "language"}),
)
