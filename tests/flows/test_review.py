"""Tests of reviews by people: exported and imported forms, two people, history, hostile files, the page."""

import csv
import http.client
import io
import json
import signal
import socket
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import expect

from flows.cli import main
from tasks.artifacts.parquet import write_rows
from tasks.artifacts.rows import Origin, make_id
from tasks.judging.decisions import load_decisions
from tests.browser.reviewing import serve_review
from tests.browser.watch import open_chromium, open_watched

PATIENCE_MS = 30_000
"""Timeout for a browser on a busy machine."""
ARTIFACT = "data/trial/sample/condense.parquet"
FILE = "data/labels/review/trial-sample-condense.jsonl"
TEXTS = [
    "Which film won?",
    '<img src=x onerror="alert(1)"></script><script>alert(2)</script>',
    "=HYPERLINK(\"http://evil\")\nand 'more'",
    "日本の映画",
]
IDS = [make_id("item", n) for n in range(len(TEXTS))]


@dataclass(frozen=True)
class Printed:
    stdout: str
    stderr: str


@dataclass(frozen=True)
class Question:
    id: str
    text: str
    reviewer: str
    parent: str
    length: int
    origin: tuple[Origin, ...]


@dataclass(frozen=True)
class Verdict:
    id: str
    item: str
    label: str | None
    reason: str


@pytest.fixture
def project(tmp_path, monkeypatch):
    for name in ("dvc.yaml", "params.yaml"):
        (tmp_path / name).write_text("{}\n")
    monkeypatch.chdir(tmp_path)
    write_questions(tmp_path)
    return tmp_path


def write_questions(root, texts=TEXTS):
    rows = [
        Question(key, text, "its own", make_id(key), len(text), ())
        for key, text in zip(IDS, texts, strict=True)
    ]
    write_rows(root / ARTIFACT, Question, rows)


def call(*words, code=0):
    """Run a command in this process, like the command line; return its output."""
    out, err = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        patch.setattr(sys, "argv", ["benchloom", "review", *words])
        with pytest.raises(SystemExit) as ended:
            main()
    assert ended.value.code == code, out.getvalue() + err.getvalue()
    return Printed(out.getvalue(), err.getvalue())


def read_form(path):
    if path.suffix == ".jsonl":
        return [json.loads(line) for line in path.read_text().splitlines()]
    return list(csv.DictReader(io.StringIO(path.read_text("utf-8-sig"), newline="")))


def write_form(path, rows):
    if path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        return
    form = io.StringIO(newline="")
    writer = csv.DictWriter(form, list(rows[0]))
    writer.writeheader()
    writer.writerows(rows)
    path.write_text(form.getvalue(), newline="")


def fill_in(path, **filled):
    """Export a form and fill it in: `_0={"decision": ...}` is for the first item in IDS."""
    call("export", ARTIFACT, "--out", str(path))
    rows = read_form(path)
    for place, fields in filled.items():
        next(row for row in rows if row["item"] == IDS[int(place[1:])]).update(fields)
    write_form(path, rows)
    return rows


def import_(path, *words, code=0):
    return json.loads(call("import", str(path), "--json", *words, code=code).stdout)


@pytest.mark.parametrize("suffix", ["csv", "jsonl"])
def test_a_form_goes_out_and_comes_back(project, suffix):
    path = project / f"form.{suffix}"
    fill_in(
        path,
        _0={"decision": "accept", "rating": "4", "reviewer": "Anna", "at": "2024-11-23T10:00"},
        _1={"decision": "edit", "edited": "What is an image?", "note": "odd"},
        _2={"decision": "Reject"},
    )
    facts = import_(path, "--reviewer", "Ben")
    assert (facts["read"], facts["new"], facts["left_open"], facts["refused"]) == (4, 3, 1, [])
    decisions = load_decisions(project / FILE)
    first, second, third = (decisions.current[key] for key in IDS[:3])
    assert (first["Anna"].decision, first["Anna"].rating) == ("accept", 4)
    assert first["Anna"].at == "2024-11-23T10:00:00.000000Z"
    assert (second["Ben"].edited, second["Ben"].note) == ({"text": "What is an image?"}, "odd")
    assert third["Ben"].decision == "reject"
    assert decisions.decide(IDS[1], {"id": IDS[1], "text": TEXTS[1]}).text == "What is an image?"

    before = (project / FILE).read_bytes()
    again = import_(path, "--reviewer", "Ben")
    assert (again["new"], again["changed"], again["unchanged"]) == (0, 0, 3)
    assert (project / FILE).read_bytes() == before


