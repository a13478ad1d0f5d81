"""Define the schema of list questions, for imports and for stages list_questions and seeds (step 1)."""

from __future__ import annotations

from dataclasses import dataclass

from tasks.artifacts.rows import Origin

SIMPLE, INTERSECTION, COMPOSITION = "simple", "intersection", "composition"
KINDS = (SIMPLE, INTERSECTION, COMPOSITION)
PEOPLE = frozenset({"people", "persons", "men", "women"})


def choose_pronoun(noun: str) -> str:
    """Return the relative pronoun for a noun: `people who ...`, `countries that ...`."""
    return "who" if PEOPLE & set(noun.split()) else "that"


@dataclass(frozen=True)
class Condition:
    """A condition that the answers to a list question meet. value: an entity's id. shown: its label.

    through: for a composition, the id of the second relation of the intermediate entity; otherwise empty.
    """

    relation: str
    value: str
    shown: str
    through: str = ""


@dataclass(frozen=True)
class SeedAnswer:
    """An answer to a list question. facts: ids of the facts that prove the answer.

    through: ids of the intermediate entities.
    """

    entity: str
    facts: tuple[str, ...]
    through: tuple[str, ...]


@dataclass(frozen=True)
class SeedProof:
    """A text in an imported dataset that is evidence for an answer."""

    entity: str
    article: str
    text: str


@dataclass(frozen=True)
class SeedQuestion:
    """A row of stages `list_questions` and `seeds`: a question whose answer is a list of entities.

    - shape: kind, noun and relations; questions with the same shape differ only in their entities.
    - noun: the noun for the answers, such as `countries`. target: the class of the answers.
    - source: `graph`, or the imported dataset.
    - near: for an intersection, the entities that meet exactly one of the conditions; empty if unknown.
    """

    id: str
    kind: str
    shape: str
    text: str
    noun: str
    target: str
    conditions: tuple[Condition, ...]
    answers: tuple[SeedAnswer, ...]
    proofs: tuple[SeedProof, ...]
    source: str
    origin: tuple[Origin, ...]
    near: tuple[str, ...] = ()
