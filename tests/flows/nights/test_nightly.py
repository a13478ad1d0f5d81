"""Tests of nightly runs on the whole project: repeated calls, paired comparison, alarm on a real drop."""

import json
import re
import shutil
import signal
import subprocess
import zlib
from collections import Counter

import pyarrow.parquet as pq
import pytest
import yaml
from aiohttp import web

from tasks.artifacts.parquet import count_rows, read_rows
from tasks.grammar.corpus.questions import AskedQuestion
from tests.flows.nights.night_project import commit, list_branches, run_git, run_night, set_param
from tests.flows.nights.planted import plant_change
from tests.flows.nights.test_webhook import receiving
from tests.flows.sample import NOWHERE, wait_for
from tests.models.scenes import answering


@pytest.mark.drill
@pytest.mark.timeout(600)
def test_a_first_night_is_accepted_and_a_planted_regression_alarms(built, model):
    tree = {path: (built.root / path).read_bytes() for path in ("dvc.lock", "params.yaml")}
    questions = read_rows(built.root / "data/grammar/films/questions.parquet", AskedQuestion)
    model.answers = {question.question: question.answer for question in questions}
    first = run_night(built, "--as-of", "one")
    assert first.returncode == 0, first.stderr
    assert "the first night, accepted" in first.stderr
    assert "construction" not in model.asked
    assert model.asked["system"] == count_rows(built.root / "data/grammar/films/questions.parquet")
    model.broken = True
    second = run_night(built, "--as-of", "two")
    assert second.returncode == 5, second.stderr
    assert "ALARM (regression): assessments.films-weak/weak accuracy: the mean fell by" in second.stderr
    assert "Traceback" not in second.stderr
    assert "**regression**" in run_git(built, "show", "nightly/two:nightly/summary.md")
    assert {path: (built.root / path).read_bytes() for path in tree} == tree


class Flaky:
    """Fails a third of all requests on the first attempt, in five ways, and every 11th permanently."""

    def __init__(self) -> None:
        self.asked, self.kinds = Counter(), Counter()

    def __call__(self, user: str) -> web.Response | None:
        self.asked[user] += 1
        draw = zlib.crc32(user.encode()) % 100
        if draw < 9:
            self.kinds["400"] += 1
            error = {"message": "The prompt was filtered.", "code": "content_filter"}
            return web.json_response({"error": error}, status=400)
        if draw >= 34 or self.asked[user] > 1:
            return None
        kind = ("429", "500", "choice", "object", "page")[draw % 5]
        self.kinds[kind] += 1
        if kind == "choice":
            choice = {
                "message": {"content": "A begin"},
                "finish_reason": "error",
                "error": {"message": "lost"},
            }
            return web.json_response({"choices": [choice]})
        if kind == "object":
            return web.json_response({"error": {"message": "no worker", "code": 502}})
        if kind == "page":
            return web.Response(text="<html>Bad gateway</html>", content_type="text/html")
        return web.json_response(
            {"error": {"message": "not now"}}, status=int(kind), headers={"Retry-After": "0"}
        )


@pytest.mark.timeout(300)
def test_a_night_over_a_flaky_endpoint_ends_with_figures_and_names_what_failed(built, model):
    model.fault = Flaky()
    done = run_night(built, "--as-of", "flaky", "--json")
    assert done.returncode == 1, done.stderr
    assert "Traceback" not in done.stderr
    assert len(model.fault.kinds) == 6, "each kind of fault was sent"
    (series,) = json.loads(done.stdout)["series"]
    refused = [user for user in model.fault.asked if zlib.crc32(user.encode()) % 100 < 9]
    assert refused
    assert {model.fault.asked[user] for user in refused} == {1}, "a refusal is not asked again"
    assert 0 < series["n_scored"] < series["n"]
    named = re.findall(r"row (\S+): the endpoint answered 400: The prompt was filtered.", done.stderr)
    assert len(named) == len(refused)
    assert "have no answer" in done.stderr


