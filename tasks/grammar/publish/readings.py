"""What card and page say of the second reading: by whom the texts were read again, or that nobody did."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

BY, GROUPS = "grammar.second_reading.by", "grammar.second_reading.groups"


@dataclass(frozen=True)
class ReadingWords:
    """What depends on it. made: steps. limits: known limitations. explanation: of the artifact."""

    done: bool
    made: tuple[str, ...]
    limits: tuple[str, ...]
    explanation: str


READERS = {"model": "a model", "file": "a person"}
UNREAD = ReadingWords(
    done=False,
    made=(),
    limits=("The texts were not read a second time.",),
    explanation="The same texts: they were not read a second time.",
)


def describe_reading(settings: Mapping[str, object]) -> ReadingWords:
    """Say how the texts were read a second time. settings: dotted name -> value."""
    reader = READERS.get(str(settings.get(BY, "none")))
    if reader is None:
        return UNREAD
    groups = settings.get(GROUPS, 3)
    return ReadingWords(
        done=True,
        made=(
            f"Second reading: {reader} says what each text asks, from the text and the schema alone, and "
            f"code writes the SQL that follows; a text of which it gives another answer, in one of {groups} "
            "groups, is dropped.",
        ),
        limits=(
            "The second reading compares answers: of a text that reads otherwise they may be the same by "
            "chance.",
        ),
        explanation=f"The texts that {reader} read to the same answer, not knowing their query.",
    )
