"""24 scripted items through the real stages: every cell against loops over the script, nothing of tasks/."""

from collections.abc import Callable, Iterable, Sequence
from math import sqrt
from statistics import NormalDist, fmean, median
from typing import Any

import numpy as np
import pytest
from scipy.stats import pearsonr, spearmanr

from tests.longform.evaluation_script import (
    AGENTS,
    CONCLUSIVE,
    INTERPRETIVE,
    KIND,
    LARGE,
    NAMES,
    RATERS,
    STEPS,
    WORKERS,
    PeerScript,
    Play,
    Skill,
)
from tests.longform.scripted_evaluation import REPEATED, SHAPES, ScriptedEvaluation, judge_kindly

MODELS = ("first", "second")
ALIKE = Skill(right=0.9, perfect=0.95, valid=0.9, broken=0)
SKILLS = {"strong": ALIKE, "weak": Skill(right=0.05, perfect=0.1, valid=0.2, broken=0), "twin": ALIKE}
LEVEL = {"1": "low", "2": "low", "3": "low", "4": "medium", "5": "high"}
Z = NormalDist().inv_cdf(0.975)


@pytest.fixture(scope="module")
def evaluation(tmp_path_factory: pytest.TempPathFactory) -> ScriptedEvaluation:
    skills = {"first": Skill(), "second": Skill(right=0.7, valid=0.8)}
    return ScriptedEvaluation(tmp_path_factory.mktemp("scripted"), skills)


@pytest.fixture(scope="module")
def figures(evaluation: ScriptedEvaluation) -> Any:
    return evaluation.run()


