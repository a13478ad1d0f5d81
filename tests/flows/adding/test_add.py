"""Tests of `benchloom add`: a tested entry is written, and an entry that fails its test is not."""

import json
import sqlite3
from contextlib import closing

import pytest
import yaml
from aiohttp import web

from flows.cli import run_command
from flows.graph_file import compare_graph
from flows.settings import load_params
from tasks.errors import BadInput
from tests.flows.adding.scenes import PARAMS, Model, make_project, make_shop
from tests.models.scenes import answering, serving

GIVEN = PARAMS.splitlines()


@pytest.fixture
def project(tmp_path, monkeypatch):
    root = make_project(tmp_path / "project")
    monkeypatch.chdir(root)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    return root


def read(root):
    return yaml.safe_load((root / "params.yaml").read_text())


def add(capsys, *words):
    """Call `add`; return its JSON output."""
    run_command(["add", *words, "--json"])
    return json.loads(capsys.readouterr().out)


def refuse(root, *words):
    """Call an `add` that must fail and write nothing; return its error."""
    before = sorted((path, path.read_bytes()) for path in root.rglob("*") if path.is_file())
    with pytest.raises(BadInput) as refused:
        run_command(["add", *words])
    assert sorted((path, path.read_bytes()) for path in root.rglob("*") if path.is_file()) == before
    assert "\n" not in str(refused.value)
    return str(refused.value)


def test_a_database_is_read_and_written_and_every_other_line_stays(project, capsys):
    make_shop(project / "data/shop.sqlite")
    said = add(capsys, "database", "shop", "data/shop.sqlite", "--title", "Our shop: lamps")
    assert read(project)["databases"] == {"shop": {"file": "data/shop.sqlite", "title": "Our shop: lamps"}}
    changed = [line for line in (project / "params.yaml").read_text().splitlines() if line not in GIVEN]
    assert len(changed) == 1
    assert changed[0].endswith("# none yet")
    assert said["found"]["tables"] == {
        "odd orders": {"columns": 2, "rows_read": 0},
        "products": {"columns": 3, "rows_read": 10},
    }
    assert said["lines"] == {"databases.shop": 2}
    assert said["next"] == "benchloom plan grammar-dataset@shop"


def test_a_file_elsewhere_is_copied_with_its_write_ahead_log(project, tmp_path, capsys):
    path = make_shop(tmp_path / "elsewhere.sqlite")
    with closing(sqlite3.connect(path)) as writer:
        writer.execute("PRAGMA journal_mode=WAL")
        writer.execute("INSERT INTO products VALUES (99, 'late lamp', 1)")
        writer.commit()
        add(capsys, "database", "shop", str(path))
    assert read(project)["databases"]["shop"]["file"] == "data/shop.sqlite"
    with closing(sqlite3.connect(project / "data/shop.sqlite")) as copy:
        assert copy.execute("SELECT COUNT(*) FROM products").fetchone() == (13,)


def test_what_cannot_be_read_is_not_written(project, tmp_path):
    assert "no such database file" in refuse(project, "database", "shop", "gone.sqlite")
    (tmp_path / "text.sqlite").write_text("no database at all")
    assert "is not a SQLite file" in refuse(project, "database", "shop", str(tmp_path / "text.sqlite"))
    empty = make_shop(tmp_path / "empty.sqlite", rows=0)
    assert "params.yaml, line 2: databases.shop: nothing was written" in refuse(
        project, "database", "shop", str(empty)
    )
    address = "postgresql://me:s3cret@127.0.0.1/shop"
    error = refuse(project, "database", "shop", address)
    assert "password_env" in error
    assert "s3cret" not in error
    assert "is not a valid name" in refuse(project, "database", "../shop", str(empty))


def test_an_entry_is_replaced_only_where_that_is_said(project, tmp_path, capsys):
    path = make_shop(tmp_path / "shop.sqlite")
    add(capsys, "database", "shop", str(path))
    error = refuse(project, "database", "shop", str(path))
    assert error.startswith("params.yaml, line 2: databases.shop: already exists")
    add(capsys, "database", "shop", str(path), "--title", "Another", "--replace")
    assert read(project)["databases"]["shop"]["title"] == "Another"


