"""`benchloom evaluate ragcheck`: evaluate a system on a user's own questions by Part I and, with --turns, II.

The flow's own stages run for one system and one judge, without people's ratings.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeVar

from tasks.artifacts.rows import Dropped, make_id
from tasks.errors import BadInput
from tasks.judging.canaries import CanaryRow
from tasks.judging.health_basis import derive_health
from tasks.judging.trust import TrustThresholds
from tasks.lineage.derivation import Derivation
from tasks.lineage.selection import Selection
from tasks.ragcheck.answers import SystemAnswer
from tasks.ragcheck.baselines import BaselineSimilarity
from tasks.ragcheck.comparison import ConversationFigure, comparison
from tasks.ragcheck.contexts import Context
from tasks.ragcheck.conversations import Conversation, End
from tasks.ragcheck.corpus import corpus
from tasks.ragcheck.correlations import MeasureCorrelation, correlations
from tasks.ragcheck.entries import Assessment, Continuity
from tasks.ragcheck.evaluation_basis import derive_continuity, derive_correctness
from tasks.ragcheck.evaluation_figures import ContinuityFigure, MeasureFigure, RagFigures, WrittenEstimate
from tasks.ragcheck.figures import Estimate, Resampling
from tasks.ragcheck.guards import Guard
from tasks.ragcheck.judge_report import report_judge
from tasks.ragcheck.question_sets import DOCUMENTS, QuestionSet, recognise_set
from tasks.ragcheck.questions import ReferenceQuestion, questions
from tasks.ragcheck.scores import JudgeScore
from tasks.systems.capabilities import can_search, check_documents, needs_documents
from tasks.systems.contract import Document
from tasks.systems.corpus import read_corpus
from tasks.systems.entries import SystemEntry
from tasks.systems.evaluation import Evaluated, EvaluationOptions, OwnDataset, ReadSection

Figure = TypeVar("Figure")
JUDGE = "judge"
ALL = "all"
"""The key of all datasets together in the figures."""
PART_ONE = (
    "ragcheck.answers",
    "ragcheck.contexts",
    "ragcheck.scores",
    "ragcheck.canaries",
    "ragcheck.baselines",
)
PART_TWO = ("ragcheck.conversations", "ragcheck.guards")


@dataclass(frozen=True)
class RagEvaluation:
    """The rows that an evaluation's stages wrote. conversations: None without Part II."""

    questions: Sequence[ReferenceQuestion]
    answers: Sequence[SystemAnswer]
    contexts: Sequence[Context]
    unretrieved: Sequence[Dropped]
    scores: Sequence[JudgeScore]
    canaries: Sequence[CanaryRow]
    baselines: Sequence[BaselineSimilarity]
    conversations: Sequence[Conversation] | None
    guards: Sequence[Guard]


