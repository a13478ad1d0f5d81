"""DS-1000: pass@1 of Python code, measured with each problem's test program."""

from __future__ import annotations

import ast
import os
import re
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import ClassVar

from tasks.errors import BadInput
from tasks.scoring.ds1000_environment import find_interpreter
from tasks.scoring.items import Record, get_optional_text, get_text
from tasks.scoring.metric import FAILED, MeanAccumulator, Metric, Score
from tasks.scoring.reply_readings import LENIENT, RELEASED, check_reading, read_released_code
from tasks.scoring.sandbox import ProgramOutcome, Sandbox, SandboxLimits

FENCE = re.compile(r"```[ \t]*(\w*)[^\n]*\n(.*?)(?:```|\Z)", re.DOTALL)
"""Matches a fenced block with its language; the closing fence may be missing."""
MAX_PARSED = 1_000_000
"""The maximum length in characters of code to parse; longer code is not parsed.

A syntax tree needs a hundred times the memory of its text.
"""
PYTHON = {"", "python", "python3", "py"}
"""Languages of a fenced block that count as Python."""


@dataclass(frozen=True, slots=True)
class CodeProblem:
    """A problem's test program, and the predicted code to test."""

    code_context: str
    prediction: str | None


@dataclass(frozen=True)
class DS1000(Metric[CodeProblem]):
    """Share of problems whose code passes the test program (STREAMBENCH, appendix F.2.4; Lai et al. 2023).

    The test runs `code_context`, then `test_execution(code)` and, if the context defines it,
    `test_string(code)`. The code passes if the test ends without an exception within `timeout` seconds after
    the context's libraries are loaded.

    `reading` determines how to extract the code from a prediction. With `lenient`, the code is the first
    fenced Python block, or the whole text if no block is Python. `released` uses read_released_code. `none`
    uses the whole prediction.

    In two cases an item counts as failed, not as wrong: its libraries do not load (outcome `not-run`), or a
    value cannot be sent between the test's sandbox and the code's sandbox (outcome `not-shown`).
    """

    name: ClassVar[str] = "ds1000"
    columns: ClassVar[tuple[str, ...]] = ("id", "code_context", "prediction")
    texts: ClassVar[frozenset[str]] = frozenset({"id", "code_context", "prediction"})
    timeout: float = 3.0
    reading: str = LENIENT

    def __post_init__(self) -> None:
        check_reading(self.reading)
        if not self.timeout > 0:
            raise BadInput("--timeout", "must be more than 0 seconds")
        # An empty program reports a missing environment or sandbox before any item is read.
        self.sandbox.run("", "")

    @cached_property
    def sandbox(self) -> Sandbox:
        """The sandbox in which the programs run."""
        return Sandbox(find_interpreter(), SandboxLimits(seconds=self.timeout))

    def read(self, record: Record) -> CodeProblem:
        """Read code_context (a string) and prediction (a string or null). Raises BadItem for other types."""
        return CodeProblem(get_text(record, "code_context"), get_optional_text(record, "prediction"))

    def make_accumulator(self, rule: str) -> MeanAccumulator:
        """Return an empty accumulator."""
        return MeanAccumulator(("accuracy",))

    def score_item(self, item: CodeProblem, rule: str) -> Score:
        """Run the test program of one problem, and score the outcome."""
        if item.prediction is None:
            return FAILED
        code = self.read_code(item.prediction)
        return score_ending(self.sandbox.run(item.code_context, code, list_libraries(item.code_context)))

    def read_code(self, prediction: str) -> str:
        """Extract the code from a prediction, according to `reading`."""
        if self.reading == LENIENT:
            return extract_code(prediction)
        return read_released_code(prediction) if self.reading == RELEASED else prediction

    def score(
        self, items: Iterable[CodeProblem], rules: Sequence[str]
    ) -> Iterator[tuple[CodeProblem, tuple[Score, ...]]]:
        """Score a stream of problems; run one program per processor at a time."""
        workers = os.cpu_count() or 1
        source = iter(items)
        under_way: deque[tuple[CodeProblem, Future[Score]]] = deque()
        threads = ThreadPoolExecutor(workers)
        try:
            while True:
                # Only a few problems are read ahead, so that a long file does not fill the memory.
                for item in islice(source, 4 * workers - len(under_way)):
                    under_way.append((item, threads.submit(self.score_item, item, "")))
                if not under_way:
                    return
                item, score = under_way.popleft()
                yield item, (score.result(),) * len(rules)
        finally:
            threads.shutdown(cancel_futures=True)


def score_ending(ending: ProgramOutcome) -> Score:
    """Convert a program's outcome to a score; outcomes without a score count as failed."""
    if ending.kind.score is None:
        return Score({}, "failed", ending.kind)
    return Score({"accuracy": ending.kind.score}, outcome=ending.kind)


def extract_code(text: str) -> str:
    """Return the first fenced block of Python, or the whole text if no block is Python."""
    blocks = (match for match in FENCE.finditer(text) if match.group(1).lower() in PYTHON)
    first = next(blocks, None)
    return text if first is None else first.group(2)


def list_libraries(code_context: str) -> list[str]:
    """List the modules that a test program imports, including imports in strings with `[insert]`."""
    names: dict[str, None] = {}
    for node in _walk(code_context):
        if isinstance(node, ast.Import):
            names.update(dict.fromkeys(alias.name for alias in node.names))
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names[node.module] = None
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and "[insert]" in node.value:
            names.update(dict.fromkeys(list_libraries(node.value.replace("[insert]", "pass"))))
    return list(names)


def _walk(code: str) -> Iterator[ast.AST]:
    if len(code) > MAX_PARSED:
        return
    try:
        yield from ast.walk(ast.parse(code))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
