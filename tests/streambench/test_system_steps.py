"""Tests of a user's system instead of an agent: requests and failures."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tasks.models.ask import Answer, try_parse
from tasks.streambench.entries import OwnStream
from tasks.streambench.solve import stream_runs
from tasks.streambench.solve.options import OwnLimits
from tasks.streambench.solve.system_steps import system_steps
from tasks.systems.entries import CallableEntry
from tests.streambench.scripted import Scripted, StreamAsk, make_items, order

OURS = CallableEntry(kind="callable", version="1", function="ours:answer")


class SystemAsk(StreamAsk):
    """Answers as a system, by the question; None simulates a failure that the ledger records."""

    questions: list[str]

    async def system(self, name, version, request, *, send, row, parse) -> Answer[Any]:
        question = request["question"]
        self.questions.append(question)
        said = self.reply(question)
        if said is None:
            return Answer(None, "", f"call {len(self.questions)}", 1, "the system raised ValueError")
        value, problem = try_parse(parse, f'"{said}"')
        return Answer(value, said, f"call {len(self.questions)}", 1, problem or "")


def run(reply, count, **entry):
    ask: Any = SystemAsk(reply)
    ask.questions = []
    items = make_items(count)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stream_runs, "find_environment", lambda kind: Scripted)
        drafts = asyncio.run(
            system_steps(
                items,
                order(items, 42),
                [],
                Path("nowhere"),
                OwnStream.model_validate({"stream": "tiny", "system": "ours", "k": 4, **entry}),
                OURS,
                OwnLimits(),
                {},
                ask,
            )
        )
    return ask, sorted(drafts.rows, key=lambda row: (row.method, row.position))


def answer_plainly(question):
    return "NONE" if "green" in question.rpartition("Question: ")[2] else "BLUE"


def test_a_system_is_sent_each_prompt_as_one_question():
    ask, rows = run(answer_plainly, 4)
    assert ask.questions[0] == "Name the colour.\n\nQuestion: red 0\n\nStyle: direct"
    own = [row for row in rows if row.method == "self_stream_icl"]
    assert {(row.agent, row.agents) for row in rows} == {("ours", ("ours",))}
    # Only blue 2 is correct; the prompt for red 3 shows it.
    assert [row.bit for row in own] == [False, False, True, False]
    assert [entry.position for entry in own[3].shown] == [3]
    assert any("Question: blue 2\nBLUE\n\n\nThis is the task now." in question for question in ask.questions)
    assert len({call for row in rows for call in row.calls}) == len(ask.questions)


def test_a_system_that_fails_has_a_wrong_step_with_its_call():
    def reply(question):
        return None if "red 0" in question.rpartition("Question: ")[2] else "BLUE"

    _, rows = run(reply, 3, methods=["zero_shot"])
    assert [(row.bit, row.failed) for row in rows] == [
        (False, "the system raised ValueError"),
        (False, ""),
        (True, ""),
    ]
    assert rows[0].calls, "it is in the ledger, and replays"


def test_a_method_that_shares_a_memory_has_one_agent_then():
    _, rows = run(know_colour, 3, methods=["mam_stream_icl"])
    assert [row.bit for row in rows] == [True, True, True]
    assert {row.run for row in rows} == {"mam_stream_icl|ours|42"}


def know_colour(question):
    return question.rpartition("Question: ")[2].split()[0].upper()
