"""DDXPlus: the diagnosis that a model names by its number (StreamBench, section 4.1)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import ClassVar

from tasks.scoring.items import BadItem, Record, get_optional_text
from tasks.scoring.metric import FAILED, MeanTally, Metric, Score

LABELS = 49
NUMBER = re.compile(r"([0-9]+)\.")


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """A gold label and the model's text."""

    gold: int
    prediction: str | None


@dataclass(frozen=True)
class DDXPlus(Metric[Diagnosis]):
    """Accuracy of the first number that stands right before a full stop, as in `34. Pneumonia`.

    No such number, or one that is no label (0 to 48), is wrong and counted as not in the label set; a
    diagnosis in words alone is, too.
    """

    name: ClassVar[str] = "ddxplus"

    def read(self, record: Record) -> Diagnosis:
        """Take a label's number as gold and text as prediction."""
        gold = record.get("gold")
        if isinstance(gold, bool) or not isinstance(gold, int) or not 0 <= gold < LABELS:
            raise BadItem(f"gold is {gold!r:.40}; a label from 0 to {LABELS - 1} is wanted")
        return Diagnosis(gold, get_optional_text(record, "prediction"))

    def tally(self, rule: str) -> MeanTally:
        """Make an empty tally."""
        return MeanTally(("accuracy", "not_in_label_set"), counted=("not_in_label_set",))

    def score_item(self, item: Diagnosis, rule: str) -> Score:
        """Score one diagnosis."""
        if item.prediction is None:
            return FAILED
        label = find_label(item.prediction)
        return Score({"accuracy": float(label == item.gold), "not_in_label_set": float(label is None)})


def find_label(text: str) -> int | None:
    """Find the label in a model's text; None if it names none."""
    found = NUMBER.search(text)
    if found is None or len(found[1].lstrip("0")) > 2 or int(found[1]) >= LABELS:
        return None
    return int(found[1])