def test_a_form_shows_text_and_numbers_and_no_ids(project):
    call("export", ARTIFACT, "--out", "form.csv")
    rows = read_form(project / "form.csv")
    assert list(rows[0]) == [
        "item", "artifact", "text", "row.reviewer", "length",
        "decision", "edited", "rating", "reviewer", "note", "at",
    ]  # fmt: skip
    assert all(row["artifact"] == ARTIFACT for row in rows)
    assert not any(cell.startswith(("=", "+", "-", "@")) for row in rows for cell in row.values())


def test_some_items_are_drawn_by_a_seed(project):
    drawn = [
        [row["item"] for row in read_form(project / "form.jsonl")]
        for _ in range(2)
        if call("export", ARTIFACT, "--out", "form.jsonl", "--take", "2", "--seed", "7")
    ]
    assert drawn[0] == drawn[1] == sorted(drawn[0])
    assert len(drawn[0]) == 2


def test_what_a_verdict_is_about_is_shown_beside_it(project):
    verdicts = [Verdict(make_id("v", key), key, None, "it says so") for key in IDS]
    write_rows(project / "data/trial/sample/verdicts.parquet", Verdict, verdicts)
    words = ("data/trial/sample/verdicts.parquet", "--beside", ARTIFACT, "--out", "form.csv")
    call("export", *words)
    rows = read_form(project / "form.csv")
    assert {row["condense.text"].removeprefix("'").replace("\r\n", "\n") for row in rows} == set(TEXTS)
    rows[0].update(decision="reject")
    rows[1].update(decision="edit", edited="it does not")
    write_form(project / "form.csv", rows)
    facts = import_(project / "form.csv", "--reviewer", "Anna", code=1)
    assert facts["new"] == 1
    assert "no column to edit" in facts["refused"][0]["why"]


def test_two_people_are_both_kept_and_their_agreement_told(project):
    one, other = project / "one.csv", project / "other.csv"
    fill_in(one, _0={"decision": "accept"}, _1={"decision": "reject"}, _3={"decision": "accept"})
    fill_in(other, _0={"decision": "accept"}, _1={"decision": "reject"}, _3={"decision": "reject"})
    import_(one, "--reviewer", "Anna")
    facts = import_(other, "--reviewer", "Ben")
    # 2 of 3 agree; p_e = 2/3 * 1/3 + 1/3 * 2/3 = 4/9; kappa = (2/3 - 4/9) / (5/9) = 0.4
    (pair,) = facts["agreement"]
    assert (pair["first"], pair["second"], pair["n"]) == ("Anna", "Ben", 3)
    assert pair["agree"] == pytest.approx(2 / 3)
    assert pair["kappa"] == pytest.approx(0.4)
    assert facts["split"] == [IDS[3]]
    told = call("import", str(other), "--reviewer", "Ben").stdout
    assert "Anna, Ben: agree on 66.67% of 3 items, kappa 0.4000" in told
    assert IDS[3] in told


def test_a_later_decision_supersedes_and_the_earlier_one_stays_as_history(project):
    path = project / "form.csv"
    fill_in(path, _0={"decision": "accept", "at": "2024-05-05"})
    import_(path, "--reviewer", "Anna")
    fill_in(path, _0={"decision": "reject", "at": "2024-05-05", "note": "on second thoughts"})
    assert import_(path, "--reviewer", "Anna")["changed"] == 1
    fill_in(path, _0={"decision": "edit", "edited": "older", "at": "2024-05-04"})
    assert import_(path, "--reviewer", "Anna")["older"] == 1
    decisions = load_decisions(project / FILE)
    assert [act.decision for act in decisions.history] == ["edit", "accept", "reject"]
    assert decisions.current[IDS[0]]["Anna"].note == "on second thoughts"