@pytest.mark.drill
@pytest.mark.timeout(900)
@pytest.mark.usefixtures("without_rules")
def test_nights_are_compared_with_the_last_good_one_until_a_worse_is_accepted(built, model):
    tree = {path: (built.root / path).read_bytes() for path in ("dvc.lock", "params.yaml")}
    first = run_night(built, "--as-of", "one")
    assert first.returncode == 0, first.stderr
    assert "the first night, accepted" in first.stderr
    asked = dict(model.asked)
    # Each question is judged once; the assessment omits the reference-free methods.
    assert asked["system"] == count_rows(built.root / "data/grammar/films/questions.parquet")
    assert asked["judge"] == 48 + asked["system"], "the canaries of both sets are judged, and every answer"
    assert "construction" not in asked
    committed = run_git(built, "diff", "--name-only", "HEAD", "nightly/one").splitlines()
    assert committed == ["dvc.lock", "nightly/summary.md", "params.yaml"]
    params = yaml.safe_load(run_git(built, "show", "nightly/one:params.yaml"))
    assert params["evaluation"] == {"as_of": "one"}

    second = run_night(built, "--as-of", "two", "--json")
    assert second.returncode == 0, second.stderr
    assert dict(model.asked) == {kind: 2 * count for kind, count in asked.items()}
    night = json.loads(second.stdout)
    (series,) = night["series"]
    assert (night["against"], night["state"], series["difference"]) == ("one", "accepted", 0.0)
    walked = built.call("flows.cli", "lineage", "data/nightly/two/night.json#/series/0/difference")
    assert (walked.returncode, walked.stderr) == (0, "")
    assert "rows of data/nightly/one/tree/data/grammar/films/films-weak/judgements.parquet" in walked.stdout
    assert "raw movies.db#" in walked.stdout
    counted = built.call("flows.cli", "lineage", "data/nightly/two/night.json#/gold")
    assert (counted.returncode, counted.stderr) == (0, "")
    assert f"recomputed from these rows: {night['gold']}" in counted.stdout
    assert run_git(built, "worktree", "list").count("\n") == 0, "the night's worktree went with the walk"

    model.broken = True
    third = run_night(built, "--as-of", "three")
    assert third.returncode == 5, third.stderr
    assert "ALARM (regression): assessments.films-weak/weak accuracy: the mean fell by" in third.stderr
    assert "Traceback" not in third.stderr
    assert "**regression**" in run_git(built, "show", "nightly/three:nightly/summary.md")

    model.broken = False
    fourth = run_night(built, "--as-of", "four", "--json")
    assert json.loads(fourth.stdout)["against"] == "two", "an alarmed night is nothing to compare with"

    asked = dict(model.asked)
    later = run_night(built, "--as-of", "two", "--json")
    assert dict(model.asked) == asked, "the same label goes on from the ledger"
    assert json.loads(later.stdout)["against"] == "one", "what came after is no past of it"
    history = json.loads((built.root / "data/nightly/nights.json").read_text())
    assert [night["label"] for night in history] == ["one", "two", "three", "four"]

    compared = built.call(
        "flows.cli", "compare", "night:two", "night:three", "--only", "films-weak", "--json"
    )
    assert json.loads(compared.stdout)["strands"][0]["metrics"][0]["difference"] < 0, compared.stderr

    model.broken = True
    assert built.call("flows.cli", "nightly", "accept", "three").returncode == 0
    fifth = run_night(built, "--as-of", "five", "--json")
    assert fifth.returncode == 5, "the night before it, four, was good"
    assert built.call("flows.cli", "nightly", "accept", "five").returncode == 0
    sixth = run_night(built, "--as-of", "six", "--json")
    assert (sixth.returncode, json.loads(sixth.stdout)["against"]) == (0, "five")

    model.drifted = True
    seventh = run_night(built, "--as-of", "seven", "--json")
    assert seventh.returncode == 5, seventh.stderr
    (alarm,) = json.loads(seventh.stdout)["alarms"]
    assert alarm["kind"] == "judge drift"
    assert "these metrics fell with the judge and do not count as regressions: accuracy" in alarm["what"]

    page = (built.root / "data/nightly/index.html").read_text()
    assert "films-weak" in page
    assert {path: (built.root / path).read_bytes() for path in tree} == tree
    assert run_git(built, "status", "--porcelain") == "M params.yaml", "which the test itself changed"
    assert not (built.root / ".benchloom/nightly/tree").exists()


