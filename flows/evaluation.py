"""An evaluation of somebody's own questions: what it stands on, who is asked, what is written.

It is no stage: nothing of it is in dvc.yaml or dvc.lock. A run that was stopped goes on from the ledger.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flows.binding import prompts_folder
from flows.nightly import LABEL
from flows.session import Session, read_mapping
from flows.settings import parse_section
from tasks.artifacts.parquet import write_rows
from tasks.artifacts.rows import make_id
from tasks.errors import BadInput
from tasks.files import write_text
from tasks.grammar import judgements as judging
from tasks.grammar.assessed import AskedQuestion, Judgement, SystemAnswer
from tasks.grammar.assessment import AssessmentParams
from tasks.grammar.canaries import canaries
from tasks.grammar.evaluation import Evaluated, ask_system, check_documents, make_figures, needs_documents
from tasks.grammar.own_questions import OwnQuestions, keep_grounded, read_questions, take_groups, write_name
from tasks.judging.canaries import CanaryRow
from tasks.judging.trust import Thresholds
from tasks.models.asker import StageAsk
from tasks.models.calls import Call
from tasks.scoring.running import Bootstrap
from tasks.systems.contract import Document
from tasks.systems.corpus import read_corpus
from tasks.systems.entries import SystemEntry

FOLDER = "data/evaluations"


@dataclass(frozen=True)
class Wish:
    """What is evaluated. Paths are whole: the command line's folder need not be the project's."""

    dataset: Path
    system: str
    documents: Path | None = None
    limit: int | None = None
    as_of: str = ""
    out: Path | None = None


@dataclass(frozen=True)
class Ground:
    """What an evaluation stands on, read and checked before anybody is asked."""

    questions: Sequence[AskedQuestion]
    documents: Sequence[Document]
    entry: SystemEntry
    problems: Sequence[str]
    notes: Sequence[str]
    key: str
    out: Path


def read_ground(root: Path, params: Mapping[str, Any], wish: Wish) -> Ground:
    """Read the system's entry, the questions and the documents. Raises BadInput, one line."""
    if wish.as_of and not LABEL.fullmatch(wish.as_of):
        raise BadInput(f"--as-of {wish.as_of}", "is no label: letters, digits, dots, dashes, 64 at most")
    systems = read_mapping(params, "systems", SystemEntry)
    if wish.system not in systems:
        there = ", ".join(sorted(systems)) or "none yet"
        raise BadInput(f"--system {wish.system}", f"is not under `systems` in params.yaml (there: {there})")
    entry: SystemEntry = systems[wish.system]
    read = read_questions(wish.dataset)
    place = wish.documents or find_documents(read, entry)
    check_documents(wish.system, entry, given=wish.documents is not None, found=place is not None)
    problems, notes = list(read.problems), []
    documents: Sequence[Document] = ()
    if place is not None:
        corpus = read_corpus(place)
        documents = corpus.documents
        problems += corpus.problems
    seed = parse_section(params, "grammar.assessment", AssessmentParams).seed
    questions: Sequence[AskedQuestion] = read.questions
    if place is not None and wish.documents is None:
        questions = keep_grounded(questions, (each.id for each in documents))
        notes.append(
            f"{len(questions)} of {len(read.questions)} questions have their true documents in {place.name}; "
            "the others are not asked (--documents PATH asks all)"
        )
    questions = take_groups(questions, wish.limit, seed)
    if not questions:
        raise BadInput(
            wish.dataset,
            "has no question whose true documents are beside it",
            hint="--documents PATH asks all",
        )
    corpus_digest = make_id(*((each.id, each.title, each.text) for each in documents))
    settings = entry.model_dump(mode="json")
    key = make_id("evaluation", wish.system, read.digest, settings, corpus_digest, wish.limit, wish.as_of)
    out = wish.out or root / FOLDER / f"{wish.system}-{key[:8]}"
    return Ground(questions, documents, entry, problems, notes, key, out)


def prepare_out(out: Path) -> None:
    """Make the folder that is written to, before anybody is asked. Raises BadInput."""
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadInput(out, f"cannot be made a folder ({(error.strerror or '').lower()})") from error
    if not os.access(out, os.W_OK):
        raise BadInput(out, "cannot be written to")


def find_documents(read: OwnQuestions, entry: SystemEntry) -> Path | None:
    """Find the corpus that lies beside a dataset folder of ours, where the system needs one."""
    if read.beside is None or not needs_documents(entry):
        return None
    beside = read.beside.parent / "documents.parquet"
    return beside if beside.is_file() else None


async def ask_and_judge(
    ground: Ground, params: Mapping[str, Any], wish: Wish, session: Session
) -> tuple[Evaluated, list[Call]]:
    """Ask the system, then the judge of its answers and of the canaries."""
    settings = parse_section(params, "grammar.judgements", judging.Judgements)
    asks: list[StageAsk] = []

    def make_ask(step: str) -> StageAsk:
        asks.append(session.make_ask(f"evaluate-{step}", prompts_folder(judging), wish.as_of))
        return asks[-1]

    questions = list(ground.questions)
    answers = await ask_system(
        questions, ground.documents, ground.key, wish.system, ground.entry, make_ask("answers")
    )
    judged = await judging.judgements(answers, questions, settings, make_ask("judgements"))
    tried = await canaries({"grammar.judgements.feedback": settings.feedback}, make_ask("canaries"))
    calls = {call.id: call for ask in reversed(asks) for call in ask.call_rows()}
    return Evaluated(questions, answers, judged.rows, tried.rows), list(calls.values())


def measure_all(evaluated: Evaluated, params: Mapping[str, Any]) -> dict[str, Any]:
    """Make the figures by what params.yaml says of intervals, criteria and trust."""
    given = parse_section(params, "grammar.assessment", AssessmentParams)
    thresholds = parse_section(params, "judging.thresholds", Thresholds)
    return make_figures(evaluated, given.criteria, thresholds, Bootstrap(given.draws, given.seed))


def describe_wish(flow: str, wish: Wish, ground: Ground) -> dict[str, Any]:
    """Say what was evaluated, without a path of this machine."""
    return {
        "evaluation": ground.key,
        "flow": flow,
        "dataset": write_name(wish.dataset),
        "system": wish.system,
        "version": ground.entry.version,
        "as_of": wish.as_of,
        "limit": wish.limit,
        "documents": len(ground.documents),
    }


def write_all(out: Path, evaluated: Evaluated, calls: Sequence[Call], figures: Mapping[str, Any]) -> None:
    """Write the rows, then the figures; each file beside its place and renamed."""
    write_rows(out / "questions.parquet", AskedQuestion, evaluated.questions)
    write_rows(out / "answers.parquet", SystemAnswer, evaluated.answers)
    write_rows(out / "judgements.parquet", Judgement, evaluated.judgements)
    write_rows(out / "canaries.parquet", CanaryRow, evaluated.canaries)
    write_rows(out / "calls.parquet", Call, calls)
    write_text(
        out / "figures.json", json.dumps(figures, ensure_ascii=False, indent=1, allow_nan=False) + "\n"
    )