@pytest.mark.parametrize("suffix", ["csv", "jsonl"])
@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"decision": "maybe"}, "expected one of accept, edit, reject"),
        ({"decision": "accept", "edited": "another"}, "not edit"),
        ({"decision": "accept, edit"}, "expected one of"),
        ({"decision": "edit"}, "edited text is empty"),
        ({"decision": "edit", "edited": TEXTS[0]}, "is unchanged"),
        ({"decision": "accept", "rating": "6"}, "from 1 to 5"),
        ({"rating": "3"}, "no decision"),
        ({"decision": "accept", "reviewer": "x" * 61}, "printable characters"),
        ({"decision": "accept", "reviewer": "a\u202eb"}, "printable characters"),
        ({"decision": "accept", "at": "yesterday"}, "a time such as"),
        ({"decision": "accept", "at": "9999-01-01"}, "in the future"),
        ({"decision": "accept", "item": "nope"}, "is not in"),
        ({"decision": "accept", "text": "edited in place"}, "new text in `edited`"),
        ({"decision": "accept", "note": "x" * 2001}, "longer than"),
        ({"decision": "edit", "edited": "a\x07b"}, "control character"),
    ],
)
def test_a_bad_line_is_refused_with_its_number_and_the_others_are_taken(project, suffix, fields, why):
    path = project / f"form.{suffix}"
    fill_in(path, _0=fields, _1={"decision": "accept", "reviewer": "Anna"})
    number = 1 + [row["text"] for row in read_form(path)].index(fields.get("text", TEXTS[0]))
    facts = import_(path, "--reviewer", "Ben", code=1)
    assert facts["new"] == 1
    (refused,) = facts["refused"]
    assert why in refused["why"]
    if suffix == "jsonl":
        assert refused["line"] == number


@pytest.mark.parametrize("name", ["edited", "note", "reviewer"])
@pytest.mark.parametrize("cell", ["=cmd|'/c calc'!A1", "+1+cmd", "@SUM(A1)", "-2+3", " =1"])
def test_a_formula_in_a_cell_is_refused(project, name, cell):
    path = project / "form.csv"
    decision = "edit" if name == "edited" else "accept"
    fill_in(path, _0={"decision": decision, name: cell})
    facts = import_(path, "--reviewer", "Anna", code=1)
    assert "like a spreadsheet formula" in facts["refused"][0]["why"]
    assert not (project / FILE).exists()


def test_a_number_and_what_has_an_apostrophe_before_it_are_texts(project):
    path = project / "form.csv"
    edits = ["-5.5", "'=1+1"]
    fill_in(path, **{f"_{n}": {"decision": "edit", "edited": text} for n, text in enumerate(edits)})
    import_(path, "--reviewer", "Anna")
    current = load_decisions(project / FILE).current
    assert [current[key]["Anna"].edited["text"] for key in IDS[:2]] == ["-5.5", "=1+1"]


def test_who_decides_twice_in_one_form_is_refused(project):
    path = project / "form.jsonl"
    rows = fill_in(path, _0={"decision": "accept"})
    write_form(path, [*rows, {**rows[[row["item"] for row in rows].index(IDS[0])], "decision": "reject"}])
    facts = import_(path, "--reviewer", "Anna", code=1)
    assert facts["refused"][0]["line"] == 5
    assert "already" in facts["refused"][0]["why"]


def test_a_form_of_an_artifact_that_was_made_anew_is_refused(project):
    path = project / "form.csv"
    fill_in(path, _0={"decision": "accept"})
    write_questions(project, ["Another question?", *TEXTS[1:]])
    facts = import_(path, "--reviewer", "Anna", code=1)
    assert "the artifact has changed since" in facts["refused"][0]["why"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no column 'item'"),
        ("item,artifact,decision,edited,rating,reviewer,note,at\n", "contains no lines"),
        ("a,b\n1,2\n", "no column 'item'"),
        ("item,item,artifact,decision,edited,rating,reviewer,note,at\n", "two columns 'item'"),
        ('item,artifact,decision,edited,rating,reviewer,note,at\n"1', "is not valid CSV"),
        ("\0", "binary"),
        ("\ud800", "not UTF-8"),
        ("x" * (64 * 2**20 + 1), "larger than"),
    ],
)
def test_a_file_that_is_no_form_is_one_clear_line(project, text, said):
    (project / "form.csv").write_bytes(text.encode("utf-8", "surrogatepass"))
    done = call("import", "form.csv", code=2)
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("artifact", "said"),
    [
        ("../../etc/passwd", "not an artifact of this project"),
        ("/etc/passwd", "not an artifact of this project"),
        ("data/../params.parquet", "not an artifact of this project"),
        ("data/.preview/trial/x.parquet", "preview"),
        ("data/trial/sample/no.parquet", "does not exist"),
        ("data/trial/sample/\0.parquet", "does not name an artifact"),
        (7, "does not name an artifact"),
    ],
)
def test_a_form_that_names_another_place_is_one_clear_line(project, artifact, said):
    row = {"item": "1", "artifact": artifact, "decision": "accept"}
    (project / "form.jsonl").write_text(json.dumps(row) + "\n")
    assert said in call("import", "form.jsonl", code=2).stderr


