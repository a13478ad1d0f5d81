"""Implement `benchloom evaluate qa`: evaluate a system or recorded answers on a user's questions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from typing import Any

from tasks.artifacts.rows import make_id
from tasks.errors import BadInput
from tasks.judging.canaries import measure_health
from tasks.judging.comparison import ScoredSystem
from tasks.judging.health_derivation import derive_health
from tasks.judging.trust import TrustThresholds, find_warnings
from tasks.lineage.derivation import Derivation
from tasks.lineage.selection import Selection
from tasks.qa.columns import QaColumns
from tasks.qa.entries import QaSystem, Scoring
from tasks.qa.items import QaItem, read_table
from tasks.qa.scores import list_answered, list_scored
from tasks.qa.verdicts import QaVerdict
from tasks.reports.own_evaluation import (
    MEASURES,
    Evaluation,
    Measured,
    OwnRows,
    list_unread,
    measure_scored_systems,
)
from tasks.systems.entries import SystemEntry
from tasks.systems.evaluation import EvaluationOptions, OwnDataset, ReadSection
from tasks.systems.own_items import sample_groups

RULED, JUDGED = ("qa.answers", "qa.scores"), ("qa.answers", "qa.verdicts", "qa.canaries", "qa.scores")
SCORES = "scores"
SCORINGS: dict[str, Scoring] = {"rules": "rules", "judge": "judge", "both": "both"}


def read_own(options: EvaluationOptions, entry: SystemEntry, read: ReadSection) -> OwnDataset:
    """Read and check the table, and list the stages to run.

    Raises BadInput if the options or the table are invalid.
    """
    if options.answers is not None and options.answers.resolve() == options.dataset.resolve():
        raise BadInput(
            "--answers",
            "is the dataset itself, with the reference answers",
            hint="give a file that contains the system's answers, each with an id or a question",
        )
    table = read_table(options.dataset, QaColumns(**options.columns))
    items = sample_groups(table.found.items, options.limit, 0)
    score = choose_score(options)
    asked = [(item.id, item.group, item.question, item.contexts, item.reference) for item in items]
    settings = entry.model_dump(mode="json")
    key = make_id("evaluation", "qa", options.system, asked, settings, score, options.as_of)
    own = QaSystem(set=key, system=options.system, score=score)
    return OwnDataset(
        key,
        {"qa.systems": own.model_dump(mode="json")},
        {"items": (QaItem, items), **({} if own.judged else {"verdicts": (QaVerdict, [])})},
        JUDGED if own.judged else RULED,
        table.found.problems,
        table.notes,
        {"items": len(items), "score": score},
    )


def choose_score(options: EvaluationOptions) -> Scoring:
    """Choose the scoring: `--score` if given; otherwise rules, plus the judge if `--judge` names a judge.

    Raises BadInput if the options are invalid or contradict each other.
    """
    given = options.score or ("both" if options.judge else "rules")
    if given not in SCORINGS:
        raise BadInput(f"--score {given}", f"is not one of {', '.join(SCORINGS)}")
    if options.judge and given == "rules":
        raise BadInput(f"--judge {options.judge}", "cannot be combined with --score rules")
    return SCORINGS[given]


def measure(rows: OwnRows, options: EvaluationOptions, read: ReadSection) -> Measured:
    """Compute the means of all metrics, over all items and by tag, and the judge's canary results."""
    scores, scored = rows[SCORES], list_scored(rows[SCORES])
    answered = list_answered(list(rows["items"]), list(rows["answers"]), list(scores))
    scored_system = ScoredSystem("qa.systems", "", options.system, list(zip(scored, answered, strict=True)))
    measured = measure_scored_systems([scored_system], SCORES)
    failed = sum(answer.text is None for answer in rows["answers"])
    figures: dict[str, Any] = {**measured.figures}
    figures["counts"] = {
        **figures["counts"],
        "items": Derivation("count", (Selection("items"),)),
        "failed": Derivation("count", (Selection("answers", {"text": None}),)),
        "unscored": sum(score.value is None for score in scored) - failed,
    }
    if "canaries" not in rows:
        return replace(measured, figures=figures)
    given = [row for row in scores if row.judged]
    health = measure_health(rows["canaries"])
    warnings = find_warnings(
        read("judging.thresholds", TrustThresholds),
        n=len(given),
        n_unscored=sum(row.judge is None for row in given),
        canaries=health,
    )
    figures |= {"warnings": [*warnings, *figures["warnings"]], "canaries": asdict(health)}
    failures = [*measured.failures, *list_unread(rows["canaries"])]
    bases = {**measured.bases, **derive_health("/canaries", Selection("canaries", {"further": False}))}
    return replace(measured, figures=figures, failures=failures, bases=bases)


def tell_score(figures: Mapping[str, Any]) -> Iterator[str]:
    """Yield an explanation of the metrics, one line per kind of scoring in use."""
    if figures["score"] != "judge":
        yield "em: exact match; f1: overlap of words; of the best accepted answer, by rules (docs/qa.md)."
    if figures["score"] != "rules":
        yield "judge: share of the answers that the judge calls correct."


PRINTED = replace(MEASURES[0], title="{items} items, {failed} without an answer, {unscored} unscored")
EVALUATION = Evaluation(
    read_own,
    measure,
    (PRINTED, *MEASURES[1:]),
    tell_score,
    takes=frozenset({"columns", "score", "judge"}),
    anywhere=True,
)
