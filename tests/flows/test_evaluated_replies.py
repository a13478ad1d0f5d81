"""Tests of `benchloom evaluate` with realistic faulty endpoints: scores, failures and messages."""

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from aiohttp import web

from flows.settings import set_params
from tests.flows.night_model import is_canary_right
from tests.flows.sample import Sample, make_sample
from tests.judging.scripted import sign
from tests.models.scenes import answering

PORTS = {"north": "Alta", "south": "Bera", "east": "Cima", "west": "Dona", "island": "Esto", "night": "Fara"}
ASKED = {name: f"Which port serves the {name} ferry?" for name in PORTS}
MODEL = "qwen25-coder-1b5"
Body = dict[str, object]


def complete(text: object, finish: str = "stop", **more: object) -> Body:
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": finish}
    usage = {"prompt_tokens": 400, "completion_tokens": 10, "total_tokens": 410}
    return {"choices": [choice | more.pop("choice", {})], "usage": usage, **more}


class Endpoint:
    """Answers six questions correctly and judges answers; a test's `twist` may return another reply.

    twist: function of (body, correct reply, number of earlier identical requests, whether for the judge).
    """

    def __init__(self) -> None:
        self.asked: list[Body] = []
        self.twist: Callable[[Body, str, int, bool], object] = lambda body, text, before, judges: None

    async def answer(self, request: web.Request) -> web.Response:
        body = await request.json()
        before = sum(request["messages"] == body["messages"] for request in self.asked)
        self.asked.append(body)
        system, user = body["messages"][0]["content"], body["messages"][-1]["content"]
        if judges := "strict grader" in system:
            text = sign(f"Verdict: {'Correct' if is_right(user) else 'Incorrect'}", user)
        else:
            text = next((port for name, port in PORTS.items() if name in user), "None.")
        twisted = self.twist(body, text, before, judges)
        status, reply = twisted if isinstance(twisted, tuple) else (200, twisted or complete(text))
        if isinstance(reply, str):
            return web.Response(text=reply, status=status, content_type="text/event-stream")
        return web.json_response(reply, status=status)


def is_right(prompt: str) -> bool:
    """Return the correct verdict: by containment for these questions, by label for canaries."""
    if not any(question in prompt for question in ASKED.values()):
        return is_canary_right(prompt)
    reference = prompt.partition("True answer:\n")[2].partition("\n")[0].strip()
    response = " ".join(line[2:] for line in prompt.splitlines() if line.startswith("> "))
    return reference in response


@pytest.fixture(scope="module")
def project(tmp_path_factory) -> Sample:
    sample = make_sample(tmp_path_factory.mktemp("replies"))
    # Every call is new: reading recorded calls would take a second per command.
    shutil.rmtree(sample.root / "data/ledger")
    rows = [
        json.dumps({"id": name, "question": question, "answer": PORTS[name]})
        for name, question in ASKED.items()
    ]
    (sample.root / "ports.jsonl").write_text("\n".join(rows) + "\n")
    set_params(
        sample.root,
        ["systems.ours={kind: openai, role: answerer}", f"roles.answerer.model={MODEL}"],
    )
    return sample


@pytest.fixture
def endpoint(project) -> Iterator[Endpoint]:
    endpoint, params = Endpoint(), project.root / "params.yaml"
    before = params.read_text()
    with answering(endpoint.answer) as url:
        endpoint.url = url
        yield endpoint
    params.write_text(before)
    (project.root / ".benchloom" / "drill.sqlite").unlink(missing_ok=True)


def evaluate(project: Sample, endpoint: Endpoint, out: Path, *words: str, **settings: object):
    known = {"kind": "openai", "url": endpoint.url, "in_flight": 2, "retries": 2, **settings}
    set_params(project.root, [f"run.endpoints.{MODEL}={json.dumps(known)}"])
    done = project.benchloom(
        "evaluate",
        "grammar",
        "--dataset",
        "ports.jsonl",
        "--system",
        "ours",
        "--out",
        str(out),
        *words,
    )
    assert "Traceback" not in done.stderr, done.stderr
    figures = json.loads((out / "figures.json").read_text()) if (out / "figures.json").exists() else {}
    return done, figures


def read_accuracy(figures: Body) -> float:
    return figures["rates"]["open"]["all"]["accuracy"]


def test_a_reply_that_broke_off_is_asked_again(project, endpoint, tmp_path):
    def twist(body, text, before, judges):
        if "north" in str(body["messages"]) and not judges and not before:
            return complete("Al", "error", choice={"error": {"message": "lost", "code": 502}})
        return None

    endpoint.twist = twist
    done, figures = evaluate(project, endpoint, tmp_path)
    assert (done.returncode, read_accuracy(figures), figures["counts"]["scored"]) == (0, 1.0, 6)
    again, same = evaluate(project, endpoint, tmp_path, "--replay")
    assert (again.returncode, same) == (0, figures)


