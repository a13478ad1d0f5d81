"""Make Table 5 (peer review of steps), and the tables of errors and repeated judgements.

Section 4.2.2 of the paper describes the peer review.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from tasks.lineage.derivation import Derivation
from tasks.lineage.selection import Selection
from tasks.longform.build.items import LongformItem
from tasks.longform.entries import AgentEvaluation
from tasks.longform.judge.error_types import ErrorLabel
from tasks.longform.judge.judge_repeats import AGAIN, SWAPPED, JudgeRepeat, was_asked
from tasks.longform.judge.peers import (
    REVIEWED,
    Review,
    Verdicts,
    agree,
    decide,
    group_reviews,
    list_verdicts,
    pool,
)
from tasks.longform.labels import ANSWER, ERRORS, INTERPRETIVE, KINDS, STEPS, Verdict
from tasks.longform.outcomes import AnswerOutcome, choose_interactions, derive_peers
from tasks.longform.tables import choose_agents
from tasks.reports.declared import Measure, Slice, Table, Where
from tasks.reports.tables import ROWS, Cell, FigureTable, count_cell, leave_empty, mean_cell, rate_cell

Groups = Mapping[tuple[str, str], tuple[Review, ...]]
"""Maps (interaction id, step) to the reviews of the step."""
PERFECT = Verdict.PERFECT.shown
ALL_STEPS = "all steps"
ALL = "all"
UNANIMOUS = "share of unanimous steps"
WAYS: Mapping[str, str] = {AGAIN: "request repeated", SWAPPED: "order swapped"}
STEP_NAMES: Mapping[str, str] = {"IP": "planning", "TE": "queries", "IS": "synthesis"}
NOBODY = "Not shown: no judgement was repeated. To repeat judgements, set `longform.judge_repeats.items`."


@dataclass(frozen=True)
class Peers:
    """The peers' verdicts of an evaluation, grouped by (interaction, step)."""

    reviews: Groups
    meta_reviews: Groups
    revisions: Groups

    @classmethod
    def gather(
        cls, reviews: Iterable[Review], meta_reviews: Iterable[Review], revisions: Iterable[Review]
    ) -> Peers:
        """Group the rows of the three peer stages by interaction and step."""
        return cls(group_reviews(reviews), group_reviews(meta_reviews), group_reviews(revisions))


def declare_peers(peers: Peers, entry: AgentEvaluation) -> Table[AnswerOutcome]:
    """Declare Table 5, with rows for each model, each agent that queries, and each step."""
    agents = choose_agents(entry.models, [name for name in REVIEWED if name in entry.agents])
    return Table(
        "5",
        "Peer review of every step",
        ("model", "agent", "step"),
        [
            Slice((*rows.label, step or ALL_STEPS), rows.has, {**rows.where, "step": step})
            for rows in agents
            for step in (*STEPS, "")
        ],
        (
            _rate_perfect("reviewers", "reviews", peers.reviews),
            _pool_verdicts("reviewers, share of verdicts", "reviews", peers.reviews),
            _rate_agreement("reviewers, agreement", "reviews", peers.reviews, "reviewer"),
            _rate_perfect("meta-reviewers", "meta_reviews", peers.meta_reviews),
            _rate_agreement("meta-reviewers, agreement", "meta_reviews", peers.meta_reviews, "meta-reviewer"),
            _rate_perfect("revised", "revisions", peers.revisions),
        ),
        notes=(
            f"{PERFECT}: the share of steps that get this verdict from most peers; a tie counts as "
            f"{Verdict.IMPERFECT.shown}. Agreement: the share of steps on which all peers agree.",
            "IP: interaction planning, TE: tool employment, IS: information synthesis.",
            "The table leaves out a step if fewer than half of the peers gave a verdict on it.",
        ),
    )


def _split_step(where: Where) -> tuple[str, Selection]:
    """Return (step, selected interactions) of a table row; the step is empty for the row over all steps."""
    return str(where["step"]), choose_interactions(
        {name: value for name, value in where.items() if name != "step"}
    )


def _rate_perfect(who: str, artifact: str, groups: Groups) -> Measure[AnswerOutcome]:
    def fill(outcomes: Sequence[AnswerOutcome], where: Where) -> Cell:
        step, rows = _split_step(where)
        ids, derivation = (
            [outcome.interaction.id for outcome in outcomes],
            derive_perfect(artifact, rows, step),
        )
        return (
            rate_perfect(ids, step, groups, derivation) if step else rate_all_perfect(ids, groups, derivation)
        )

    return Measure(f"{who}, {PERFECT}", fill, leave_empty)


