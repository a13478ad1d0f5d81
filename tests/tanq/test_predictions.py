import asyncio
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tasks.errors import StageFailed
from tasks.judging.prompt_room import estimate_tokens
from tasks.models.ask import render_prompt
from tasks.tanq.build.tanq_item import TanqItem
from tasks.tanq.entries import TableEvaluation
from tasks.tanq.solve.examples import take_examples
from tasks.tanq.solve.prediction import OpenStep, Prediction
from tasks.tanq.solve.predictions import find_window, predictions
from tasks.tanq.solve.reading import FRAME, find_distractors, fit_proofs, gather_proofs
from tasks.tanq.solve.table_options import PredictionLimits
from tests.tanq.table_items import CAPITALS, PROMPTS, ScriptedTables, make_item, make_proof, write_articles

ITEMS = [
    make_item("a", ["Norway", "Sweden"]),
    make_item("b", ["France", "Spain"], kind="intersection", skills=["filter"]),
    make_item("c", ["Italy"], seed="q-a"),
    make_item("d", ["Japan", "Kenya"]),
    make_item("e", ["Denmark"], kind="intersection"),
]
SETTINGS = {
    "tanq.sets.s.source": "world", "tanq.sources.world.articles": "data/raw/wikipedia/own",
    "roles.agent.model": "small", "models.small.context": 4096,
}  # fmt: skip
TABLE = "entity|capital\nNorway|Oslo"


def run(
    reply: Callable[[str, str], str],
    *,
    folder: Path = Path("nowhere"),
    items: list[TanqItem] = ITEMS,
    params: dict[str, Any] | None = None,
    **entry: Any,
) -> tuple[dict[tuple[str, str], Prediction], ScriptedTables]:
    ask = ScriptedTables(reply)
    evaluation = TableEvaluation(set="s", **{"settings": ("closed",), "shots": (0,), **entry})
    limits = PredictionLimits(**(params or {}))
    made = asyncio.run(predictions(items, folder, evaluation, limits, SETTINGS, ask))  # type: ignore[arg-type]
    assert not made.dropped
    return {(row.item, row.system): row for row in made.rows}, ask


def test_every_setting_shot_choice_and_instruction_is_asked_of_the_first_items() -> None:
    rows, ask = run(
        lambda *_: TABLE, settings=("closed", "oracle"), shots=(0, 1, 3), choices=("random", "chosen"),
        instructions=("empty", "simple", "detailed", "steps"), items=ITEMS * 1, params={},
    )  # fmt: skip
    assert {item for item, _ in rows} == set("abcde")
    systems = {system for _, system in rows}
    assert len(systems) == 2 * 4 * 4
    assert {"closed/agent/0/simple", "oracle/agent/1-random/empty", "oracle/agent/3-chosen/steps"} <= systems
    assert len({text for _, text in ask.asked}) > len(systems)
    row = rows["a", "closed/agent/3-chosen/simple"]
    assert (row.shots, row.shot_choice, row.table) == (
        3,
        "chosen",
        (("entity", "capital"), ("Norway", "Oslo")),
    )
    assert row.origin[0].reference == "items#a"
    limited, _ = run(lambda *_: TABLE, settings=("closed",))
    assert len(limited) == 5
    assert len(run(lambda *_: TABLE, items=ITEMS)[0]) == 5


def test_only_the_first_items_are_asked_and_others_are_still_examples() -> None:
    ask = ScriptedTables(lambda *_: TABLE)
    evaluation = TableEvaluation(set="s", settings=("closed",), shots=(3,), items=1)
    made = asyncio.run(predictions(ITEMS, Path(), evaluation, PredictionLimits(), SETTINGS, ask))  # type: ignore[arg-type]
    assert [row.item for row in made.rows] == ["a"]
    assert made.rows[0].failed == ""
    assert ask.asked[0][1].count("Question:") == 4


