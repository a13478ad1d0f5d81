"""HotpotQA: exact match and F1 of short answers, with SQuAD's normalisation."""

from __future__ import annotations

import re
import string
from collections import Counter
from dataclasses import dataclass
from typing import ClassVar

from tasks.scoring.items import Record, get_optional_text, get_text
from tasks.scoring.metric import FAILED, MeanAccumulator, Metric, Score

ARTICLES = re.compile(r"\b(a|an|the)\b")
DROP_PUNCTUATION = str.maketrans("", "", string.punctuation)
CLOSED = frozenset({"yes", "no", "noanswer"})
"""Answers without partial credit: F1 is 0 if one side is such an answer and the other side differs."""


@dataclass(frozen=True, slots=True)
class ShortAnswer:
    """A gold answer and the predicted answer."""

    gold: str
    prediction: str | None


@dataclass(frozen=True)
class HotpotQA(Metric[ShortAnswer]):
    """Exact match and F1 (HotpotQA's evaluation; StreamBench, section 4.1).

    Both texts are normalised first: converted to lower case, then stripped of ASCII punctuation, then of the
    articles "a", "an" and "the", with white space collapsed. The figure em is 1 if the normalised texts are
    equal. The figure f1 is 2pr / (p + r), where p and r are the overlap divided by the number of predicted
    tokens and of gold tokens, respectively. The rules differ in the overlap:

    - official: the overlap of the multisets of tokens. f1 is 0 without overlap, even if both answers are
      empty. If either answer is yes, no or noanswer, f1 is 0 unless both answers are equal.
    - streambench: the overlap of the sets of tokens, divided by the lengths of the lists. A repeated token
      therefore lowers f1 even for a perfect answer. f1 is 1 if both answers are empty, and 0 if only one is.
    """

    name: ClassVar[str] = "hotpotqa"
    rules: ClassVar[tuple[str, ...]] = ("official", "streambench")

    def read(self, record: Record) -> ShortAnswer:
        """Read gold (a string) and prediction (a string or null). Raises BadItem for other types."""
        return ShortAnswer(get_text(record, "gold"), get_optional_text(record, "prediction"))

    def make_accumulator(self, rule: str) -> MeanAccumulator:
        """Return an empty accumulator."""
        return MeanAccumulator(("em", "f1"))

    def score_item(self, item: ShortAnswer, rule: str) -> Score:
        """Score one answer."""
        if item.prediction is None:
            return FAILED
        gold, prediction = normalise(item.gold), normalise(item.prediction)
        f1 = compute_official_f1 if rule == "official" else compute_streambench_f1
        return Score({"em": float(gold == prediction), "f1": f1(gold, prediction)})


def normalise(text: str) -> str:
    """Lower-case a text, then remove punctuation, articles and superfluous white space."""
    return " ".join(ARTICLES.sub(" ", text.lower().translate(DROP_PUNCTUATION)).split())


def compute_official_f1(gold: str, prediction: str) -> float:
    """Compute F1 over multisets of tokens; yes, no and noanswer match only themselves."""
    if gold != prediction and (gold in CLOSED or prediction in CLOSED):
        return 0.0
    overlap = (Counter(gold.split()) & Counter(prediction.split())).total()
    return compute_f1(overlap, len(prediction.split()), len(gold.split()))


def compute_streambench_f1(gold: str, prediction: str) -> float:
    """Compute F1 from the overlap of the sets of tokens and the lengths of the lists of tokens."""
    gold_tokens, predicted_tokens = gold.split(), prediction.split()
    if not gold_tokens or not predicted_tokens:
        return float(gold_tokens == predicted_tokens)
    return compute_f1(len({*gold_tokens} & {*predicted_tokens}), len(predicted_tokens), len(gold_tokens))


def compute_f1(overlap: int, predicted: int, gold: int) -> float:
    """Compute F1 = 2pr / (p + r), p = overlap / predicted, r = overlap / gold; 0 if there is no overlap."""
    if not overlap:
        return 0.0
    precision, recall = overlap / predicted, overlap / gold
    return 2 * precision * recall / (precision + recall)
