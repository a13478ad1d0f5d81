"""Tests that `plan` is accurate within a factor of 3 after ten calls, and zero for disabled calls."""

from pathlib import Path

import pytest
import yaml

from bench.planned import hide_half
from flows.commands.plan import print_plan
from flows.discovery import list_flows
from flows.run.estimates import ENOUGH
from flows.run.experience import Experience
from flows.run.node import PARAMS, Node
from flows.run.planner import find_stale, plan_stages
from flows.run.record.recorder import Recorder
from flows.run.selection import order_nodes
from flows.run.session import open_session
from flows.run.switches import is_off
from flows.settings import load_params
from tests.flows.running import open_run
from tests.ragcheck.scenes import make_project

SAMPLE = (
    "grammar-sql-templates@flights",
    "grammar-text-templates@flights",
    "grammar-back-check@flights",
    "grammar-answers@films-good",
    "grammar-judgements@films-good",
    "grammar-company-reports@halden",
    "longform-interactions@sample",
    "longform-reference-verdicts@sample",
    "longform-reviews@sample",
    "longform-revisions@sample",
    "tanq-verify@sample",
    "tanq-rephrase@sample",
    "tanq-predictions@sample",
    "streambench-steps@sample",
)


def plan(root, **options):
    """Plan a project's stages like `benchloom plan`."""
    run = open_run(root, replay=True, **options)
    session = run.open_session()
    try:
        stale = find_stale(run.recorder, order_nodes(run.recorder.nodes))
        return {planned.stage: planned for planned in plan_stages(run.recorder, stale, run.params, session)}
    finally:
        session.close()
        run.recorder.close()


def check(span, actual):
    assert span.low <= actual <= span.high
    assert span.high <= 3 * actual
    assert span.low >= actual / 3


def test_the_second_half_of_the_sample_s_calls_is_forecast_by_the_first(root, monkeypatch):
    monkeypatch.chdir(root)
    params, recorder = load_params(root), Recorder(root)
    session = open_session(root, params, replay=True)
    try:
        rows = list(hide_half(recorder, params, session, SAMPLE))
    finally:
        session.close()
        recorder.close()
    assert {row.stage for row in rows} == set(SAMPLE)
    far = [f"{row.stage} {row.what}: {row.span}, came {row.actual}" for row in rows
           if not (row.inside and row.factor <= 3)]  # fmt: skip
    assert far == []


def test_another_night_of_a_flow_whose_inputs_another_stage_makes_first(tmp_path, monkeypatch):
    monkeypatch.setenv("BENCHLOOM_LEDGER", str(tmp_path / "ledger.sqlite"))
    with make_project(tmp_path / "project") as project:
        monkeypatch.chdir(project.root)
        project.list_states()
        project.set(evaluation__as_of="2031-01-01")
        plans = plan(project.root)
        outcomes = project.run()
    asked = {name: outcome for name, outcome in outcomes.items() if outcome.calls_live}
    seen = {name for name, outcome in asked.items() if outcome.calls_live >= ENOUGH}
    assert any(plans[name].exact_calls is None for name in seen)
    for name, outcome in asked.items():
        planned = plans[name]
        assert planned.calls.low <= outcome.calls_live <= planned.calls.high, name
        if name in seen:
            check(planned.calls, outcome.calls_live)
            check(planned.tokens, outcome.paid_tokens)


def test_a_run_that_was_stopped_at_the_budget_is_planned_by_what_it_asked(trial, capsys):
    words = [f"word{letter}{further}" for letter in "abcdefgh" for further in "rstuvwxyz"]
    odd = [f"odd{word}" if number % 9 == 0 else word for number, word in enumerate(words)]
    trial.write("source.txt", " ".join(odd))
    trial.run(budget_tokens=1_000)
    told = [question for question in trial.asked if "odd" not in question]
    assert len(told) >= ENOUGH
    trial.asked.clear()
    planned = plan(trial.root)["trial-answers"]
    assert trial.asked == []
    assert planned.recorded >= ENOUGH
    assert planned.unseen == ()
    outcome = trial.run()["trial-answers"]
    check(planned.calls, outcome.calls_live)
    check(planned.tokens, outcome.paid_tokens)
    check(planned.usd, outcome.paid_usd)
    print_plan([planned])
    assert "Wide" not in capsys.readouterr().out