def test_examples_are_never_the_item_nor_of_its_list_question() -> None:
    for seed in range(20):
        names = [item.id for item in take_examples(ITEMS[0], ITEMS, 5, "random", seed)]
        assert set(names) == {"b", "d", "e"}, "neither a nor c, which has a's seed"
    assert len({tuple(i.id for i in take_examples(ITEMS[0], ITEMS, 3, "random", s)) for s in range(20)}) > 1
    assert [item.id for item in take_examples(ITEMS[1], ITEMS, 1, "chosen", 0)] == ["e"], (
        "an intersection too"
    )


def test_too_few_examples_are_said_and_nothing_is_asked() -> None:
    rows, ask = run(lambda *_: TABLE, shots=(5,))
    assert rows["a", "closed/agent/5-random/simple"].failed == "not asked: 3 of 5 examples"
    assert rows["a", "closed/agent/5-random/simple"].table is None
    assert not ask.asked


def test_closed_shows_no_proof_and_oracle_all_with_distractors() -> None:
    rows, ask = run(lambda *_: TABLE, settings=("closed", "oracle"), params={"distractors": 2})
    of_a = [text for _, text in ask.asked if "in a?" in text]
    closed, oracle = sorted(of_a, key=lambda text: "Documents:" in text)
    assert "is the capital" not in closed
    assert "[Norway > History] Oslo is the capital of Norway." in oracle
    assert "[Sweden > History]" in oracle
    assert oracle.count("is the capital of") == 4, "two of its own, two that distract"
    assert rows["a", "oracle/agent/0/simple"].left_out == ()


def test_examples_have_their_documents_in_the_oracle_setting_alone() -> None:
    _, ask = run(lambda *_: TABLE, settings=("closed", "oracle"), shots=(1,), params={"distractors": 0})
    counts = {text.count("Documents:") for _, text in ask.asked}
    assert counts == {0, 2}


def test_a_distractor_is_of_a_relation_that_is_asked_and_of_another_thing() -> None:
    own = find_distractors(ITEMS[0], ITEMS, 99, 0)
    assert {proof.entity for proof in own} == {"France", "Spain", "Italy", "Japan", "Kenya", "Denmark"}
    same = make_item("z", ["Norway", "Japan"])
    assert {proof.entity for proof in find_distractors(ITEMS[0], [same], 99, 0)} == {"Japan"}


def test_what_the_window_has_no_room_for_is_named() -> None:
    proofs = gather_proofs([make_proof("Norway", 0), make_proof("Norway", 1), make_proof("Sweden")], 0)
    assert sorted(proof.ids for proof in proofs) == [("p-Norway-0", "p-Norway-1"), ("p-Sweden-0",)], (
        "each text once"
    )
    assert fit_proofs(proofs, 0).left_out == tuple(name for proof in proofs for name in proof.ids)
    one = fit_proofs(proofs, 40)
    assert (one.text.count("capital"), len(one.left_out) in (1, 2)) == (1, True)
    many = ITEMS[0].proofs[0]
    from dataclasses import replace

    large = replace(ITEMS[0], proofs=tuple(replace(many, id=f"p{n}", text=f"{n} " * 120) for n in range(40)))
    rows, ask = run(lambda *_: TABLE, settings=("oracle",), items=[large, *ITEMS[1:]], shots=(0, 1))
    row = rows["a", "oracle/agent/0/simple"]
    assert 0 < len(row.left_out) < 40
    assert all(estimate_tokens(text) + 250 <= 4096 for _, text in ask.asked)


def test_a_small_model_is_left_out_of_oracle_and_the_row_says_so() -> None:
    rows, ask = run(lambda *_: TABLE, settings=("closed", "oracle"), params={"windows": {"agent": 2048}})
    assert rows["a", "oracle/agent/0/simple"].failed == "not asked: a window of 2,048 tokens, less than 4,096"
    assert rows["a", "closed/agent/0/simple"].failed == ""
    assert len(ask.asked) == 5
    assert find_window("agent", PredictionLimits(), SETTINGS) == 4096
    assert find_window("other", PredictionLimits(), SETTINGS) == PredictionLimits().window


