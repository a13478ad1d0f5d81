"""Rows of the conversation browser on Part II's page: conversations with their turns, scores and guards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from tasks.ragcheck.conversations import Conversation, ConversationTurn
from tasks.ragcheck.grading import Grade
from tasks.ragcheck.guards import ASKED, COMPOSED, FINISHED, Guard
from tasks.ragcheck.page_parts import BrowsedRow, ShownContext, list_calls, show_history, show_passages
from tasks.ragcheck.questions import ReferenceQuestion

GUARDED = (COMPOSED, ASKED, FINISHED)


class ShownGrade(NamedTuple):
    """A judge's grade of a composed answer."""

    score: int | None
    feedback: str
    problem: str


class ShownGuard(NamedTuple):
    """Words that an agent took from the reference; flagged: those in a question that no feedback named."""

    words: list[str]
    flagged: list[str]


@dataclass(frozen=True)
class ShownTurn:
    """One turn. guards: task -> words taken from the reference, None if the task did not run."""

    query: str
    said: str
    tentative: str
    grade: ShownGrade | None
    final: str | None
    final_grade: ShownGrade | None
    guards: dict[str, ShownGuard | None]


@dataclass(frozen=True)
class ShownConversation(BrowsedRow):
    """A conversation with its target question. measures: wscore, lscore, mscore; calls: ledger keys."""

    system: str
    ended: str
    problem: str
    scores: list[int]
    measures: list[float | None]
    turns: list[ShownTurn]
    passages: list[ShownContext]
    calls: list[str]


@dataclass(frozen=True)
class ConversationBrowser:
    """The browser's rows and the values of its filters, as pages/ragcheck.js reads them."""

    kind: str
    systems: list[str]
    ends: list[str]
    rows: list[ShownConversation]


def show_conversations(
    questions: Sequence[ReferenceQuestion], conversations: Sequence[Conversation], guards: Sequence[Guard]
) -> list[ShownConversation]:
    """Make a row for every conversation whose question is known, sorted by dataset, question and system."""
    question_of = {question.id: question for question in questions}
    guard_of = {(guard.conversation, guard.turn, guard.task): guard for guard in guards}
    rows = [
        _show_conversation(question_of[conversation.question], conversation, guard_of)
        for conversation in conversations
        if conversation.question in question_of
    ]
    return sorted(rows, key=lambda row: (row.dataset, row.key, row.system))


def _show_conversation(
    question: ReferenceQuestion, conversation: Conversation, guard_of: Mapping[tuple[str, int, str], Guard]
) -> ShownConversation:
    def show_turn(number: int, turn: ConversationTurn) -> ShownTurn:
        guards = {task: _show_guard(guard_of.get((conversation.id, number, task))) for task in GUARDED}
        return ShownTurn(
            turn.query,
            turn.said,
            turn.tentative,
            _show_grade(turn.grade),
            turn.final,
            _show_grade(turn.final_grade),
            guards,
        )

    return ShownConversation(
        id=conversation.id,
        question=question.question,
        reference=question.reference,
        dataset=question.dataset,
        key=question.key,
        language=question.language,
        history=show_history(question),
        system=conversation.system,
        ended=conversation.ended,
        problem=conversation.problem,
        scores=list(conversation.scores),
        measures=[conversation.wscore, conversation.lscore, conversation.mscore],
        turns=[show_turn(number, turn) for number, turn in enumerate(conversation.turns, 1)],
        passages=show_passages(conversation.passages),
        calls=list_calls(conversation.origin),
    )


def _show_grade(grade: Grade | None) -> ShownGrade | None:
    return None if grade is None else ShownGrade(grade.score, grade.feedback, grade.problem)


def _show_guard(guard: Guard | None) -> ShownGuard | None:
    return None if guard is None else ShownGuard(list(guard.words), list(guard.flagged))
