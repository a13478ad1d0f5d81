from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from tasks.artifacts.rows import Drafts, Dropped, Origin, make_id


class Words(BaseModel):
    model_config = ConfigDict(extra="forbid")

    letters: int


@dataclass(frozen=True)
class Word:
    id: str
    text: str
    origin: tuple[Origin, ...] = ()


def words(source: Path, params: Words) -> Drafts[Word]:
    """Keep the words that are long enough."""
    found = source.read_text().split()
    kept = [Word(make_id(text), text) for text in found if len(text) >= params.letters]
    short = [Dropped(make_id(text), "short", text, ()) for text in found if len(text) < params.letters]
    return Drafts(kept, short)
