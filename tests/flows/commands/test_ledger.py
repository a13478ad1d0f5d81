import json

import pytest
import yaml
from typer.testing import CliRunner

from flows.commands.ledger import app
from tasks.artifacts.parquet import write_rows
from tasks.errors import BadInput
from tasks.models.ask import Prompt
from tasks.models.calls import Call, make_call
from tasks.models.recording.ledger import NOTED_AT_ONCE, Ledger, PossiblyPaid, Unfinished, list_unfinished
from tasks.models.recording.ledger_address import find_ledger
from tasks.models.recording.shipped import read_shipped, write_shipped
from tests.models.ledger_places import ENGINES, damage, place_ledger
from tests.models.scenes import MODEL, LedgerServer, answering, make_entry, make_request, say, serving

PROMPT = Prompt("ask", "digest", ())


@pytest.fixture(params=ENGINES)
def live(request, tmp_path):
    with place_ledger(request.param, tmp_path) as address:
        yield address


@pytest.fixture
def project(tmp_path, monkeypatch, live):
    """A project with six calls in its artifacts and in the live ledger."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BENCHLOOM_LEDGER", str(live))
    (tmp_path / "dvc.yaml").write_text("stages: {}\n")
    point_at(tmp_path, "http://127.0.0.1:9/v1")
    requests = [make_request(number) for number in range(6)]
    entries = [make_entry(request, f"answer {number}", at=1.0) for number, request in enumerate(requests)]
    calls = [
        make_call("grammar-ask@films", "row", "role", PROMPT, request, entry, None)
        for request, entry in zip(requests, entries, strict=True)
    ]
    write_rows(tmp_path / "data/grammar/films/ask.calls.parquet", Call, calls[:4])
    write_rows(tmp_path / "data/grammar/flights/ask.calls.parquet", Call, calls[3:])
    with Ledger(live) as ledger:
        ledger.put_many(entries)
    return tmp_path


def point_at(root, url):
    endpoint = {"url": url, "timeout_s": 5, "deadline_s": 10, "retries": 1}
    (root / "params.yaml").write_text(yaml.safe_dump({"run": {"endpoints": {MODEL: endpoint}}}))


def invoke(*arguments):
    result = CliRunner().invoke(app, arguments)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def test_stats_are_one_json_object(project):
    facts = json.loads(invoke("stats", "--json").stdout)
    assert (facts["live_calls"], facts["shipped_calls"], facts["prompt_tokens"]) == (6, 0, 42)
    assert facts["path"] == str(find_ledger())
    assert facts["bytes"] > 0


def test_stats_and_prune_name_models_and_dollars(project):
    price = {"input_usd_per_million": 10, "output_usd_per_million": 100, "batch_share": 0.5}
    (project / "params.yaml").write_text(yaml.safe_dump({"run": {"prices": {"dear": price}}}))
    requests = [make_request(100 + number) for number in range(4)]
    with Ledger(find_ledger()) as ledger:
        ledger.put_many(make_entry(request, model="dear", at=1.0) for request in requests[:2])
        ledger.put_many(make_entry(request, model="dear", batch=True, at=1.0) for request in requests[2:3])
        ledger.put_many(make_entry(request, model="other", at=1.0) for request in requests[3:])
        ledger.record_possibly_paid(PossiblyPaid("k", "dear", "no reply in time", 1_000, 2_000, 1.0))
    facts = json.loads(invoke("stats", "--json").stdout)
    # A call costs 7 x $10 + 3 x $100 per million = $0.00037, and half of it by batch.
    told = {(model["model"], model["batch"]): (model["calls"], model["usd"]) for model in facts["models"]}
    assert told["dear", False] == (2, 0.00074)
    assert told["dear", True] == (1, 0.000185)
    assert told["other", False] == (1, None)
    # At most 1,000 x $10 + 2,000 x $100 per million.
    assert facts["possibly_paid_models"][0]["usd"] == 0.21
    shown = invoke("stats").stdout
    assert "dear: 2 calls, 14 + 6 tokens, $0.0007" in shown
    assert "dear (batch API): 1 calls" in shown
    assert "other: 1 calls, 7 + 3 tokens, no price in run.prices" in shown

    pruned = json.loads(invoke("prune", "--older-than-days", "1", "--model", "dear", "--json").stdout)
    assert pruned["deleted"] == 3
    assert sum(model["usd"] for model in pruned["models"]) == pytest.approx(0.000925)
    left = json.loads(invoke("stats", "--json").stdout)
    assert "dear" not in {model["model"] for model in left["models"]}


def test_what_is_exported_is_imported_elsewhere(project, monkeypatch):
    facts = json.loads(invoke("export", "grammar", "--json").stdout)
    shipped = project / "data/ledger/grammar.jsonl.gz"
    assert facts["calls"] == len(read_shipped(shipped)) == 6
    first = shipped.read_bytes()
    invoke("export", "grammar")
    assert shipped.read_bytes() == first
    monkeypatch.setenv("BENCHLOOM_LEDGER", str(project / "other.sqlite"))
    assert json.loads(invoke("import", str(shipped), "--json").stdout)["added"] == 6
    assert json.loads(invoke("import", str(shipped), "--json").stdout)["added"] == 0


def test_an_export_with_a_call_missing_writes_nothing(project, monkeypatch):
    monkeypatch.setenv("BENCHLOOM_LEDGER", str(project / "empty.sqlite"))
    with pytest.raises(BadInput, match=r"6 of 6 calls are not in any ledger.*grammar-ask"):
        invoke("export", "grammar")
    assert not (project / "data/ledger").exists()


def test_verify_asks_past_the_ledger_and_compares(project):
    asked = []

    async def answer(request):
        question = (await request.json())["messages"][0]["content"]
        asked.append(question)
        return say("another text" if question == "question 2" else question.replace("question", "answer"))

    with answering(answer) as url:
        point_at(project, url)
        result = invoke("verify", "--json")
    facts = json.loads(result.stdout)
    assert (facts["asked"], facts["same"], facts["different"], result.exit_code) == (6, 5, 1, 1)
    assert facts["differing"][0]["live"] == "another text"
    assert len(asked) == 6


def test_verify_of_a_sample_asks_no_more_than_that(project):
    with Ledger(find_ledger()) as ledger:
        server = LedgerServer(ledger)
        with serving(server.application()) as url:
            point_at(project, url)
            result = invoke("verify", "grammar", "--sample", "3", "--seed", "5", "--json")
    assert json.loads(result.stdout) == {"asked": 3, "same": 3, "different": 0, "differing": []}
    assert result.exit_code == 0
    assert server.counts.requests == 3


def test_prune_deletes_only_when_meant(project):
    def prune(*words):
        return json.loads(invoke("prune", "--older-than-days", "1", "--json", *words).stdout)

    assert prune("--dry-run")["would_delete"] == 6
    assert prune("--model", "another")["deleted"] == 0
    assert prune()["deleted"] == 6
    assert json.loads(invoke("stats", "--json").stdout)["live_calls"] == 0


def test_prune_deletes_what_is_damaged_and_says_so_of_nothing_else(project):
    damage(find_ledger(), b"answer 3", b"answer 9")
    with pytest.raises(BadInput, match=r"is damaged \(`benchloom ledger prune --damaged` deletes"):
        invoke("export", "grammar")
    assert json.loads(invoke("prune", "--damaged", "--dry-run", "--json").stdout) == {"would_delete": 1}
    assert json.loads(invoke("prune", "--damaged", "--json").stdout) == {"deleted": 1}
    assert json.loads(invoke("stats", "--json").stdout)["live_calls"] == 5
    for words in ((), ("--damaged", "--older-than-days", "1")):
        with pytest.raises(BadInput, match="needs either --older-than-days or --damaged"):
            invoke("prune", *words)


@pytest.mark.parametrize("command", ["stats", "export", "import", "verify", "prune", "serve"])
def test_every_help_has_an_example(command):
    assert "Example: benchloom ledger" in invoke(command, "--help").stdout


def note(project, flow_stage, number, *, of=None, asked=True):
    """Record a call of an unfinished stage; return its key."""
    with Ledger(find_ledger()) as ledger:
        key = make_request(number).key()
        Unfinished(ledger, str(of or project), flow_stage).note([key], asked=asked)
        return key


def test_a_partial_export_takes_the_calls_of_unfinished_stages_and_what_was_shipped(project):
    with Ledger(find_ledger()) as ledger:
        ledger.put_many(make_entry(make_request(number), "live", at=1.0) for number in range(6, 10))
    taken = note(project, "grammar-late@films", 6)
    note(project, "grammar-late@films", 99)  # sent, but never answered
    note(project, "ragcheck-late@films", 7)  # a call of another flow
    note(project, "grammar-late@films", 8, of="/another/project")
    old = make_entry(make_request(50), "shipped before")
    shipped = project / "data/ledger/grammar.jsonl.gz"
    write_shipped(shipped, [old])
    facts = json.loads(invoke("export", "grammar", "--partial", "--json").stdout)
    assert (facts["calls"], facts["unfinished"], facts["missing"]) == (8, 1, 0)
    ours = {make_request(number).key() for number in range(6)}
    assert read_shipped(shipped).keys() == {taken, old.key, *ours}
    assert json.loads(invoke("export", "grammar", "--json").stdout)["calls"] == 6


def test_a_stage_that_never_finished_can_be_exported_alone(project):
    for path in (project / "data").rglob("*.calls.parquet"):
        path.unlink()
    with pytest.raises(BadInput, match="--partial includes calls of unfinished stages"):
        invoke("export", "grammar")
    note(project, "grammar-ask@films", 3)
    assert json.loads(invoke("export", "grammar", "--partial", "--json").stdout)["calls"] == 1
    with Ledger(find_ledger()) as ledger:
        Unfinished(ledger, str(project), "grammar-ask@films").forget()
        assert list_unfinished(ledger, str(project), "grammar") == []


def test_what_is_found_recorded_is_noted_with_the_next_call_that_is_asked(project):
    with Ledger(find_ledger()) as ledger:
        unfinished = Unfinished(ledger, str(project), "grammar-ask@films")
        unfinished.note(["b"], asked=False)
        assert list_unfinished(ledger, str(project), "grammar") == []
        unfinished.note(["a"], asked=True)
        assert list_unfinished(ledger, str(project), "grammar") == ["a", "b"]
        unfinished.note((str(number) for number in range(NOTED_AT_ONCE)), asked=False)
        assert len(list_unfinished(ledger, str(project), "grammar")) == NOTED_AT_ONCE + 2