def test_an_unknown_column_is_named(project):
    path = project / "form.csv"
    rows = fill_in(path)
    write_form(path, [{**row, "edit": "x"} for row in rows])
    assert "an unknown column 'edit'" in call("import", str(path), code=2).stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("export", "no.parquet"), "is not an artifact"),
        (("export", ARTIFACT, "--out", "form.xlsx"), "neither .csv nor .jsonl"),
        (("import", "no.csv"), "no such file"),
        (("import", "no.csv", "--reviewer", "=x"), "--reviewer"),
        (("serve", "data/trial/sample/broken.parquet"), "cannot be read as Parquet"),
    ],
)
def test_bad_input_is_exit_2(project, words, said):
    (project / "data/trial/sample/broken.parquet").write_bytes(b"PAR1 and no more")
    assert said in call(*words, code=2).stderr


@pytest.mark.parametrize("command", ["export", "import", "serve"])
def test_every_command_has_help_with_an_example(command):
    assert f"Example: benchloom review {command}" in " ".join(call(command, "--help").stdout.split())


def send(url, path="", method="GET", body=None, **headers):
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=20)
    try:
        given = {"Content-Type": "application/json"} if body is not None else {}
        text = json.dumps(body) if body is not None else None
        connection.request(method, parts.path + path, text, {**given, **headers})
        reply = connection.getresponse()
        return reply.status, reply.headers, reply.read().decode()
    finally:
        connection.close()


def decide(url, key, decision, reviewer="Anna", **more):
    body = {"item": key, "decision": decision, "reviewer": reviewer, **more}
    return send(url, "decisions", "POST", body)[0]


def test_only_the_page_that_has_the_token_is_answered(project):
    with serve_review(ARTIFACT) as (url, _):
        parts = urlsplit(url)
        bare = f"http://{parts.netloc}"
        assert parts.hostname == "127.0.0.1"
        assert len(parts.path) > 20
        assert send(url)[0] == 200
        for path in ("/", "/items", "//", f"{parts.path[:-2]}/", "/%ff/", "/%C3%A9/"):
            assert send(bare, path)[0] == 403, path
        assert decide(f"{bare}/guess/", IDS[0], "accept") == 403
        for host in ("evil.example", f"evil.example:{parts.port}", ""):
            assert send(url, Host=host)[0] == 403, host
        body = {"item": IDS[0], "decision": "accept", "reviewer": "Anna"}
        for origin in ("http://evil.example", "http://127.0.0.1:9", "null", f"https://{parts.netloc}"):
            assert send(url, "decisions", "POST", body, Origin=origin)[0] == 403, origin
        assert not (project / FILE).exists()
        assert send(url, "decisions", "POST", body, Origin=bare)[0] == 200
        assert send(url, "nothing")[0] == 404


def test_the_policy_is_strict_and_in_every_answer(project):
    with serve_review(ARTIFACT) as (url, _):
        status, headers, page = send(url)
        assert status == 200
        for reply in (headers, send(url, "items?reviewer=Anna")[1], send(url, "no")[1], send(url[:-5])[1]):
            policy = reply["Content-Security-Policy"]
            assert "default-src 'none'" in policy
            assert "frame-ancestors 'none'" in policy
            assert "connect-src 'self'" in policy
            assert "unsafe" not in policy
            assert "*" not in policy
            assert (reply["Cache-Control"], reply["X-Content-Type-Options"]) == ("no-store", "nosniff")
        assert 'x onerror="' not in page