def test_a_model_gets_its_roles_and_what_its_endpoint_can_hold_them_to(project, capsys, monkeypatch):
    monkeypatch.setenv("MY_KEY", "sk-secret")
    model = Model("json_schema", "logprobs")
    with answering(model.answer) as url:
        said = add(capsys, "model", "gpt-mini", "--endpoint", url, "--key-env", "MY_KEY")
    assert said["found"] | {"limits": 0} == {
        "json_schema": True, "grammar": False, "tools": False, "logprobs": True, "reasons": False,
        "unanswered": [],
        "limits": 0,
    }  # fmt: skip
    assert model.bodies[0]["max_tokens"] == 1
    params = read(project)
    assert params["run"]["endpoints"]["gpt-mini"] == {"kind": "openai", "url": url, "key_env": "MY_KEY"}
    assert params["roles"] == {
        "generator": {"model": "gpt-mini", "constrain": "none", "logprobs": True},
        "judge": {"model": "gpt-mini", "constrain": "json_schema", "logprobs": True},
        "agent": {"model": "gpt-mini", "constrain": "json_schema", "logprobs": True},
        "embedder": {"model": "tiny"},
    }
    text = (project / "params.yaml").read_text()
    assert "sk-secret" not in text
    assert "# writes" in text


def test_a_model_writes_by_itself_and_calls_tools_where_it_can(project, capsys):
    with answering(Model("json_schema", "grammar", "tools").answer) as url:
        add(capsys, "model", "caller", "--endpoint", url, "--role", "agent")
    assert read(project)["roles"]["agent"] == {"model": "caller", "constrain": "tools"}


def test_a_parameter_that_a_model_refuses_by_name_is_left_out_from_then_on(project, capsys):
    model = Model(refuses=("max_tokens", "temperature", "logprobs"))
    with answering(model.answer) as url:
        said = add(capsys, "model", "thinker", "--endpoint", url, "--role", "judge", "--input-price", "0.5")
    endpoint = read(project)["run"]["endpoints"]["thinker"]
    assert (endpoint["omit"], endpoint["token_limit"]) == (["temperature"], "max_completion_tokens")
    assert said["found"]["logprobs"] is False
    assert read(project)["run"]["prices"] == {"thinker": {"input_usd_per_million": 0.5}}
    roles = read(project)["roles"]
    assert roles["judge"] == {"model": "thinker", "logprobs": False}
    assert roles["generator"]["model"] == "small"


def test_a_model_that_does_not_answer_is_not_written(project, monkeypatch):
    where = "params.yaml, line 12: run.endpoints.gone: "
    error = refuse(project, "model", "gone", "--endpoint", "http://127.0.0.1:9/v1")
    assert error.startswith(f"{where}the test failed, so nothing was written: ")
    unset = refuse(
        project, "model", "gone", "--endpoint", "http://127.0.0.1:9/v1", "--key-env", "NO_SUCH_KEY"
    )
    assert "the environment variable NO_SUCH_KEY is not set" in unset
    assert "--endpoint URL" in refuse(project, "model", "gone")
    assert "is not a role" in refuse(project, "model", "gone", "--endpoint", "http://h/v1", "--role", "jugde")
    assert refuse(project, "model", "small").startswith(
        "params.yaml, line 14: run.endpoints.small: already exists"
    )


def test_a_form_that_brought_no_reply_is_told_from_one_that_is_refused(project, capsys):
    model = Model("json_schema", refuses=("logprobs",))

    async def fail_at_tools(request):
        if "tools" in await request.json():
            return web.json_response({"error": {"message": "out of memory"}}, status=500)
        return await model.answer(request)

    with answering(fail_at_tools) as url:
        said = add(capsys, "model", "shaky", "--endpoint", url, "--role", "agent")
        assert said["found"]["unanswered"] == ["tools"]
        run_command(["add", "model", "shaky", "--endpoint", url, "--role", "agent", "--replace"])
    assert "no reply to a request for tools; if the endpoint failed" in capsys.readouterr().out
    assert read(project)["roles"]["agent"] == {"model": "shaky", "constrain": "json_schema"}


def test_a_judge_is_a_model_that_is_there_or_one_by_its_address(project, capsys):
    with answering(Model("grammar").answer) as url:
        add(capsys, "model", "other", "--endpoint", url, "--role", "agent", "--no-try")
        add(capsys, "judge", "other")
    roles = read(project)["roles"]
    assert roles["judge"] == {"model": "other", "constrain": "grammar", "logprobs": False}
    assert roles["agent"]["model"] == "other"
    assert "run.endpoints.third: is missing" in refuse(project, "judge", "third")


def test_a_further_judge_has_a_role_of_its_own_with_the_settings_of_the_first(project, capsys):
    before = read(project)["roles"]
    with answering(Model("json_schema", "logprobs").answer) as url:
        said = add(capsys, "judge", "other", "--endpoint", url, "--as", "second_judge")
    roles = read(project)["roles"]
    second = roles.pop("second_judge")
    assert second == {"model": "other", "logprobs": True, "constrain": "json_schema"}
    assert roles == before
    assert said["lines"].keys() == {"run.endpoints.other", "roles.second_judge"}
    line = said["lines"]["roles.second_judge"]
    there = refuse(project, "judge", "small", "--as", "second_judge")
    assert there.startswith(f"params.yaml, line {line}: roles.second_judge: already exists")
    assert "is not a valid name" in refuse(project, "judge", "small", "--as", "second judge")


