"""Drill: compare the reading `released` with StreamBench's published code, on 3,000 replies per kind.

The drill needs a checkout of that code, which is not part of the project; otherwise it is skipped.
"""

import os
from pathlib import Path

import pytest

from tests.scoring.made_replies import write_replies
from tests.streambench.environment_scenes import ScriptedAsk, judge, make_database, make_environment
from tests.streambench.environment_scenes import make_stream_item as make_item
from tests.streambench.official_code import VARIABLE, load_module, make_bench, try_to

COUNT = 3_000
CHECKOUT = Path(os.environ.get(VARIABLE) or "nowhere")
pytestmark = [
    pytest.mark.drill,
    pytest.mark.skipif(
        not (CHECKOUT / "stream_bench").is_dir(),
        reason=f"{VARIABLE} does not name a checkout of StreamBench's published code",
    ),
]


def read_and_judge(environment, item, replies):
    """Read replies like the stream, and judge the answers: reply -> bit. An empty reply is wrong."""
    answers = {
        reply: environment.read_answer(item, reply, "direct") if reply.strip() else None for reply in replies
    }
    asked = sorted({answer for answer in answers.values() if answer is not None})
    bits = dict(zip(asked, judge(environment, [(item, answer) for answer in asked]), strict=True))
    return {reply: answer is not None and bits[answer].bit for reply, answer in answers.items()}


def compare(ours, published):
    """Compare bits of replies; return the differences, and the errors of the published code."""
    differing, raised = [], {}
    for reply, bit in ours.items():
        theirs, error = try_to(lambda reply=reply: published(reply))
        if error:
            raised[reply] = error
            assert bit is False, (reply, error)  # if the published code fails, the answer is wrong
        elif bool(theirs) is not bit:
            differing.append((reply, bit, theirs))
    return differing, raised


def test_sql(tmp_path):
    file = make_database(tmp_path)
    gold = "SELECT name FROM pets"
    item = make_item("sql", gold=gold, details={"db_id": "pets"}, file=file)
    read = load_module(CHECKOUT, "text2sql_utils.string_formatter").parse_sql
    execute = load_module(CHECKOUT, "text2sql_utils.sqlite_interpreter").execute_model
    environment = make_environment("sql", tmp_path, rule="streambench", reading="released")
    replies = list(write_replies("sql", COUNT))
    other = [
        reply
        for reply in replies
        if reply.strip() and environment.read_answer(item, reply, "direct") != read(reply)
    ]
    assert other == []
    ours = read_and_judge(environment, item, replies)
    differing, raised = compare(ours, lambda reply: execute(read(reply), gold, tmp_path / file)[0])
    assert (differing, raised) == ([], {})
    assert 0 < sum(ours.values()) < len(ours)


def test_ds1000(tmp_path):
    bench = make_bench(load_module(CHECKOUT, "ds_1000").DS1000)
    environment = make_environment("ds1000", tmp_path, reading="released")
    item = make_item("ds1000", details={"code_context": ""})
    other = [
        reply
        for reply in write_replies("ds1000", COUNT)
        if reply.strip()
        and environment.read_answer(item, reply, "direct") != bench.postprocess_generation(reply)
    ]
    assert other == []


@pytest.mark.parametrize(
    ("api", "arguments"), [("add_date", {"days": 3}), ("get_today_date", {}), ("search", {"days": 3})]
)
def test_toolbench(tmp_path, api, arguments):
    kind = load_module(CHECKOUT, "toolbench").ToolBench
    bench = make_bench(kind, llm=lambda prompt, **_: ("No.", {}))
    environment = make_environment(
        "toolbench", tmp_path, ask=ScriptedAsk("No."), rule="released", reading="released"
    )
    environment._apis.describe = lambda name: name  # the dataset's file is missing
    item = make_item("toolbench", details={"api": api, "arguments": arguments})
    # The published prompts use other names for the two parts.
    replies = {reply: None for reply in write_replies("toolbench", COUNT) if '"api"' not in reply}
    ours = read_and_judge(environment, item, replies)
    label = {"api_name": api, "api_input": arguments}
    differing, raised = compare(
        ours, lambda reply: bench.process_results(bench.postprocess_generation(reply, 0), label)["correct"]
    )
    assert differing == []
    assert len(raised) < len(ours) / 2
    assert (sum(ours.values()) > 0) is (api != "search")


def test_hotpotqa(tmp_path):
    bench = make_bench(load_module(CHECKOUT, "hotpotqa_distract").HotpotQADistract)
    environment = make_environment("hotpotqa", tmp_path, rule="streambench", reading="released")
    item = make_item("hotpotqa", gold="Paris")
    replies = list(write_replies("hotpotqa", COUNT))
    ours = read_and_judge(environment, item, replies)
    differing, raised = compare(
        ours, lambda reply: bench.process_results(bench.postprocess_generation(reply), "Paris")["correct"]
    )
    assert differing == []
    assert len(raised) < len(ours) / 2
    assert 0 < sum(ours.values()) < len(ours)


def test_ddxplus(tmp_path):
    bench = make_bench(load_module(CHECKOUT, "ddxplus").create_ddxplus())
    environment = make_environment("ddxplus", tmp_path, reading="released")
    environment.__dict__["_diagnoses"] = list(bench.LABEL2TEXT.values())
    item = make_item("ddxplus", gold="34")
    ours = read_and_judge(environment, item, write_replies("ddxplus", COUNT))
    differing, raised = compare(ours, lambda reply: bench.postprocess_generation(reply) == 34)
    assert (differing, raised) == ([], {})
    from tasks.sources.importers.streambench import DIAGNOSES

    assert list(DIAGNOSES) == list(bench.LABEL2TEXT.values())