@pytest.mark.drill
@pytest.mark.timeout(600)
def test_a_killed_night_goes_on_under_its_label_and_pays_nothing_twice(built, model):
    model.pause_s = 0.05
    command = built.command("flows.cli", "nightly", "once", "--plain")
    killed = subprocess.Popen(
        command, cwd=built.root, env=built.environment, stderr=subprocess.DEVNULL, start_new_session=True
    )
    wait_for(lambda: model.asked["system"] > 10, killed, 300)
    refused = run_night(built, "--as-of", "other")
    assert refused.returncode == 6, refused.stderr
    assert f"is running (PID {killed.pid}" in refused.stderr
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    done = run_night(built)
    assert done.returncode == 0, done.stderr
    assert "is unfinished; resuming it now" in done.stderr
    questions = count_rows(built.root / "data/grammar/films/questions.parquet")
    assert model.asked["system"] == questions, "no call was in flight that was not recorded"
    assert len(list_branches(built)) == 1


@pytest.mark.drill
@pytest.mark.timeout(300)
def test_a_budget_ends_a_night_which_is_told_and_goes_on(built, model):
    model.tokens = 100
    told = []

    async def hear(request: web.Request) -> web.Response:
        told.append(await request.json())
        return web.json_response({})

    with answering(hear) as url:
        set_param(built, "nightly.webhook={url_env: NIGHT_HOOK}")
        built.environment["NIGHT_HOOK"] = f"{url}/chat/completions"
        done = run_night(built, "--as-of", "poor", "--budget-tokens", "5000")
        assert done.returncode == 3, done.stderr
        assert "ALARM (budget): " in done.stderr
        assert "unfinished: the next night continues it" in done.stderr
        assert [alarm["kind"] for alarm in told[0]["alarms"]][:1] == ["budget"]
        assert (told[0]["night"], told[0]["state"]) == ("poor", "unfinished")
    built.environment["NIGHT_HOOK"] = "http://127.0.0.1:9/"
    again = run_night(built, "--budget-tokens", "5000")
    assert again.returncode == 3, "an address that does not answer loses no night"
    assert (
        "the webhook did not receive the alarm: the address in NIGHT_HOOK cannot be reached" in again.stderr
    )
    assert "127.0.0.1:9" not in again.stderr
    whole = run_night(built)
    assert whole.returncode == 0, whole.stderr
    assert "night poor: the first night, accepted" in whole.stderr


@pytest.mark.drill
@pytest.mark.timeout(300)
def test_artifacts_are_pushed_to_the_remote_and_pulled_from_it(built, model, tmp_path):
    (built.root / ".dvc/config.local").write_text(
        f"[core]\n    remote = store\n['remote \"store\"']\n    url = {tmp_path / 'store'}\n"
    )
    try:
        built.dvc("push")
        done = run_night(built, "--as-of", "pushed")
        assert done.returncode == 0, done.stderr
        assert re.search(r"pushed [1-9]\d* files to DVC's remote", done.stderr)
        shutil.rmtree(built.root / ".dvc/cache/files")
        built.dvc("fetch", "--all-branches")
        compared = built.call(
            "flows.cli", "compare", "night:pushed", "HEAD", "--only", "films-weak", "--json"
        )
        assert compared.returncode == 0, compared.stderr
    finally:
        (built.root / ".dvc/config.local").unlink()


