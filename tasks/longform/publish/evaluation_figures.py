"""Stage: compute the figures of an evaluation: Tables 1 to 5, errors, Figures 2 to 4.

The tables and figures have the numbers of the paper's tables and figures (sections 2 and 4).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from tasks.artifacts.rows import Counts, Dropped
from tasks.files import write_text
from tasks.judging.canaries import CanaryRow
from tasks.longform.build.items import LongformItem
from tasks.longform.entries import AgentEvaluation
from tasks.longform.figures import measure_figures
from tasks.longform.judge.error_types import ErrorLabel
from tasks.longform.judge.human_labels import PersonLabel
from tasks.longform.judge.judge_repeats import JudgeRepeat
from tasks.longform.judge.peer_canaries import measure_peers
from tasks.longform.judge.peers import Review
from tasks.longform.judge.reference_verdicts import ReferenceVerdict
from tasks.longform.outcomes import (
    count_outcomes,
    count_tokens,
    join_outcomes,
    list_fitting,
)
from tasks.longform.publish.cautions import list_cautions
from tasks.longform.solve.interaction import Interaction
from tasks.longform.tables import declare_answers, declare_queries, describe_set
from tasks.longform.tables_peers import Peers, declare_errors, declare_peers, tabulate_repeats
from tasks.longform.tables_people import compare_with_people, measure_people
from tasks.reports.tables import round_figures


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

    statistics: the set's `statistics.json`. interactions_calls: the agents' calls, for token counts; the file
    may be missing. settings: the parameters `judging.thresholds.*` (limits for the page's warnings) and
    `roles.*`. Every other argument is the artifact with the argument's name.
    """
    outcomes = join_outcomes(items, interactions, reference_verdicts)
    peers = Peers.gather(reviews, meta_reviews, revisions)
    health = measure_peers(peer_canaries)
    people = measure_people(outcomes, peers, human_labels, entry)
    repeated = tabulate_repeats(items, judge_repeats)
    fitting = list_fitting(outcomes, {item.id for item in items}, entry.models)
    tables = (
        describe_set(json.loads(statistics.read_text(encoding="utf-8"))),
        declare_answers(entry, count_tokens(outcomes, interactions_calls)).fill(outcomes),
        declare_queries(entry, fitting, len(items)).fill(outcomes),
        compare_with_people(outcomes, peers, human_labels, human_labels_dropped, entry),
        declare_peers(peers, entry).fill(outcomes),
        declare_errors(error_types, entry).fill(outcomes),
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
        "figures": measure_figures(outcomes, peers, entry),
    }
    write_text(out, json.dumps(round_figures(figures), ensure_ascii=False, indent=1, allow_nan=False) + "\n")
    return Counts(
        len(interactions), counts["scored"], {"failed": counts["failed"], "unscored": counts["unscored"]}
    )


def _name_models(entry: AgentEvaluation, settings: Mapping[str, object]) -> dict[str, object]:
    """Map each answering or judging role to its model; roles without a model in `settings` are left out."""
    roles = dict.fromkeys((*entry.models, entry.judge, entry.reviewer))
    return {role: settings[key] for role in roles if (key := f"roles.{role}.model") in settings}
