"""Tests that compare the estimate of `plan` with the calls of the following run."""

import functools
import json
import math

import pytest

from flows.commands.plan import print_plan, show, to_document
from flows.discovery import list_flows
from flows.run import foreseeing, pace
from flows.run.counting import StageCounter
from flows.run.estimates import UNKNOWN, Range
from flows.run.experience import Experience
from flows.run.needs import find_models
from flows.run.node import PARAMS, Node
from flows.run.planner import find_stale, plan_stages
from flows.run.selection import order_nodes
from flows.stage import Flow, Scope, Usual
from tasks.errors import StageFailed
from tasks.models.ask import Role

ONE_PAID = 20 * 100 / 1e6 + 5 * 1000 / 1e6
"""Dollars of one call: 20 prompt and 5 completion tokens at the trial's prices."""


def plan(trial, **options):
    run = trial.open(replay=True, **options)
    session = run.open_session()
    try:
        plans = plan_stages(
            run.recorder, find_stale(run.recorder, order_nodes(run.recorder.nodes)), run.params, session
        )
    finally:
        session.close()
        run.recorder.close()
    return {listed_plan.stage: listed_plan for listed_plan in plans}


def hash_tree(root):
    return {
        path.relative_to(root): path.read_bytes()
        for path in root.rglob("*")
        if path.is_file()
        and not {".git", "tmp"} & set(path.relative_to(root).parts)
        # The cached entries of dvc.lock and blocks of dvc.yaml.
        and path.name not in ("lock-entries.json", "blocks.json")
    }


def test_a_fresh_project_has_nothing_to_plan(trial):
    trial.run()
    assert plan(trial) == {}


def test_where_nothing_has_run_what_follows_is_no_exact_figure(trial):
    plans = plan(trial)
    assert list(plans) == ["trial-words", "trial-answers", "trial-page"]
    assert plans["trial-words"].exact_calls == 0
    assert plans["trial-answers"].exact_calls is None
    assert plans["trial-answers"].why == ("after trial-words",)
    assert plans["trial-answers"].seconds is None
    assert plans["trial-answers"].calls == UNKNOWN
    assert show(plans["trial-answers"].usd) == "not known"
    document = json.loads(json.dumps(to_document(list(plans.values())), allow_nan=False))
    assert document["seconds"] is None
    assert document["calls"] == {"low": 0, "high": None, "exact": False}
    assert document["stages"][1]["tokens"]["high"] is None


def test_where_nothing_has_run_a_range_follows_from_what_the_flow_declares(trial, monkeypatch, capsys):
    usual = {"trial.answers": Usual((3, 5), 20, 5)}
    stages = (Scope(folder="data/trial").stage("trial.answers"),)
    flow = Flow("trial", "Trial", stages, usual=usual)
    monkeypatch.setattr(foreseeing, "find_flow_of", lambda stage: flow if flow.find(stage) else None)
    plans = plan(trial)
    answers = plans["trial-answers"]
    assert answers.calls == Range(1.5, 10, exact=False)
    assert answers.tokens == Range(1.5 * 25, 10 * 25, exact=False)
    assert (answers.usd.low, answers.usd.high) == pytest.approx((1.5 * ONE_PAID, 10 * ONE_PAID))
    assert answers.seconds is None  # no call to the endpoint so far
    print_plan(list(plans.values()))
    said = capsys.readouterr().out
    assert "New calls: ~2 to 10, " in said
    assert "No run in this project shows how long the calls of these stages take: trial-answers." in said


ROLES = {
    "agent": Role(model="small"),
    "second": Role(model="tiny"),
    "judge": Role(model="rented"),
    "embedder": Role(model="tiny"),
}


@pytest.mark.parametrize(
    ("declared", "entry", "models"),
    [
        (("roles.judge.model", "roles.agent"), {}, ("rented", "small")),
        (
            ("roles",),
            {"methods": ["zero"], "models": ["second"], "by": {"zero": ["agent"]}},
            ("tiny", "small"),
        ),
        (("roles",), {"methods": ["zero"]}, ("small", "tiny", "rented")),
        ((), {"models": ["agent"]}, ()),
    ],
)
def test_the_models_of_a_stage_are_of_its_roles_or_of_those_that_its_entry_names(declared, entry, models):
    sections = ("streambench.evaluations.mine", *declared)
    node = Node("steps@mine", "streambench.steps", "mine", (), (), (), settings={PARAMS: sections})
    params = {"streambench": {"evaluations": {"mine": entry}}}
    assert find_models(node, params, ROLES) == models


