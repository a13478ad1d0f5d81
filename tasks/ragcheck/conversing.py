"""Run one conversation: tasks T1 to T7 for a question, its reference and a system (section 3.1, figure 3)."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from tasks.artifacts.rows import Origin, make_id
from tasks.models.ask import Answer, Ask
from tasks.ragcheck import agents
from tasks.ragcheck.agents import Agents, ConversationOptions
from tasks.ragcheck.grading import JudgingOptions, grade_response, read_grade
from tasks.ragcheck.rows import (
    FAILED,
    LIMIT,
    REPEATED,
    STOPPED,
    TOP,
    TOP_SCORE,
    Conversation,
    ConversationTurn,
    Grade,
    ReferenceQuestion,
)
from tasks.scoring.multiturn import compute_wscore
from tasks.systems.contract import Passage, System, Turn
from tasks.systems.retrieved import name_documents


class _TaskFailed(Exception):
    """A task gave no usable result; the message names the task."""


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

    passages: the question's E3 contexts, shown to the judge. corpus: the ids of the documents. judge: its
    role. If a task fails (no answer of the system, no score of the judge, no text of an agent), the row's
    `ended` is `failed` without scores.
    """
    dialogue = _Dialogue(question, system, passages, params, judging, judge, ask)
    try:
        ended, problem = await dialogue.run(), ""
    except _TaskFailed as error:
        ended, problem = FAILED, str(error)
    scores = [turn.score for turn in dialogue.turns if turn.score is not None]
    if ended == FAILED:
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
    """A conversation in progress. row: its id; turns: so far; calls: ledger keys; retrieved: passages."""

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

    async def run(self) -> str:
        """Run turns until one of the ends is reached; return which. Raises _TaskFailed."""
        query = self._question.question
        while True:
            grade = await self._take_turn(query)
            if grade.score == TOP_SCORE:
                return TOP
            if len(self.turns) == self._params.turns:
                if self._params.final_at_limit:
                    await self._finish()
                return LIMIT
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

    async def _ask_further(self, review: Grade) -> tuple[str, str]:
        answer = await self._agents.ask_further(self._history, self.turns[-1].tentative, review)
        if answer.value is None and answer.problem.startswith(agents.REPEATED):
            # A question must differ from earlier ones, so this one is not asked and the conversation ends.
            self.calls.append(answer.call)
            return "", REPEATED
        query = self._unwrap("T5", answer)
        return query, "" if query else STOPPED

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
