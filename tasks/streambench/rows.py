"""Rows of StreamBench, from items to curves. The Arrow schema of each is `schema_of(row)`."""

from __future__ import annotations

from dataclasses import dataclass

from tasks.artifacts.rows import Origin


@dataclass(frozen=True)
class StreamItem:
    """Stage items: one input x of a dataset, the same whatever its position (section 3.1)."""

    id: str
    """`make_id("stream item", kind, dataset, key in the dataset)`"""
    dataset: str
    """The folder's name below data/raw/streambench."""
    kind: str
    """The name of its environment: `sql`, `ds1000`, `toolbench`, `ddxplus`, `hotpotqa`, or a plug's."""
    key: str
    """Its own key in the published dataset: `test-12`, unchanged."""
    text: str
    """What is asked: the question, the problem, the patient's profile."""
    memory_key: str
    """What a memory finds it by: the text without documents or schema."""
    context: str
    """What the prompt shows beside it: CREATE statements, paragraphs with titles; may be empty."""
    gold: str
    """The gold answer as the metric reads it: SQL, label number, short answer; a call as JSON."""
    details: str
    """JSON object: what the environment needs beside gold, by its own names (db_id, api, code_context)."""
    file: str
    """A file of the environment below data/raw/streambench (`spider/files/pets/pets.sqlite`), or empty."""
    origin: tuple[Origin, ...]


@dataclass(frozen=True)
class StreamShot:
    """Stage shots: a few-shot example with its true answer, in the order in which prompts show them."""

    id: str
    dataset: str
    place: int
    """From 0; the first k are shown."""
    text: str
    memory_key: str
    answer: str
    """As a prompt shows it, not as a metric reads it."""
    origin: tuple[Origin, ...]


@dataclass(frozen=True)
class SequencePlace:
    """Stage sequence: the exact order of a stream under a seed (section 3.1)."""

    id: str
    """`make_id("place", stream, seed, position)`"""
    seed: int
    position: int
    """t, from 1 to T."""
    item: str
    origin: tuple[Origin, ...]


@dataclass(frozen=True)
class MemoryEntry:
    """What a method remembers of a step: (x, y) and its feedback."""

    item: str
    position: int
    agent: str
    """The role whose answer it is."""
    key: str
    """The item's `memory_key`."""
    answer: str
    """Post-processed."""
    bit: bool
    words: str
    """The feedback in words; empty where the method keeps none."""


@dataclass(frozen=True)
class RetrievedEntry:
    """An entry that a prompt showed."""

    item: str
    position: int
    """Of the step that it was stored at, from 1; 0 for a few-shot example, whose id `item` is."""
    distance: float
    """Squared L2 distance of the keys, rounded to 1e-6; 0 where nothing was searched."""


@dataclass(frozen=True)
class StreamStep:
    """Stage steps: step t of one run: what was asked, answered and fed back. One row for each, failed too."""

    id: str
    """`make_id("step", run, position)`"""
    run: str
    """`<method label>|<agents joined by +>|<seed>`; stream and evaluation are the folder's."""
    method: str
    """The label of its MethodChoice."""
    agents: tuple[str, ...]
    """All roles of the run, in order; one except for methods that share a memory."""
    seed: int
    k: int
    position: int
    item: str
    agent: str
    """The role that answered this step."""
    shown: tuple[RetrievedEntry, ...]
    """In the order of the prompt: the most similar last."""
    left_out: tuple[str, ...]
    """What the prompt had no room for, a line each."""
    reply: str
    """The raw text of the last call; empty where nothing came."""
    answer: str | None
    """Post-processed; None where there is none, which is a wrong step."""
    bit: bool
    """The feedback: whether the answer is right. False also for a failed step."""
    outcome: str
    """The metric's word (`correct`, `empty`, `timeout`), or `failed`, `unjudged`."""
    words: str
    """The feedback in words."""
    values: str
    """JSON object: the metric's own figures of this item, as `benchloom score --items` writes them."""
    failed: str
    """Why there is no answer or no verdict; empty where there are both."""
    stored: MemoryEntry | None
    """What entered the memory at this step."""
    memory_size: int
    """Entries in the memory after the step."""
    calls: tuple[str, ...]
    """Ledger keys of the answering calls, in order: the prompt of each is in `steps.calls.parquet`."""
    judge_calls: tuple[str, ...]
    """Ledger keys of the environment's calls: no cost of the method's."""
    shadow_calls: tuple[str, ...]
    """Ledger keys of unscored answers (the rule `shadow` of Table 7)."""
    origin: tuple[Origin, ...]


@dataclass(frozen=True)
class StepScore:
    """Stage scores: a step with its cost. It has its step's id."""

    id: str
    run: str
    method: str
    agents: tuple[str, ...]
    seed: int
    position: int
    item: str
    agent: str
    score: float
    """0 or 1: the primary metric (section 3.2)."""
    tokens_in: int
    """Of `calls` alone, from the calls artifact; a call that two steps share counts in each."""
    tokens_out: int
    estimated: bool
    """Whether a token count is not the provider's."""
    memory_size: int
    failed: bool
    origin: tuple[Origin, ...]


@dataclass(frozen=True)
class CurvePoint:
    """Stage curves: a method's state after step t, over its seeds."""

    id: str
    """`make_id("curve", method, agents, position)`"""
    method: str
    agents: tuple[str, ...]
    position: int
    seeds: int
    accuracy: float
    """The mean over seeds of the mean of the first t scores."""
    error: float | None
    """Standard error over seeds (n - 1); None for one seed."""
    memory_size: float
    regret: float
    """Mean over seeds of: sum of the best method's first t scores minus this one's.

    The best is the run of the same seed with the highest sum over all T, ties by its name."""
    origin: tuple[Origin, ...]