def test_a_range_by_too_few_calls_says_so(trial, capsys):
    trial.run()
    trial.set(roles={"generator": {"model": "tester", "temperature": 0.5, "top_p": 1.0, "max_tokens": 10}})
    planned = plan(trial.root)["trial-answers"]
    assert planned.unseen == ("generator question",)
    print_plan([planned])
    said = "These ranges are wide, because fewer than 10 similar calls were recorded: trial-answers."
    assert said in capsys.readouterr().out


def test_a_stage_that_goes_by_batch_is_planned_at_the_batch_s_price(trial):
    trial.run()
    trial.set(roles={"generator": {"model": "tester", "temperature": 0.5, "top_p": 1.0, "max_tokens": 10}})
    whole = plan(trial.root)["trial-answers"].usd
    params = yaml.safe_load((trial.root / "params.yaml").read_text())
    params["run"]["batch"] = {"stages": ["trial-answers"]}
    trial.set(**params)
    half = plan(trial.root)["trial-answers"].usd
    assert (half.low, half.high) == pytest.approx((whole.low / 2, whole.high / 2))


def test_a_call_that_no_endpoint_answered_is_planned_as_new(trial):
    trial.run()
    recorder = Recorder(trial.root)
    recorder.close()
    trial.set(roles={"generator": {"model": "tester", "temperature": 0.5, "top_p": 1.0, "max_tokens": 10}})
    assert plan(trial.root)["trial-answers"].recorded == 0


SWITCHES = [
    (stage.name, name, value)
    for flow in list_flows()
    for stage in flow.stages
    for name, values in stage.off.items()
    for value in values
]


def test_each_switch_that_the_sample_has_set_asks_nothing(root, monkeypatch):
    """Run the stages' functions with the declared switches set: they make no call."""
    monkeypatch.chdir(root)
    params, recorder = load_params(root), Recorder(root)
    try:
        experience = Experience(recorder, params)
        off = [node for node in recorder.nodes.values() if node.asks and is_off(node, params)]
        assert len({node.stage for node in off}) >= 6
        for node in off:
            own = experience.find_own(node)
            assert own is not None, node.name
            assert own.calls == (), node.name
    finally:
        recorder.close()


@pytest.mark.parametrize(("stage", "name", "value"), SWITCHES)
def test_what_is_switched_off_is_never_counted_before_its_inputs_are_there(stage, name, value, root):
    params, node = switch(stage, name, value, root)
    assert is_off(node, params)


def switch(stage, name, value, root):
    """Set a switch for an entry; return the parameters and the stage."""
    params = yaml.safe_load((Path(root) / "params.yaml").read_text())
    declared = next(own for flow in list_flows() for own in flow.stages if own.name == stage)
    section, fields = declared.scope.over, ENTRIES.get(declared.scope.over, {})
    holder = params
    for part in section.split("."):
        holder = holder.setdefault(part, {})
    holder["mine"] = fields
    source, _, field = name.partition(".")
    if source == "params":
        place = params
        for part in stage.split("."):
            place = place.setdefault(part, {})
        place[field] = value
    elif name == "entry.judged":
        holder["mine"] = {**fields, "score": "rules"}
    else:
        holder["mine"] = {**fields, name.rpartition(".")[2]: value}
    settings = {PARAMS: (f"{section}.mine", stage)}
    return params, Node(f"{stage}@mine", stage, "mine", (), (), (), settings=settings)


ENTRIES = {
    "assessments": {"database": "films", "system": "good", "llm_only": "films-alone"},
    "ragcheck.correctness": {"systems": ["good"], "ratings": "data/raw/ratings.csv"},
    "qa.systems": {"set": "mine", "system": "alone"},
}