@pytest.mark.timeout(300)
@pytest.mark.drill
def test_a_planted_change_in_a_row_of_the_database_is_found_by_its_items(built, model):
    path = built.root / "data/raw/films/films.sqlite"
    before = path.read_bytes()
    groups = pq.read_table(built.root / "data/grammar/films/fill_in.parquet", columns=["id", "sql"])
    queries = {row["id"]: row["sql"] for row in groups.to_pylist()}
    changed = plant_change(path, "films", "runtime_minutes", queries)
    recorded = built.root / "data/nightly/planted/night.json"
    there = []

    def speak_no_http(peer, receiver, request):
        there.append(recorded.is_file())
        peer.sendall(b"220 mail.example ESMTP ready\r\n")

    set_param(built, "nightly.webhook={url_env: NIGHT_HOOK}")
    try:
        with receiving(speak_no_http) as receiver:
            built.environment["NIGHT_HOOK"] = receiver.url
            done = run_night(built, "--as-of", "planted", "--json")
    finally:
        path.write_bytes(before)
        del built.environment["NIGHT_HOOK"]
    assert done.returncode == 5, done.stderr
    assert there == [True], "the alarm is on disk before it is sent"
    assert done.stderr.index("ALARM (gold)") < done.stderr.index("the webhook did not receive the alarm: ")
    assert receiver.url not in done.stderr
    night = json.loads(done.stdout)
    assert [alarm["kind"] for alarm in night["alarms"]] == ["gold"]
    assert night["gold"] == count_rows(built.root / "data/grammar/films/fill_in.parquet")
    assert "the database returns" in night["differences"][0]["what"]
    lines = (built.root / "data/nightly/planted/gold.tsv").read_text().splitlines()
    assert {found["item"] for found in night["differences"]} == changed
    assert len(lines) == len(night["differences"]) == len(changed)


@pytest.mark.drill
def test_a_night_whose_endpoint_is_gone_ends_with_a_line_and_goes_on(built, model):
    set_param(built, NOWHERE)
    done = run_night(built, "--as-of", "lost")
    # The address is checked before the first call, as for a run: a dead address is invalid input.
    assert done.returncode == 2, done.stderr
    assert "cannot be reached" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.timeout(300)
def test_a_night_runs_what_is_committed_and_stands_on_what_is_up_to_date(built, model):
    text, head = (built.root / "params.yaml").read_text(), run_git(built, "rev-parse", "HEAD")
    set_param(built, "grammar.questions.groups=29")
    commit(built, "Ask fewer")
    (built.root / "notes.txt").write_text("not committed")
    done = run_night(built, "--as-of", "stale")
    (built.root / "notes.txt").unlink()
    run_git(built, "reset", "-q", "--soft", head)
    (built.root / "params.yaml").write_text(text)
    run_git(built, "reset", "-q")
    assert done.returncode == 2
    assert "uncommitted changes, which are not part of this nightly run: notes.txt" in done.stderr
    assert "grammar-questions@films: is not up to date in the committed state" in done.stderr
    assert not model.asked


@pytest.mark.parametrize(
    ("assignment", "words", "line"),
    [
        (
            "nightly.assessments=[]",
            (),
            "nightly.assessments: is empty: list the evaluations to repeat (known: films-alone",
        ),
        ("nightly.assessments=[nobody]", (), "'nobody' is not an evaluation (known: films-alone"),
        ("nightly.alarm={drop: -1}", (), ": nightly.alarm.drop: must be "),
        ("nightly.timezone=UTC", ("--as-of", "../up"), "--as-of ../up: is not a valid label"),
        ("nightly.timezone=UTC", ("--as-of", "a..b"), "--as-of a..b: is not a valid label"),
    ],
)
def test_what_is_wrong_with_a_night_is_one_line(built, model, assignment, words, line):
    set_param(built, assignment)
    done = run_night(built, *words)
    assert done.returncode == 2, done.stderr
    assert line in done.stderr
    assert len([line for line in done.stderr.splitlines() if line.startswith("benchloom:")]) == 1
    assert not model.asked


def test_what_no_commit_has_is_named_and_nothing_is_made(built, model):
    (built.root / "params.yaml").write_text(
        yaml.safe_dump(
            (params := yaml.safe_load((built.root / "params.yaml").read_text()))
            | {"assessments": params["assessments"] | {"mine": params["assessments"]["films-weak"]}}
        )
    )
    set_param(built, "nightly.assessments=[mine]")
    done = run_night(built)
    assert done.returncode == 2, done.stderr
    assert (
        "'mine' is not committed yet, but a nightly run uses the committed state (commit params.yaml"
        in done.stderr
    )
    assert not list_branches(built)
    assert not model.asked
