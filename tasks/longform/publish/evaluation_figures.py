"""Stage: the figures of an evaluation: Tables 1 to 5, errors, Figures 2 to 4 (section 4)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from tasks.artifacts.rows import Counts, Dropped
from tasks.files import write_text
from tasks.judging.canaries import CanaryRow
from tasks.longform.build.items import LongformItem
from tasks.longform.entries import AgentEvaluation
from tasks.longform.judge.error_types import ErrorLabel
from tasks.longform.judge.human_labels import PersonLabel
from tasks.longform.judge.judge_repeats import JudgeRepeat
from tasks.longform.judge.peer_canaries import measure_peers
from tasks.longform.judge.peers import Review
from tasks.longform.judge.reference_verdicts import ReferenceVerdict
from tasks.longform.publish.cautions import list_cautions
from tasks.longform.publish.figure_series import draw_agents, draw_models, draw_queries
from tasks.longform.publish.outcomes import (
    count_outcomes,
    count_tokens,
    join_outcomes,
    list_fitting,
)
from tasks.longform.publish.table_set import describe_set
from tasks.longform.publish.tables_answers import compare_agents, compare_queries
from tasks.longform.publish.tables_peers import Peers, count_errors, tabulate_peers
from tasks.longform.publish.tables_people import compare_with_people, measure_people
from tasks.longform.publish.tables_repeats import tabulate_repeats
from tasks.longform.solve.interaction import Interaction
from tasks.reports.figure_cells import round_figures


def evaluation_figures(
    items: list[LongformItem],
    interactions: list[Interaction],
    reference_verdicts: list[ReferenceVerdict],
    reviews: list[Review],
    meta_reviews: list[Review],
    revisions: list[Review],
    error_types: list[ErrorLabel],
    human_labels: list[PersonLabel],
    human_labels_dropped: list[Dropped],
    peer_canaries: list[CanaryRow],
    judge_repeats: list[JudgeRepeat],
    statistics: Path,
    interactions_calls: Path,
    entry: AgentEvaluation,
    key: str,
    settings: Mapping[str, object],
    out: Path,
) -> Counts:
    """Write an evaluation's figures as one JSON object.

    statistics: the set's `statistics.json`. interactions_calls: the calls of the agents, for tokens; may
    be missing. settings: `judging.thresholds.*`, beyond which the page has a warning at its head, and
    `roles.*`. Other arguments are artifacts of the same name.
    """
    outcomes = join_outcomes(items, interactions, reference_verdicts)
    peers = Peers.gather(reviews, meta_reviews, revisions)
    health = measure_peers(peer_canaries)
    people = measure_people(outcomes, peers, human_labels, entry)
    repeated = tabulate_repeats(items, judge_repeats)
    fitting = list_fitting(outcomes, {item.id for item in items}, entry.models)
    tables = (
        describe_set(json.loads(statistics.read_text(encoding="utf-8"))),
        compare_agents(outcomes, entry, count_tokens(outcomes, interactions_calls)),
        compare_queries(outcomes, entry, fitting, len(items)),
        compare_with_people(outcomes, peers, human_labels, human_labels_dropped, entry),
        tabulate_peers(outcomes, peers, entry),
        count_errors(outcomes, error_types, entry),
        repeated,
    )
    counts = count_outcomes(outcomes) | {
        "items_left_out": len(items) - len(fitting) if "none" in entry.agents else 0
    }
    figures: dict[str, object] = {
        "evaluation": key,
        "set": entry.set,
        "models": entry.models,
        "agents": entry.agents,
        "judge": entry.judge,
        "reviewer": entry.reviewer,
        "roles": _name_models(entry, settings),
        "items": len(items),
        "counts": counts,
        "warnings": list_cautions(
            outcomes, [*reviews, *meta_reviews, *revisions], health, people, repeated, entry, settings
        ),
        "canaries": health,
        "people": people,
        "tables": {table.number: table for table in tables},
        "figures": {
            "2": draw_agents(outcomes, entry),
            "3": draw_queries(outcomes),
            "4": draw_models(outcomes, peers, entry),
        },
    }
    write_text(out, json.dumps(round_figures(figures), ensure_ascii=False, indent=1, allow_nan=False) + "\n")
    return Counts(
        len(interactions), counts["scored"], {"failed": counts["failed"], "unscored": counts["unscored"]}
    )


def _name_models(entry: AgentEvaluation, settings: Mapping[str, object]) -> dict[str, object]:
    """Name the model of each role that answers or judges, where the settings have it."""
    roles = dict.fromkeys((*entry.models, entry.judge, entry.reviewer))
    return {role: settings[key] for role in roles if (key := f"roles.{role}.model") in settings}
