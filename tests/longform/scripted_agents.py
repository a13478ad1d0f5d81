"""An `ask` that answers agents from a script, and an item over two small tables."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import tasks.longform
from tasks.artifacts.rows import make_id
from tasks.longform.build.items import LongformItem
from tasks.longform.labels import CONCLUSIVE
from tasks.models.ask import Answer, render_prompt, try_parse

PROMPTS = Path(tasks.longform.__file__).parent / "prompts"
SCRIPT = """
CREATE TABLE stadium (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    seats INTEGER
);
CREATE TABLE concert (id INTEGER PRIMARY KEY, stadium INTEGER REFERENCES stadium (id), year INTEGER);
INSERT INTO stadium VALUES (1, 'Balmoor', 4000), (2, 'Ayr Park', 11998), (3, 'Forth Bank', 3808),
    (4, 'Recreation', 3100);
INSERT INTO concert VALUES (1, 1, 2014), (2, 1, 2015), (3, 2, 2014);
"""
PLAN = (
    "Information needed: concerts a stadium\nTables and columns: stadium.name, concert.stadium\n"
    "Retrieval steps: join and count"
)


@dataclass(frozen=True)
class Asked:
    """One request as the model receives it."""

    prompt: str
    role: str
    row: str
    system: str
    text: str
    grammar: str
    max_tokens: int


@dataclass
class ScriptedAgents:
    """Replies to each prompt from a list in sequence, or by a function; stores every request."""

    replies: Mapping[str, Sequence[str]] | Callable[[Asked], str]
    attempts: int = 1
    asked: list[Asked] = field(default_factory=list)

    async def __call__(
        self, prompt: str, fields: Mapping[str, object], *, role: str, row: str,
        parse: Callable[[str], Any], grammar: str = "", max_tokens: int = 0, **_: Any,
    ) -> Answer[Any]:  # fmt: skip
        rendered = render_prompt(PROMPTS / f"{prompt}.md", fields)
        by_role = {message["role"]: message["content"] for message in rendered.messages}
        problem: str | None = ""
        text, call = "", ""
        for attempt in range(self.attempts):
            asked = Asked(prompt, role, row, by_role["system"], by_role["user"], grammar, max_tokens)
            text = self._reply(asked)
            self.asked.append(asked)
            call = make_id(prompt, row, asked.text, attempt)
            value, problem = try_parse(parse, text, max_tokens)
            if problem is None:
                return Answer(value, text, call, attempt + 1)
        return Answer(None, text, call, self.attempts, problem or "")

    def _reply(self, asked: Asked) -> str:
        if callable(self.replies):
            return self.replies(asked)
        earlier = sum(request.prompt == asked.prompt for request in self.asked)
        return self.replies[asked.prompt][earlier]

    def list_prompts(self) -> list[str]:
        return [request.prompt for request in self.asked]


def make_item(number: int = 1, script: str = SCRIPT) -> LongformItem:
    return LongformItem(
        id=f"i{number}",
        database="concerts",
        question="Which stadium had the most concerts, and is it the largest?",
        kind=CONCLUSIVE,
        reference="Balmoor had two concerts and is not the largest.",
        claims=(),
        script=script,
        confirmed_by="model",
        origin=(),
    )
