"""Stage: Part II as a page: figures 4 and 9, the guards, and every conversation with its scores."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

from tasks.artifacts.rows import Counts
from tasks.judging.canaries import CanaryRow
from tasks.ragcheck.agents import Conversing
from tasks.ragcheck.entries import Continuity
from tasks.ragcheck.judge_report import find_thresholds, tell_judge
from tasks.ragcheck.page_parts import (
    Headline,
    count_drops,
    list_calls,
    show_passages,
    show_question,
    write_page,
)
from tasks.ragcheck.plots import plot_datasets
from tasks.ragcheck.rows import ENDS, FAILED, TOP_SCORE, Comparison, Conversation, Grade, Guard, Question
from tasks.reports.calls import read_calls

SUBTITLE = (
    "How far, and how soon, a system leads somebody who asks on to the reference answer. wscore weighs early "
    "turns more (0 to 5), lscore counts turns (lower is better), mscore is the best score of a conversation."
)
MEASURES = ("wscore", "lscore", "mscore")


def continuity_page(
    questions: list[Question],
    conversations: list[Conversation],
    guards: list[Guard],
    comparison: list[Comparison],
    conversation_canaries: list[CanaryRow],
    conversations_dropped: Path,
    conversations_calls: Path,
    conversation_canaries_calls: Path,
    entry: Continuity,
    key: str,
    settings: Mapping[str, Any],
    out: Path,
) -> Counts:
    """Write the page's folder."""
    turns = int(settings.get("ragcheck.conversations.turns", Conversing().turns))
    calls = read_calls([conversations_calls, conversation_canaries_calls])
    grades = [
        each for talk in conversations for turn in talk.turns for each in (turn.grade, turn.final_grade)
    ]
    judge = tell_judge(
        entry.judge,
        [each.score for each in grades if each],
        conversation_canaries,
        (),
        find_thresholds(settings),
    )
    failed = sum(each.ended == FAILED for each in conversations)
    asked = {each.id: each for each in questions}
    tops = {"wscore": TOP_SCORE, "lscore": turns, "mscore": TOP_SCORE}
    found = {(each.kind, each.dataset, each.system, each.other, each.measure): each for each in comparison}
    datasets = sorted({each.dataset for each in comparison if each.dataset})
    means = {
        measure: {
            (dataset, system): row.estimate
            for dataset in datasets
            for system in entry.systems
            if (row := found.get(("mean", dataset, system, "", measure)))
        }
        for measure in MEASURES
    }
    write_page(
        "continuity.html",
        out,
        name=f"{key}-continuity",
        title=f"Continuous response: {key}",
        subtitle=SUBTITLE,
        figures=[
            Headline("conversations", len(conversations), f"at most {turns} turns each"),
            Headline("scored", len(conversations) - failed, f"{failed} failed"),
            Headline("turns", sum(len(each.turns) for each in conversations)),
            Headline("systems", len(entry.systems)),
            Headline("model calls", len(calls)),
        ],
        browser={
            "kind": "conversations",
            "systems": list(entry.systems),
            "ends": list(ENDS),
            "rows": _list_conversations(asked, conversations, guards),
        },
        calls=calls,
        judges=[judge],
        told={
            "systems": entry.systems,
            "judge": entry.judge,
            "tops": tops,
            "means": {
                measure: [found["mean", "", system, "", measure] for system in entry.systems]
                for measure in MEASURES
            },
            "pairs": [_tell_pair(pair, found) for pair in combinations(entry.systems, 2)],
            "reach": {"wscore": TOP_SCORE, "lscore": max(1, turns - 1), "mscore": TOP_SCORE},
            "datasets": datasets,
            "plots": [
                plot_datasets(measure, tops[measure], datasets, entry.systems, means[measure])
                for measure in MEASURES
                if datasets
            ],
            "rates": [
                (
                    system,
                    {
                        each.measure: each
                        for each in comparison
                        if (each.kind, each.system) == ("rate", system)
                    },
                )
                for system in entry.systems
            ],
            "ends": _count_ends(conversations, entry),
            "drops": count_drops([conversations_dropped]),
        },
    )
    return Counts(len(conversations), len(conversations), {})


def _tell_pair(
    pair: tuple[str, str], found: Mapping[tuple[str, str, str, str, str], Comparison]
) -> dict[str, Any]:
    return {
        "one": pair[0],
        "other": pair[1],
        "lines": [
            {
                "measure": measure,
                "row": found["difference", "", *pair, measure],
                "sign": found.get(("sign", "", *pair, measure)),
            }
            for measure in MEASURES
        ],
        "parts": sorted(
            (
                row
                for (kind, dataset, one, other, _), row in found.items()
                if kind == "difference" and dataset and (one, other) == pair
            ),
            key=lambda row: (MEASURES.index(row.measure), row.dataset),
        ),
    }


def _count_ends(
    conversations: Sequence[Conversation], entry: Continuity
) -> list[tuple[str, list[tuple[str, int]]]]:
    counts = Counter((each.system, each.ended) for each in conversations)
    return [(system, [(end, counts[system, end]) for end in ENDS]) for system in entry.systems]


def _list_conversations(
    asked: Mapping[str, Question], conversations: Sequence[Conversation], guards: Sequence[Guard]
) -> list[dict[str, Any]]:
    words = {(each.conversation, each.turn, each.task): each for each in guards}

    def show_guard(talk: str, turn: int, task: str) -> list[list[str]] | None:
        guard = words.get((talk, turn, task))
        return None if guard is None else [list(guard.words), list(guard.flagged)]

    rows = [
        {
            "id": each.id,
            **show_question(asked[each.question]),
            "system": each.system,
            "ended": each.ended,
            "problem": each.problem,
            "scores": list(each.scores),
            "measures": [each.wscore, each.lscore, each.mscore],
            "turns": [
                {
                    "query": turn.query,
                    "said": turn.said,
                    "tentative": turn.tentative,
                    "grade": _show_grade(turn.grade),
                    "final": turn.final,
                    "final_grade": _show_grade(turn.final_grade),
                    "guards": {task: show_guard(each.id, number, task) for task in ("T2", "T5", "T6")},
                }
                for number, turn in enumerate(each.turns, 1)
            ],
            "passages": show_passages(each.passages),
            "calls": list_calls(each.origin),
        }
        for each in conversations
        if each.question in asked
    ]
    return sorted(rows, key=lambda row: (row["dataset"], row["key"], row["system"]))


def _show_grade(grade: Grade | None) -> list[Any] | None:
    return None if grade is None else [grade.score, grade.feedback, grade.problem]
