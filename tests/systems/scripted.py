"""An `ask` for systems that answers from a script, embeds by a function, and stores the requests."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import TypeAdapter

from tasks.models.ask import Answer, Unparsed, render_prompt
from tasks.systems.build import SystemEntry, build_system
from tasks.systems.contract import Document

ENTRY = TypeAdapter(SystemEntry)


@dataclass(frozen=True)
class Asked:
    messages: tuple[Mapping[str, str], ...]
    role: str
    row: str
    turns: tuple[tuple[str, str], ...]

    @property
    def text(self) -> str:
        return "\n".join(message["content"] for message in self.messages)


@dataclass
class ScriptedAsk:
    reply: Callable[[Asked], str] = lambda asked: "fine"
    vector: Callable[[str], list[float]] = lambda text: [1.0, 0.0]
    asked: list[Asked] = field(default_factory=list)
    embedded: list[list[str]] = field(default_factory=list)

    async def __call__(self, prompt, fields, *, role, row, parse, turns=(), **more: Any) -> Answer[Any]:
        asked = Asked(render_prompt(prompt, fields).messages, role, row, tuple(turns))
        self.asked.append(asked)
        text, call = self.reply(asked), f"{role}-{len(self.asked)}"
        try:
            return Answer(parse(text), text, call, 1)
        except Unparsed as error:
            return Answer(None, text, call, 1, str(error))

    async def embed(self, texts: Sequence[str], *, role: str, row: str) -> list[list[float]]:
        self.embedded.append(list(texts))
        return [self.vector(text) for text in texts]


def document(text: str, name: str, title: str = "") -> Document:
    return Document(name, title, text, ())


def build(ask: Any, texts: Sequence[str], **entry: Any):
    """Return a reference RAG on texts, whose documents are named a, b, c, ..."""
    corpus = [document(text, chr(ord("a") + number)) for number, text in enumerate(texts)]
    return build_system("sut", ENTRY.validate_python({"kind": "rag", **entry}), corpus, ask)
