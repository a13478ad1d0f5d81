"""Tests of 24 scripted items in the real stages: every cell is compared with loops over the script."""

import json
import re
from collections.abc import Callable
from statistics import median
from typing import Any

import pytest
from scipy.stats import pearsonr, spearmanr

from tests.longform.evaluation_script import (
    AGENTS,
    CONCLUSIVE,
    INTERPRETIVE,
    KIND,
    LARGE,
    NAMES,
    STATISTICS,
    STEPS,
    WORKERS,
    PeerScript,
    Play,
    Skill,
)
from tests.longform.plain_figures import (
    check,
    check_people,
    check_quality,
    check_rate,
    check_scores,
    choose,
    compute_statistics,
    count_calls,
    differs_in_reverse,
    draw_correlations,
    find_middle,
    list_labels,
    list_metas,
    list_reviews,
    read_line,
    take_majority,
    tell_all,
    tell_quality,
    tell_revised,
    tell_unanimous,
)
from tests.longform.scripted_evaluation import REPEATED, SHAPES, ScriptedEvaluation
from tests.longform.served_agents import COMPLETION_TOKENS, PROMPT_TOKENS

MODELS = ("first", "second")
ENDPOINTS = {"first": "llama-3.3-70b-instruct", "second": "qwen2.5-7b-instruct"}


@pytest.fixture(scope="module")
def evaluation(tmp_path_factory: pytest.TempPathFactory) -> ScriptedEvaluation:
    skills = {"first": Skill(), "second": Skill(right=0.7, valid=0.8)}
    return ScriptedEvaluation(tmp_path_factory.mktemp("scripted"), skills, ENDPOINTS)


@pytest.fixture(scope="module")
def figures(evaluation: ScriptedEvaluation) -> Any:
    return evaluation.run()