def test_a_stage_of_all_roles_has_a_time_where_the_models_of_its_entry_are_embedded(trial, monkeypatch):
    monkeypatch.setattr(pace, "find_models", lambda *given: ("tester", "other"))
    trial.run()
    trial.write("source.txt", "quince olive fig")
    (trial.root / ".benchloom/stages/trial-answers.json").unlink()  # contains the time of calls
    run = trial.open(replay=True)
    session = run.open_session()
    try:
        for environment, known in (({"tester": "x", "other": "y"}, True), ({"tester": "x"}, False)):
            monkeypatch.setattr(session, "identities", environment)
            planned = plan_stages(
                run.recorder, find_stale(run.recorder, order_nodes(run.recorder.nodes)), run.params, session
            )
            (answers,) = [listed_plan for listed_plan in planned if listed_plan.stage == "trial-answers"]
            slow, quick = pace.EMBEDDED_TOKENS_PER_S
            span = Range(
                round(answers.tokens.low / quick, 1), round(answers.tokens.high / slow, 1), exact=False
            )
            assert answers.seconds == (span if known else None)
            assert answers.tokens.high > 0
    finally:
        session.close()
        run.recorder.close()


def test_a_flow_declares_what_stages_that_ask_came_to_in_the_sample():
    declared = {name: usual for flow in list_flows() for name, usual in flow.usual.items()}
    stages = {stage.name: stage for flow in list_flows() for stage in flow.stages}
    assert len(declared) > 30
    for name, usual in declared.items():
        assert stages[name].roles, name
        assert 0 <= usual.calls[0] <= usual.calls[1], name
        assert bool(usual.prompt_tokens) == bool(usual.calls[1]), name


def test_with_its_inputs_at_hand_the_new_calls_are_exact_and_the_run_makes_them(trial):
    trial.run()
    trial.asked.clear()
    trial.write("source.txt", "oddity apple pear plum quince olive")
    run = trial.open()
    run.bring_up("trial-words")
    run.finish()
    run.recorder.close()

    planned = plan(trial)["trial-answers"]
    assert (planned.exact_calls, planned.recorded, planned.calls.low) == (2, 5, 2)
    assert planned.calls.high == 2 * 2  # every call may be repeated once
    assert trial.asked == []

    outcome = trial.run()["trial-answers"]
    assert (outcome.calls_live, outcome.calls - outcome.calls_live) == (2, 5)
    assert planned.tokens.low <= 2 * 25 <= planned.tokens.high
    assert outcome.paid_usd == pytest.approx(2 * ONE_PAID)
    assert planned.usd.low <= outcome.paid_usd <= planned.usd.high


def test_a_stage_that_cannot_go_on_without_an_answer_has_no_upper_end(trial, monkeypatch):
    """Like the company's profile, which needs a name before further calls."""
    from tests.flows.trial import answers as module

    plain = module.answers

    @functools.wraps(plain)
    async def give_up(words, ask):
        drafts = await plain(words[:1], ask)
        if not drafts.rows:
            raise StageFailed("trial.answers: no answer to begin with")
        return await plain(words, ask)

    trial.run()
    monkeypatch.setattr(module, "answers", give_up)
    trial.set(roles={"generator": {"model": "tester", "temperature": 0.5, "top_p": 1.0, "max_tokens": 10}})
    planned = plan(trial)["trial-answers"]
    assert (planned.calls.low, planned.calls.high, planned.exact_calls) == (1, math.inf, None)
    assert show(planned.calls) == "at least 1"


def test_a_stage_whose_code_fails_is_named_in_one_line(trial, monkeypatch):
    from tests.flows.trial import answers as module

    @functools.wraps(module.answers)
    async def fail(words, ask):
        raise SyntaxError("unterminated string (method.py, line 3)")

    trial.run()
    monkeypatch.setattr(module, "answers", fail)
    trial.set(roles={"generator": {"model": "tester", "temperature": 0.5, "top_p": 1.0, "max_tokens": 10}})
    said = r"^trial-answers cannot be planned: SyntaxError: unterminated string \(method.py, line 3\)$"
    with pytest.raises(StageFailed, match=said):
        plan(trial)