def derive_perfect(artifact: str, interactions: Selection, step: str = "") -> Derivation:
    """Return the derivation of the share of Perfect verdicts in an artifact.

    step: empty for all steps.
    """
    share = "share Perfect by the majority" if step else "share whose steps are all Perfect"
    return derive_peers(share, artifact, interactions, step)


def rate_perfect(ids: Iterable[str], step: str, groups: Groups, derivation: Derivation) -> Cell:
    """Compute the share of interactions in which most peers rated the step Perfect."""
    return rate_cell([_is_perfect(groups, row, step) for row in ids], derivation=derivation)


def rate_all_perfect(ids: Iterable[str], groups: Groups, derivation: Derivation) -> Cell:
    """Compute the share of interactions whose steps are all Perfect.

    An interaction counts as failed if any of its steps has no majority verdict.
    """
    outcomes = []
    for row in ids:
        steps = [_is_perfect(groups, row, step) for step in STEPS]
        outcomes.append(None if None in steps else all(steps))
    return rate_cell(outcomes, derivation=derivation)


def _is_perfect(groups: Groups, interaction: str, step: str) -> bool | None:
    decided = decide(_list_verdicts(groups, interaction, step))
    return None if decided is None else decided == Verdict.PERFECT


def _list_verdicts(groups: Groups, interaction: str, step: str) -> Verdicts:
    return list_verdicts(groups.get((interaction, step), ()))


def _pool_verdicts(name: str, artifact: str, groups: Groups) -> Measure[AnswerOutcome]:
    """Declare the share of Perfect verdicts, pooled over all verdicts.

    The share has no interval, because the verdicts on one step are not independent.
    """

    def fill(outcomes: Sequence[AnswerOutcome], where: Where) -> Cell:
        step, rows = _split_step(where)
        if not step:
            return leave_empty("defined only for single steps")
        verdicts = [_list_verdicts(groups, outcome.interaction.id, step) for outcome in outcomes]
        given = sum(verdict is not None for group in verdicts for verdict in group)
        derivation = derive_peers("share", artifact, rows, step, Verdict.PERFECT)
        return count_cell(pool(verdicts), given, "verdicts", sum(map(len, verdicts)) - given, derivation)

    return Measure(name, fill, leave_empty)


def _rate_agreement(name: str, artifact: str, groups: Groups, who: str) -> Measure[AnswerOutcome]:
    """Declare the share of unanimous steps among the steps that two or more peers were asked to judge."""

    def fill(outcomes: Sequence[AnswerOutcome], where: Where) -> Cell:
        step, rows = _split_step(where)
        if not step:
            return leave_empty("defined only for single steps")
        verdicts = [_list_verdicts(groups, outcome.interaction.id, step) for outcome in outcomes]
        several = [group for group in verdicts if len(group) > 1]
        if not several:
            return leave_empty(f"only one {who}" if any(verdicts) else "no interactions")
        return rate_cell(
            [agree(group) for group in several], derivation=derive_peers(UNANIMOUS, artifact, rows, step)
        )

    return Measure(name, fill, leave_empty)


def declare_errors(labels: Iterable[ErrorLabel], entry: AgentEvaluation) -> Table[AnswerOutcome]:
    """Declare the table of errors: the number of imperfect steps by step, error type, model and agent."""
    given = {(label.interaction, label.step): label.label for label in labels}

    def fill(outcomes: Sequence[AnswerOutcome], where: Where) -> Cell:
        step, error = where["step"], where["label"]
        keys = [(outcome.interaction.id, step) for outcome in outcomes]
        listed = [given[key] for key in keys if key in given]
        known = [label for label in listed if label is not None]
        failed, of = len(listed) - len(known), "imperfect steps"
        if not known:
            return leave_empty("no label" if failed else "no imperfect step", of, failed)
        made_by = choose_interactions({name: where[name] for name in ("model", "agent")})
        rows = Selection("error_types", {"step": step, "label": error}, {"interaction": made_by})
        return count_cell(
            sum(label == error for label in known), len(known), of, failed, Derivation("count", (rows,))
        )

    agents = choose_agents(entry.models, [name for name in REVIEWED if name in entry.agents])
    return Table(
        "errors",
        "Errors in imperfect steps",
        ("step", "error"),
        [
            Slice((step, error), where={"step": step, "label": error})
            for step, errors in ERRORS.items()
            for error in errors
        ],
        (Measure("labels", fill, leave_empty),),
        [Slice(", ".join(column.label), column.has, column.where) for column in agents],
        (
            f"If the revised verdict on a step is {Verdict.IMPERFECT.shown}, the reviewers' model assigns "
            "one error label to the step.",
        ),
    )


