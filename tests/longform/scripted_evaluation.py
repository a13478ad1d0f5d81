"""Run a scripted evaluation with the real stages, from the agents to the figures and the page.

The agents' models are endpoints on loopback. Judges are scripted in the stage's `ask`, since reviewers of a
step receive the same text and differ only by number.
"""

import asyncio
import csv
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any

import pytest

from tasks.artifacts.parquet import write_rows
from tasks.artifacts.rows import Dropped, make_id
from tasks.databases.execution import QueryLimits
from tasks.judging.canaries import CanaryRow
from tasks.longform.build.items import LongformItem
from tasks.longform.entries import AgentEvaluation, MorePeers
from tasks.longform.judge.error_types import ErrorTyping, error_types
from tasks.longform.judge.human_labels import human_labels
from tasks.longform.judge.judge_repeats import JudgeRepeating, judge_repeats
from tasks.longform.judge.meta_reviews import MetaReviewing, meta_reviews
from tasks.longform.judge.peer_canaries import peer_canaries, read_peer_canaries
from tasks.longform.judge.reference_verdicts import ReferenceJudging, reference_verdicts
from tasks.longform.judge.reviews import Reviewing, reviews
from tasks.longform.judge.revisions import Revising, revisions
from tasks.longform.publish.evaluation_figures import evaluation_figures
from tasks.longform.publish.evaluation_page import evaluation_page
from tasks.longform.publish.statistics import statistics
from tasks.longform.solve import session
from tasks.longform.solve.interaction import AgentQuery
from tasks.longform.solve.interactions import interactions
from tasks.longform.solve.querying import run_queries
from tasks.longform.solve.replies import AgentLimits, WrittenQuery
from tasks.models.calls import Call
from tests.longform import scripted_agents
from tests.longform.evaluation_script import (
    AGENTS,
    KIND,
    LARGE,
    NAMES,
    RATERS,
    STEPS,
    WORD,
    Play,
    Skill,
    Writer,
)
from tests.longform.scripted_judges import Asked, ScriptedJudges
from tests.longform.served_agents import ServedAgents
from tests.reports.figure_folders import place_figures

SQL = {
    "good": "SELECT name, id, seats FROM stadium",
    "empty": "SELECT name, id, seats FROM stadium WHERE seats < 0",
    "bad": "SELECT mascot FROM stadium",
}
JUDGED = (
    "interactions",
    "reference_verdicts",
    "reviews",
    "meta_reviews",
    "revisions",
    "error_types",
)
DROPPING = ("control", "condense", "confirm", "conjecture", "construct", "classify")
SHAPES = {
    name: [(2 + (place + 3 * table) % 7, (5 * place + 7 * table) % 11) for table in range(2 + place % 3)]
    for place, name in enumerate(NAMES)
}
"""Databases for the statistics of the set: numbers of columns and rows of each table."""
MORE = MorePeers(items=8, reviewers=3, meta_reviewers=2)
REPEATED = 20
"""Numbers of items whose verdicts are repeated: 16 conclusive items, and 4 others."""
WARM = {"roles.judge.temperature": 0.7}
LIMITS = AgentLimits(statistics=True)
Judge = Callable[[Asked], str]