def test_roles_are_named_in_one_word_with_commas_or_all_at_once(project, capsys):
    add(capsys, "model", "small", "--role", "generator, judge", "--no-try", "--replace")
    add(capsys, "model", "other", "--endpoint", "http://h/v1", "--role", "agent,judge", "--no-try")
    assert [role["model"] for role in read(project)["roles"].values()] == ["small", "other", "other", "tiny"]
    add(capsys, "model", "third", "--endpoint", "http://h/v1", "--roles", "all", "--no-try")
    assert [role["model"] for role in read(project)["roles"].values()] == ["third"] * 3 + ["tiny"]
    assert "roles.jugde: is not a role" in refuse(
        project, "model", "next", "--endpoint", "http://h/v1", "--role", "judge,jugde"
    )


def test_a_system_behind_http_is_asked_one_question(project, capsys):
    asked = []

    async def reply(request):
        asked.append(await request.json())
        return web.json_response({"reply": {"text": "twelve"}, "sources": [{"id": "a", "text": "..."}]})

    app = web.Application()
    app.router.add_post("/v1/answer", reply)
    words = ("--path", "/answer", "--body", '{"query": "{question}"}', "--passages", "sources", "--ids", "id")
    with serving(app) as url:
        said = add(capsys, "system", "ours", "--url", url, *words, "--text", "reply.text")
        error = refuse(project, "system", "theirs", "--url", url, *words)
        assert "the reply has no text at 'answer'" in error
    assert said["found"] == {"answer": "twelve", "passages": 1, "search": False}
    assert len(asked) == 2
    params = read(project)
    assert params["systems"]["ours"]["answer"]["text"] == "reply.text"
    assert params["run"]["systems"] == {"ours": {"url": url}}


def test_the_built_in_rag_is_asked_by_its_answerer(project, capsys):
    model = Model(text="It has 12 berths.")
    with answering(model.answer) as url:
        path = project / "params.yaml"
        path.write_text(path.read_text().replace("  agent:", "  answerer: {model: small}\n  agent:"))
        path.write_text(path.read_text().replace("http://127.0.0.1:9/v1", url))
        said = add(capsys, "system", "ours", "--retriever", "keyword", "--top-k", "1")
    assert said["found"] == {"answer": "It has 12 berths.", "passages": 1, "search": True}
    assert "Larkholm has 12 berths" in json.dumps(model.bodies[0])
    assert read(project)["systems"]["ours"] == {"kind": "rag", "retriever": "keyword", "top_k": 1}
    assert "is not a database of params.yaml" in refuse(
        project, "system", "more", "--retriever", "keyword", "--database", "shop", "--no-try"
    )
    assert "both are missing" in refuse(project, "system", "more")