@pytest.mark.parametrize("instruction", ["empty", "simple", "detailed", "steps"])
@pytest.mark.parametrize("documents", ["", "x"])
def test_the_prompt_without_its_fields_is_as_small_as_is_reckoned(instruction: str, documents: str) -> None:
    shown = [{"question": "", "documents": documents, "table": ""}] * 5
    fields = {"instruction": instruction, "examples": shown, "documents": documents, "question": ""}
    (message,) = render_prompt(PROMPTS / "predict_table.md", fields).messages
    assert estimate_tokens(message["content"]) <= FRAME
    assert ("|" in message["content"]) is (instruction != "empty")


def test_replies_that_are_no_table_or_nothing_are_told_apart() -> None:
    said = {
        "a": "I do not know.",
        "b": " ",
        "c": f"Here:\n```\n{TABLE}\n```",
        "d": "\ud800|",
        "e": "|" * 3000,
    }
    rows, _ = run(lambda _, text: next(said[name] for name in said if f"in {name}?" in text))
    of = {item: row for (item, _), row in rows.items()}
    assert (of["a"].table, of["a"].failed) == (None, "")
    assert (of["b"].table, of["b"].failed) == (None, "no_reply: the reply is empty")
    assert of["c"].table == (("entity", "capital"), ("Norway", "Oslo"))
    assert of["e"].table is None
    assert all(row.reply.encode() is not None for row in of.values())


@pytest.mark.parametrize(
    ("prompt", "last"), [("open_main", 0), ("open_sub", 0), ("open_sub", 1), ("open_table", 0)]
)
@pytest.mark.parametrize("noted", [0, 1])
def test_the_open_prompts_without_their_fields_are_as_small(prompt: str, last: int, noted: int) -> None:
    fields = {
        "question": "",
        "task": "",
        "left": 4,
        "last": last,
        "notes": [{"head": "", "result": ""}] * noted,
    }
    text = "\n".join(
        message["content"] for message in render_prompt(PROMPTS / f"{prompt}.md", fields).messages
    )
    assert estimate_tokens(text) <= FRAME
    offered = {"WikiSearch:", "GetIntro:", "FindEvidence:"} if prompt == "open_sub" and not last else set()
    assert {name for name in ("WikiSearch:", "GetIntro:", "FindEvidence:") if name in text} == offered
    assert ("TABLE" in text) is (prompt == "open_main" and noted == 1)
    assert ("`Found:`" in text) is (prompt == "open_sub" and (last or noted) == 1)


def script_open(prompt: str, text: str) -> str:
    if prompt == "open_main":
        return "Thought: done\nTable." if "SubTask: Find Oslo" in text else "Thought: who\nSubTask: Find Oslo"
    if prompt == "open_sub":
        if "one line and nothing else" in text:
            return "Found: Oslo is the capital of Norway"
        return (
            "Thought: look\nFindEvidence: kingdom of norway\nKeywords: capital" if "<<<" not in text else "?"
        )
    return TABLE


def test_the_open_agent_searches_by_sub_agents_and_its_chain_is_kept(tmp_path: Path) -> None:
    write_articles(tmp_path / "own")
    rows, ask = run(
        script_open, folder=tmp_path, settings=("open",), items=ITEMS[:1], shots=(3,),
        params={"open": {"sub_steps": 2}},
    )  # fmt: skip
    row = rows["a", "open/agent"]
    assert row.table == (("entity", "capital"), ("Norway", "Oslo"))
    assert (row.shots, row.shot_choice, row.instruction, row.failed) == (0, "", "", "")
    sub, found, task, end = row.steps
    assert (sub.agent, sub.thought, sub.tool, sub.argument) == (
        "Find Oslo", "look", "FindEvidence", "kingdom of norway | capital",
    )  # fmt: skip
    assert sub.result.splitlines()[0] in ("Capital: Oslo", "Oslo is the capital of Norway.")
    assert found == OpenStep("Find Oslo", "", "", "", "Oslo is the capital of Norway")
    assert task == OpenStep("main", "who", "SubTask", "Find Oslo", "Oslo is the capital of Norway")
    assert end == OpenStep("main", "done", "", "", TABLE)
    assert [prompt for prompt, _ in ask.asked] == [
        "open_main",
        "open_sub",
        "open_sub",
        "open_main",
        "open_table",
    ]
    assert "Oslo is the capital of Norway" in ask.asked[-1][1]
    assert len([origin for origin in row.origin if origin.kind == "call"]) == 5