@pytest.mark.parametrize("judges_too", [False, True], ids=["answerer", "judge"])
def test_a_refused_item_fails_alone_and_is_named(project, endpoint, tmp_path, judges_too):
    def twist(body, text, before, judges):
        if ASKED["east"] in str(body["messages"]) and judges is judges_too:
            error = {"message": "The prompt was filtered.", "code": "content_filter", "status": 400}
            return 400, {"error": error}
        # No rule decides this answer, so the judge is called.
        return None if judges else complete(f"I think that {text} does, at least in summer.")

    endpoint.twist = twist
    done, figures = evaluate(project, endpoint, tmp_path)
    assert (done.returncode, read_accuracy(figures), figures["counts"]["scored"]) == (1, 1.0, 5)
    assert any("east" in line and "filtered" in line for line in figures["failures"])
    assert "east" in done.stderr
    again, same = evaluate(project, endpoint, tmp_path, "--replay")
    assert (again.returncode, same) == (1, figures), "a replay knows the refusal"

    endpoint.twist = lambda *_: None
    healed, figures = evaluate(project, endpoint, tmp_path)
    assert (healed.returncode, figures["counts"]["scored"]) == (0, 6), "a later run asks again"


def test_a_key_that_is_refused_ends_at_once(project, endpoint, tmp_path):
    endpoint.twist = lambda *_: (401, {"error": {"message": "Incorrect API key"}})
    done, figures = evaluate(project, endpoint, tmp_path)
    assert (done.returncode, figures) == (1, {})
    assert len(endpoint.asked) <= 2
    assert "answered 401: Incorrect API key" in done.stderr


def test_a_model_that_names_its_limit_otherwise_is_asked_so(project, endpoint, tmp_path):
    def twist(body, text, before, judges):
        if "max_tokens" in body:
            said = "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."
            return 400, {"error": {"message": said, "code": "unsupported_parameter", "param": "max_tokens"}}
        return None

    endpoint.twist = twist
    done, figures = evaluate(project, endpoint, tmp_path)
    assert (done.returncode, read_accuracy(figures)) == (0, 1.0)
    assert "token_limit" in done.stderr
    asked = len(endpoint.asked)
    named, same = evaluate(project, endpoint, tmp_path, token_limit="max_completion_tokens")
    assert (named.returncode, same, len(endpoint.asked)) == (0, figures, asked), "the ledger has it"


@pytest.mark.drill
def test_another_served_model_is_asked_anew_and_the_old_answers_stay(project, endpoint, tmp_path):
    endpoint.twist = lambda body, text, before, judges: complete(
        text if judges or body["model"] == "vendor-2024" else "Zuma", model=body["model"]
    )
    _, first = evaluate(project, endpoint, tmp_path / "old", served_model="vendor-2024")
    _, second = evaluate(project, endpoint, tmp_path / "new", served_model="vendor-2026")
    assert [read_accuracy(figures) for figures in (first, second)] == [1.0, 0.0]
    asked = len(endpoint.asked)
    _, third = evaluate(project, endpoint, tmp_path / "back", served_model="vendor-2024")
    same = {"served_model": "vendor-2027", "same_models": ["vendor-2024"]}
    _, fourth = evaluate(project, endpoint, tmp_path / "same", **same)
    assert [read_accuracy(figures) for figures in (third, fourth)] == [1.0, 1.0]
    assert len(endpoint.asked) == asked, "all of it was recorded"
    (counts,) = [value for name, value in second["replies"].items() if name.startswith("answerer@")]
    assert counts["answered_by"] == {"vendor-2026": 6}


def test_an_answer_from_before_that_names_no_model_stays_usable(project, endpoint, tmp_path):
    evaluate(project, endpoint, tmp_path / "a")
    asked = len(endpoint.asked)
    done, figures = evaluate(project, endpoint, tmp_path / "b", served_model="vendor-2026")
    assert (done.returncode, len(endpoint.asked)) == (0, asked)
    (counts,) = [value for name, value in figures["replies"].items() if name.startswith("answerer@")]
    assert counts["answered_by"] == {"not named": 6}


def test_a_gateways_other_model_is_a_caution(project, endpoint, tmp_path):
    endpoint.twist = lambda body, text, before, judges: complete(
        text, model="tiny-fallback" if "south" in str(body["messages"]) else body["model"]
    )
    done, figures = evaluate(project, endpoint, tmp_path)
    assert "1 by tiny-fallback" in " ".join(done.stdout.split())
    (counts,) = [value for name, value in figures["replies"].items() if name.startswith("answerer@")]
    assert counts["answered_by"] == {MODEL: 5, "tiny-fallback": 1}


