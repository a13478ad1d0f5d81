"""Tests of DDXPlus' rule on hand-written cases."""

import pytest

from tasks.scoring.ddxplus import find_label


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("34. Pneumonia", 34),
        ("Diagnosis: 7. Anaphylaxis", 7),
        ("0. Acute COPD exacerbation / infection", 0),
        ("48. Whooping cough", 48),
        ("49. Something new", None),  # there is no label 49
        ("12. A\n13. B", 12),  # the first counts
        ("99. A\n13. B", None),  # ... even if it is not a label
        ("Pneumonia", None),  # the label's text without a number
        ("34", None),  # no full stop
        ("34 . Pneumonia", None),  # the full stop must follow immediately
        ("In 3 days: 34. Pneumonia", 34),  # 3 is not followed by a full stop
        ("3.5 mg, 34. Pneumonia", 3),  # 3 is followed by a full stop
        ("007. x", 7),
        ("1" * 5000 + ". x", None),
        ("", None),
    ],
)
def test_the_first_number_before_a_full_stop(text, label):
    assert find_label(text) == label


def test_not_in_the_label_set_is_a_count_and_wrong(score):
    rows = [
        {"id": 1, "gold": 34, "prediction": "34. Pneumonia"},
        {"id": 2, "gold": 34, "prediction": "Pneumonia"},
        {"id": 3, "gold": 34, "prediction": "7. Anaphylaxis"},
        {"id": 4, "gold": 34, "prediction": "51. Gout"},
        {"id": 5, "gold": 34, "prediction": None},
    ]
    report = score("ddxplus", rows)
    assert (report["accuracy"], report["not_in_label_set"]) == (1 / 4, 2)
    assert (report["n_scored"], report["n_failed"]) == (4, 1)
