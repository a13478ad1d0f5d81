"""Request a text until it passes the checks; each round's prompt describes the previous reply's problem."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tasks.artifacts.rows import Origin
from tasks.models.ask import Ask


@dataclass(frozen=True)
class Written:
    """The result of `ask_in_rounds`.

    `text`: None if no reply passed; `problem` then describes why the last reply failed.
    """

    text: str | None
    problem: str
    calls: tuple[Origin, ...]


async def ask_in_rounds(
    ask: Ask,
    prompt: str,
    fields: Mapping[str, object],
    *,
    rounds: int,
    row: str,
    parse: Callable[[str], str],
    grammar: str,
    max_tokens: int,
) -> Written:
    """Return the first reply of the role `generator` that passes `parse`, after at most `rounds` rounds.

    `fields`: the prompt's fields except `problem`.
    """
    problem, text = "", ""
    calls: list[Origin] = []
    for number in range(rounds):
        answer = await ask(
            prompt,
            {**fields, "problem": problem},
            role="generator",
            row=row,
            parse=parse,
            grammar=grammar,
            sample=number,
            max_tokens=max_tokens,
        )
        calls.append(Origin("call", answer.call))
        if answer.value is not None:
            return Written(answer.value, "", tuple(calls))
        problem, text = answer.problem, answer.text
    return Written(None, f"{problem}: {text[:200]}", tuple(calls))
