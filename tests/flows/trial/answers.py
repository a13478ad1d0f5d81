import asyncio
from dataclasses import dataclass

from tasks.artifacts.rows import Drafts, Dropped, Origin, make_id
from tasks.models.ask import Ask, Unparsed
from tests.flows.trial.words import Word


@dataclass(frozen=True)
class Answer:
    id: str
    text: str
    origin: tuple[Origin, ...]


def read(text: str) -> str:
    if not text.startswith("It is"):
        raise Unparsed("is no answer")
    return text


async def answers(words: list[Word], ask: Ask) -> Drafts[Answer]:
    """Call the model to describe each word."""
    replies = await asyncio.gather(
        *(ask("question", {"word": word.text}, role="generator", row=word.id, parse=read) for word in words)
    )
    rows, dropped = [], []
    for word, reply in zip(words, replies, strict=True):
        origin = (Origin("row", f"words#{word.id}"), Origin("call", reply.call))
        if reply.value is None:
            dropped.append(Dropped(word.id, "no answer", reply.text, origin))
        else:
            rows.append(Answer(make_id(word.text), reply.value, origin))
    return Drafts(rows, dropped)
