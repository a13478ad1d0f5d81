"""Linguistic criteria (appendix C): how the texts of a SQL template are asked for, and their limits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


class TextExample(BaseModel):
    """The example of a prompt, from a domain that no database here is about; no text may repeat it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    wanted: str = "height in metres of the lighthouse"
    given: str = "the lighthouse [lighthouses.name]"
    circumstance: str = "I keep the logbook of a sailing club"
    opening: str = "Would you know"
    text: str = ""
    given_first: str = "lighthouse [lighthouses.name] height in metres"
    asking: str = "how many metres high is the lighthouse [lighthouses.name]"

    @property
    def texts(self) -> tuple[str, ...]:
        """The example's texts."""
        return self.text, self.given_first, self.asking


class Criterion(BaseModel):
    """A linguistic criterion: its prompt, and the limits that its texts are checked against."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    prompt: str
    """A file's stem in tasks/grammar/prompts/. Its fields: see `make_fields`."""
    minimum_words: int = Field(default=1, ge=1)
    maximum_words: int = Field(default=80, ge=1)
    sentences: bool = False
    """Ask for a sentence with the circumstances and a question; else for a fragment."""
    samples: int = Field(ge=1)
    """Number of texts to ask for per SQL template."""
    forms: tuple[Literal["wanted", "given", "asking"], ...] = ("wanted",)
    """What a fragment begins with, one request after the other."""
    circumstances: tuple[str, ...] = ("I am putting some notes in order",)
    """How the first of several sentences begins: who asks, and what for."""
    reasons: tuple[str, ...] = ("and one of them is missing",)
    """How that sentence ends, where code composes it: why they ask."""
    wordings: int = Field(default=8, ge=1)
    """Number of wordings that one request offers."""
    openings: tuple[str, ...] = ("",)
    """How the question of several sentences begins; empty leaves it to the model.

    No two requests of a criterion have the same circumstance and opening, as long as there are enough.
    """
    example: TextExample = TextExample()
    seed: int = 0


class TextTemplates(BaseModel):
    """`grammar.text_templates` in params.yaml."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    criteria: Mapping[str, Criterion]
