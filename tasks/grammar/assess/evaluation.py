"""`benchloom evaluate grammar`: GRAMMAR-Eval's figures (section 4.3) on a dataset of the user's own.

The stages of an assessment ask and judge the questions; sets, templates and baselines do not apply.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tasks.artifacts.rows import make_id
from tasks.errors import BadInput
from tasks.grammar.assess.answers import AssessedAnswer
from tasks.grammar.assess.assessment import AssessmentParams, join_rows
from tasks.grammar.assess.judged import JudgedRow
from tasks.grammar.assess.judgements import Judgement
from tasks.grammar.assess.own_questions import OwnQuestions, keep_grounded, read_questions, sample_groups
from tasks.grammar.assess.set_figures import attribute_wrong, contrast_sets, count_gaps, rate_set
from tasks.grammar.corpus.questions import AskedQuestion
from tasks.judging.canaries import CanaryRow, measure_further, measure_health
from tasks.judging.health_basis import derive_health
from tasks.judging.rules import NO_ANSWER
from tasks.judging.trust import TrustThresholds, find_warnings
from tasks.lineage.bases import derive_rest, escape_pointer
from tasks.lineage.derivation import Derivation
from tasks.lineage.selection import Selection
from tasks.reports.tables import round_figures
from tasks.scoring.running import Bootstrap
from tasks.systems.capabilities import check_documents, needs_documents
from tasks.systems.contract import Document
from tasks.systems.corpus import read_corpus
from tasks.systems.entries import SystemEntry
from tasks.systems.evaluation import Evaluated, EvaluationOptions, OwnDataset, ReadSection

LABELS = ("Correct", "Incorrect")
MOST_CRITERIA = 12
"""With more distinct criteria than this, rates are computed over all rows only."""


@dataclass(frozen=True)
class GrammarEvaluation:
    """The rows of one evaluation: questions, answers, their judgements, and the judge's canaries.

    documents: none if the system has its own.
    """

    questions: Sequence[AskedQuestion]
    answers: Sequence[AssessedAnswer]
    judgements: Sequence[Judgement]
    canaries: Sequence[CanaryRow]
    documents: Sequence[Document] = ()


def read_own(options: EvaluationOptions, entry: SystemEntry, read: ReadSection) -> OwnDataset:
    """Read and check the questions and documents. read: of params.yaml. Raises BadInput, one line."""
    for option, value in (("--turns", options.turns), ("--language", options.language)):
        if value:
            raise BadInput(option, "is of `evaluate ragcheck`")
    found = read_questions(options.dataset)
    place = options.documents or find_documents(found, entry)
    check_documents(options.system, entry, given=options.documents is not None, found=place is not None)
    problems, notes = list(found.problems), []
    documents: Sequence[Document] = ()
    if place is not None:
        corpus = read_corpus(place)
        documents = corpus.documents
        problems += corpus.problems
    questions: Sequence[AskedQuestion] = found.questions
    if place is not None and options.documents is None:
        questions = keep_grounded(questions, (document.id for document in documents))
        notes.append(
            f"{len(questions)} of {len(found.questions)} questions have their true documents in "
            f"{place.name}; the others are not asked (--documents PATH asks all)"
        )
    questions = sample_groups(questions, options.limit, read("grammar.assessment", AssessmentParams).seed)
    if not questions:
        raise BadInput(
            options.dataset,
            "has no question whose true documents are beside it",
            hint="--documents PATH asks all",
        )
    corpus_digest = make_id(*((document.id, document.title, document.text) for document in documents))
    settings = entry.model_dump(mode="json")
    key = make_id(
        "evaluation", options.system, found.digest, settings, corpus_digest, options.limit, options.as_of
    )
    return OwnDataset(
        key,
        {"assessments": {"database": key, "system": options.system, "llm_only": key}},
        {"questions": (AskedQuestion, questions), "documents": (Document, documents)},
        ("grammar.answers", "grammar.judgements", "grammar.canaries"),
        problems,
        notes,
        {"documents": len(documents)},
        kept=("questions", "documents"),
    )


def find_documents(found: OwnQuestions, entry: SystemEntry) -> Path | None:
    """Return the corpus beside a dataset folder; None if there is none, or the system needs none."""
    if found.beside is None or not needs_documents(entry):
        return None
    beside = found.beside.parent / "documents.parquet"
    return beside if beside.is_file() else None


def evaluate(rows: Mapping[str, Sequence[Any]], options: EvaluationOptions, read: ReadSection) -> Evaluated:
    """Compute the figures from the stages' rows; intervals, criteria and thresholds are from params.yaml.

    rows: name of the artifact -> its rows.
    """
    judged = GrammarEvaluation(
        rows["questions"], rows["answers"], rows["judgements"], rows["canaries"], rows["documents"]
    )
    given = read("grammar.assessment", AssessmentParams)
    intervals = Bootstrap(given.draws, given.seed)
    figures = make_figures(judged, given.criteria, read("judging.thresholds", TrustThresholds), intervals)
    return Evaluated(figures, list_failures(judged), derive_figures(figures, judged))


def make_figures(
    evaluated: GrammarEvaluation,
    preferred: Sequence[str],
    thresholds: TrustThresholds,
    intervals: Bootstrap,
) -> dict[str, object]:
    """Compute the figures of an evaluation; rates have 95% intervals by a bootstrap over groups.

    preferred: criteria A and B, in this order, if the dataset has exactly these two.
    """
    corpus = [document.id for document in evaluated.documents] or None
    rows = join_rows(evaluated.judgements, evaluated.answers, evaluated.questions, corpus)
    named = list_criteria(rows, preferred)
    criteria = named if len(named) <= MOST_CRITERIA else ()
    health = measure_health(evaluated.canaries)
    further = measure_further(evaluated.canaries)
    unscored = sum(row.judgement is None for row in rows)
    counts = count_rows(evaluated, rows)
    sections: dict[str, Mapping[str, object] | None] = {
        "rates": rate_set(rows, criteria, intervals),
        "gaps": count_gaps(rows, criteria),
        "attribution": attribute_wrong(rows, criteria),
        "hypothesis": contrast_sets({"": rows}, (criteria[0], criteria[1]), intervals)[""]
        if len(criteria) == 2
        else None,
    }
    if not counts["grounded"]:
        # Without true and retrieved documents, closed mode would repeat open mode.
        sections = {
            name: modes and {mode: part for mode, part in modes.items() if mode != "closed"}
            for name, modes in sections.items()
        }
    figures = {
        "warnings": find_warnings(
            thresholds, n=len(rows), n_unscored=unscored, canaries=health, further=further
        ),
        "canaries": asdict(health),
        "further_canaries": further and asdict(further),
        "counts": counts,
        "criteria": criteria,
        **sections,
    }
    rounded = round_figures(figures)
    return rounded if isinstance(rounded, dict) else {}


def derive_figures(figures: Mapping[str, Any], evaluated: GrammarEvaluation) -> dict[str, Derivation]:
    """Name the rows of an evaluation's figures, by their places; shares and counts say how, too."""
    judgements, answers = Selection("judgements"), Selection("answers")
    ruled = {judgement.rule for judgement in evaluated.judgements} - {""}
    rows = {
        "rows": judgements,
        "scored": Selection("judgements", {"judgement": LABELS}),
        "by_rule": Selection("judgements", {"rule": tuple(sorted(ruled))}),
        "unanswered": Selection("judgements", {"rule": tuple(sorted(ruled & {*NO_ANSWER}))}),
        "failed": Selection("answers", {"response": None}),
    }
    known = {f"/counts/{name}": Derivation("count", (selection,)) for name, selection in rows.items()}
    known["/counts/groups"] = Derivation("distinct", (judgements,), "group")
    known["/documents"] = Derivation("count", (Selection("documents"),))
    for part in ("all", *figures["criteria"]):
        where = {} if part == "all" else {"criterion": part}
        place, own = f"/rates/open/{escape_pointer(part)}", (Selection("judgements", where),)
        known[f"{place}/accuracy"] = Derivation("share", own, "judgement", hit=LABELS[0])
        known[f"{place}/n"] = Derivation("count", own)
        known[f"{place}/n_scored"] = Derivation(
            "count", (Selection("judgements", {**where, "judgement": LABELS}),)
        )
    known |= derive_health("/canaries", Selection("canaries", {"further": False}))
    known |= derive_health("/further_canaries", Selection("canaries", {"further": True}))
    both = (judgements, answers)
    return derive_rest(
        figures, dict.fromkeys(("/counts", "/rates", "/gaps", "/attribution", "/hypothesis"), both), known
    )


