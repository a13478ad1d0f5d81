"""A list question: the row of stages list_questions and seeds, and of imports (section 3, step 1)."""

from __future__ import annotations

from dataclasses import dataclass

from tasks.artifacts.rows import Origin

SIMPLE, INTERSECTION, COMPOSITION = "simple", "intersection", "composition"
KINDS = (SIMPLE, INTERSECTION, COMPOSITION)
PEOPLE = frozenset({"people", "persons", "men", "women"})


def choose_pronoun(noun: str) -> str:
    """Choose what begins a relative clause: `people who ...`, `countries that ...`."""
    return "who" if PEOPLE & set(noun.split()) else "that"


@dataclass(frozen=True)
class Condition:
    """A condition of a list question on its answers. value: a thing's id; shown: its words.

    through: empty, or the relation that leads from an answer to the thing that `relation` is asked of.
    """

    relation: str
    value: str
    shown: str
    through: str = ""


@dataclass(frozen=True)
class SeedAnswer:
    """An answer of a list question. facts: what makes it one; through: the intermediate things."""

    entity: str
    facts: tuple[str, ...]
    through: tuple[str, ...]


@dataclass(frozen=True)
class SeedProof:
    """A text that came with an answer of an imported question."""

    entity: str
    article: str
    text: str


@dataclass(frozen=True)
class SeedQuestion:
    """Stages list_questions and seeds: a list question, imported or made from the graph.

    shape: its kind with the relations and the direction of its conditions; noun: what its answers are called,
    `countries`; target: their class; source: `graph`, or the imported dataset; near: of an intersection, the
    things that meet one of its conditions and not the other, none if they are not known.
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