@pytest.mark.parametrize(
    ("finish", "settings", "scored", "kind"),
    [
        ("length", {}, 6, "cut"),
        ("length", {"cut": "fail"}, 5, "cut"),
        ("content_filter", {}, 5, "filtered"),
        ("content_filter", {"filtered": "judge"}, 6, "filtered"),
    ],
)
def test_a_reply_that_did_not_end_is_counted(project, endpoint, tmp_path, finish, settings, scored, kind):
    def twist(body, text, before, judges):
        if "west" in str(body["messages"]) and not judges:
            return complete("The port is", finish)
        return None

    endpoint.twist = twist
    role = {"model": MODEL, "max_tokens": 64, "temperature": 0.0, "attempts": 2, **settings}
    set_params(project.root, [f"roles.answerer={json.dumps(role)}"])
    done, figures = evaluate(project, endpoint, tmp_path)
    assert (done.returncode, figures["counts"]["scored"]) == (0 if scored == 6 else 1, scored)
    assert read_accuracy(figures) == (pytest.approx(5 / 6, abs=1e-3) if scored == 6 else 1.0)
    (counts,) = [value for name, value in figures["replies"].items() if name.startswith("answerer@")]
    assert (counts["replies"], counts[kind]) == (6, 1)
    assert "answerer: 1 of 6 replies" in done.stdout


@pytest.mark.parametrize("reasoning", ["strip", "keep"])
def test_reasoning_is_taken_off_before_rules_and_judge(project, endpoint, tmp_path, reasoning):
    ports = ", ".join(PORTS.values())
    endpoint.twist = lambda body, text, before, judges: (
        None if judges else complete(f"<think>{ports}?</think> {'Zuma' if text == 'Alta' else text}")
    )
    done, figures = evaluate(project, endpoint, tmp_path, reasoning=reasoning)
    assert done.returncode == 0
    right = 5 / 6 if reasoning == "strip" else 1.0
    assert read_accuracy(figures) == pytest.approx(right, abs=1e-3)
    said = " ".join(done.stdout.split())
    assert ("reasoning before the answer was removed from 6 of 6" in said) is (reasoning == "strip")


def test_what_only_the_total_counts_is_output_and_stops_the_budget(project, endpoint, tmp_path):
    def twist(body, text, before, judges):
        usage = {"prompt_tokens": 400, "completion_tokens": 10, "total_tokens": 9_400}
        return complete(text) | {"usage": usage}

    endpoint.twist = twist
    done, _ = evaluate(project, endpoint, tmp_path, "--budget-tokens", "30000")
    assert done.returncode == 3
    assert 9_400 * len(endpoint.asked) <= 30_000 + 2 * 9_400, "no more than what was in flight"


def test_an_event_stream_is_not_paid_for_three_times(project, endpoint, tmp_path):
    endpoint.twist = lambda *_: (200, 'data: {"choices": []}\n\ndata: [DONE]\n\n')
    done, _ = evaluate(project, endpoint, tmp_path)
    assert done.returncode == 1
    assert "event stream" in done.stderr
    assert len(endpoint.asked) <= 2
    assert not any(body["stream"] for body in endpoint.asked)


@pytest.mark.drill
def test_two_folders_are_compared_where_nothing_has_run(project, endpoint, tmp_path):
    for name in ("a", "b"):
        evaluate(project, endpoint, tmp_path / name)
        endpoint.twist = lambda body, text, before, judges: None if judges else complete("Zuma")
        (project.root / ".benchloom" / "drill.sqlite").unlink()
    lock, aside = project.root / "dvc.lock", project.root / "dvc.lock.aside"
    lock.rename(aside)
    try:
        done = project.benchloom("compare", str(tmp_path / "a"), str(tmp_path / "b"), "--json")
    finally:
        aside.rename(lock)
    assert done.returncode == 0, done.stderr
    (scored_system,) = json.loads(done.stdout)["strands"]
    assert (
        scored_system["n_cases"],
        scored_system["metrics"][0]["difference"],
        scored_system["altered"],
    ) == (6, -1.0, [])


@pytest.mark.parametrize(
    ("judge", "line"),
    [
        (
            {"url": "http://127.0.0.1:9/v1"},
            "model strict: http://127.0.0.1:9/v1 cannot be reached (Connection refused)",
        ),
        (
            {"url": "https://judge.example/v1", "key_env": "NO_SUCH_KEY"},
            "model strict: the environment variable NO_SUCH_KEY is not set (export NO_SUCH_KEY=...)",
        ),
        (
            {"url": "https://judge.example/v1", "headers": {"X-Team": "NO_SUCH_TEAM"}},
            "model strict: the environment variable NO_SUCH_TEAM is not set (export NO_SUCH_TEAM=...)",
        ),
        ({"kind": "embedded"}, "model strict: params.yaml has no models.strict"),
    ],
)
def test_a_judge_that_cannot_be_asked_is_named_before_any_answer_is_paid(
    project, endpoint, tmp_path, judge, line
):
    set_params(project.root, [f"run.endpoints.strict={json.dumps(judge)}", "roles.judge.model=strict"])
    done, figures = evaluate(project, endpoint, tmp_path)
    assert (done.returncode, figures) == (2, {})
    assert [said for said in done.stderr.splitlines() if said.startswith(f"benchloom: {line}")], done.stderr
    assert endpoint.asked == []
