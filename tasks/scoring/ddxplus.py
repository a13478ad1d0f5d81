"""DDXPlus: accuracy of diagnoses stated as numbers (StreamBench, section 4.1)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import ClassVar

from tasks.scoring.items import BadItem, Record, get_optional_text
from tasks.scoring.metric import FAILED, MeanAccumulator, Metric, Score

LABELS = 49
"""Number of diagnoses; the labels are 0 to 48."""
NUMBER = re.compile(r"(\d+)\.")
MOST_DIGITS = 1_000
"""Maximum number of digits in a label, since Python does not convert over 4,300 digits to an integer."""


@dataclass(frozen=True, slots=True)
class LabelPrediction:
    """The number of the gold label, and the predicted text."""

    gold: int
    prediction: str | None


@dataclass(frozen=True)
class DDXPlus(Metric[LabelPrediction]):
    """Accuracy of predicted diagnosis numbers.

    The predicted number is the first number that is directly followed by a full stop, as in `34. Pneumonia`.
    A prediction without this number, or with a number that is not a label (0 to 48), is wrong even if it
    contains the name of the diagnosis. These predictions also count as `not_in_label_set`.
    """

    name: ClassVar[str] = "ddxplus"
    texts: ClassVar[frozenset[str]] = frozenset({"id", "prediction"})

    def read(self, record: Record) -> LabelPrediction:
        """Read gold (a label's number) and prediction (a string or null). Raises BadItem for other values."""
        gold = record.get("gold")
        if isinstance(gold, bool) or not isinstance(gold, int) or not 0 <= gold < LABELS:
            raise BadItem(f"gold is {gold!r:.40}; expected a label from 0 to {LABELS - 1}")
        return LabelPrediction(gold, get_optional_text(record, "prediction"))

    def make_accumulator(self, rule: str) -> MeanAccumulator:
        """Return an empty accumulator."""
        return MeanAccumulator(("accuracy", "not_in_label_set"), counted=("not_in_label_set",))

    def score_item(self, item: LabelPrediction, rule: str) -> Score:
        """Score one diagnosis."""
        if item.prediction is None:
            return FAILED
        label = find_label(item.prediction)
        return Score({"accuracy": float(label == item.gold), "not_in_label_set": float(label is None)})


def find_label(text: str) -> int | None:
    """Return the number of the diagnosis in a model's text; None if the text contains no valid label."""
    found = NUMBER.search(text)
    if found is None or len(found[1]) > MOST_DIGITS:
        return None
    label = int(found[1])
    return label if label < LABELS else None