def test_table_1(figures: Any) -> None:
    words = {name: 5 + place for place, name in enumerate(NAMES)}
    found = {line["label"][0]: line["cells"][0]["value"] for line in figures["tables"]["1"]["lines"]}
    assert found == {
        "questions": 24,
        "questions, conclusive": CONCLUSIVE,
        "questions, interpretive": INTERPRETIVE,
        "mean words per reference answer": sum(words.values()) / 24,
        "mean words per reference answer, conclusive questions": sum(words[n] for n in NAMES[:16]) / 16,
        "mean words per reference answer, interpretive questions": sum(words[n] for n in NAMES[16:]) / 8,
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
            # The labels of a plan's parts have seven words; an iterative plan has one need per query.
            words = [7 + 3 * p.plan if agent == "sequential" else p.plan * len(p.queries) for p in plays]
            check(plan, words)
            check(queries, [len(play.queries) for play in plays])
            check(valid, [play.queries.count("good") for play in plays])
        for kind, initial in (("conclusive", "C"), ("interpretive", "I")):
            plays = [play for play in own if KIND[play.item] == kind]
            calls = [count_calls(play) for play in plays]
            tokens = [n * (PROMPT_TOKENS + COMPLETION_TOKENS) if n else None for n in calls]
            check(cells.pop(f"tokens ({initial})"), tokens)
        assert not cells


def test_the_models_are_two_endpoints_by_the_names_that_a_user_gave_them(
    evaluation: ScriptedEvaluation, figures: Any
) -> None:
    assert figures["roles"] == ENDPOINTS
    for model in MODELS:
        asked = [request for request in evaluation.asked if request.role == model]
        assert len(asked) == sum(count_calls(play) for play in evaluation.plays if play.model == model)
    head = evaluation.write_page()
    assert "first (llama-3.3-70b-instruct), second (qwen2.5-7b-instruct)" in head


def test_the_statistics_tool_is_used_and_its_figures_hold(
    evaluation: ScriptedEvaluation, figures: Any
) -> None:
    """Each statistic covers all records of its item, and is in the prompt for the answer."""
    plays = {play.id: play for play in evaluation.plays}
    answering = {asked.row: asked.text for asked in evaluation.asked if asked.prompt == "agent_answer"}
    told: dict[str, int] = dict.fromkeys([*STATISTICS, *MODELS], 0)
    for row in evaluation.rows["interactions"]:
        play = plays[row.id]
        place = NAMES.index(play.item)
        records = [(1, 4000), (2, 11998), (3, 3808), (4, 3100)]
        records += [(n, n**2 + 1000 * place) for n in range(10, 410 if play.item == LARGE else 11)]
        assert [step.kind for step in row.steps].count("statistic") == len([*filter(None, play.statistics)])
        for kind, request, query in zip(play.queries, play.statistics, row.queries, strict=True):
            told[request] += 1
            if not request:
                assert query.statistics == ()
                continue
            (found,) = query.statistics
            (shown,) = re.findall(rf"^> -- {re.escape(request)}: (.*)$", answering[row.id], re.MULTILINE)
            assert found.request == request
            if found.error:
                assert shown == f"error: {found.error}"
            if kind == "bad":
                assert found.error == "its query has no result"
            elif request.startswith("median"):
                assert found.error.startswith("unknown statistic; expected one of pearson(x, y), ")
            elif kind == "empty":
                assert found.error.startswith("0 rows have a number in every named column")
            else:
                expected = {**compute_statistics(request, records), "n": len(records)}
                assert json.loads(found.figures) == pytest.approx(expected, rel=1e-5)
                read = dict(figure.split(" = ") for figure in shown.split(", "))
                assert {name: float(value) for name, value in read.items()} == pytest.approx(
                    expected, rel=1e-5
                )
                told[play.model] += 1
    assert min(told.values()) >= 20


def test_table_3(evaluation: ScriptedEvaluation, figures: Any) -> None:
    table = figures["tables"]["3"]
    assert list_labels(table) == [[model, agent] for model in MODELS for agent in ("none", "sequential")]
    for model, agent in list_labels(table):
        cells = read_line(table, model, agent)
        own = choose(evaluation.plays, model, agent, but=[LARGE])
        check_quality(cells["match rate (C)"], cells["mean score, 1 to 5 (I)"], own)
    assert table["notes"][0].startswith("The table covers 23 of 24 items")


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
    assert table["notes"][0].startswith("Labels are from 3 raters.")


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
                tell_all(tell(play, step) for step in STEPS) if step == "all steps" else tell(play, step)
                for play in own
            ]
            check_rate(cells[f"{name}, Perfect"], told)
        rest = [cells["reviewers, share of verdicts"]]
        rest += [cells[f"{who}, agreement"] for who in ("reviewers", "meta-reviewers")]
        if step == "all steps":
            assert [(cell["value"], cell["why"]) for cell in rest] == [
                (None, "defined only for single steps")
            ] * 3
            continue
        groups = [list_reviews(play, step) for play in own]
        check(rest[0], [verdict for group in groups for verdict in group])
        check_rate(rest[1], [tell_unanimous(group) for group in groups if len(group) > 1])
        metas = [list_metas(play, step) for play in own]
        check_rate(rest[2], [tell_unanimous(group) for group in metas if len(group) > 1])


def test_the_revision_changes_planted_verdicts(evaluation: ScriptedEvaluation) -> None:
    """If meta-reviewers criticise a verdict, the revision decides."""
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
    """The script repeats every answer's grade, and rates every step as Imperfect."""
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
            check_scores(cells[distance], [None if same is None else 0 for same in expected])
    for step in STEPS:
        cells = read_line(table, step, "all")
        assert cells[again]["why"] == "judgements of steps are repeated only in the swapped order"
        working = [play for play in own if play.agent in WORKERS and differs_in_reverse(play, step)]
        firsts = [list_metas(play, step)[0] for play in working]
        assert firsts
        check_rate(cells[swapped], [None if first is None else not first for first in firsts])


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
        items = {play.id: play.item for play in own}
        by_item = [
            [point for row, point in points.items() if items[row] == item]
            for item in sorted({items[row] for row in points})
        ]
        drawn = draw_correlations(by_item)
        assert found["pearson_interval"] == pytest.approx(find_middle(drawn[:, 0]), abs=0.03)
        assert found["spearman_interval"] == pytest.approx(find_middle(drawn[:, 1]), abs=0.03)
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
