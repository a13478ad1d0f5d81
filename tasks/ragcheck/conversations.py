"""Stage: run conversations that try to obtain each reference answer from each system (Part II)."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tasks.artifacts.rows import Drafts, Dropped, Origin, make_id
from tasks.judging.answered import Answered, Scored
from tasks.models.ask import Answer, Ask
from tasks.ragcheck import agents
from tasks.ragcheck.agents import Agents, ConversationOptions
from tasks.ragcheck.contexts import retrieve_by_reference
from tasks.ragcheck.entries import Continuity
from tasks.ragcheck.grading import JUDGING, TOP_SCORE, Grade, JudgingOptions, grade_response, read_grade
from tasks.ragcheck.questions import ReferenceQuestion, sample_evenly
from tasks.ragcheck.systems import build_systems
from tasks.scoring.label import Label
from tasks.scoring.multiturn import compute_wscore
from tasks.settings import read_section
from tasks.systems.build import SystemEntry
from tasks.systems.contract import Passage, System, Turn, name_documents


class End(Label):
    """The reason why a conversation ended. A reason is not a grade, so its `score` is always None."""

    TOP = "top_score", "top score"
    STOPPED = "no_question", "no question"
    REPEATED = "repeated_question", "repeated question"
    LIMIT = "turn_limit", "turn limit"
    FAILED = "failed"


@dataclass(frozen=True)
class ConversationTurn:
    """One turn of a conversation. A grade or final answer is None if the task that produces it did not run.

    - query, said: the question and the system's answer (T1)
    - tentative: the composed answer (T2)
    - grade: the grade of the tentative answer (T3)
    - final: the rewritten answer (T6)
    - final_grade: the grade of the rewritten answer (T7)
    """

    query: str
    said: str
    tentative: str
    grade: Grade | None
    final: str | None
    final_grade: Grade | None

    @property
    def score(self) -> int | None:
        """The turn's score: from T7 if this task ran, otherwise from T3; None if there is no score."""
        grade = self.final_grade or self.grade
        return grade.score if grade else None


@dataclass(frozen=True)
class Conversation:
    """Row of the stage `conversations`: a conversation with one system about one question.

    scores: one score per turn. A failed conversation has no scores, and wscore, lscore and mscore are None.
    """

    id: str
    question: str
    system: str
    version: str
    turns: tuple[ConversationTurn, ...]
    ended: End
    problem: str
    scores: tuple[int, ...]
    wscore: float | None
    lscore: float | None
    mscore: float | None
    passages: tuple[Passage, ...]
    """The contexts (E3) that the judge saw."""
    origin: tuple[Origin, ...]


async def conversations(
    questions: list[ReferenceQuestion],
    corpus: Path,
    entry: Continuity,
    systems: dict[str, SystemEntry],
    params: ConversationOptions,
    settings: Mapping[str, object],
    ask: Ask,
) -> Drafts[Conversation]:
    """Run a conversation for every question and system; failed conversations are rows without scores.

    Questions from the middle of a conversation (with a history) are dropped as `later_turn`. Questions beyond
    `entry.take` are dropped as `not_taken`. Raises BadInput if a system is missing from params.yaml.
    """
    targets = [question for question in questions if not question.history]
    built, known = build_systems(entry.systems, systems, corpus, ask)
    judging = read_section(settings, JUDGING, JudgingOptions)
    chosen = sample_evenly(targets, entry.take, 0)
    rows = await run_all(built, chosen, known, params, judging, entry.judge, ask)
    chosen_ids = {question.id for question in chosen}
    return Drafts(
        rows,
        [
            Dropped(
                question.id,
                "not_taken" if not question.history else "later_turn",
                question.key,
                (Origin("row", f"questions#{question.id}"),),
            )
            for question in questions
            if question.id not in chosen_ids
        ],
    )


async def run_all(
    systems: Sequence[System],
    questions: Sequence[ReferenceQuestion],
    corpus: Collection[str],
    params: ConversationOptions,
    judging: JudgingOptions,
    judge: str,
    ask: Ask,
) -> list[Conversation]:
    """Run conversations with the given systems; the rows are ordered by question, then by system.

    corpus: the ids of all documents. judge: the judge's role.
    """

    async def run(question: ReferenceQuestion, system: System) -> Conversation:
        # If the system cannot retrieve, the judge sees the reference without contexts.
        passages = await retrieve_by_reference(system, question) or ()
        return await run_conversation(question, system, passages, corpus, params, judging, judge, ask)

    return await asyncio.gather(*(run(question, system) for question in questions for system in systems))


class _TaskFailed(Exception):
    """A task of the conversation gave no usable result; the message names the task."""


