"""A scripted judge that answers by a function of the prompt."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tasks.artifacts.rows import make_id
from tasks.models.ask import Answer, Unparsed, render_prompt

ROOT = Path(__file__).parents[2]
JUDGE = ROOT / "tasks/grammar/prompts/judge.md"


def answer(value: Any, call: str = "call", text: str = "") -> Answer[Any]:
    return Answer(value, text, call, 1, "" if value is not None else "no_verdict")


def sign(reply: str, prompt: str) -> str:
    """Insert the code that a prompt requires into the last line of a reply, like an obedient judge.

    If a reply has numbered verdicts, every verdict's line gets the code.
    """
    codes = re.findall(r"(?:Verdict|Score|Kind) ([0-9a-f]{6}): ", prompt)
    if codes and re.match(r"Verdict: 1 ", reply):
        return reply.replace("Verdict:", f"Verdict {codes[-1]}:")
    before, new_line, last = reply.rpartition("\n")
    return (
        before + new_line + (re.sub(r"^(Verdict|Score|Kind):", rf"\1 {codes[-1]}:", last) if codes else last)
    )


@dataclass
class ScriptedJudge:
    """A scripted judge. reply: function that returns the reply to the prompt's text (all messages joined)."""

    reply: Callable[[str], str]
    prompts: Path = JUDGE.parent
    asked: list[str] = field(default_factory=list)

    async def __call__(
        self, prompt: str, fields: Mapping[str, object], *, parse: Callable[[str], Any], row: str, **_: Any
    ) -> Answer[Any]:
        rendered = render_prompt(self.prompts / f"{prompt}.md", fields)
        self.asked.append("\n".join(message["content"] for message in rendered.messages))
        text = sign(self.reply(self.asked[-1]), self.asked[-1])
        try:
            return Answer(parse(text), text, make_id(row, len(self.asked)), 1)
        except Unparsed as error:
            return Answer(None, text, make_id(row, len(self.asked)), 1, str(error))