def test_an_open_agent_that_writes_nonsense_still_ends_and_its_steps_say_so(tmp_path: Path) -> None:
    write_articles(tmp_path / "own")
    rows, ask = run(
        lambda prompt, _: "" if prompt == "open_table" else "Hm.", folder=tmp_path, settings=("open",),
        items=ITEMS[:1], params={"open": {"steps": 3}},
    )  # fmt: skip
    row = rows["a", "open/agent"]
    assert [step.tool for step in row.steps] == ["unread"] * 3
    assert row.steps[0].result.startswith("no_step: ")
    assert (row.table, row.failed) == (None, "no_reply: the reply is empty")
    assert len(ask.asked) == 4


def test_an_agent_that_never_stops_is_stopped_and_large_results_fit(tmp_path: Path) -> None:
    write_articles(tmp_path / "own")

    def script(prompt: str, text: str) -> str:
        if prompt == "open_main":
            return f"Thought: more\nSubTask: {'all of it ' * 60}"
        return TABLE if prompt == "open_table" else "WikiSearch: " + "capital country " * 40

    rows, ask = run(script, folder=tmp_path, settings=("open",), items=ITEMS[:1])
    assert len(ask.asked) == 4 * (1 + 4) + 1
    assert ask.asked[-1][1].count("<<<") == 2, "a finding and its result, each shown once"
    assert all(estimate_tokens(text) < 4096 for _, text in ask.asked)
    assert rows["a", "open/agent"].table is not None


def test_the_open_agents_tools_reach_no_host_and_run_no_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_articles(tmp_path / "own")
    mark = tmp_path / "mark"
    code = f"open({str(mark)!r}, 'w')"
    hostile = [
        "http://127.0.0.1:9/x",
        "file:///etc/hostname",
        "/etc/hostname",
        code,
        f"__import__('os').mkdir({str(mark)!r})",
    ]
    tools = [(name, text) for text in hostile for name in ("WikiSearch", "GetIntro", "FindEvidence")]
    left = iter(f"{name}: {text}" for name, text in tools)
    sums = iter(hostile)

    def script(prompt: str, text: str) -> str:
        if prompt == "open_main":
            return "SubTask: all" if "<<<" not in text else f"Calculate: {next(sums)}"
        return TABLE if prompt == "open_table" else next(left, "Found: nothing")

    def refuse(*args: object, **_: object) -> None:
        raise AssertionError(f"a connection to {args}")

    for name in ("connect", "connect_ex", "sendto"):
        monkeypatch.setattr(socket.socket, name, refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    rows, _ = run(
        script, folder=tmp_path, settings=("open",), items=ITEMS[:1],
        params={"open": {"steps": 1 + len(hostile), "sub_steps": 1 + len(tools)}},
    )  # fmt: skip
    steps = rows["a", "open/agent"].steps
    used = [
        (step.tool, step.result) for step in steps if step.tool in ("WikiSearch", "GetIntro", "FindEvidence")
    ]
    assert len(used) == len(tools)
    titles = {f"Article: {name}" for name in CAPITALS}
    for tool, result in used:
        first = result.splitlines()[0]
        assert (
            (first in {*titles, "No article has these words."})
            if tool == "WikiSearch"
            else "There is no article" in first
        )
    assert [step.result.split(":")[0] for step in steps if step.tool == "Calculate"] == ["Not computed"] * 5
    assert not mark.exists()


def test_articles_outside_of_the_imports_are_refused() -> None:
    for folder in ("/etc", "data/other", "data/raw/wikipedia/../../x"):
        settings = {**SETTINGS, "tanq.sources.world.articles": folder}
        entry = TableEvaluation(set="s", settings=("open",))
        ask: Any = ScriptedTables(lambda *_: TABLE)
        with pytest.raises(StageFailed, match="only imported articles"):
            asyncio.run(predictions(ITEMS, Path("x"), entry, PredictionLimits(), settings, ask))
