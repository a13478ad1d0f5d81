"""Tests of `bench.intervals`: every interval and p value is recomputed from the rows of its cell."""

import random
from dataclasses import replace
from pathlib import Path

import pytest
from scipy.stats import binomtest

from bench.intervals import main
from bench.intervals_checks import Checks, find_wilson
from tasks.artifacts.parquet import read_rows, write_rows
from tasks.ragcheck.answers import SystemAnswer
from tasks.ragcheck.baselines import BaselineSimilarity
from tasks.ragcheck.comparison import ConversationFigure, comparison
from tasks.ragcheck.conversations import Conversation
from tasks.ragcheck.correlations import MeasureCorrelation, correlations
from tasks.ragcheck.entries import Assessment
from tasks.ragcheck.figures import Resampling
from tasks.ragcheck.guards import Guard
from tasks.ragcheck.questions import ReferenceQuestion
from tasks.ragcheck.ratings import Rating
from tasks.ragcheck.rule_comparison import RuleDifference, rule_comparison
from tasks.ragcheck.scores import JudgeScore
from tests.ragcheck.scripted import make_question
from tests.ragcheck.test_comparison import ENTRY as CONTINUITY
from tests.ragcheck.test_comparison import make_guard, make_talk
from tests.ragcheck.test_correlations import make_answer

ROOT = Path(__file__).parents[2]
RESAMPLING = Resampling()


def make_ragcheck(root: Path) -> Path:
    """Write an evaluation of 24 questions in eight conversations, with two judges, ratings and leaks."""
    chance, n = random.Random(4), range(1, 25)
    questions = [make_question(i, key=f"talk-{i // 3}<::>{i}", dataset="ab"[i % 2]) for i in n]
    answers = [make_answer(i) for i in n]
    people = {i: chance.randint(1, 5) for i in n}
    scores = [
        JudgeScore(f"a{i}{rule}", f"a{i}", f"q{i}", "s", rule, "one",
                   min(5, max(0, people[i] + chance.randint(-2, 2))), "", "", ())
        for i in n for rule in ("E2", "E3")
    ]  # fmt: skip
    ratings = [
        Rating(f"a{i}{rater}", f"a{i}", rater, max(1, people[i] - chance.randint(0, 1)), ())
        for i in n
        for rater in ("ann", "bo")
    ]
    entry = Assessment(systems=("s",), judges=("one",), ratings="x.csv")
    talks = [make_talk(f"q{i}", system, chance.randint(1, 5)) for i in n for system in ("mqa", "qa")]
    guards = [
        make_guard(
            i + shift, system, "T2", ("x",) if chance.random() < 0.4 else (), caller=f"c{i % 8}{system}"
        )
        for i in n
        for shift, system in ((0, "mqa"), (100, "qa"))
    ]
    folder = root / "data/ragcheck/made"
    folder.mkdir(parents=True)
    written = {
        "questions": (ReferenceQuestion, questions),
        "answers": (SystemAnswer, answers),
        "scores": (JudgeScore, scores),
        "ratings": (Rating, ratings),
        "baselines": (BaselineSimilarity, []),
        "conversations": (Conversation, talks),
        "guards": (Guard, guards),
        "correlations": (
            MeasureCorrelation,
            correlations(questions, answers, scores, [], ratings, entry, RESAMPLING).rows,
        ),
        "rule_comparison": (
            RuleDifference,
            rule_comparison(questions, scores, ratings, entry, RESAMPLING).rows,
        ),
        "comparison": (ConversationFigure, comparison(questions, talks, guards, CONTINUITY, RESAMPLING).rows),
    }
    for name, (row, rows) in written.items():
        write_rows(folder / f"{name}.parquet", row, rows)
    return folder


def test_ragchecks_estimates_come_out_the_same(tmp_path, capsys):
    make_ragcheck(tmp_path)
    assert main(tmp_path) == 0
    (line, last) = capsys.readouterr().out.splitlines()
    assert line.startswith("data/ragcheck/made: ")
    assert last.endswith(" compared, 0 differ, 0 not recomputed")
    for kind in ("bootstrap intervals", "bootstrap p", "Holm's p"):
        assert kind in line


@pytest.mark.parametrize("what", ["low", "high", "p_value", "no interval"])
def test_an_interval_or_p_that_is_not_its_rows_is_named(tmp_path, capsys, what):
    folder = make_ragcheck(tmp_path)
    path = folder / "comparison.parquet"
    rows = read_rows(path, ConversationFigure)
    wanted = ("difference", "", "wscore")
    place = next(n for n, row in enumerate(rows) if (row.kind, row.dataset, row.measure) == wanted)
    estimate = rows[place].estimate
    if what == "p_value":
        rows[place] = replace(rows[place], p_value=(rows[place].p_value or 0) + 0.1)
    elif what == "no interval":
        rows[place] = replace(rows[place], estimate=replace(estimate, low=None, high=None))
    else:
        # 10% of the width, as if the interval were over turns instead of conversations.
        moved = getattr(estimate, what) + 0.1 * (estimate.high - estimate.low)
        rows[place] = replace(rows[place], estimate=replace(estimate, **{what: moved}))
    write_rows(path, ConversationFigure, rows)
    assert main(tmp_path) == 1
    told = [line for line in capsys.readouterr().out.splitlines() if line.startswith("differs: ")]
    assert any("difference  mqa qa wscore" in line for line in told)


def test_a_folder_without_an_evaluation_is_no_proof(tmp_path):
    assert main(tmp_path) == 1


def test_wilsons_interval_is_scipys():
    for n in range(1, 30):
        for hits in range(n + 1):
            theirs = binomtest(hits, n).proportion_ci(0.95, method="wilson")
            assert find_wilson(hits, n) == pytest.approx((theirs.low, theirs.high), abs=1e-12)


def test_few_clusters_may_have_no_interval():
    checks = Checks()
    checks.check_wilson("five", (0.3, 0.9), 3, 5)
    checks.check_mcnemar("five", 1.0, [True] * 5, [True] * 5)
    assert len(checks.wrong) == 2


@pytest.mark.drill
def test_every_interval_and_p_of_the_sample(capsys):
    """Check the sample as built by `make reproduce`."""
    assert main(ROOT) == 0
    said = capsys.readouterr().out
    for page in ("data/grammar/films/films-good", "data/longform", "data/tanq", "data/streambench"):
        assert page in said
    assert said.endswith(" compared, 0 differ, 0 not recomputed\n")
