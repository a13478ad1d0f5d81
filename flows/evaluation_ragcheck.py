"""`benchloom evaluate ragcheck`: somebody's questions with references, by Part I and, wished for, Part II."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from flows.evaluation import Asks, Ground, Result, Wish, clean, place_out, read_system
from flows.settings import get_section, parse_section
from tasks.artifacts.rows import make_id
from tasks.errors import BadInput
from tasks.judging.canaries import CanaryRow
from tasks.judging.trust import Thresholds
from tasks.ragcheck import answers, baselines, canaries, contexts, conversations, scores
from tasks.ragcheck.agents import Conversing
from tasks.ragcheck.corpus import corpus
from tasks.ragcheck.evaluation import (
    ALL,
    JUDGE,
    Evaluated,
    check_conversations,
    list_failures,
    make_entry,
    make_figures,
)
from tasks.ragcheck.figures import Resampling
from tasks.ragcheck.grading import Judging
from tasks.ragcheck.questions import questions
from tasks.ragcheck.rows import (
    MEASURES,
    RULES,
    Answer,
    Baseline,
    Context,
    Conversation,
    Guard,
    Question,
    Score,
)
from tasks.ragcheck.sets import DOCUMENTS, QuestionSet, recognise_set
from tasks.ragcheck.under_test import build_systems
from tasks.systems.contract import Document
from tasks.systems.corpus import read_corpus
from tasks.systems.entries import SystemEntry
from tasks.systems.needs import can_search, check_documents, needs_documents

JUDGING = "ragcheck.judging"
LABELS = {
    "word_recall": "word recall",
    "rouge_l": "ROUGE-L",
    "E2": "E2 (question)",
    "E3": "E3 (with reference)",
}


def read_ground(root: Path, params: Mapping[str, Any], wish: Wish) -> Ground:
    """Read the system's entry, the questions and the documents. Raises BadInput, one line."""
    entry = read_system(params, wish)
    found = recognise_set(wish.dataset, wish.language, wish.limit)
    read = questions(found)
    targets = [each for each in read.rows if not each.history]
    if wish.turns and not targets:
        raise BadInput(wish.dataset, "holds no question that begins a conversation, which --turns asks for")
    documents, problems = read_documents(wish, entry, found)
    notes = [
        f"{count} questions are left out: {reason.replace('_', ' ')}"
        for reason, count in sorted(Counter(each.reason for each in read.dropped).items())
    ]
    if wish.turns and len(targets) < len(read.rows):
        notes.append(f"{len(read.rows) - len(targets)} questions begin no conversation: --turns leaves them")
    if not can_search(entry):
        notes.append(
            f"systems.{wish.system} has no `search`, so there are no contexts to judge by and no grades, "
            "only measures without contexts; give it one (docs/systems.md)"
        )
    about = {"kind": found.kind, "language": found.language, "turns": wish.turns}
    key = make_id(
        "evaluation",
        "ragcheck",
        wish.system,
        entry.model_dump(mode="json"),
        [asdict(each) for each in read.rows],
        make_id(*((each.id, each.title, each.text) for each in documents)),
        about,
        wish.as_of,
    )
    return Ground(read.rows, documents, entry, problems, notes, key, place_out(root, wish, key), about)


def read_documents(
    wish: Wish, entry: SystemEntry, found: QuestionSet
) -> tuple[Sequence[Document], Sequence[str]]:
    """Read what the system retrieves from, and a line for each file or row that cannot be read.

    The dataset's own documents, unless others are given; none for a system that brings its own.
    """
    own = found.kind != "lines" or (found.path / DOCUMENTS).is_file()
    check_documents(wish.system, entry, given=wish.documents is not None, found=own or bool(wish.documents))
    if wish.documents is not None:
        read = read_corpus(wish.documents)
        return read.documents, read.problems
    return (corpus(found).rows if needs_documents(entry) else ()), ()


