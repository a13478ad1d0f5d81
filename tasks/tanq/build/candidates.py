"""Stage: select the extended questions with enough evidence for a table, before any model call (step 3)."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence

from pydantic import Field

from tasks.artifacts.rows import Drafts, Dropped, Origin, make_id
from tasks.errors import StageFailed
from tasks.settings import Settings, read_section
from tasks.tanq.build.extend import ExtendedQuestion, list_wanted
from tasks.tanq.build.inference import decide_by_rule
from tasks.tanq.build.proofs import Proof
from tasks.tanq.build.tables import Tables, fill_cells, find_fault, keep_columns, list_rows
from tasks.tanq.build.verify import Verify, make_evidence
from tasks.tanq.entries import TanqSet
from tasks.tanq.graph.facts import Fact
from tasks.tanq.graph.relations import Relation
from tasks.tanq.graph.seed_question import KINDS, SeedQuestion
from tasks.tanq.labels import Support


class Candidates(Settings):
    """The settings in params.yaml under `tanq.candidates`."""

    a_question: float | None = Field(default=None, ge=1)
    """Number of extended questions to verify per requested question; null means no limit."""
    gaps: float = Field(default=1, ge=0, le=1)
    """Maximum share of the selected questions that have a cell without evidence.

    The share can be higher if there are too few other questions. A skill may later filter out the row of
    such a cell.
    """
    columns: bool = True
    """Require evidence for every column.

    If `false`, a column without evidence is removed later, as in TANQ; `tanq.extend.relations: all`
    requires `false`.
    """


def candidates(
    extend: list[ExtendedQuestion],
    seeds: list[SeedQuestion],
    proofs: Iterable[Proof],
    facts: Iterable[Fact],
    relations: list[Relation],
    settings: Mapping[str, object],
    params: Candidates,
    entry: TanqSet,
) -> Drafts[ExtendedQuestion]:
    """Return the questions that would have a table if the model accepted every proof that no rule rejects.

    If there are more questions than needed, the selection alternates between kinds. Within a kind, relations,
    shapes and list questions with the fewest uses so far come first. settings: the parameters of
    `tanq.tables` and `tanq.verify`. Drop reasons: the reasons of stage `tables`; `columns_missing`;
    `not_taken`. Raises StageFailed if no question is left.
    """
    rules = read_section(settings, "tanq.tables", Tables)
    known = {fact.id: fact for fact in list_wanted(extend, facts)}
    told = list_told(proofs, known, relations, read_section(settings, "tanq.verify", Verify))
    possible: list[ExtendedQuestion] = []
    dropped: list[Dropped] = []
    for question in extend:
        if reason := find_loss(question, known, told, rules, params.columns):
            dropped.append(_drop(question, reason))
        else:
            possible.append(question)
    if not possible:
        raise StageFailed(
            f"none of the {len(extend):,} extended questions has evidence for a table; see the .dropped file"
        )
    most = len(possible) if params.a_question is None else round(params.a_question * entry.questions)
    whole = {
        candidate.id
        for candidate in possible
        if all(cell.values for cell in fill_cells(candidate, known, told, rules).values())
    }
    taken = take_candidates(possible, whole, {seed.id: seed for seed in seeds}, most, params.gaps, entry.seed)
    left = {question.id for question in possible} - {question.id for question in taken}
    return Drafts(
        taken, [*dropped, *(_drop(candidate, "not_taken") for candidate in possible if candidate.id in left)]
    )


def list_told(
    proofs: Iterable[Proof], facts: Mapping[str, Fact], relations: Iterable[Relation], params: Verify
) -> set[str]:
    """Return the ids of the facts with at least one proof that no rule rejects."""
    by_relation = {relation.id: relation for relation in relations}
    return {
        proof.fact
        for proof in proofs
        if proof.fact in facts
        and decide_by_rule(make_evidence(proof), by_relation[facts[proof.fact].relation], params)
        != Support.NOT_ENOUGH
    }


def find_loss(
    question: ExtendedQuestion, facts: Mapping[str, Fact], told: set[str], rules: Tables, all_columns: bool
) -> str:
    """Return the reason why the evidence cannot fill a question's table; empty if the evidence suffices.

    all_columns: whether every column needs evidence.
    """
    cells = fill_cells(question, facts, told, rules)
    columns = keep_columns(question, cells, rules)
    fault = find_fault(question, list_rows(question, cells, columns), columns, rules)
    return fault or ("columns_missing" if all_columns and columns != question.relations else "")


def take_candidates(
    questions: Sequence[ExtendedQuestion],
    whole: Collection[str],
    seeds: Mapping[str, SeedQuestion],
    most: int,
    gaps: float,
    seed: int,
) -> list[ExtendedQuestion]:
    """Choose at most `most` questions, and return them sorted by id.

    whole: ids of questions with evidence for all cells. gaps: maximum share of questions that are not in
    `whole`. Above this share, such a question is chosen only if its kind has no other question left. seed:
    breaks ties.
    """
    waiting: defaultdict[str, list[ExtendedQuestion]] = defaultdict(list)
    for question in sorted(questions, key=lambda candidate: make_id(seed, candidate.id)):
        waiting[seeds[question.seed].kind].append(question)
    used: Counter[tuple[str, str]] = Counter()

    def weigh(question: ExtendedQuestion) -> tuple[bool, float, int, int]:
        taken = [used["relation", name] for name in question.relations]
        shape = seeds[question.seed].shape
        return (
            question.id not in whole and open_places < 1,
            sum(taken) / len(taken),
            used["shape", shape],
            used["seed", question.seed],
        )

    chosen: list[ExtendedQuestion] = []
    open_places = 0.0
    while len(chosen) < most and any(waiting.values()):
        for kind in KINDS:
            if not waiting[kind] or len(chosen) == most:
                continue
            # Every choice adds a fraction `gaps` of a place, so questions with gaps are spread evenly.
            open_places += gaps
            best = min(waiting[kind], key=weigh)
            open_places -= best.id not in whole
            waiting[kind].remove(best)
            used.update(("relation", name) for name in best.relations)
            used.update((("shape", seeds[best.seed].shape), ("seed", best.seed)))
            chosen.append(best)
    return sorted(chosen, key=lambda candidate: candidate.id)


def _drop(question: ExtendedQuestion, reason: str) -> Dropped:
    return Dropped(question.id, reason, question.text, (Origin("row", f"extend#{question.id}"),))
