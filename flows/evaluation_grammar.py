"""`benchloom evaluate grammar`: somebody's questions by the rules of GRAMMAR-Eval."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from flows.evaluation import Asks, Ground, Result, Wish, clean, place_out, read_system
from flows.settings import parse_section
from tasks.artifacts.rows import make_id
from tasks.errors import BadInput
from tasks.grammar.assess import judgements as judging
from tasks.grammar.assess.assessment import AssessmentParams
from tasks.grammar.assess.canaries import canaries
from tasks.grammar.assess.evaluation import Evaluated, ask_system, list_failures, make_figures
from tasks.grammar.assess.own_questions import OwnQuestions, keep_grounded, read_questions, take_groups
from tasks.grammar.assessment_rows import AskedQuestion, Judgement, SystemAnswer
from tasks.judging.canaries import CanaryRow
from tasks.judging.trust import Thresholds
from tasks.scoring.running import Bootstrap
from tasks.systems.contract import Document
from tasks.systems.corpus import read_corpus
from tasks.systems.entries import SystemEntry
from tasks.systems.needs import check_documents, needs_documents

RATES = {
    "accuracy": "accuracy",
    "robustness": "R",
    "retrieval_db_accuracy": "Acc_db",
    "lambda": "lambda",
}


def read_ground(root: Path, params: Mapping[str, Any], wish: Wish) -> Ground:
    """Read the system's entry, the questions and the documents. Raises BadInput, one line."""
    for option, value in (("--turns", wish.turns), ("--language", wish.language)):
        if value:
            raise BadInput(option, "is of `evaluate ragcheck`")
    entry = read_system(params, wish)
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
    return Ground(questions, documents, entry, problems, notes, key, place_out(root, wish, key))


def find_documents(read: OwnQuestions, entry: SystemEntry) -> Path | None:
    """Find the corpus that lies beside a dataset folder of ours, where the system needs one."""
    if read.beside is None or not needs_documents(entry):
        return None
    beside = read.beside.parent / "documents.parquet"
    return beside if beside.is_file() else None


async def evaluate(ground: Ground, params: Mapping[str, Any], wish: Wish, asks: Asks) -> Result:
    """Ask the system, then the judge of its answers and of the canaries."""
    settings = parse_section(params, "grammar.judgements", judging.Judgements)
    questions: list[AskedQuestion] = list(ground.questions)
    answers = await ask_system(
        questions, ground.documents, ground.key, wish.system, ground.entry, asks.make("answers", judging)
    )
    judged = await judging.judgements(answers, questions, settings, asks.make("judgements", judging))
    tried = await canaries({"grammar.judgements.feedback": settings.feedback}, asks.make("canaries", judging))
    evaluated = Evaluated(questions, answers, judged.rows, tried.rows)
    rows: dict[str, tuple[type, Sequence[Any]]] = {
        "questions": (AskedQuestion, questions),
        "answers": (SystemAnswer, answers),
        "judgements": (Judgement, judged.rows),
        "canaries": (CanaryRow, tried.rows),
    }
    return Result(rows, measure_all(evaluated, params), list_failures(evaluated))


def measure_all(evaluated: Evaluated, params: Mapping[str, Any]) -> dict[str, Any]:
    """Make the figures by what params.yaml says of intervals, criteria and trust."""
    given = parse_section(params, "grammar.assessment", AssessmentParams)
    thresholds = parse_section(params, "judging.thresholds", Thresholds)
    return make_figures(evaluated, given.criteria, thresholds, Bootstrap(given.draws, given.seed))


def print_figures(figures: Mapping[str, Any]) -> None:
    """Print warnings, counts and the table: rates x100 with their 95% intervals."""
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Column, Table

    console = Console()
    for warning in figures["warnings"]:
        console.print(f"[bold]WARNING[/bold] {escape(clean(warning))}", highlight=False)
    counts = figures["counts"]
    states = ", ".join(f"{counts[state]} {state}" for state in ("scored", "failed", "unscored"))
    console.print(
        escape(
            f"{figures['system']} on {clean(figures['dataset'])}: {counts['rows']} questions of "
            f"{counts['groups']} groups, {states}"
        ),
        highlight=False,
    )
    modes = list(figures["rates"])
    table = Table("criterion", "scored", "figure", *(Column(mode, no_wrap=True) for mode in modes))
    for name, part in figures["rates"]["open"].items():
        head = [escape(clean(name)), f"{part['n_scored']}/{part['n']}"]
        for rate, label in RATES.items():
            table.add_row(*head, label, *(spell(figures["rates"][mode][name], rate) for mode in modes))
            head = ["", ""]
    console.print(table)
    if "closed" not in modes:
        console.print("True or retrieved documents are not known: there is no closed mode.", highlight=False)
    elif counts["grounded"] < counts["rows"]:
        console.print(
            f"True and retrieved documents are known of {counts['grounded']} of {counts['rows']} questions; "
            "the others count in closed mode as they do in open mode.",
            highlight=False,
        )
    for mode, tests in (figures["hypothesis"] or {}).items():
        if contrast := tests["rates"].get("accuracy"):
            console.print(
                f"{mode}: accuracy, {describe_contrast(figures['criteria'], contrast)}", highlight=False
            )


def describe_contrast(criteria: Sequence[str], contrast: Mapping[str, Any]) -> str:
    """Write A minus B with its interval."""
    from rich.markup import escape

    a, b = (escape(clean(each)) for each in criteria)
    if contrast["difference"] is None or contrast["low"] is None:
        return f"{a} - {b}: not told"
    spelt = [f"{100 * contrast[name]:+.1f}" for name in ("difference", "low", "high")]
    return f"{a} - {b}: {spelt[0]} ({spelt[1]} to {spelt[2]})"


def spell(part: Mapping[str, Any], rate: str) -> str:
    """Write a rate x100 with its interval."""
    value, interval = part[rate], part["ci"][rate]
    if value is None:
        return "-"
    beside = "" if interval is None else f" ({100 * interval[0]:.1f}, {100 * interval[1]:.1f})"
    return f"{100 * value:.1f}{beside}"