async def evaluate(ground: Ground, params: Mapping[str, Any], wish: Wish, asks: Asks) -> Result:
    """Ask the system, have judge and canaries graded, and lead the conversations that are wished for."""
    asked: list[Question] = list(ground.questions)
    entry = make_entry(wish.system)
    settings = {f"{JUDGING}.{name}": value for name, value in get_section(params, JUDGING).items()}

    def build(step: str) -> Any:
        ask = asks.make(step, answers)
        return build_systems(entry.systems, {wish.system: ground.entry}, ground.documents, ask)

    said = await answers.answer_all(build("answers"), asked)
    found = await contexts.retrieve_all(build("contexts"), asked)
    graded = await scores.scores(asked, said, list(found.rows), entry, settings, asks.make("scores", scores))
    tried = await canaries.canaries(entry, settings, asks.make("canaries", canaries))
    compared = await baselines.baselines(asked, said, entry, asks.make("baselines", baselines))
    talks: list[Conversation] | None = None
    if wish.turns:
        given = parse_section(params, "ragcheck.conversations", Conversing)
        how = given.model_copy(update={"turns": wish.turns})
        ask = asks.make("conversations", conversations)
        built = build_systems(entry.systems, {wish.system: ground.entry}, ground.documents, ask)
        targets = [each for each in asked if not each.history]
        talks = await conversations.converse_all(built, targets, how, Judging.find(settings), JUDGE, ask)
    evaluated = Evaluated(
        asked,
        said,
        found.rows,
        found.dropped,
        graded.rows,
        tried.rows,
        compared.rows,
        talks,
        check_conversations(asked, talks or ()),
    )
    thresholds = parse_section(params, "judging.thresholds", Thresholds)
    draws = parse_section(params, "ragcheck.correlations", Resampling)
    return Result(
        list_rows(evaluated),
        make_figures(evaluated, wish.system, thresholds, draws),
        list_failures(evaluated),
    )


def list_rows(evaluated: Evaluated) -> dict[str, tuple[type, Sequence[Any]]]:
    """List the artifacts; those of Part II where it was wished for."""
    rows: dict[str, tuple[type, Sequence[Any]]] = {
        "questions": (Question, evaluated.questions),
        "answers": (Answer, evaluated.answers),
        "contexts": (Context, evaluated.contexts),
        "scores": (Score, evaluated.scores),
        "canaries": (CanaryRow, evaluated.canaries),
        "baselines": (Baseline, evaluated.baselines),
    }
    if evaluated.conversations is not None:
        rows |= {
            "conversations": (Conversation, evaluated.conversations),
            "guards": (Guard, evaluated.guards),
        }
    return rows


def print_figures(figures: Mapping[str, Any]) -> None:
    """Print warnings, counts, and a table a part: means with their 95% intervals."""
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    console = Console()
    for warning in figures["warnings"]:
        console.print(f"[bold]WARNING[/bold] {escape(clean(warning))}", highlight=False)
    counts = figures["counts"]
    console.print(
        escape(
            f"{figures['system']} on {clean(figures['dataset'])}: {counts['questions']} questions, "
            f"{counts['failed']} without an answer; {counts['grades']} grades, {counts['unscored']} unscored"
        ),
        highlight=False,
    )
    table = Table("dataset", "measure", "scored", "not sure", "failed", "mean")
    for dataset, measure, told in list_measures(figures["correctness"]):
        counted = [str(told[name]) for name in ("scored", "unsure", "failed")]
        table.add_row(escape(clean(dataset)), LABELS.get(measure, measure), *counted, spell(told))
    console.print(table)
    if figures["continuity"] is None:
        return
    console.print(
        f"{counts['conversations']} conversations of at most {figures['turns']} turns, "
        f"{counts['failed_conversations']} failed",
        highlight=False,
    )
    table = Table("dataset", "figure", "n", "mean or share")
    for dataset, own in figures["continuity"].items():
        for measure, told in own.items():
            table.add_row(escape(clean(dataset)), measure.replace("_", " "), str(told["n"]), spell(told))
    console.print(table)


def list_measures(correctness: Mapping[str, Any]) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """List what has a value to show, all datasets first."""
    for dataset in sorted(correctness, key=lambda name: (name != ALL, name)):
        for measure in (*MEASURES, *RULES):
            told = correctness[dataset].get(measure)
            if told and (told["n"] > told["skipped"]):
                yield dataset, measure, told


def spell(told: Mapping[str, Any]) -> str:
    """Write a figure with its interval."""
    if told["value"] is None:
        return "-"
    beside = "" if told["low"] is None else f" ({told['low']:.3f}, {told['high']:.3f})"
    return f"{told['value']:.3f}{beside}"
