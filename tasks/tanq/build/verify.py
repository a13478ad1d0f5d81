"""Stage: verify facts against their proofs by natural-language inference (step 3)."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from tasks.artifacts.rows import Drafts, Dropped, Origin, split_outcomes
from tasks.models.ask import Ask
from tasks.tanq.build.extend import ExtendedQuestion
from tasks.tanq.build.inference import Evidence, Inference, ask_inference, decide_by_rule
from tasks.tanq.build.proofs import Proof, group_kinds, rank_proof, show_proof
from tasks.tanq.build.statements import say_fact
from tasks.tanq.graph.facts import Fact
from tasks.tanq.graph.relations import Relation
from tasks.tanq.graph.things import Thing
from tasks.tanq.labels import Support


@dataclass(frozen=True)
class ProofVerdict:
    """A row of stage `verify`: the verdict on a proof of a fact (step 3). id: the id of the proof.

    by: `model`, or `rule` if no model was called.
    """

    id: str
    fact: str
    statement: str
    label: Support
    by: str
    origin: tuple[Origin, ...]


class Verify(Inference):
    """The settings in params.yaml under `tanq.verify`."""

    each_kind: bool = False
    """Check text, tables and infoboxes separately, as in TANQ, so that each kind can support a fact.

    If false, all proofs of a fact are ranked together.
    """


async def verify(
    proofs: list[Proof],
    candidates: list[ExtendedQuestion],
    facts: Iterable[Fact],
    things: list[Thing],
    relations: list[Relation],
    params: Verify,
    ask: Ask,
) -> Drafts[ProofVerdict]:
    """Check each fact against its ranked proofs until one supports it or `tries` calls have been made.

    Rules need no call, so they also decide proofs after the last call. With `each_kind`, each kind of proof
    is checked separately.

    Drop reasons of proofs: `not_asked` (another proof already supports the fact, or no call is left);
    `no_verdict` (no reply could be parsed). Drop reason of facts: `not_supported`.
    """
    wanted = {fact for question in candidates for fact in question.facts}
    by_fact: defaultdict[str, list[Proof]] = defaultdict(list)
    for proof in proofs:
        if proof.fact in wanted:
            by_fact[proof.fact].append(proof)
    known = {fact.id: fact for fact in facts if fact.id in by_fact}
    by_id = {thing.id: thing for thing in things}
    by_relation = {relation.id: relation for relation in relations}
    outcomes = await asyncio.gather(
        *(
            _verify_fact(known[fact], by_fact[fact], by_relation[known[fact].relation], by_id, params, ask)
            for fact in sorted(by_fact)
        )
    )
    listed = [outcome for outcome_list in outcomes for outcome in outcome_list]
    return split_outcomes(listed)


def make_evidence(proof: Proof) -> Evidence:
    """Convert a proof to the evidence that `decide_by_rule` and `ask_inference` check."""
    return Evidence(proof.article, proof.kind, show_proof(proof), proof.mention, proof.headers)


async def _verify_fact(
    fact: Fact,
    proofs: Sequence[Proof],
    relation: Relation,
    things: Mapping[str, Thing],
    params: Verify,
    ask: Ask,
) -> list[ProofVerdict | Dropped]:
    statement = say_fact(fact, relation, things)
    ranked = sorted(proofs, key=lambda proof: rank_proof(proof, relation))
    groups = group_kinds(ranked).values() if params.each_kind else [ranked]
    held = [
        outcome for group in groups for outcome in await _hold(fact, statement, group, relation, params, ask)
    ]
    if not any(_supports(outcome) for outcome in held):
        held.append(Dropped(fact.id, "not_supported", statement, (Origin("row", f"facts#{fact.id}"),)))
    return held


async def _hold(
    fact: Fact,
    statement: str,
    proofs: Sequence[Proof],
    relation: Relation,
    params: Verify,
    ask: Ask,
) -> list[ProofVerdict | Dropped]:
    """Check a fact against proofs in order, until a proof supports the fact or `tries` calls have been made.

    Rules need no call, so they also decide proofs after the last call.
    """
    outcomes: list[ProofVerdict | Dropped] = []
    asked, supported = 0, False
    for proof in proofs:
        evidence = make_evidence(proof)
        origin: tuple[Origin, ...] = (Origin("row", f"proofs#{proof.id}"),)
        label = decide_by_rule(evidence, relation, params)
        # A rule costs no call, so rules also decide proofs after the last call.
        if supported or (not label and asked == params.tries):
            why = "another proof supports the fact" if supported else "no proof supported the fact"
            outcomes.append(Dropped(proof.id, "not_asked", why, origin))
            continue
        if label:
            outcomes.append(ProofVerdict(proof.id, fact.id, statement, label, "rule", origin))
            supported = label == Support.SUPPORTED
            continue
        asked += 1
        answer = await ask_inference(statement, evidence, params, proof.id, ask)
        origin = (*origin, Origin("call", answer.call))
        if answer.value is None:
            outcomes.append(Dropped(proof.id, "no_verdict", answer.problem, origin))
            continue
        outcomes.append(ProofVerdict(proof.id, fact.id, statement, answer.value, "model", origin))
        supported = answer.value == Support.SUPPORTED
    return outcomes


def _supports(outcome: ProofVerdict | Dropped) -> bool:
    return isinstance(outcome, ProofVerdict) and outcome.label == Support.SUPPORTED
