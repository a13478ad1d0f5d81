"""Stage: Part I as a page: figure 2, the judges on their canaries, and every answer with its grades."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tasks.artifacts.parquet import read_rows
from tasks.artifacts.rows import Counts, Dropped
from tasks.judging.canaries import CanaryRow
from tasks.judging.trust import HumanAlpha
from tasks.ragcheck.entries import Assessment
from tasks.ragcheck.judge_report import find_thresholds, tell_judge
from tasks.ragcheck.page_parts import (
    Headline,
    count_drops,
    list_calls,
    show_passages,
    show_question,
    write_page,
)
from tasks.ragcheck.ratings import make_form
from tasks.ragcheck.rows import (
    BY_REFERENCE,
    MEASURES,
    RULES,
    TOP_SCORE,
    Answer,
    Baseline,
    Context,
    Correlation,
    Question,
    Rating,
    Score,
)
from tasks.reports.calls import read_calls

SUBTITLE = (
    "How right a system's answers are: judged against the reference answer, with contexts that the question "
    "retrieves (E2) and that question and reference retrieve together (E3), and held against people (E1)."
)


def correctness_page(
    questions: list[Question],
    answers: list[Answer],
    contexts: list[Context],
    scores: list[Score],
    canaries: list[CanaryRow],
    baselines: list[Baseline],
    ratings: list[Rating],
    correlations: list[Correlation],
    questions_dropped: Path,
    contexts_dropped: Path,
    ratings_dropped: Path,
    answers_calls: Path,
    contexts_calls: Path,
    scores_calls: Path,
    canaries_calls: Path,
    baselines_calls: Path,
    entry: Assessment,
    key: str,
    settings: Mapping[str, Any],
    out: Path,
) -> Counts:
    """Write the page's folder."""
    calls = read_calls([answers_calls, contexts_calls, scores_calls, canaries_calls, baselines_calls])
    thresholds = find_thresholds(settings)
    people = _find_alphas(correlations, entry) if ratings else {}
    judges = [
        tell_judge(
            judge,
            [each.score for each in scores if each.judge == judge],
            canaries,
            people.get(judge, ()),
            thresholds,
        )
        for judge in entry.judges
    ]
    graded = [each for each in scores if each.score is not None]
    write_page(
        "correctness.html",
        out,
        name=f"{key}-correctness",
        title=f"Correctness of responses: {key}",
        subtitle=SUBTITLE,
        figures=[
            Headline("questions", len(questions)),
            Headline(
                "answers", sum(each.text is not None for each in answers), f"of {len(answers)} asked for"
            ),
            Headline("grades", len(graded), f"{len(scores) - len(graded)} replies were none"),
            Headline("people's ratings", len(ratings)),
            Headline("model calls", len(calls)),
        ],
        browser={
            "kind": "answers",
            "systems": list(entry.systems),
            "judges": list(entry.judges),
            "rows": _list_answers(questions, answers, contexts, scores, baselines, ratings),
        },
        calls=calls,
        judges=judges,
        told={
            "tables": _make_tables(correlations, entry),
            "rated": bool(ratings),
            "drops": count_drops([questions_dropped, contexts_dropped, ratings_dropped]),
            "unusable": [
                (each.reason, each.detail) for each in sorted(read_rows(ratings_dropped, Dropped), key=_place)
            ],
        },
        form=make_form(questions, answers),
    )
    return Counts(len(answers), len(answers), {})


def _place(dropped: Dropped) -> int:
    number = dropped.detail.removeprefix("line ").partition(":")[0]
    return int(number) if number.isdigit() else 0


def _find_alphas(correlations: Sequence[Correlation], entry: Assessment) -> dict[str, list[HumanAlpha]]:
    """Find each judge's agreement with people by the paper's contexts (E3), on all answers of each system."""
    found: dict[str, list[HumanAlpha]] = {}
    for each in correlations:
        if each.measure == BY_REFERENCE and not each.dataset and not each.note:
            of = each.system if len(entry.systems) > 1 else ""
            alpha = HumanAlpha(each.pairs, each.alpha.value, each.alpha.low, each.alpha.high, of)
            found.setdefault(each.judge, []).append(alpha)
    return found


def _make_tables(correlations: Sequence[Correlation], entry: Assessment) -> list[dict[str, Any]]:
    """Make figure 2's table for every system, and for each of its datasets."""
    order = ["E1", *MEASURES, *RULES]
    groups: defaultdict[tuple[str, str], list[Correlation]] = defaultdict(list)
    for each in correlations:
        groups[each.dataset, each.system].append(each)
    tables = []
    for (dataset, system), lines in sorted(groups.items(), key=lambda item: item[0]):
        lines.sort(
            key=lambda each: (order.index(each.measure), entry.judges.index(each.judge) if each.judge else 0)
        )
        told = [
            {
                "row": each,
                "top": TOP_SCORE if each.measure in ("E1", *RULES) else 1,
                "label": _label(each),
            }
            for each in lines
        ]
        tables.append({"dataset": dataset, "system": system, "lines": told})
    return tables


def _label(line: Correlation) -> str:
    if line.judge:
        return f"{line.measure}: {line.judge}"
    return "E1: people" if line.measure == "E1" else line.measure.replace("_", " ")


def _list_answers(
    questions: Sequence[Question],
    answers: Sequence[Answer],
    contexts: Sequence[Context],
    scores: Sequence[Score],
    baselines: Sequence[Baseline],
    ratings: Sequence[Rating],
) -> list[dict[str, Any]]:
    asked = {each.id: each for each in questions}
    found = {(each.question, each.system, each.rule): each for each in contexts}
    rows = []
    for answer in answers:
        if answer.question not in asked:
            continue
        own = [each for each in scores if each.answer == answer.id]
        rows.append(
            {
                "id": answer.id,
                **show_question(asked[answer.question]),
                "system": answer.system,
                "response": answer.text,
                "problem": answer.problem,
                "grades": [
                    [each.rule, each.judge, each.score, each.feedback, each.problem]
                    for each in sorted(own, key=lambda each: (each.judge, each.rule))
                ],
                "contexts": {
                    rule: show_passages(found[answer.question, answer.system, rule].passages)
                    for rule in RULES
                    if (answer.question, answer.system, rule) in found
                },
                "baselines": [
                    [each.measure, each.value, each.problem]
                    for each in sorted(baselines, key=lambda each: MEASURES.index(each.measure))
                    if each.answer == answer.id
                ],
                "ratings": [[each.rater, each.rating] for each in ratings if each.answer == answer.id],
                "calls": list_calls(answer.origin, *(each.origin for each in own)),
            }
        )
    return sorted(rows, key=lambda row: (row["dataset"], row["key"], row["system"]))
