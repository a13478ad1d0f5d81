"""`benchloom evaluate ragcheck`: questions that somebody brings, judged by Part I and, with --turns, Part II.

The flow's own stages ask and judge, for one system and one judge; people's ratings are missing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tasks.artifacts.rows import Dropped, make_id
from tasks.errors import BadInput
from tasks.judging.canaries import CanaryRow
from tasks.judging.trust import TrustThresholds
from tasks.ragcheck.comparison import comparison
from tasks.ragcheck.corpus import corpus
from tasks.ragcheck.correlations import correlations
from tasks.ragcheck.entries import Assessment, Continuity
from tasks.ragcheck.figures import Resampling
from tasks.ragcheck.judge_report import report_judge
from tasks.ragcheck.question_sets import DOCUMENTS, QuestionSet, recognise_set
from tasks.ragcheck.questions import questions
from tasks.ragcheck.rows import (
    FAILED,
    BaselineSimilarity,
    Context,
    Conversation,
    ConversationFigure,
    Estimate,
    Guard,
    JudgeScore,
    MeasureCorrelation,
    ReferenceQuestion,
    SystemAnswer,
)
from tasks.systems.capabilities import can_search, check_documents, needs_documents
from tasks.systems.contract import Document
from tasks.systems.corpus import read_corpus
from tasks.systems.entries import SystemEntry
from tasks.systems.evaluation import Evaluated, EvaluationOptions, OwnDataset, ReadSection

JUDGE = "judge"
ALL = "all"
"""The name of all datasets together in the figures."""


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
    """What a system said, and what the judge said of it. conversations: None without Part II."""

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
    """Read the questions and the documents. Raises BadInput, one line."""
    found = recognise_set(options.dataset, options.language, options.limit)
    asked = questions(found)
    targets = [question for question in asked.rows if not question.history]
    if options.turns and not targets:
        raise BadInput(
            options.dataset, "holds no question that begins a conversation, which --turns asks for"
        )
    documents, problems = read_documents(options, entry, found)
    notes = [
        f"{count} questions are left out: {reason.replace('_', ' ')}"
        for reason, count in sorted(Counter(dropped.reason for dropped in asked.dropped).items())
    ]
    if options.turns and len(targets) < len(asked.rows):
        notes.append(f"{len(asked.rows) - len(targets)} questions begin no conversation: --turns leaves them")
    if not can_search(entry):
        notes.append(
            f"systems.{options.system} has no `search`, so there are no contexts to judge by and no grades, "
            "only measures without contexts; give it one (docs/systems.md)"
        )
    about = {"kind": found.kind, "language": found.language, "turns": options.turns}
    key = make_id(
        "evaluation",
        "ragcheck",
        options.system,
        entry.model_dump(mode="json"),
        [asdict(question) for question in asked.rows],
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
        {"questions": (ReferenceQuestion, asked.rows), "corpus": (Document, documents)},
        (*PART_ONE, *(PART_TWO if options.turns else ())),
        problems,
        notes,
        {"documents": len(documents), **about},
        {"ragcheck.conversations.turns": options.turns} if options.turns else {},
    )


def read_documents(
    options: EvaluationOptions, entry: SystemEntry, found: QuestionSet
) -> tuple[Sequence[Document], Sequence[str]]:
    """Read what the system retrieves from, and a line for each file or row that cannot be read.

    The dataset's own documents, unless others are given; none for a system that brings its own.
    """
    given = options.documents is not None
    own = found.kind != "lines" or (found.path / DOCUMENTS).is_file()
    check_documents(options.system, entry, given=given, found=own or given)
    if options.documents is not None:
        read = read_corpus(options.documents)
        return read.documents, read.problems
    return (corpus(found).rows if needs_documents(entry) else ()), ()


def evaluate(rows: Mapping[str, Sequence[Any]], options: EvaluationOptions, read: ReadSection) -> Evaluated:
    """Make the figures of what the stages wrote, by what params.yaml says of intervals and trust."""
    judged = RagEvaluation(
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
    thresholds, draws = read("judging.thresholds", TrustThresholds), read("ragcheck.correlations", Resampling)
    return Evaluated(make_figures(judged, options.system, thresholds, draws), list_failures(judged))


def make_entry(system: str) -> Assessment:
    """Make the entry that `ragcheck.correctness` would have: one system, one judge, and no ratings."""
    return Assessment(systems=(system,), judges=(JUDGE,), ratings=Path(__file__).with_name("unrated.csv"))


def make_figures(
    evaluated: RagEvaluation, system: str, thresholds: TrustThresholds, how: Resampling
) -> dict[str, Any]:
    """Compute what an evaluation came to, over all questions and per dataset where there are several."""
    judge = report_judge(
        JUDGE, [score.score for score in evaluated.scores], evaluated.canaries, (), thresholds
    )
    lines = correlations(
        list(evaluated.questions),
        list(evaluated.answers),
        list(evaluated.scores),
        list(evaluated.baselines),
        [],
        make_entry(system),
        how,
    ).rows
    talks = evaluated.conversations
    return {
        "warnings": judge.warnings,
        "canaries": asdict(judge.canaries),
        "counts": count_rows(evaluated),
        "correctness": _nest((line.dataset, line.measure, _tell_measure(line)) for line in lines),
        "continuity": None
        if talks is None
        else _nest(
            (row.dataset, row.measure, _tell_comparison(row))
            for row in comparison(
                list(evaluated.questions),
                list(talks),
                list(evaluated.guards),
                Continuity(systems=(system,), judge=JUDGE),
                how,
            ).rows
        ),
    }


def count_rows(evaluated: RagEvaluation) -> dict[str, int]:
    """Count what was asked, and what of it is in no mean. failed: the system gave no answer."""
    talks = evaluated.conversations or ()
    return {
        "questions": len(evaluated.questions),
        "failed": sum(answer.text is None for answer in evaluated.answers),
        "grades": len(evaluated.scores),
        "unscored": sum(score.score is None for score in evaluated.scores),
        "conversations": len(talks),
        "failed_conversations": sum(conversation.ended == FAILED for conversation in talks),
    }


def list_failures(evaluated: RagEvaluation) -> list[str]:
    """Say of each row without an answer, a context or a grade, and of each failed conversation, why."""
    keys = {question.id: question.key for question in evaluated.questions}
    lines = [
        f"question {keys[answer.question]}: no answer: {answer.problem}"
        for answer in evaluated.answers
        if answer.text is None
    ]
    if evaluated.unretrieved:
        why = evaluated.unretrieved[0].detail
        lines.append(f"{len(evaluated.unretrieved)} contexts are missing, and their grades: {why}")
    lines += [
        f"question {keys[score.question]}: {score.rule}: unscored: {score.problem}"
        for score in evaluated.scores
        if score.score is None
    ]
    lines += [
        f"canary {canary.id}: unscored: {canary.problem}"
        for canary in evaluated.canaries
        if canary.given is None
    ]
    return lines + [
        f"question {keys[conversation.question]}: conversation failed: {conversation.problem}"
        for conversation in evaluated.conversations or ()
        if conversation.ended == FAILED
    ]


def _nest(rows: Any) -> dict[str, dict[str, Any]]:
    nested: dict[str, dict[str, Any]] = {}
    for dataset, measure, told in rows:
        nested.setdefault(dataset or ALL, {})[measure] = told
    return nested


def _tell_measure(line: MeasureCorrelation) -> Mapping[str, Any]:
    counts = ("n", "scored", "unsure", "failed", "skipped")
    return {**_tell(line.mean), **{name: getattr(line, name) for name in counts}, "note": line.note}


def _tell_comparison(line: ConversationFigure) -> Mapping[str, Any]:
    return {**_tell(line.estimate), "n": line.n, "failed": line.failed}


def _tell(estimate: Estimate) -> dict[str, float | None]:
    return {"value": estimate.value, "low": estimate.low, "high": estimate.high}
