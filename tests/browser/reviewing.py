"""Helpers that serve `benchloom review serve` in a separate process, and use its page as two reviewers."""

import http.server
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Thread
from urllib.parse import urlsplit

from playwright.sync_api import Browser, Page, expect

from tasks.artifacts.parquet import write_rows
from tasks.artifacts.rows import Origin
from tasks.judging.decisions import Decision, digest_row, load_decisions
from tests.browser.watch import ELSEWHERE
from tests.signals import hear_signals

SERVE = [sys.executable, "-c", "from flows.cli import main; main()", "review", "serve"]
ROOT = str(Path(__file__).parents[2])
ARTIFACT = "data/trial/sample/condense.parquet"
DECISIONS = "data/labels/review/trial-sample-condense.jsonl"
QUESTIONS = ("Which film won?", "Does Paramount stand out?", "Is Delta later than United?", "Who is ahead?")


@dataclass(frozen=True)
class ReviewedQuestion:
    """A row to review."""

    id: str
    text: str
    origin: tuple[Origin, ...]


@contextmanager
def serve_review(
    artifact: str, *words: str, root: Path | None = None
) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """Serve an artifact of a project (by default the current folder); yield the URL and the process."""
    # Only the launcher is installed; outside of the checkout, the code is imported from here.
    path = os.pathsep.join(filter(None, [ROOT, os.environ.get("PYTHONPATH")]))
    server = subprocess.Popen(
        [*SERVE, artifact, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=root,
        env={**os.environ, "PYTHONPATH": path}, preexec_fn=hear_signals,
    )  # fmt: skip
    try:
        assert server.stdout is not None
        url = server.stdout.readline().strip()
        assert url or server.stderr is None, server.stderr.read()
        yield url, server
    finally:
        server.kill()
        server.communicate()


def make_project(root: Path) -> Path:
    """Create a project with four questions to review."""
    root.mkdir()
    for name in ("dvc.yaml", "params.yaml"):
        (root / name).write_text("{}\n")
    rows = [ReviewedQuestion(f"q{number}", text, ()) for number, text in enumerate(QUESTIONS)]
    write_rows(root / ARTIFACT, ReviewedQuestion, rows)
    return root


@dataclass(frozen=True)
class Act:
    """A reviewer's keyboard input for the current item: a rating, a note, a new text."""

    decision: str
    rating: int | None = None
    note: str = ""
    edited: dict[str, str] = field(default_factory=dict)

    def expect(self, reviewer: str, number: int) -> Decision:
        """Return the decision expected in the file, without its time."""
        text = {"text": QUESTIONS[number]}
        return Decision(
            f"q{number}", ARTIFACT, reviewer, EPOCH, self.decision, digest_row(text),  # type: ignore[arg-type]
            self.edited, self.rating, self.note,
        )  # fmt: skip


EPOCH = "1970-01-01T00:00:00.000000Z"
ACTS = {
    "Anna": (
        Act("accept", rating=4),
        Act("edit", edited={"text": "Does Anna stand out?"}),
        Act("reject", 1, "nobody is named"),
    ),
    "Ben": (
        Act("reject", rating=2, note="it asks for an award"),
        Act("edit", 5, edited={"text": "Does Ben stand out?"}),
        Act("reject"),
    ),
}
"""Acts on the first three questions: one disagreement, one edited by both, one rejected by both."""
TOLD = (
    "Anna, Ben: agree on 66.67% of 3 items, kappa 0.5000",
    "items not accepted, because the reviewers disagree: q0, q1",
)
"""2 of 3 agree; p_e = 1/3 * 0 + 1/3 * 1/3 + 1/3 * 2/3 = 1/3; kappa = (2/3 - 1/3) / (2/3)."""


def review(page: Page, name: str) -> None:
    """Decide on three questions with the keyboard as one reviewer, and reload the page."""
    page.fill("#name", name)
    page.keyboard.press("Enter")
    heading = page.locator("#item h2")
    for number, act in enumerate(ACTS[name], start=1):
        expect(heading).to_contain_text(f"{number} of 4")
        if act.rating:
            page.keyboard.press(str(act.rating))
        if act.note:
            page.keyboard.press("n")
            page.keyboard.type(act.note)
            page.keyboard.press("Escape")
        page.keyboard.press(act.decision[0])
        if act.edited:
            page.fill("#item textarea", act.edited["text"])
            page.keyboard.press("Control+Enter")
    expect(heading).to_contain_text("4 of 4")
    expect(page.locator("#said")).to_have_text("Saved.")
    page.reload()
    expect(page.locator("#count")).to_have_text("3 of 4 decided")


def list_lost(root: Path) -> list[str]:
    """List differences between the decisions in the file and the expected decisions."""
    acts = [
        act for by_person in load_decisions(root / DECISIONS).current.values() for act in by_person.values()
    ]
    found = [replace(act, at=EPOCH) for act in acts]
    wanted = [act.expect(name, number) for name, acts in ACTS.items() for number, act in enumerate(acts)]
    return [f"review: was not decided: {act}" for act in found if act not in wanted] + [
        f"review: is lost: {act}" for act in wanted if act not in found
    ]


def list_untold(server: subprocess.Popen[str]) -> list[str]:
    """End the server, and list expected lines about the reviewers' agreement that it did not print."""
    server.send_signal(signal.SIGINT)
    _, said = server.communicate(timeout=30)
    return [f"review: is not told at the end: {line}" for line in TOLD if line not in said.splitlines()]


def list_let_in(browser: Browser, url: str) -> list[str]:
    """Send requests without the token, to another host name and from another origin; list accepted ones."""
    parts = urlsplit(url)
    page = browser.new_context().new_page()
    places = {
        "without the token": f"http://{parts.netloc}/",
        "with another token": f"http://{parts.netloc}/guess/",
        "under another name": f"http://{ELSEWHERE}:{parts.port}{parts.path}",
    }
    let_in = []
    for what, place in places.items():
        answer = page.goto(place)
        if answer is None or answer.status != 403:
            let_in.append(f"review: {what}: {answer.status if answer else 'no answer'}")
    with serve_empty_page() as other:
        page.goto(other)
        # A page cannot read the status of a blocked response, but the browser can.
        network, sent, told = page.context.new_cdp_session(page), {}, []
        network.on(
            "Network.requestWillBeSent",
            lambda event: sent.update({event["requestId"]: event["request"]["url"]}),
        )
        network.on("Network.responseReceivedExtraInfo", lambda event: told.append(event))
        network.send("Network.enable")
        outcome = page.evaluate(INTRUDE, url)
        page.wait_for_timeout(SETTLED_MS)  # the browser reports a response after the page has received it
        # Ignore requests of the empty page itself.
        statuses = [
            line["statusCode"]
            for line in told
            if urlsplit(sent.get(line["requestId"], "")).netloc == parts.netloc
        ]
        if outcome != ["TypeError"] * 3 or len(statuses) < 3 or {*statuses} != {403}:
            let_in.append(f"review: from another origin: {outcome}, {statuses}")
    page.context.close()
    return let_in


SETTLED_MS = 500
INTRUDE = """async (url) => {
  const body = JSON.stringify({item: "q3", decision: "accept", reviewer: "Eve"});
  const json = {"Content-Type": "application/json"};
  const tries = [
    () => fetch(url + "items?reviewer=Anna"),
    () => fetch(url + "decisions", {method: "POST", headers: json, body}),
    () => fetch(url + "decisions", {method: "POST", mode: "no-cors", body}),
  ];
  const found = [];
  for (const attempt of tries) {
    try { found.push((await attempt()).type); } catch (error) { found.push(error.name); }
  }
  return found;
}"""
"""A script that reads, decides, and decides by a request without CORS preflight."""


@contextmanager
def serve_empty_page() -> Iterator[str]:
    """Serve an empty page from a separate origin."""

    class Empty(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            return

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Empty)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        server.server_close()