@dataclass
class ScriptedEvaluation:
    """The scripts, and the stages' results. skills: role -> skill. labelled: agents that people label."""

    folder: Path
    skills: Mapping[str, Skill]
    endpoints: Mapping[str, str] = field(default_factory=dict)
    """Role -> name of its endpoint; by default the role's name."""
    seed: int = 1
    more: MorePeers | None = MORE
    labelled: tuple[str, ...] = ("sequential", "guess")

    @property
    def entry(self) -> AgentEvaluation:
        return AgentEvaluation(
            set="tiny",
            agents=AGENTS,
            models=tuple(self.skills),
            judge="judge",
            reviewer="reviewer",
            reviewers=1,
            meta_reviewers=1,
            more=self.more,
        )

    @cached_property
    def plays(self) -> list[Play]:
        writer = Writer(self.seed, self.more)
        return [
            writer.write(skill, item, model, agent)
            for item in NAMES
            for model, skill in self.skills.items()
            for agent in AGENTS
        ]

    @cached_property
    def items(self) -> list[LongformItem]:
        return [make_item(place, name) for place, name in enumerate(NAMES)]

    def run(self, judge: Judge | None = None) -> Any:
        """Run every stage; return the figures from the file. judge: judges canaries, by default correctly."""
        entry, items = self.entry, self.items
        ask: Any = ScriptedJudges(self._judge)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(session, "run_queries", run_by_content)
            served = {role: self.endpoints.get(role, role) for role in self.skills}
            with ServedAgents(served, self._act, self.folder / "ledger.sqlite") as agents:
                acting: Any = agents
                made = gather(interactions(items, entry, LIMITS, acting))
            self.asked = agents.asked
            calls = self.folder / "interactions_calls.parquet"
            write_rows(calls, Call, agents.list_calls())
        verdicts = gather(reference_verdicts(items, made, entry, ReferenceJudging(), ask))
        reviewed = gather(reviews(items, made, entry, Reviewing(), ask))
        weighed = gather(meta_reviews(items, made, reviewed, entry, MetaReviewing(), ask))
        revised = gather(revisions(items, made, weighed, entry, Revising(), ask))
        errors = gather(error_types(items, made, revised, entry, ErrorTyping(), ask))
        self.rows = dict(zip(JUDGED, (made, verdicts, reviewed, weighed, revised, errors), strict=True))
        labelled = entry.model_copy(update={"labels": self.write_labels()})
        people = human_labels(items, made, verdicts, revised, labelled)
        asked = JudgeRepeating(items=REPEATED)
        self.repeats = gather(
            judge_repeats(items, made, verdicts, reviewed, weighed, entry, asked, WARM, ask)
        )
        out = self.folder / "evaluation_figures.json"
        self.counts = evaluation_figures(
            items=items,
            **self.rows,
            human_labels=list(people.rows),
            human_labels_dropped=list(people.dropped),
            judge_repeats=self.repeats,
            peer_canaries=judge_canaries(entry, judge or judge_rightly),
            statistics=self.write_statistics(),
            interactions_calls=calls,
            entry=labelled,
            key="tiny",
            settings={f"roles.{role}.model": name for role, name in served.items()},
            out=out,
        )
        return json.loads(out.read_text(encoding="utf-8"))

    def write_page(self) -> str:
        """Write the page of the results of `run`, and return its text."""
        write_rows(self.folder / "none.parquet", Call, [])
        arguments: dict[str, Any] = {f"{name}_calls": self.folder / "none.parquet" for name in JUDGED}
        evaluation_page(
            items=self.items,
            **self.rows,
            **arguments,
            evaluation_figures=self.folder / "evaluation_figures.json",
            control=[],
            construct=[],
            conclude=[],
            entry=self.entry,
            key="tiny",
            out=self.folder / "page",
            **place_figures(self.folder / "page", "metrics", "bars"),
        )
        return (self.folder / "page/index.html").read_text(encoding="utf-8")

    def list_labelled(self) -> list[Play]:
        """List the plays that people label."""
        return [play for play in self.plays if play.agent in self.labelled and play.answered]

    def write_labels(self) -> Path:
        """Write the labels of three raters; return the file."""
        path = self.folder / "labels.csv"
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(("id", "label", "rater"))
            for play in self.list_labelled():
                for rater in range(RATERS):
                    writer.writerow((play.verdict, play.people[rater], f"rater {rater}"))
                    for step, script in play.steps.items() if play.reviewed else ():
                        row = make_id("revisions", play.id, step, 0)
                        writer.writerow((row, WORD[script.people[rater]], f"rater {rater}"))
        return path

    def write_statistics(self) -> Path:
        """Run the stage `statistics` on the items and the databases' scripts."""
        dropped: dict[str, Any] = {f"{name}_dropped": self.folder / f"{name}.parquet" for name in DROPPING}
        for file in dropped.values():
            write_rows(file, Dropped, [])
        made: list[Any] = [
            SimpleNamespace(id=name, script=write_script(shape), rounds=1, borne_out=(True,))
            for name, shape in SHAPES.items()
        ]
        out = self.folder / "statistics.json"
        statistics(items=self.items, control=[], construct=made, conclude=[], out=out, **dropped)
        return out

    @cached_property
    def _by_id(self) -> dict[str, Play]:
        return {play.id: play for play in self.plays}

    def _act(self, asked: scripted_agents.Asked) -> str:
        play = self._by_id[asked.row]
        words = " ".join(["word"] * play.plan)
        if asked.prompt == "agent_plan":
            return f"Information needed: {words}\nTables and columns: {words}\nRetrieval steps: {words}"
        if asked.prompt == "agent_queries":
            return "\n".join(write_query(play, number) for number in range(len(play.queries)))
        if asked.prompt == "agent_next_query":
            done = asked.text.count("\nRound ")
            return "ENOUGH" if done == len(play.queries) else f"Need: {words}\n{write_query(play, done)}"
        answer = " ".join(["said"] * play.words)
        return f"Reasoning: so.\nAnswer: {answer}" if asked.prompt == "agent_alone" else answer

    @cached_property
    def _said(self) -> dict[str, str | None]:
        """Id of a judge's row -> the judge's reply; None if unreadable."""
        said: dict[str, str | None] = {}
        for play in self.plays:
            said[play.verdict] = None if play.grade == "?" else play.grade
            for way in ("again", "swapped"):
                said[make_id("judge_repeats", play.id, "match", way)] = play.grade
            for step, script in play.steps.items():
                said[make_id("judge_repeats", play.id, step, "swapped")] = "Imperfect"
                passes = (
                    ("reviews", script.reviewers),
                    ("meta_reviews", script.metas),
                    ("revisions", script.revision),
                )
                for stage, letters in passes:
                    for number, letter in enumerate(letters):
                        said[make_id(stage, play.id, step, number)] = WORD[letter]
                said[make_id("error_types", play.id, step)] = None if script.error == "?" else script.error
        return said

    def _judge(self, asked: Asked) -> str:
        verdict = self._said[asked.row]
        return "I cannot tell." if verdict is None else write_verdict(asked, verdict)