def read_own(options: EvaluationOptions, entry: SystemEntry, read: ReadSection) -> OwnDataset:
    """Read the questions and documents of an evaluation, and name the stages to run.

    Raises BadInput if they cannot be read, or the system and the options do not fit them.
    """
    question_set = recognise_set(options.dataset, options.language, options.limit)
    drafts = questions(question_set)
    targets = [question for question in drafts.rows if not question.history]
    if options.turns and not targets:
        raise BadInput(
            options.dataset, "holds no question that begins a conversation, which --turns asks for"
        )
    documents, problems = read_documents(options, entry, question_set)
    notes = [
        f"{count} questions are left out: {reason.replace('_', ' ')}"
        for reason, count in sorted(Counter(dropped.reason for dropped in drafts.dropped).items())
    ]
    if options.turns and len(targets) < len(drafts.rows):
        notes.append(
            f"{len(drafts.rows) - len(targets)} questions begin no conversation: --turns leaves them"
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
    """Read the documents that the system retrieves from: (documents, a line per unreadable file or row).

    They are the dataset's own unless `options.documents` is given; none for a system with its own corpus.
    Raises BadInput if the system needs documents and there are none, or is given some it cannot use.
    """
    given = options.documents is not None
    own = question_set.kind != "lines" or (question_set.path / DOCUMENTS).is_file()
    check_documents(options.system, entry, given=given, found=own or given)
    if options.documents is not None:
        read = read_corpus(options.documents)
        return read.documents, read.problems
    return (corpus(question_set).rows if needs_documents(entry) else ()), ()


def evaluate(rows: Mapping[str, Sequence[Any]], options: EvaluationOptions, read: ReadSection) -> Evaluated:
    """Compute the figures from the rows that the stages wrote.

    rows: artifact (or `<artifact>_dropped`) -> its rows. read: reads the parameters for intervals and judge
    thresholds.
    """
    evaluation = RagEvaluation(
        rows["questions"],
        rows["answers"],
        rows["contexts"],
        rows["contexts_dropped"],
        rows["scores"],
        rows["canaries"],
        rows["baselines"],
        rows["conversations"] if options.turns else None,
        rows["guards"] if options.turns else (),
    )
    thresholds = read("judging.thresholds", TrustThresholds)
    resampling = read("ragcheck.correlations", Resampling)
    figures = make_figures(evaluation, options.system, thresholds, resampling)
    return Evaluated(figures, list_failures(evaluation), derive_counts(evaluation))


def make_entry(system: str) -> Assessment:
    """Make an entry of `ragcheck.correctness` with one system, one judge and no ratings."""
    return Assessment(systems=(system,), judges=(JUDGE,), ratings=Path(__file__).with_name("unrated.csv"))


def make_figures(
    evaluation: RagEvaluation, system: str, thresholds: TrustThresholds, resampling: Resampling
) -> RagFigures:
    """Compute an evaluation's figures, over all questions and per dataset if there is more than one."""
    judge = report_judge(
        JUDGE, [score.score for score in evaluation.scores], evaluation.canaries, (), thresholds
    )
    measures = correlations(
        list(evaluation.questions),
        list(evaluation.answers),
        list(evaluation.scores),
        list(evaluation.baselines),
        [],
        make_entry(system),
        resampling,
    ).rows
    conversations = evaluation.conversations
    return {
        "warnings": judge.warnings,
        "canaries": asdict(judge.canaries),
        "counts": count_rows(evaluation),
        "correctness": _nest((row.dataset, row.measure, _write_measure(row)) for row in measures),
        "continuity": None
        if conversations is None
        else _nest(
            (row.dataset, row.measure, _write_continuity(row))
            for row in comparison(
                list(evaluation.questions),
                list(conversations),
                list(evaluation.guards),
                Continuity(systems=(system,), judge=JUDGE),
                resampling,
            ).rows
        ),
    }


def count_rows(evaluation: RagEvaluation) -> dict[str, int]:
    """Count rows and failures. failed: questions without an answer; unscored: grades without a score."""
    conversations = evaluation.conversations or ()
    return {
        "questions": len(evaluation.questions),
        "failed": sum(answer.text is None for answer in evaluation.answers),
        "grades": len(evaluation.scores),
        "unscored": sum(score.score is None for score in evaluation.scores),
        "conversations": len(conversations),
        "failed_conversations": sum(conversation.ended == End.FAILED for conversation in conversations),
    }


def derive_counts(evaluation: RagEvaluation) -> dict[str, Derivation]:
    """Name the rows of the counts and of the judge's figures on canaries, by their places in the figures."""
    rows = {
        "/documents": Selection("corpus"),
        "/counts/questions": Selection("questions"),
        "/counts/failed": Selection("answers", {"text": None}),
        "/counts/grades": Selection("scores"),
        "/counts/unscored": Selection("scores", {"score": None}),
        "/counts/conversations": Selection("conversations"),
        "/counts/failed_conversations": Selection("conversations", {"ended": End.FAILED}),
    }
    derived = {
        place: Derivation("count", (own,))
        if own.artifact != "conversations" or evaluation.conversations is not None
        else Derivation("count", ())
        for place, own in rows.items()
    }
    return derived | derive_health("/canaries", Selection("canaries", {"further": False}))


def list_failures(evaluation: RagEvaluation) -> list[str]:
    """List one line with the reason per missing answer, grade or verdict and per failed conversation."""
    keys = {question.id: question.key for question in evaluation.questions}
    lines = [
        f"question {keys[answer.question]}: no answer: {answer.problem}"
        for answer in evaluation.answers
        if answer.text is None
    ]
    for reason, count in sorted(Counter(dropped.detail for dropped in evaluation.unretrieved).items()):
        lines.append(f"{count} contexts are missing, and their grades: {reason}")
    lines += [
        f"question {keys[score.question]}: {score.rule}: unscored: {score.problem}"
        for score in evaluation.scores
        if score.score is None
    ]
    lines += [
        f"canary {canary.id}: unscored: {canary.problem}"
        for canary in evaluation.canaries
        if canary.given is None
    ]
    return lines + [
        f"question {keys[conversation.question]}: conversation failed: {conversation.problem}"
        for conversation in evaluation.conversations or ()
        if conversation.ended == End.FAILED
    ]


def _nest(figures: Iterable[tuple[str, str, Figure]]) -> dict[str, dict[str, Figure]]:
    nested: dict[str, dict[str, Figure]] = {}
    for dataset, measure, figure in figures:
        nested.setdefault(dataset or ALL, {})[measure] = figure
    return nested


def _write_measure(row: MeasureCorrelation) -> MeasureFigure:
    return {
        **_write_estimate(row.mean),
        "basis": derive_correctness(row).to_json(),
        "n": row.n,
        "scored": row.scored,
        "unsure": row.unsure,
        "failed": row.failed,
        "skipped": row.skipped,
        "note": row.note,
    }


def _write_continuity(row: ConversationFigure) -> ContinuityFigure:
    return {
        **_write_estimate(row.estimate),
        "basis": derive_continuity(row).to_json(),
        "n": row.n,
        "failed": row.failed,
    }


def _write_estimate(estimate: Estimate) -> WrittenEstimate:
    return {"value": estimate.value, "low": estimate.low, "high": estimate.high}