def test_after_a_stale_stage_the_last_run_gives_a_range_marked_as_such(trial):
    trial.run()
    trial.write("source.txt", "apple pear plum quince olive")
    plans = plan(trial)
    assert plans["trial-answers"].exact_calls is None
    assert (plans["trial-answers"].calls.low, plans["trial-answers"].calls.high) == (0, 10)
    assert plans["trial-answers"].seconds is not None
    outcomes = trial.run()
    assert outcomes["trial-answers"].calls_live <= plans["trial-answers"].calls.high
    assert outcomes["trial-answers"].paid_usd <= plans["trial-answers"].usd.high


def test_a_changed_role_plans_every_call_of_its_stage_anew(trial):
    trial.run()
    trial.set(roles={"generator": {"model": "tester", "temperature": 0.5, "top_p": 1.0, "max_tokens": 10}})
    plans = plan(trial)
    assert "trial-words" not in plans
    assert (plans["trial-answers"].exact_calls, plans["trial-answers"].recorded) == (4, 0)
    assert any("roles.generator" in why for why in plans["trial-answers"].why)


def test_what_comes_back_from_the_run_cache_is_planned_as_such_with_all_that_follows(trial):
    first = trial.read("source.txt")
    trial.run()
    trial.write("source.txt", "quince olive")
    trial.run()
    trial.write("source.txt", first)
    trial.asked.clear()
    plans = plan(trial)
    assert [planned.restored for planned in plans.values()] == [True] * 3
    document = to_document(list(plans.values()))
    assert document["calls"] == {"low": 0, "high": 0, "exact": True}
    assert [outcome.state for outcome in trial.run().values()] == ["restored"] * 3
    assert trial.asked == []

    (trial.root / "data/trial/words.parquet").unlink()  # its downstream stages are then up to date
    assert [name for name, planned in plan(trial).items() if planned.restored] == ["trial-words"]
    assert trial.run()["trial-answers"].state == "fresh"


def test_after_what_comes_back_a_stage_that_must_run_is_planned_from_its_last_run(trial):
    first = trial.read("source.txt")
    trial.run()
    trial.write("source.txt", "quince olive")
    trial.run()
    trial.write("source.txt", first)
    trial.set(roles={"generator": {"model": "tester", "temperature": 0.5, "top_p": 1.0, "max_tokens": 10}})
    plans = plan(trial)
    assert [planned.restored for planned in plans.values()] == [True, False, False]
    assert plans["trial-answers"].calls.high == 4
    assert plans["trial-page"].why == ("after trial-answers",)
    states = [outcome.state for outcome in trial.run().values()]
    assert states == ["restored", "ran", "ran"]


def test_planning_touches_nothing(trial):
    first = trial.read("source.txt")
    trial.run()
    trial.write("source.txt", "quince olive")
    before = hash_tree(trial.root)
    plan(trial)
    assert hash_tree(trial.root) == before
    trial.run()
    trial.write("source.txt", first)
    before = hash_tree(trial.root)
    assert any(planned.restored for planned in plan(trial).values())
    assert hash_tree(trial.root) == before


def test_totals_add_up_over_the_stages(trial):
    trial.run()
    trial.set(roles={"generator": {"model": "tester", "temperature": 0.5, "top_p": 1.0, "max_tokens": 10}})
    plans = list(plan(trial).values())
    document = to_document(plans)
    assert document["exact_calls"] == 4
    assert document["calls"]["low"] == sum(listed_plan.calls.low for listed_plan in plans)
    assert document["usd"]["high"] == pytest.approx(sum(listed_plan.usd.high for listed_plan in plans))


def test_an_unknown_number_of_calls_leaves_the_rows_below_known(trial):
    trial.run()
    run = trial.open(replay=True)
    session = run.open_session()
    try:
        counter = StageCounter(run.root, run.params, session, Experience(run.recorder, run.params))
        planner = foreseeing.Foresight(counter, run.params)
        node = run.recorder.nodes["trial-answers"]
        planner.note(node, math.inf, 0.0)
        assert planner._rows[node.artifact] == 3  # from the input rows of the last run
        assert planner._shares[node.name] == 1
    finally:
        session.close()
        run.recorder.close()
