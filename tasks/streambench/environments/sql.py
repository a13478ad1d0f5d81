"""Text-to-SQL (Spider, CoSQL, BIRD, GRAMMAR questions): execution accuracy on read-only SQLite files."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

from tasks.scoring.execution import Execution, score_outcome
from tasks.scoring.items import BadItem
from tasks.scoring.reply_readings import LENIENT, NONE, READINGS, RELEASED, read_released_sql
from tasks.scoring.soft_f1 import read_soft_f1
from tasks.scoring.sql_pool import SqlPool
from tasks.scoring.sql_text import prepare_prediction
from tasks.streambench.build.items import StreamItem, read_object
from tasks.streambench.environment import Environment, EnvironmentSetup, Feedback, PromptParts, Style
from tasks.streambench.environments.replies import (
    check_reply,
    cut_reasoning,
    drop_labels,
    find_last_block,
    write_step,
    write_text,
)
from tasks.streambench.environments.verdicts import (
    choose_rule,
    make_feedback,
    make_unjudged,
    read_options,
)

SOFT_F1 = "soft_f1"
"""The name of an additional score, computed as in `benchloom score soft-f1` under every rule."""
INSTRUCTIONS: Mapping[Style, str] = {
    "direct": "Reply with one SQLite query that answers the question, and with nothing else.",
    "chain": "Think about it step by step: which tables and columns, which conditions, what to return. Then "
    "end with a line that begins with `Answer:`, followed by one SQLite query in a block fenced by ```sql.",
    "refine": "Reply with the improved SQLite query in a block fenced by ```sql, and with nothing else.",
}


class SqlEnvironment(Environment):
    """The SQL environment. Rules: `streambench`, `bird`, `test-suite`. Options: `timeout`, `keep_distinct`.

    The option `timeout` is in seconds. The rules for parsing replies are `lenient` and `released`.
    """

    name = "sql"
    metric = "execution"
    primary = "accuracy"
    readings = READINGS
    max_tokens: ClassVar[Mapping[Style, int]] = {"direct": 512, "chain": 512, "refine": 512}
    words: ClassVar[Mapping[bool, str]] = {
        True: "The query gives the right result.",
        False: "The query does not give the right result.",
    }

    def __init__(self, setup: EnvironmentSetup) -> None:
        super().__init__(setup)
        self._options = read_options("sql", setup.options, {"timeout": 30.0, "keep_distinct": False})
        self._rule = choose_rule("sql", setup.rule, Execution.rules)
        self._metrics: dict[Path, Execution] = {}
        self._pools = _PoolShelf(float(self._options["timeout"]))
        self._opening = threading.Lock()

    async def __aexit__(self, *error: object) -> None:
        """Stop the worker processes and close the databases."""
        await asyncio.to_thread(self._pools.close)
        for metric in self._metrics.values():
            metric.suites.close()
        self._metrics.clear()

    async def show(self, item: StreamItem, style: Style, *, row: str) -> PromptParts:
        """Return a prompt with the CREATE statements of the item's database."""
        return PromptParts(
            task="Write SQL for SQLite. You are given the tables of a database and a question about them.",
            common="",
            context=f"The tables:\n{write_text(item.context)}" if item.context else "",
            question=f"Question: {write_text(item.text)}",
            instruction=INSTRUCTIONS[style],
        )

    def show_example(self, key: str, answer: str, words: str | None) -> str:
        """Return the text of a past question with its query, without the tables."""
        return write_step(f"Question: {write_text(key)}", answer, words)

    def read_answer(self, item: StreamItem, text: str, style: Style) -> str:
        """Return the query in the first fenced block, or the whole text; a missing SELECT is added.

        With the style `chain`, only the text after `Answer:` or the last fenced block is parsed. The rule
        `released` parses the whole reply in every style.
        """
        if self.setup.reading == RELEASED:
            return read_released_sql(check_reply(text))
        answer = cut_reasoning(check_reply(text)) if style == "chain" else drop_labels(check_reply(text))
        if style == "chain" and answer is text:
            answer = find_last_block(text) or text
        return prepare_prediction(answer).strip()

    async def feedback(self, item: StreamItem, answer: str, *, row: str) -> Feedback:
        """Run the answer and the gold query in a worker process with read-only access."""
        return await self._pools.run(self._judge, item, answer)

    def make_record(
        self, item: StreamItem, answer: str | None, feedback: Feedback | None
    ) -> dict[str, object]:
        """Return the record for `benchloom score execution`."""
        return {"id": item.id, "db_id": _name_database(item), "gold": item.gold, "prediction": answer}

    def _judge(self, pool: SqlPool, item: StreamItem, answer: str) -> Feedback:
        file = self.setup.files / item.file
        if not item.file or not file.is_file():
            return make_unjudged(f"the database {_name_database(item)!r} is not there", self.words)
        # The path of a database is <folder>/<database>/<file>; the metric expects <folder>.
        metric = self._open_metric(file.parents[1])
        try:
            # Threads share the metric, whose read() opens each database once and stores the open database.
            with self._opening:
                own = metric.read(self.make_record(item, answer, None))
        except BadItem as error:
            return make_unjudged(str(error), self.words)
        pair = metric.make_pair(self._rule, own, metric.read_query(answer))._replace(soft=True)
        (verdict,) = pool.judge([pair])
        found = make_feedback(
            metric, self._rule, own, score_outcome(verdict.outcome), self.primary, self.words
        )
        problem = f"{found.problem}: {verdict.reason}" if found.problem else ""
        return replace(found, values={**found.values, SOFT_F1: read_soft_f1(verdict)}, problem=problem)

    def _open_metric(self, folder: Path) -> Execution:
        with self._opening:
            if folder not in self._metrics:
                # `released` has already converted the reply to SQL; for `lenient`, parsing the answer again
                # returns the same SQL.
                reading = NONE if self.setup.reading == RELEASED else LENIENT
                self._metrics[folder] = Execution(databases=folder, reading=reading, **self._options)
            return self._metrics[folder]


class _PoolShelf:
    """A pool of threads that score SQL; each thread starts its own worker process on first use."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._threads = ThreadPoolExecutor(os.cpu_count() or 1, "sql-feedback")
        self._own = threading.local()
        self._pools: list[SqlPool] = []

    async def run(
        self, judge: Callable[[SqlPool, StreamItem, str], Feedback], item: StreamItem, answer: str
    ) -> Feedback:
        """Score an answer in a thread, with the thread's own pool."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, lambda: judge(self._take(), item, answer))

    def _take(self) -> SqlPool:
        if not hasattr(self._own, "pool"):
            self._own.pool = SqlPool(workers=1, seconds=self._seconds)
            self._pools.append(self._own.pool)
        pool: SqlPool = self._own.pool
        return pool

    def close(self) -> None:
        self._threads.shutdown(cancel_futures=True)
        while self._pools:
            self._pools.pop().close()


def _name_database(item: StreamItem) -> str:
    return Path(item.file).stem or str(read_object(item.details).get("db_id", ""))
