"""An `ask` and systems that answer from a script."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import tasks.ragcheck
from tasks.artifacts.rows import make_id
from tasks.models.ask import Answer, Unparsed, render_prompt
from tasks.ragcheck.questions import ReferenceQuestion
from tasks.systems.contract import Passage, Response, Turn
from tests.judging.scripted import sign

PROMPTS = Path(tasks.ragcheck.__file__).parent / "prompts"


@dataclass(frozen=True)
class Asked:
    """One request as the model receives it."""

    prompt: str
    role: str
    row: str
    text: str
    system: str
    attempt: int


@dataclass
class ScriptedAsk:
    """Answers by a function of the request, or from a list; stores every request."""

    reply: Callable[[Asked], str] | Sequence[str]
    attempts: int = 1
    asked: list[Asked] = field(default_factory=list)

    async def __call__(
        self, prompt: str, fields: Mapping[str, object], *, role: str, row: str,
        parse: Callable[[str], Any], grammar: str | None = None, **_: Any,
    ) -> Answer[Any]:  # fmt: skip
        rendered = render_prompt(PROMPTS / f"{prompt}.md", fields)
        problem, text, call = "", "", ""
        for attempt in range(self.attempts):
            by_role = {message["role"]: message["content"] for message in rendered.messages}
            asked = Asked(prompt, role, row, by_role["user"], by_role["system"], attempt)
            text = self.reply(asked) if callable(self.reply) else self.reply[len(self.asked)]
            self.asked.append(asked)
            call = make_id(prompt, asked.text, attempt)
            try:
                return Answer(parse(sign(text, asked.text)), text, call, attempt + 1)
            except Unparsed as error:
                problem = str(error)
        return Answer(None, text, call, self.attempts, problem)

    async def embed(self, texts: Sequence[str], *, role: str, row: str) -> list[list[float]]:
        """Return each text's vector: its counts of a, b and c, normalised."""
        return [[float(text.count(letter)) for letter in "abc"] for text in texts]

    def list_prompts(self) -> list[str]:
        return [request.prompt for request in self.asked]


@dataclass
class ScriptedSystem:
    """Returns scripted answers in sequence (None: no answer), and stores the requests."""

    said: Sequence[str | None]
    name: str = "scripted"
    version: str = "1"
    retrieves: bool = True
    shows: tuple[Passage, ...] | None = (Passage("d9", "Operators", "what the answer was written from", 1.0),)
    """The passages of the system's replies."""
    asked: list[tuple[str, tuple[Turn, ...]]] = field(default_factory=list)
    queries: list[str] = field(default_factory=list)

    async def answer(
        self, question: str, *, row: str, history: Sequence[Turn] = (), item: str = ""
    ) -> Response:
        text = self.said[len(self.asked) % len(self.said)]
        self.asked.append((question, tuple(history)))
        call = make_id("system", self.name, question)
        return Response(text, self.shows, (call,), "" if text is not None else "it is down")

    async def retrieve(self, query: str, *, row: str) -> tuple[Passage, ...] | None:
        self.queries.append(query)
        return (Passage("d1", "Set operators", f"found by: {query}", 1.0),) if self.retrieves else None


def make_question(number: int = 1, **more: Any) -> ReferenceQuestion:
    values = {
        "id": f"q{number}", "key": f"key-{number}", "dataset": "db", "language": "en",
        "question": "What do UNION and UNION ALL do, and what is the difference between them?",
        "reference": "Both combine the results of SELECT statements. UNION drops duplicates, the other not.",
        "history": (), "origin": (),
    }  # fmt: skip
    return ReferenceQuestion(**{**values, **more})
