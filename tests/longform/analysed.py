"""A question set built by a scripted model, and checks of its databases."""

import asyncio
import json
import sqlite3
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from tasks.artifacts.rows import Drafts
from tasks.databases.scratch.scratch import ScratchLimits
from tasks.longform.build.classify import classify
from tasks.longform.build.conclude import Conclude, conclude
from tasks.longform.build.condense import Condense, condense
from tasks.longform.build.confirm import Confirm, confirm
from tasks.longform.build.conjecture import Conjecture, ConjectureSettings, conjecture
from tasks.longform.build.construct import Construct, construct
from tasks.longform.build.control import Control, ControlledQuestion, control
from tasks.longform.build.items import LongformItem, items
from tasks.longform.build.schemas import SourceArtifacts
from tasks.longform.entries import LongformSet
from tests.longform.scripted_analyst import Analyst
from tests.longform.scripted_judges import Asked, ScriptedJudges

PATIENT = ScratchLimits(timeout_s=60)
"""Query limits for a busy machine."""


class Analysed:
    """The artifacts of a question set on several databases. sources: folder of the databases' artifacts."""

    def __init__(
        self, sources: Path, names: Sequence[str], questions: int,
        errs: Callable[[str, str, int], str] = lambda *_: "", unknown: float = 0,
    ) -> None:  # fmt: skip
        known = SourceArtifacts(sources)
        columns = {name: [row.column for row in known.read(name).values()] for name in names}
        model = Analyst(columns, errs)
        self.ask = ScriptedJudges(model.reply)
        entry = LongformSet(databases=tuple(names), questions=questions)
        self.dropped: Counter[tuple[str, str]] = Counter()
        written = asyncio.run(control(sources, entry, Control(plans="questions"), self.ask))
        self.questions: list[ControlledQuestion] = self._keep("control", written)
        short = self._keep("condense", asyncio.run(condense(self.questions, Condense(), self.ask)))
        passed = confirm(short, self.questions, sources, sources, "k", Confirm(), self.ask)
        confirmed = self._keep("confirm", asyncio.run(passed))
        drawn = ConjectureSettings(unknown=unknown)
        guessed = conjecture(confirmed, self.questions, sources, entry, drawn, self.ask)
        self.guesses: list[Conjecture] = self._keep("conjecture", asyncio.run(guessed))
        model.questions = {question.id: question for question in self.questions}
        model.expected = {guess.id: guess.expected for guess in self.guesses}
        params = Construct(tables=None, borne_out=True, limits=PATIENT)
        built = construct(confirmed, self.questions, self.guesses, sources, params, self.ask)
        self.made = self._keep("construct", asyncio.run(built))
        concluded = conclude(self.made, confirmed, self.questions, Conclude(), self.ask)
        self.answers = self._keep("conclude", asyncio.run(concluded))
        kinds = self._keep("classify", asyncio.run(classify(self.answers, confirmed, self.ask)))
        made = items(self.questions, confirmed, self.made, self.answers, kinds)
        self.items: list[LongformItem] = list(made.rows)

    def _keep(self, stage: str, drafts: Drafts[Any]) -> list[Any]:
        self.dropped.update((stage, row.reason) for row in drafts.dropped)
        return list(drafts.rows)

    def find(self, item: LongformItem) -> ControlledQuestion:
        """Find the question of an item."""
        return next(question for question in self.questions if question.id == item.id)

    def list_asked(self, prompt: str, row: str) -> list[Asked]:
        """List the requests with a prompt about a question."""
        return [asked for asked in self.ask.asked if (asked.prompt, asked.row) == (prompt, row)]


def find_unborne_claims(item: LongformItem) -> list[str]:
    """Run the query of every claim with plain SQLite; list the claims with different rows."""
    unborne = []
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(item.script)
        for claim in item.claims:
            rows = [list(row) for row in connection.execute(claim.sql).fetchall()]
            if rows != json.loads(claim.rows):
                unborne.append(claim.text)
    return unborne