BAD_BODIES = [
    {"item": "nope", "decision": "accept", "reviewer": "Anna"},
    {"item": IDS[0], "decision": "perhaps", "reviewer": "Anna"},
    {"item": IDS[0], "decision": "accept", "reviewer": ""},
    {"item": IDS[0], "decision": "accept", "reviewer": "Anna", "edited": {"text": "x"}},
    {"item": IDS[0], "decision": "edit", "reviewer": "Anna", "edited": {"length": "x"}},
    {"item": IDS[0], "decision": "edit", "reviewer": "Anna", "edited": {"text": "  "}},
    {"item": IDS[0], "decision": "edit", "reviewer": "Anna", "edited": ["x"]},
    {"item": IDS[0], "decision": "accept", "reviewer": "Anna", "rating": True},
    ["no", "object"],
]


def test_what_is_no_decision_is_refused(project, served):
    for body in BAD_BODIES:
        assert send(served, "decisions", "POST", body)[0] == 400, body
    assert not (project / FILE).exists()


@pytest.fixture
def served(project):
    with serve_review(ARTIFACT) as (url, _):
        yield url


def test_two_people_decide_at_once_and_are_not_shown_each_other(project, served):
    assert decide(served, IDS[0], "accept", rating=5) == 200
    assert decide(served, IDS[0], "reject", "Ben") == 200
    assert decide(served, IDS[0], "edit", edited={"text": "Who won?"}) == 200
    own = {
        name: {row["item"]: row for row in json.loads(send(served, f"items?reviewer={name}")[2])["items"]}
        for name in ("Anna", "Ben", "Eve")
    }
    assert [own[name][IDS[0]]["decision"] for name in own] == ["edit", "reject", ""]
    history = load_decisions(project / FILE).history
    assert [(act.reviewer, act.decision) for act in history] == [
        ("Anna", "accept"), ("Anna", "edit"), ("Ben", "reject"),
    ]  # fmt: skip


def test_a_form_and_a_page_write_the_same_file(project, served):
    decide(served, IDS[0], "accept")
    fill_in(project / "form.csv", _0={"decision": "reject"}, _1={"decision": "accept"})
    assert import_(project / "form.csv", "--reviewer", "Anna")["changed"] == 1
    decide(served, IDS[3], "reject")
    assert len(load_decisions(project / FILE).history) == 4


def test_decisions_survive_a_killed_server(project):
    with serve_review(ARTIFACT) as (url, server):
        assert decide(url, IDS[0], "accept") == 200
        assert decide(url, IDS[1], "edit", edited={"text": "An image?"}) == 200
        server.send_signal(signal.SIGKILL)
        server.wait()
    with serve_review(ARTIFACT) as (url, _):
        rows = json.loads(send(url, "items?reviewer=Anna")[2])["items"]
        assert {row["item"]: row["decision"] for row in rows if row["decision"]} == {
            IDS[0]: "accept",
            IDS[1]: "edit",
        }
        assert decide(url, IDS[2], "reject") == 200
    assert len(load_decisions(project / FILE).history) == 3
    assert list((project / "data/labels/review").iterdir()) == [project / FILE]


def test_two_servers_and_many_people_at_once_lose_nothing(project):
    people = [f"person {number}" for number in range(12)]
    with (
        serve_review(ARTIFACT) as (one, _),
        serve_review(ARTIFACT) as (other, _),
        ThreadPoolExecutor(12) as pool,
    ):
        jobs = [
            pool.submit(decide, url, key, "accept", name)
            for number, name in enumerate(people)
            for key in IDS
            for url in [(one, other)[number % 2]]
        ]
        assert {job.result() for job in jobs} == {200}
    current = load_decisions(project / FILE).current
    assert {key: sorted(current[key]) for key in IDS} == dict.fromkeys(IDS, sorted(people))