async def run_conversation(
    question: ReferenceQuestion,
    system: System,
    passages: tuple[Passage, ...],
    corpus: Collection[str],
    params: ConversationOptions,
    judging: JudgingOptions,
    judge: str,
    ask: Ask,
) -> Conversation:
    """Run one conversation to its end.

    passages: the question's E3 contexts, which the judge sees. corpus: the ids of all documents. judge: the
    judge's role. If an answer, a score or the text of an agent is missing, the conversation ends: `ended` is
    then `failed`, and `scores` is empty.
    """
    dialogue = _Dialogue(question, system, passages, params, judging, judge, ask)
    try:
        ended, problem = await dialogue.run(), ""
    except _TaskFailed as error:
        ended, problem = End.FAILED, str(error)
    scores = [turn.score for turn in dialogue.turns if turn.score is not None]
    if ended == End.FAILED:
        scores = []
    return Conversation(
        id=dialogue.row,
        question=question.id,
        system=system.name,
        version=system.version,
        turns=tuple(dialogue.turns),
        ended=ended,
        problem=problem,
        scores=tuple(scores),
        wscore=compute_wscore(scores, params.turns) if scores else None,
        lscore=float(len(scores)) if scores else None,
        mscore=float(max(scores)) if scores else None,
        passages=passages,
        origin=(
            Origin("row", f"questions#{question.id}"),
            *name_documents((*passages, *dialogue.retrieved), "corpus", corpus),
            *(Origin("call", call) for call in dict.fromkeys(dialogue.calls)),
        ),
    )


class _Dialogue:
    """A running conversation: its row id, turns and call ids, and the passages that the system retrieved."""

    def __init__(
        self,
        question: ReferenceQuestion,
        system: System,
        passages: tuple[Passage, ...],
        params: ConversationOptions,
        judging: JudgingOptions,
        judge: str,
        ask: Ask,
    ) -> None:
        self.row = make_id(question.id, system.name, system.version)
        self.turns: list[ConversationTurn] = []
        self.calls: list[str] = []
        self.retrieved: list[Passage] = []
        self._history: list[Turn] = []
        self._agents = Agents(question, params, self.row, ask)
        self._question, self._system, self._passages = question, system, passages
        self._params, self._judging, self._judge, self._ask = params, judging, judge, ask

    async def run(self) -> End:
        """Run turns until the conversation ends; return why it ended. Raises _TaskFailed."""
        query = self._question.question
        while True:
            grade = await self._take_turn(query)
            if grade.score == TOP_SCORE:
                return End.TOP
            if len(self.turns) == self._params.turns:
                if self._params.final_at_limit:
                    await self._finish()
                return End.LIMIT
            query, ended = await self._ask_further(grade)
            if ended:
                await self._finish()
                return ended

    async def _take_turn(self, query: str) -> Grade:
        response = await self._system.answer(query, row=self.row, history=tuple(self._history))
        self.calls += response.calls
        self.retrieved += response.passages or ()
        turn = ConversationTurn(query, response.text or "", "", None, None, None)
        self.turns.append(turn)
        if response.text is None:
            raise _TaskFailed(f"T1: the system gave no answer: {response.problem}")
        self._history.append(Turn(query, response.text))
        tentative = self._unwrap("T2", await self._agents.compose(self._history))
        self.turns[-1] = turn = replace(turn, tentative=tentative)
        grade = await self._grade(tentative)
        self.turns[-1] = replace(turn, grade=grade)
        return self._require_score("T3", grade)

    async def _ask_further(self, review: Grade) -> tuple[str, End | None]:
        answer = await self._agents.ask_further(self._history, self.turns[-1].tentative, review)
        if answer.value is None and answer.problem.startswith(agents.REPEATED):
            # A repeated question is not asked, and ends the conversation.
            self.calls.append(answer.call)
            return "", End.REPEATED
        query = self._unwrap("T5", answer)
        return query, None if query else End.STOPPED

    async def _finish(self) -> None:
        turn = self.turns[-1]
        final = self._unwrap("T6", await self._agents.finish(self._history, turn.tentative))
        self.turns[-1] = turn = replace(turn, final=final)
        grade = await self._grade(final)
        self.turns[-1] = replace(turn, final_grade=grade)
        self._require_score("T7", grade)

    async def _grade(self, text: str) -> Grade:
        answer = await grade_response(
            self._question, self._passages, text,
            role=self._judge, row=self.row, judging=self._judging, ask=self._ask,
        )  # fmt: skip
        self.calls.append(answer.call)
        return read_grade(answer)

    def _unwrap(self, task: str, answer: Answer[str]) -> str:
        self.calls.append(answer.call)
        if answer.value is None:
            raise _TaskFailed(f"{task}: {answer.problem}")
        return answer.value

    def _require_score(self, task: str, grade: Grade) -> Grade:
        if grade.score is None:
            raise _TaskFailed(f"{task}: the judge gave no score: {grade.problem}")
        return grade


def list_scored(conversations: Iterable[Conversation]) -> list[Scored]:
    """List each conversation's wscore for comparisons of nightly runs; None if the conversation failed."""
    return [
        Scored(conversation.id, conversation.question, conversation.wscore) for conversation in conversations
    ]


def list_answered(questions: list[ReferenceQuestion], conversations: list[Conversation]) -> list[Answered]:
    """List each conversation for comparisons, as an answer with the metrics wscore, lscore and mscore.

    The text of the answer contains every turn's question and system answer.
    """
    asked = {row.id: row for row in questions}
    return [
        Answered(
            id=row.id,
            case=row.question,
            system=row.system,
            metric="wscore",
            question=asked[row.question].question,
            reference=asked[row.question].reference,
            answer="\n\n".join(f"{turn.query}\n{turn.said}" for turn in row.turns) or row.problem,
            note=f"{row.ended.shown}: {', '.join(map(str, row.scores)) or row.problem}",
            further={"lscore": row.lscore, "mscore": row.mscore},
        )
        for row in conversations
    ]