@pytest.fixture(scope="module")
def contest(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Three models: a strong one, a weak one, and one as strong as the first in other draws."""
    return ScriptedEvaluation(tmp_path_factory.mktemp("contest"), SKILLS, more=None).run()


def read_line(table: Any, *label: str) -> dict[str, Any]:
    (line,) = [line for line in table["lines"] if line["label"] == list(label)]
    return dict(zip(table["columns"], line["cells"], strict=True))


def list_labels(table: Any) -> list[list[str]]:
    return [line["label"] for line in table["lines"]]


def choose(
    plays: Iterable[Play], model: str, agent: str, kind: str = "all", but: Sequence[str] = ()
) -> list[Play]:
    return [
        play
        for play in plays
        if (play.model, play.agent) == (model, agent)
        and kind in ("all", KIND[play.item])
        and play.item not in but
    ]


def check(cell: Any, values: Sequence[float | bool | None]) -> None:
    """Check a mean over what is known, and how many are and are not."""
    known = [value for value in values if value is not None]
    assert (cell["n"], cell["failed"]) == (len(known), len(values) - len(known))
    if known:
        assert cell["value"] == pytest.approx(sum(known) / len(known), rel=1e-8)
        assert cell["why"] == ""
    else:
        assert cell["value"] is None
        assert cell["why"]


def check_rate(cell: Any, values: Sequence[float | bool | None]) -> None:
    """Check a share with Wilson's interval."""
    check(cell, values)
    known = [value for value in values if value is not None]
    if not known:
        assert cell["interval"] is None
        return
    n, share = len(known), sum(known) / len(known)
    middle = (share + Z * Z / (2 * n)) / (1 + Z * Z / n)
    half = Z / (1 + Z * Z / n) * sqrt(share * (1 - share) / n + Z * Z / (4 * n * n))
    assert cell["interval"] == pytest.approx([middle - half, middle + half], abs=1e-8)


def check_scores(cell: Any, values: Sequence[float | None]) -> None:
    """Check a mean score; its interval is a bootstrap's, whose ends move little with the draws."""
    check(cell, values)
    known = np.array([value for value in values if value is not None])
    if len(known) < 2:
        assert cell["interval"] is None
        return
    draws = np.random.default_rng(3).choice(known, (20_000, len(known))).mean(axis=1)
    assert cell["interval"] == pytest.approx(np.quantile(draws, [0.025, 0.975]), abs=0.13)


def tell_quality(play: Play) -> float | None:
    if not play.answered or play.grade == "?":
        return None
    return (
        {"Match": 1.0, "Not Match": 0.0}[play.grade] if KIND[play.item] == "conclusive" else float(play.grade)
    )


def check_quality(match: Any, score: Any, plays: Sequence[Play]) -> None:
    check_rate(match, [tell_quality(play) for play in plays if KIND[play.item] == "conclusive"])
    check_scores(score, [tell_quality(play) for play in plays if KIND[play.item] == "interpretive"])


def read_letters(letters: str) -> list[bool | None]:
    return [{"P": True, "I": False, "?": None}[letter] for letter in letters]


def take_majority(verdicts: Sequence[bool | None]) -> bool | None:
    """A tie is Imperfect; with fewer than half of the verdicts there is none."""
    known = [verdict for verdict in verdicts if verdict is not None]
    return None if not known or len(known) < len(verdicts) / 2 else sum(known) > len(known) / 2


def tell_unanimous(verdicts: Sequence[bool | None]) -> bool | None:
    known = [verdict for verdict in verdicts if verdict is not None]
    return None if len(known) < 2 or len(known) < len(verdicts) / 2 else len(set(known)) == 1


def list_reviews(play: Play, step: str) -> list[bool | None]:
    letters = read_letters(play.steps[step].reviewers)
    return letters if play.reviewed else [None] * len(letters)


def list_metas(play: Play, step: str) -> list[bool | None]:
    letters = read_letters(play.steps[step].metas)
    return letters if any(v is not None for v in list_reviews(play, step)) else [None] * len(letters)


def tell_revised(play: Play, step: str) -> bool | None:
    """With unanimous praise there is nothing to revise; without a majority there is no verdict."""
    metas = list_metas(play, step)
    if take_majority(metas) is None:
        return None
    if False not in metas:
        return True
    return read_letters(play.steps[step].revision)[0]


def tell_all(steps: Iterable[bool | None]) -> bool | None:
    listed = list(steps)
    return None if None in listed else all(listed)


def test_table_1(figures: Any) -> None:
    words = {name: 5 + place for place, name in enumerate(NAMES)}
    found = {line["label"][0]: line["cells"][0]["value"] for line in figures["tables"]["1"]["lines"]}
    assert found == {
        "questions": 24,
        "questions, conclusive": CONCLUSIVE,
        "questions, interpretive": INTERPRETIVE,
        "reference answer, mean words": sum(words.values()) / 24,
        "reference answer, mean words, conclusive": sum(words[n] for n in NAMES[:16]) / 16,
        "reference answer, mean words, interpretive": sum(words[n] for n in NAMES[16:]) / 8,
        "tables per database, median": median(len(shape) for shape in SHAPES.values()),
        "columns per table, median": median(columns for shape in SHAPES.values() for columns, _ in shape),
        "rows per table, median": median(rows for shape in SHAPES.values() for _, rows in shape),
    }


def test_table_2(evaluation: ScriptedEvaluation, figures: Any) -> None:
    table = figures["tables"]["2"]
    assert list_labels(table) == [[model, agent] for model in MODELS for agent in AGENTS]
    for model, agent in list_labels(table):
        cells = read_line(table, model, agent)
        own = choose(evaluation.plays, model, agent)
        check_quality(cells.pop("match rate (C)"), cells.pop("mean score, 1 to 5 (I)"), own)
        for kind, initial in (("conclusive", "C"), ("interpretive", "I")):
            plays = [play for play in own if KIND[play.item] == kind]
            check(cells.pop(f"answer, words ({initial})"), [p.words if p.answered else None for p in plays])
            plan, queries, valid = (
                cells.pop(f"{name} ({initial})") for name in ("plan, words", "queries", "valid queries")
            )
            if agent not in WORKERS:
                assert (plan["value"], queries["value"], valid["value"]) == (None, None, None)
                assert (plan["why"], queries["why"], valid["why"]) == ("no plan", "no queries", "no queries")
                continue
            # The labels of a plan's parts are seven words; an iterative plan is a need for each query.
            words = [7 + 3 * p.plan if agent == "sequential" else p.plan * len(p.queries) for p in plays]
            check(plan, words)
            check(queries, [len(play.queries) for play in plays])
            check(valid, [play.queries.count("good") for play in plays])
        assert not cells


def test_table_3(evaluation: ScriptedEvaluation, figures: Any) -> None:
    table = figures["tables"]["3"]
    assert list_labels(table) == [[model, agent] for model in MODELS for agent in ("none", "sequential")]
    for model, agent in list_labels(table):
        cells = read_line(table, model, agent)
        own = choose(evaluation.plays, model, agent, but=[LARGE])
        check_quality(cells["match rate (C)"], cells["mean score, 1 to 5 (I)"], own)
    assert table["notes"][0].startswith("23 of 24 items")


def test_an_item_too_large_for_the_window_is_listed_with_what_was_left_out(
    evaluation: ScriptedEvaluation, figures: Any
) -> None:
    alone = [row for row in evaluation.rows["interactions"] if row.agent == "none" and row.item == LARGE]
    assert [row.model for row in alone] == list(MODELS)
    for row in alone:
        assert row.answer is None
        assert row.problem.startswith("records do not fit: ")
        assert row.left_out == ("records of stadium", "records of concert")
    assert figures["counts"]["items_left_out"] == 1


def test_table_4(evaluation: ScriptedEvaluation, figures: Any) -> None:
    table = figures["tables"]["4"]
    assert list_labels(table) == [
        [model, agent, part, kind]
        for model in MODELS
        for agent in ("sequential", "guess")
        for part in ("match", *(STEPS if agent == "sequential" else ()))
        for kind in ("conclusive", "interpretive", *(("all",) if part != "match" else ()))
    ]
    for model, agent, part, kind in list_labels(table):
        own = choose(evaluation.list_labelled(), model, agent, kind)
        cells = read_line(table, model, agent, part, kind)
        if part == "match":
            people = [list(play.people) for play in own]
            judged = [None if play.grade == "?" else play.grade for play in own]
        else:
            own = [play for play in own if play.reviewed]
            people = [list(play.steps[part].people) for play in own]
            judged = [{True: "P", False: "I", None: None}[tell_revised(play, part)] for play in own]
        check_people(cells, people, judged)
    assert table["notes"][0].startswith("3 raters.")


def tell_value(label: str) -> float:
    return (
        {"Match": 1.0, "Not Match": 0.0, "P": 1.0, "I": 0.0}[label] if not label.isdigit() else float(label)
    )


def check_people(cells: Any, people: Sequence[Sequence[str]], judged: Sequence[str | None]) -> None:
    means = [fmean(tell_value(labels[rater]) for labels in people) for rater in range(RATERS)]
    assert cells["people, mean"]["value"] == pytest.approx(fmean(means), rel=1e-8)
    assert cells["people, mean"]["n"] == RATERS * len(people)
    check(cells["judge, mean"], [None if label is None else tell_value(label) for label in judged])
    levels = [[LEVEL.get(label, label) for label in labels] for labels in people]
    pairs, failed = [], 0
    for labels, label in zip(levels, judged, strict=True):
        most = [one for one in set(labels) if labels.count(one) >= 2]  # of three
        if label is None or not most:
            failed += 1
        else:
            pairs.append((most[0], LEVEL.get(label, label)))
    check_rate(cells["agreement"], [one == other for one, other in pairs] + [None] * failed)
    check_undefined(cells["Cohen's kappa"], compute_kappa(pairs), len(pairs))
    check_undefined(cells["people's own alpha"], compute_alpha(levels), len(people))


def check_undefined(cell: Any, value: float | None, n: int) -> None:
    assert cell["n"] == n
    assert cell["value"] == (None if value is None else pytest.approx(value, abs=1e-8))
    assert bool(cell["why"]) == (value is None)


def compute_kappa(pairs: Sequence[tuple[str, str]]) -> float | None:
    if not pairs:
        return None
    n = len(pairs)
    observed = sum(one == other for one, other in pairs) / n
    firsts, seconds = [one for one, _ in pairs], [other for _, other in pairs]
    chance = sum(firsts.count(label) * seconds.count(label) for label in {*firsts, *seconds}) / n**2
    return None if chance == 1 else (observed - chance) / (1 - chance)


def compute_alpha(items: Sequence[Sequence[str]]) -> float | None:
    """Krippendorff's alpha of nominal labels, each item with the same number of raters."""
    every = [label for labels in items for label in labels]
    n = len(every)
    observed = sum(
        sum(one != other for one in labels for other in labels) / (len(labels) - 1) for labels in items
    )
    expected = sum(one != other for one in every for other in every) / (n - 1)
    return None if not expected else 1 - observed / expected


def test_table_5(evaluation: ScriptedEvaluation, figures: Any) -> None:
    table = figures["tables"]["5"]
    assert list_labels(table) == [
        [model, agent, step] for model in MODELS for agent in WORKERS for step in (*STEPS, "all steps")
    ]
    for model, agent, step in list_labels(table):
        cells = read_line(table, model, agent, step)
        own = choose(evaluation.plays, model, agent)
        passes: dict[str, Callable[[Play, str], bool | None]] = {
            "reviewers": lambda play, step: take_majority(list_reviews(play, step)),
            "meta-reviewers": lambda play, step: take_majority(list_metas(play, step)),
            "revised": tell_revised,
        }
        for name, tell in passes.items():
            told = [
                tell_all(tell(play, one) for one in STEPS) if step == "all steps" else tell(play, step)
                for play in own
            ]
            check_rate(cells[f"{name}, Perfect"], told)
        rest = [cells["reviewers, share of verdicts"]]
        rest += [cells[f"{who}, agreement"] for who in ("reviewers", "meta-reviewers")]
        if step == "all steps":
            assert [(cell["value"], cell["why"]) for cell in rest] == [(None, "of single steps only")] * 3
            continue
        groups = [list_reviews(play, step) for play in own]
        check(rest[0], [verdict for group in groups for verdict in group])
        check_rate(rest[1], [tell_unanimous(group) for group in groups if len(group) > 1])
        metas = [list_metas(play, step) for play in own]
        check_rate(rest[2], [tell_unanimous(group) for group in metas if len(group) > 1])


def test_the_revision_changes_planted_verdicts(evaluation: ScriptedEvaluation) -> None:
    """Where meta-reviewers find fault, the pass has the last word, whichever way it goes."""
    turned = {True: 0, False: 0}
    for play in (play for play in evaluation.plays if play.agent in WORKERS):
        for step in STEPS:
            before, after = take_majority(list_metas(play, step)), tell_revised(play, step)
            (row,) = [
                row for row in evaluation.rows["revisions"] if (row.interaction, row.step) == (play.id, step)
            ]
            assert row.verdict == {True: "Perfect", False: "Imperfect", None: None}[after]
            if before is False and after is True:
                turned[True] += 1
            if False in list_metas(play, step) and after is False:
                turned[False] += 1
    assert min(turned.values()) > 5


def test_table_of_errors(evaluation: ScriptedEvaluation, figures: Any) -> None:
    table = figures["tables"]["errors"]
    for step, error in list_labels(table):
        for name, cell in read_line(table, step, error).items():
            model, agent = name.split(", ")
            scripts: list[PeerScript] = [
                play.steps[step]
                for play in choose(evaluation.plays, model, agent)
                if tell_revised(play, step) is False
            ]
            known = [script.error for script in scripts if script.error != "?"]
            assert (cell["n"], cell["failed"]) == (len(known), len(scripts) - len(known))
            assert cell["value"] == (known.count(error) if known else None)


def test_table_of_verdicts_asked_for_once_more(evaluation: ScriptedEvaluation, figures: Any) -> None:
    """The script gives every answer its grade again, and calls every step Imperfect."""
    table = figures["tables"]["repeats"]
    again, swapped, distance = table["columns"]
    own = [play for play in evaluation.plays if play.item in NAMES[:REPEATED]]
    for kind in ("conclusive", "interpretive"):
        cells = read_line(table, "match", kind)
        answered = [play for play in own if KIND[play.item] == kind and play.answered]
        expected = [None if play.grade == "?" else True for play in answered]
        check_rate(cells[again], expected)
        check_rate(cells[swapped], expected)
        if kind == "interpretive":
            check(cells[distance], [None if same is None else 0 for same in expected])
    for step in STEPS:
        cells = read_line(table, step, "all")
        assert cells[again]["why"] == "steps are asked in the other order alone"
        working = [play for play in own if play.agent in WORKERS and differs_in_reverse(play, step)]
        firsts = [list_metas(play, step)[0] for play in working]
        assert firsts
        check_rate(cells[swapped], [None if first is None else not first for first in firsts])


def differs_in_reverse(play: Play, step: str) -> bool:
    """Tell whether reviews that differ by their verdicts alone read otherwise in reverse."""
    given = [verdict for verdict in list_reviews(play, step) if verdict is not None]
    return given != given[::-1]


def test_figure_2(evaluation: ScriptedEvaluation, figures: Any) -> None:
    panels = figures["figures"]["2"]
    assert [panel["model"] for panel in panels] == list(MODELS)
    for panel in panels:
        assert [bar["agent"] for bar in panel["bars"]] == ["none", "sequential", "iterative"]
        for bar in [*panel["bars"], panel["guess"]]:
            own = choose(evaluation.plays, panel["model"], bar["agent"])
            check_quality(bar["match_rate"], bar["mean_score"], own)
        (idle,) = panel["never_queried"]
        own = [play for play in choose(evaluation.plays, panel["model"], "iterative") if not play.queries]
        assert own
        check_quality(idle["match_rate"], idle["mean_score"], own)


def test_figure_3(evaluation: ScriptedEvaluation, figures: Any) -> None:
    for kind, found in figures["figures"]["3"].items():
        own = [play for play in evaluation.plays if play.agent in WORKERS and KIND[play.item] == kind]
        points = {
            play.id: (play.queries.count("good"), quality)
            for play in own
            if (quality := tell_quality(play)) is not None
        }
        assert {p["interaction"]: (p["valid_queries"], p["quality"]) for p in found["points"]} == points
        assert (found["n"], found["failed"]) == (len(points), len(own) - len(points))
        queries, quality = zip(*points.values(), strict=True)
        assert found["pearson"] == pytest.approx(pearsonr(queries, quality).statistic, abs=1e-8)
        assert found["spearman"] == pytest.approx(spearmanr(queries, quality).statistic, abs=1e-8)
    assert set(figures["figures"]["3"]) == {"conclusive", "interpretive"}


def test_figure_4(evaluation: ScriptedEvaluation, figures: Any) -> None:
    assert [panel["model"] for panel in figures["figures"]["4"]] == list(MODELS)
    for panel in figures["figures"]["4"]:
        own = choose(evaluation.plays, panel["model"], "sequential")
        check_quality(panel["bar"]["match_rate"], panel["bar"]["mean_score"], own)
        guesses = choose(evaluation.plays, panel["model"], "guess")
        check_quality(panel["guess"]["match_rate"], panel["guess"]["mean_score"], guesses)
        for step in STEPS:
            check_rate(panel["steps"][step], [tell_revised(play, step) for play in own])
        check_rate(panel["steps"]["all"], [tell_all(tell_revised(p, step) for step in STEPS) for p in own])


def list_compared(figures: Any) -> Iterable[tuple[str, dict[str, Any]]]:
    """List the cells on which models are compared, with a name and the cell of each model."""
    tables = figures["tables"]
    columns = {
        "2": ("match rate (C)", "mean score, 1 to 5 (I)"),
        "3": ("match rate (C)", "mean score, 1 to 5 (I)"),
        "5": ("reviewers, Perfect", "meta-reviewers, Perfect", "revised, Perfect"),
    }
    for number, names in columns.items():
        for model, *rest in list_labels(tables[number]):
            for name in names if model == "strong" else ():
                cells = {other: read_line(tables[number], other, *rest)[name] for other in SKILLS}
                yield f"table {number}, {rest}, {name}", cells
    for measure in ("match_rate", "mean_score"):
        yield f"figure 4, {measure}", {row["model"]: row["bar"][measure] for row in figures["figures"]["4"]}


def test_a_strong_model_scores_higher_than_a_weak_one_in_every_table(contest: Any) -> None:
    compared = dict(list_compared(contest))
    assert len(compared) > 30
    for name, cells in compared.items():
        assert cells["strong"]["interval"][0] > cells["weak"]["interval"][1], name
    people = contest["tables"]["4"]
    for model, *rest in list_labels(people):
        if model == "strong":
            strong, weak = (read_line(people, other, *rest) for other in ("strong", "weak"))
            for column in ("people, mean", "judge, mean"):
                assert strong[column]["value"] > weak[column]["value"], rest


def test_models_of_equal_scripts_are_equal_within_their_intervals(contest: Any) -> None:
    for name, cells in list_compared(contest):
        (low, high), (other_low, other_high) = cells["strong"]["interval"], cells["twin"]["interval"]
        assert low <= other_high, name
        assert other_low <= high, name


def test_a_judge_that_is_always_content_is_warned_of_at_the_pages_head(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    kind = ScriptedEvaluation(tmp_path_factory.mktemp("kind"), {"first": Skill(broken=0)}, more=None)
    found = kind.run(judge_kindly)
    assert found["canaries"]["reviewer"]["agreement"] == 0.5
    page = kind.write_page()
    head = page[: page.index("Quality of answers")]
    assert "Peer review, by `reviewer`: The judge got 6 of 12 canaries right" in head
    assert "Answers against the reference, by `judge`: The judge got 4 of 12 canaries right" in head