def tabulate_repeats(items: Iterable[LongformItem], repeats: Sequence[JudgeRepeat]) -> FigureTable:
    """Make the table of repeated judgements: the share of unchanged verdicts, by kind of item and by step."""
    title = "Repeated judgements"
    if not repeats:
        return FigureTable("repeats", title, (), (), (), (NOBODY,))
    kinds = {item.id: item.kind for item in items}

    def choose(part: str, kind: str) -> Slice[JudgeRepeat]:
        return Slice(
            (part, kind),
            lambda row: row.part == part and kind in (ALL, kinds[row.item]),
            {"part": part, "kind": kind},
        )

    table = Table[JudgeRepeat](
        "repeats",
        title,
        ("judged", "items"),
        [choose(ANSWER, kind) for kind in KINDS] + [choose(step, ALL) for step in STEPS],
        (
            *(Measure(f"{told}, unchanged", _rate_same(way), leave_empty) for way, told in WAYS.items()),
            Measure("order swapped, mean difference of scores", _measure_distance, leave_empty),
        ),
        notes=(
            "Unchanged: the share of verdicts that stay the same. The table covers the first "
            "`longform.judge_repeats.items` items in order of id, with all agents and models. Request "
            "repeated: the request has the same text and a different seed. Answers with the order swapped: "
            "the answer comes before the reference. Steps with the order swapped: the first meta-reviewer "
            "gets the reviews in reverse order.",
            "Failed: at least one of the two requests has no verdict. A failed pair of requests counts "
            "neither as unchanged nor as changed. Above temperature 0, some verdicts change by chance, "
            "whether or not the order is swapped.",
        ),
    )
    return table.fill(repeats)


def _choose_repeats(way: str, where: Where) -> Selection:
    kind = where["kind"]
    of_kind = {} if kind == ALL else {"item": Selection("items", {"kind": kind})}
    return Selection("judge_repeats", {"part": where["part"], "way": way}, of_kind)


def _rate_same(way: str) -> Callable[[Sequence[JudgeRepeat], Where], Cell]:
    def fill(repeats: Sequence[JudgeRepeat], where: Where) -> Cell:
        if way == AGAIN and where["part"] != ANSWER:
            return leave_empty("judgements of steps are repeated only in the swapped order")
        made = [row for row in repeats if row.way == way]
        asked = [row for row in made if was_asked(row)]
        if made and not asked:
            return leave_empty(made[0].problem)
        same = [None if None in (row.before, row.verdict) else row.before == row.verdict for row in asked]
        derivation = Derivation("share of verdicts that stay", (_choose_repeats(way, where),))
        return rate_cell(same, derivation=derivation)

    return fill


def _measure_distance(repeats: Sequence[JudgeRepeat], where: Where) -> Cell:
    """Compute the mean absolute difference between the scores before and after swapping the answers."""
    if where["part"] != ANSWER or where["kind"] != INTERPRETIVE:
        return leave_empty("defined only for scores")
    apart = []
    for row in repeats:
        if row.way == SWAPPED:
            before, after = (verdict.score if verdict else None for verdict in (row.before, row.verdict))
            apart.append(None if before is None or after is None else abs(before - after))
    derivation = Derivation("mean difference of scores", (_choose_repeats(SWAPPED, where),))
    return mean_cell(apart, interval=True, derivation=derivation)


def warn_changed(table: FigureTable, least: float, *, steps: bool) -> str:
    """Return a warning that lists the table's shares below `least`; empty if there are none.

    steps: whether to check the reviewer's rows (steps) instead of the judge's rows (answers).
    """
    low = [
        f"{_name(*line.label)} with the {told}, {_tell(cell)}"
        for line in table.lines
        if (line.label[0] != ANSWER) == steps
        for told, cell in zip(WAYS.values(), line.cells, strict=False)
        if cell.value is not None and cell.value < least
    ]
    if not low:
        return ""
    return (
        f"The judge changes too many verdicts when a judgement is repeated (at least {100 * least:.1f}% "
        f"must stay the same). Below the threshold: {'; '.join(low)}. A changed verdict depends on the order "
        "or the seed, not on the answer or step."
    )


def _name(part: str, kind: str) -> str:
    """Return a row's full name for a warning, because warnings appear without the table's notes."""
    return f"{kind} answers" if part == ANSWER else f"{part} ({STEP_NAMES[part]})"


def _tell(cell: Cell) -> str:
    share = cell.value or 0
    told = f"{100 * share:.1f}%"
    if cell.interval:
        low, high = cell.interval
        told += f", 95% interval {100 * low:.1f}% to {100 * high:.1f}%"
    return f"{round(share * cell.n)} of {cell.n} {ROWS} unchanged ({told})"
