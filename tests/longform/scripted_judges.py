"""Scripted judges for the longform flow, and small rows to judge."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import tasks.longform
from tasks.artifacts.rows import make_id
from tasks.longform.build.items import LongformItem
from tasks.longform.judge.peers import Review
from tasks.longform.labels import Verdict
from tasks.longform.solve.interaction import AgentQuery, AgentStep, Interaction
from tasks.models.ask import Answer, Unparsed, render_prompt
from tests.judging.scripted import sign

PROMPTS = Path(tasks.longform.__file__).parent / "prompts"
SCRIPT = """CREATE TABLE keepers (keeper_id INTEGER PRIMARY KEY, island TEXT NOT NULL);
CREATE TABLE shifts (keeper TEXT REFERENCES keepers(keeper_id), ships INTEGER);
INSERT INTO keepers VALUES (1, 'Skarholm');
INSERT INTO keepers VALUES (2, 'Ruvay');
INSERT INTO keepers VALUES (3, 'Ruvay');
INSERT INTO keepers VALUES (4, 'Overmere');
INSERT INTO shifts VALUES (1, 14);
"""


@dataclass(frozen=True)
class Asked:
    """One request as the model receives it."""

    prompt: str
    role: str
    row: str
    text: str
    system: str
    sample: int
    grammar: str
    max_tokens: int


@dataclass
class ScriptedJudges:
    """Replies by a function of the request; adds the code to `Verdict:` or `Score:` in the last line."""

    reply: Callable[[Asked], str]
    asked: list[Asked] = field(default_factory=list)

    async def __call__(
        self, prompt: str, fields: Mapping[str, object], *, role: str, row: str, parse: Callable[[str], Any],
        grammar: str = "", sample: int = 0, max_tokens: int = 0, **_: Any,
    ) -> Answer[Any]:  # fmt: skip
        rendered = render_prompt(PROMPTS / f"{prompt}.md", fields)
        shown = {message["role"]: message["content"] for message in rendered.messages}
        asked = Asked(prompt, role, row, shown["user"], shown["system"], sample, grammar, max_tokens)
        self.asked.append(asked)
        text = sign(self.reply(asked), asked.text)
        call = make_id(prompt, asked.text, sample)
        try:
            return Answer(parse(text), text, call, 1)
        except Unparsed as error:
            return Answer(None, text, call, 1, str(error))

    async def embed(self, *_: object, **__: object) -> list[list[float]]:
        raise AssertionError("no judge embeds")

    async def system(self, *_: object, **__: object) -> Any:
        raise AssertionError("no judge asks a system")


def say(verdict: str, rationale: str = "The evidence is there.") -> Callable[[Asked], str]:
    """Return a function that gives the same reply to every request."""
    return lambda _: f"{rationale}\nVerdict: {verdict}"


def make_item(number: int = 1, **more: Any) -> LongformItem:
    values = {
        "id": f"i{number}", "database": "lights", "question": "Do the keepers of Ruvay guide more ships?",
        "kind": "conclusive", "reference": "Yes, 28 against 14.", "claims": (), "script": SCRIPT,
        "confirmed_by": "model", "origin": (),
    }  # fmt: skip
    return LongformItem(**{**values, **more})


def make_query(rows: list[list[object]] | None = None, **more: Any) -> AgentQuery:
    listed = [["Ruvay", 28]] if rows is None else rows
    values = {
        "sql": "SELECT island, SUM(ships) FROM shifts GROUP BY island", "columns": ("island", "ships"),
        "rows": json.dumps(listed), "n_rows": len(listed), "error": "",
    }  # fmt: skip
    return AgentQuery(**{**values, **more})


def make_interaction(number: int = 1, agent: str = "sequential", **more: Any) -> Interaction:
    values = {
        "id": f"x{number}-{agent}", "item": f"i{number}", "agent": agent, "model": "agent",
        "plan": "Sum the ships by island.", "queries": (make_query(),), "answer": "Yes, 28 against 14.",
        "steps": (AgentStep("answer", "Yes, 28 against 14."),), "left_out": (), "problem": "", "origin": (),
    }  # fmt: skip
    return Interaction(**{**values, **more})


def make_review(verdict: str | None, reviewer: int = 0, step: str = "TE", **more: Any) -> Review:
    values = {
        "id": f"r-{step}-{reviewer}", "interaction": "x1-sequential", "item": "i1", "step": step,
        "reviewer": reviewer, "verdict": Verdict.read(verdict) if verdict else None,
        "rationale": f"Reason {reviewer} of {step}.",
        "problem": "" if verdict else "no_verdict", "origin": (),
    }  # fmt: skip
    return Review(**{**values, **more})