def write_query(play: Play, number: int) -> str:
    """Return a query of a play, with its statistic."""
    statistic = play.statistics[number]
    return f"SQL: {SQL[play.queries[number]]};" + (f"\nStatistic: {statistic}" if statistic else "")


def write_script(shape: Sequence[tuple[int, int]]) -> str:
    """Return the script of a database. shape: numbers of columns and rows of each table."""
    lines = []
    for table, (columns, rows) in enumerate(shape):
        lines.append(f"CREATE TABLE t{table} ({', '.join(f'c{number}' for number in range(columns))});")
        lines += [f"INSERT INTO t{table} VALUES ({', '.join(['1'] * columns)});"] * rows
    return "\n".join(lines)


def gather(stage: Any) -> list[Any]:
    """Run a stage that drops no rows; return its rows."""
    drafts = asyncio.run(stage)
    assert not drafts.dropped
    return list(drafts.rows)


def make_item(place: int, name: str) -> LongformItem:
    script = scripted_agents.SCRIPT + "".join(
        f"INSERT INTO stadium VALUES ({number}, 'Ground number {number}', {number**2 + 1000 * place});\n"
        for number in range(10, 410 if name == LARGE else 11)
    )
    return LongformItem(
        id=name,
        database="concerts",
        question=f"Which stadium is it, number {place}?",
        kind=KIND[name],
        reference=" ".join(["word"] * (5 + place)),
        claims=(),
        script=script,
        confirmed_by="model",
        origin=(),
    )


@cache
def run_once(database: bytes, written: WrittenQuery, limits: QueryLimits, shown_rows: int) -> AgentQuery:
    """Run a query on a database, given as the bytes of its file."""
    with TemporaryDirectory() as folder:
        file = Path(folder) / "item.sqlite"
        file.write_bytes(database)
        (query,) = run_queries(file, [written], limits, shown_rows)
    return query


def run_by_content(
    file: Path, queries: Sequence[WrittenQuery], limits: QueryLimits, shown_rows: int
) -> list[AgentQuery]:
    """Replace `run_queries`: a query on the same records runs only once, since its process is slow."""
    return [run_once(file.read_bytes(), written, limits, shown_rows) for written in queries]


def judge_canaries(entry: AgentEvaluation, judge: Judge) -> list[CanaryRow]:
    """Judge the canaries; return their rows."""
    ask: Any = ScriptedJudges(judge)
    return list(asyncio.run(peer_canaries(entry, {}, ask)).rows)


@cache
def list_right_verdicts() -> dict[str, str]:
    """Return row -> correct verdict, for the canaries."""
    right = {}
    for canary in read_peer_canaries():
        parts = (
            ("reviews", canary.id, canary.kind, 0)
            if canary.kind in STEPS
            else ("reference_verdicts", canary.id)
        )
        right[make_id(*parts)] = canary.accepted[0]
    return right


def judge_rightly(asked: Asked) -> str:
    """Return the correct reply to a canary."""
    return write_verdict(asked, list_right_verdicts()[asked.row])


def judge_kindly(asked: Asked) -> str:
    """Return a positive verdict for any request."""
    best = {"judge_conclusive": "Match", "judge_interpretive": "5"}
    return write_verdict(asked, best.get(asked.prompt, "Perfect"))


def write_verdict(asked: Asked, verdict: str) -> str:
    """Return a reply in the form that its prompt requires."""
    return f"So it is.\n{'Score' if asked.prompt == 'judge_interpretive' else 'Verdict'}: {verdict}"