def list_criteria(rows: Sequence[JudgedRow], preferred: Sequence[str]) -> tuple[str, ...]:
    """List the dataset's criteria, in the preferred order if they are the preferred ones, else sorted."""
    found = sorted({row.criterion for row in rows} - {""})
    return tuple(preferred) if sorted(preferred) == found else tuple(found)


def count_rows(evaluated: GrammarEvaluation, rows: Sequence[JudgedRow]) -> dict[str, int]:
    """Count rows and groups by state.

    failed: the system gave no answer. unscored: the judge gave no verdict. by_rule: a rule decided,
    no judge was asked. unanswered: those of them where nothing was answered. grounded: true and retrieved
    documents are both known; for other rows closed mode equals open mode.
    """
    failed = sum(answer.response is None for answer in evaluated.answers)
    scored = sum(row.judgement is not None for row in rows)
    return {
        "rows": len(rows),
        "groups": len({row.group for row in rows}),
        "scored": scored,
        "by_rule": sum(bool(judgement.rule) for judgement in evaluated.judgements),
        "unanswered": sum(judgement.rule in NO_ANSWER for judgement in evaluated.judgements),
        "failed": failed,
        "unscored": len(rows) - scored - failed,
        "grounded": sum(None not in (row.true, row.retrieved) for row in rows),
    }


def list_failures(evaluated: GrammarEvaluation) -> list[str]:
    """List the rows and canaries without an answer or verdict, one line each, with the reason."""
    failed = {answer.id for answer in evaluated.answers if answer.response is None}
    lines = [
        f"question {judgement.question}: {'' if judgement.id in failed else 'unscored: '}{judgement.problem}"
        for judgement in evaluated.judgements
        if judgement.judgement is None
    ]
    unread = [canary for canary in evaluated.canaries if canary.given is None]
    return lines + [f"canary {canary.id}: unscored: {canary.problem}" for canary in unread]