def test_a_set_of_questions_is_read_where_it_is(project, tmp_path, capsys):
    folder = tmp_path / "mine"
    folder.mkdir()
    lines = [{"id": str(n), "question": f"what is {n}", "reference": f"it is {n}"} for n in range(12)]
    (folder / "questions.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    (folder / "documents.jsonl").write_text(json.dumps({"id": "d", "text": "text"}) + "\n")
    said = add(capsys, "dataset", "mine", str(folder))
    assert said["found"] == {"items_read": 10, "section": "ragcheck.sets"}
    assert read(project)["ragcheck"]["sets"] == {"mine": {"kind": "lines", "path": str(folder)}}
    (folder / "questions.jsonl").write_text("no JSON\n")
    assert "line 1" in refuse(project, "dataset", "broken", str(folder))


def write_table(path, header="question,answer"):
    path.write_text(header + "\n" + "".join(f"Which is {n}?,{n}\n" for n in range(12)) + ",no question\n")
    return path


def test_a_table_of_questions_is_evaluated_on_a_system_every_night(project, tmp_path, capsys):
    path = project / "params.yaml"
    alone = "systems: {alone: {kind: rag, retriever: none}, good: {kind: rag, retriever: bm25}}"
    path.write_text(path.read_text().replace("systems: {}", alone, 1) + "nightly: {assessments: [other]}\n")
    table = write_table(tmp_path / "mine.csv")
    said = add(capsys, "dataset", "mine", str(table), "--system", "alone", "--score", "both", "--nightly")
    assert said["found"] == {"items_read": 12, "section": "qa.sets"}
    assert said["next"].startswith("benchloom run qa-evaluation-page@mine-alone && git add")
    params = read(project)
    assert params["qa"] == {
        "sets": {"mine": {"file": str(table)}},
        "systems": {"mine-alone": {"set": "mine", "system": "alone", "score": "both"}},
    }
    assert params["nightly"]["assessments"] == ["other", "mine-alone"]
    words = ("dataset", "more", str(table), "--system")
    assert "params.yaml, line 3: systems.good: retrieves from documents" in refuse(project, *words, "good")
    assert "is not a system of params.yaml" in refuse(project, *words, "nobody")
    assert "--system" in refuse(project, "dataset", "more", str(table), "--nightly")


def test_a_table_says_which_columns_it_takes_and_what_it_leaves_out(project, tmp_path, capsys):
    table = write_table(project / "mine.csv", "prompt,label")
    assert "no column that could be the answer" in refuse(project, "dataset", "mine", str(table))
    run_command(["add", "dataset", "mine", str(table), "--answer", "label"])
    printed = capsys.readouterr().out
    assert "read 12 questions\n" in printed
    assert "the column 'prompt' is read as question" in printed
    assert "skipped 1 rows; the first: " in printed
    assert "next: benchloom run qa-items@mine" in printed
    assert read(project)["qa"]["sets"] == {"mine": {"file": "mine.csv", "columns": {"answer": "label"}}}


@pytest.mark.parametrize(
    ("name", "line", "section"),
    [
        ("mine.jsonl", {"question": "what is it", "answer": "it"}, "qa.sets"),
        ("questions.jsonl", {"id": "1", "question": "what is it", "reference": "it"}, "ragcheck.sets"),
    ],
)
def test_json_lines_go_to_the_flow_that_can_read_them(name, line, section, project, tmp_path, capsys):
    (tmp_path / name).write_text(json.dumps(line) + "\n")
    (tmp_path / "documents.jsonl").write_text(json.dumps({"id": "d", "text": "text"}) + "\n")
    assert add(capsys, "dataset", "mine", str(tmp_path / name))["found"]["section"] == section


def test_options_of_tables_are_refused_for_other_datasets(project, tmp_path):
    (tmp_path / "questions.jsonl").write_text(
        json.dumps({"id": "1", "question": "what is it", "reference": "it"}) + "\n"
    )
    said = refuse(project, "dataset", "mine", str(tmp_path), "--system", "alone")
    assert "is not a table of questions and answers" in said


def test_a_stream_is_compared_by_methods_and_one_line_names_the_roles_of_a_model(project, capsys):
    folder = project / "data/raw/streambench/quiz"
    folder.mkdir(parents=True)
    details = {"type": "bridge", "level": "hard"}
    texts = {"memory_key": "what", "context": "", "gold": "it", "details": details}
    items = [{"key": str(n), "text": f"what is {n}", **texts} for n in range(12)]
    (folder / "items.jsonl").write_text("".join(f"{json.dumps(item)}\n" for item in items))
    (folder / "dataset.json").write_text(json.dumps({"name": "quiz", "kind": "hotpotqa"}))
    place = "data/raw/streambench/quiz"
    said = add(capsys, "dataset", "quiz", place, "--method", "zero_shot", "--method", "grow_prompt")
    assert (said["found"]["items_read"], said["next"]) == (
        10,
        "benchloom run streambench-evaluation-page@quiz",
    )
    assert read(project)["streambench"] == {
        "streams": {"quiz": {"datasets": ["quiz"]}},
        "evaluations": {"quiz": {"stream": "quiz", "methods": ["zero_shot", "grow_prompt"]}},
    }
    assert "is not a stream" in refuse(project, "dataset", "more", "params.yaml", "--method", "zero_shot")
    with answering(Model().answer) as url:
        run_command(["add", "model", "mine", "--endpoint", url])
    lines = capsys.readouterr().out.splitlines()
    assert "  lines 5 to 7: roles.*.model of 3 roles" in lines
    assert not any("roles.judge.model" in line for line in lines)


def test_the_graph_of_a_project_follows_what_is_added(tmp_path, monkeypatch, capsys):
    from benchloom.making import init_command

    root = tmp_path / "shop"
    init_command(root)
    monkeypatch.chdir(root)
    make_shop(root / "data/shop.sqlite")
    run_command(["add", "database", "shop", "data/shop.sqlite"])
    before, after = compare_graph(root, load_params(root))
    assert "grammar-dataset" in before
    assert before == after
    assert "next: benchloom plan grammar-dataset@shop" in capsys.readouterr().out