NO_HTTP = [
    b"GARBAGE\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"GET /\xff HTTP/1.1\r\nHost: x\r\n\r\n",
    b"GET / HTTP/1.1\r\nA: " + b"a" * 20_000 + b"\r\n\r\n", b"POST / HTTP/1.1\r\nContent-Length: -5\r\n\r\n",
    b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", b"\x16\x03\x01\x1b[2J\r\n\r\n",
    b"GET http://[ HTTP/1.1\r\n\r\n",
]  # fmt: skip


def test_what_is_no_http_is_a_line_and_the_server_goes_on(project):
    with serve_review(ARTIFACT) as (url, server):
        for raw in NO_HTTP:
            with socket.create_connection(("127.0.0.1", urlsplit(url).port)) as connection:
                connection.sendall(raw)
                connection.shutdown(socket.SHUT_WR)
                while connection.recv(4096):
                    pass
        assert decide(url, IDS[0], "accept") == 200
        server.send_signal(signal.SIGINT)
        _, said = server.communicate(timeout=20)
    assert "Traceback" not in said
    assert "refused a request that is not HTTP: " in said
    assert all(line.isprintable() for line in said.splitlines())


def test_ctrl_c_ends_it_with_130(project):
    with serve_review(ARTIFACT) as (_, server):
        server.send_signal(signal.SIGINT)
        _, said = server.communicate(timeout=20)
    assert server.returncode == 130
    assert "Traceback" not in said
    assert said.splitlines()[-1] == "stopped; every decision is saved", "nobody to agree with"


def test_when_it_ends_it_tells_how_people_agree(project):
    """1 of 4 agrees; p_e = 3/4 * 2/4 + 1/4 * 2/4 = 1/2; kappa = (1/4 - 1/2) / (1/2)."""
    with serve_review(ARTIFACT) as (url, server):
        for name, choices in (("Anna", "aaar"), ("Ben", "arra")):
            for key, choice in zip(IDS, choices, strict=True):
                assert decide(url, key, {"a": "accept", "r": "reject"}[choice], name) == 200
        server.send_signal(signal.SIGINT)
        _, said = server.communicate(timeout=20)
    assert said.splitlines()[-3:] == [
        "stopped; every decision is saved",
        "Anna, Ben: agree on 25.00% of 4 items, kappa -0.5000",
        f"items not accepted, because the reviewers disagree: {', '.join(sorted(IDS[1:]))}",
    ]


def test_a_taken_port_is_one_clear_line(project, served):
    done = call("serve", ARTIFACT, "--port", str(urlsplit(served).port), code=2)
    assert "cannot be used" in done.stderr


@pytest.fixture
def page(served):
    expect.set_options(timeout=PATIENCE_MS)
    with open_chromium() as browser, open_watched(browser, served) as page:
        page.goto(served)
        yield page


@pytest.mark.browser
def test_items_are_decided_by_keys_alone_and_a_reload_loses_nothing(project, page):
    page.fill("#name", "Anna")
    page.keyboard.press("Enter")
    heading, rows = page.locator("#item h2"), {}
    expect(heading).to_contain_text("1 of 4")
    order = sorted(IDS)
    for number, keys in enumerate((["4", "a"], ["r"])):
        rows[order[number]] = page.inner_text("#item .judged dd")
        for key in keys:
            page.keyboard.press(key)
        expect(heading).to_contain_text(f"{number + 2} of 4")
    assert rows == {key: TEXTS[IDS.index(key)] for key in order[:2]}
    page.keyboard.press("e")
    page.fill("#item textarea", "half writ")
    # With unsaved decisions, the page asks before closing, which this test would report as an error.
    expect(page.locator("#said")).to_have_text("Saved.")
    page.reload()
    expect(page.locator("#item textarea")).to_have_value("half writ")
    page.fill("#item textarea", "Written anew?")
    page.keyboard.press("Control+Enter")
    expect(heading).to_contain_text("4 of 4")
    page.keyboard.press("n")
    page.keyboard.type("a note with a and r in it")
    page.keyboard.press("Escape")
    page.keyboard.press("a")
    expect(page.locator("#count")).to_have_text("4 of 4 decided")
    page.keyboard.press("ArrowLeft")
    expect(heading).to_contain_text("3 of 4")
    expect(page.locator("#item .judged dd")).to_contain_text("Written anew?")
    page.keyboard.press("u")
    expect(page.locator("#count")).to_have_text("3 of 4 decided")
    expect(page.locator("#said")).to_have_text("Saved.")

    current = load_decisions(project / FILE).current
    acts = [current[key]["Anna"] for key in order]
    assert [act.decision for act in acts] == ["accept", "reject", "", "accept"]
    assert (acts[0].rating, acts[3].note) == (4, "a note with a and r in it")
    edits = [act for act in load_decisions(project / FILE).history if act.edited]
    assert [act.edited for act in edits] == [{"text": "Written anew?"}]
