"""Tests that an unknown label in the paper's artifacts is an error, not an omitted row."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from tasks.artifacts.parquet import read_rows, write_rows
from tasks.errors import BadInput
from tasks.scoring.label import UnknownLabel
from tasks.tanq.build.tanq_item import TanqItem
from tasks.tanq.build.verify import ProofVerdict
from tasks.tanq.build.verify_canaries import VerifyCanary
from tasks.tanq.labels import AgentFault, FailureKind, Hallucination, Support
from tasks.tanq.score.hallucination_labels import HallucinationLabel
from tasks.tanq.score.scores import PredictionScore, score_prediction
from tests.tanq.scored_items import PERFECT, make_item, make_prediction

ITEM: Any = make_item()
SCORE = score_prediction(ITEM, make_prediction(PERFECT), "predictions")
WRONG: dict[str, tuple[type, Any, str]] = {
    "verify": (ProofVerdict, ProofVerdict("v1", "f1", "It is.", "Supported", "model", ()), "label"),
    "items": (
        TanqItem,
        replace(ITEM, proofs=(replace(ITEM.proofs[0], eval_result="Supported"), *ITEM.proofs[1:])),
        "proofs.0.eval_result",
    ),
    "scores": (PredictionScore, replace(SCORE, failures=("no_header", "Supported")), "failures.1"),
    "human_scores": (PredictionScore, replace(SCORE, faults=("Supported",)), "faults.0"),
    "hallucination_labels": (
        HallucinationLabel,
        HallucinationLabel("h1", "p1", "i1", "", "Supported", ()),
        "label",
    ),
}


@pytest.mark.parametrize("artifact", WRONG)
def test_an_unknown_word_names_artifact_row_and_word(artifact: str, tmp_path: Path) -> None:
    kind, row, column = WRONG[artifact]
    path = tmp_path / f"{artifact}.parquet"
    write_rows(path, kind, [row])
    with pytest.raises(BadInput) as raised:
        read_rows(path, kind)
    said = f"{artifact}.parquet: row 1 ({row.id}), {column}: 'Supported' is not a known label"
    assert said in str(raised.value)


def test_a_canary_accepts_known_labels_alone() -> None:
    case = {"id": "c", "relation": "P36", "statement": "s", "article": "a", "text": "t", "mention": "t"}
    assert VerifyCanary(**case, accepted=("refuted",)).accepted == (Support.REFUTED,)
    with pytest.raises(ValidationError, match="'supported', 'refuted' or 'not enough information'"):
        VerifyCanary(**case, accepted=("Supported",))


def test_wire_words_are_what_artifacts_and_labelled_files_hold() -> None:
    assert [*Support] == ["supported", "refuted", "not enough information"]
    assert [(label, label.score) for label in Hallucination] == [("yes", 1.0), ("no", 0.0)]
    assert [label.shown for label in FailureKind if label in [*AgentFault]] == ["filter ignored"]
    with pytest.raises(UnknownLabel):
        FailureKind.read("no header")
