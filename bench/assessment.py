"""Benchmark the assessment stage at three sizes against a plain loop that computes one bootstrap interval.

The loop draws SQL templates one by one: 10,000 bootstrap samples of a mean over the same number of templates.
The stage computes about eighty such intervals. Times are CPU seconds, so that other processes do not count.
`python -m bench assessment` runs the full sizes; `python -m bench.assessment 0.01` uses 1% of the samples and
of the largest size.
"""

from __future__ import annotations

import random
import sys
import tempfile
from pathlib import Path

import numpy as np

from bench.scoring import draw_by_index, time_call
from tasks.artifacts.parquet import write_rows
from tasks.artifacts.rows import Origin
from tasks.grammar.assess.answers import AssessedAnswer
from tasks.grammar.assess.assessment import AssessmentParams, assessment
from tasks.grammar.assess.assessment_entry import AssessmentEntry
from tasks.grammar.assess.closed_domain import ClosedDomain
from tasks.grammar.assess.judgements import Judgement
from tasks.grammar.construct.fill_in import Group
from tasks.grammar.construct.pairs import Question
from tasks.grammar.construct.sql_templates import SqlTemplate
from tasks.grammar.construct.text_templates import TextTemplate
from tasks.grammar.corpus.questions import AskedQuestion
from tasks.scoring.correctness import Correctness
from tasks.systems.contract import Document

SIZES = ((60, 30), (1_000, 100), (10_000, 200))
"""Numbers of rows and of SQL templates."""
BOUND = 2.0
"""Maximum CPU seconds for the first size."""
HERE = (Origin("file", "bench/assessment.py"),)
CRITERIA = ("short", "long")


def main(share: float = 1.0) -> None:
    """Print all measurements. share: fraction of the bootstrap samples and of the largest size to use."""
    for rows, templates in SIZES:
        size = max(SIZES[0][0], int(rows * share)) if rows == SIZES[-1][0] else rows
        measure(size, templates, int(10_000 * share), f" (bound {BOUND:.0f})" if rows == SIZES[0][0] else "")


def measure(size: int, templates: int, draws: int, bound: str) -> None:
    """Print the time of the stage over `size` rows, and of the loop. bound: text to print after the time."""
    with tempfile.TemporaryDirectory() as folder:
        ours = time_call(lambda: assess(Path(folder), size, templates, draws))
    values = np.random.default_rng(0).random(templates)
    loop = time_call(lambda: draw_by_index(values, draws))
    print(
        f"assessment: {size} rows of {templates} templates, {draws} draws: ours {ours:.2f} s{bound}; "
        f"one interval by index {loop:.2f} s, ratio {ours / loop:.1f}"
    )


def assess(folder: Path, size: int, templates: int, draws: int) -> None:
    """Run the stage on rows of a system that answers 70% correctly and retrieves 50% of the documents."""
    dice = random.Random(0)
    questions, answers, judgements = [], [], []
    for number in range(size):
        group, criterion = f"g{number // 2}", CRITERIA[number % 2]
        template = f"t{number // 2 % templates}"
        name, document = f"q{number}", f"d{number // 2}"
        found = document if dice.random() < 0.5 else "other"
        verdict = Correctness.CORRECT if dice.random() < 0.7 else Correctness.INCORRECT
        questions.append(
            AskedQuestion(
                name, group, criterion, f"What of {group}?", "42", template, f"{template}-{criterion}",
                True, True, (document,), HERE,
            )
        )  # fmt: skip
        answers.append(AssessedAnswer(name, name, group, criterion, "42", (found,), (), "", HERE))
        judgements.append(Judgement(name, name, group, criterion, verdict, "", "", (verdict,), "", HERE))
    groups = dict.fromkeys(question.group for question in questions)
    paths = {
        stem: folder / f"{stem}.parquet"
        for stem in ("sql_templates", "second_reading", "fill_in", "balanced", "unbalanced")
    }
    for path, row in zip(paths.values(), (SqlTemplate, TextTemplate, Group, Question, Question), strict=True):
        write_rows(path, row, [])
    assessment(
        judgements=judgements,
        answers=answers,
        questions=questions,
        baselines=[],
        canaries=[],
        closed_domain=[ClosedDomain(group, 2, 0, True, "", HERE) for group in groups],
        documents=[Document(f"d{number}", "", "", HERE) for number in range(len(groups))],
        human_labels=[],
        key="bench-good",
        entry=AssessmentEntry(database="bench", system="good", llm_only="bench-alone", baselines=False),
        settings={},
        params=AssessmentParams(criteria=CRITERIA, draws=draws),
        out=folder / "figures.json",
        **paths,
    )


if __name__ == "__main__":
    main(*map(float, sys.argv[1:]))
