"""Stage: test the verifier on statements and proofs with known labels."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path

from tasks.artifacts.rows import Drafts, Origin
from tasks.judging.canaries import OR, CanaryRow, KnownCase, read_cases
from tasks.models.ask import Ask
from tasks.settings import read_section
from tasks.tanq.build.inference import Evidence, Inference, ask_inference, decide_by_rule
from tasks.tanq.build.verify import Verify
from tasks.tanq.graph.relations import Relation
from tasks.tanq.graph.showing import ITEM
from tasks.tanq.labels import Support

FILE = Path(__file__).with_name("verify_canaries.yaml")


class VerifyCanary(KnownCase):
    """A test case for the verifier: a statement and a proof.

    mention: the words of the proof that name the fact's value or entity.
    """

    accepted: tuple[Support, ...]
    relation: str
    statement: str
    article: str
    kind: str = "text"
    headers: tuple[str, ...] = ()
    text: str
    mention: str


async def verify_canaries(settings: Mapping[str, object], ask: Ask) -> Drafts[CanaryRow]:
    """Run the verifier on test cases about invented entities, so that the correct labels are known.

    settings: the parameters of `tanq.verify`. The model labels every case, even if a rule decides the case.
    In each row, `given` is the model's label or None, and `rule` is the rule's label or empty. Raises
    BadInput if the file of test cases cannot be read.
    """
    params = read_section(settings, "tanq.verify", Verify)
    tried = (try_canary(canary, params, ask) for canary in read_cases(FILE, VerifyCanary))
    return Drafts(await asyncio.gather(*tried))


async def try_canary(canary: VerifyCanary, params: Inference, ask: Ask) -> CanaryRow:
    """Run one test case, and return the row of its result. Raises ModelFailed, BudgetSpent or CallMissing."""
    evidence = Evidence(canary.article, canary.kind, canary.text, canary.mention, canary.headers)
    relation = Relation(canary.relation, "", "", "", ITEM, "", "", 0, 0, 0, ())
    ruled = decide_by_rule(evidence, relation, params)
    answer = await ask_inference(canary.statement, evidence, params, canary.id, ask)
    label = ruled or answer.value
    # Only support of a fact matters: with rules or with two labels, a refuted fact may also get the label for
    # not enough information.
    coarse = bool(ruled) or params.labels == 2
    accepted = {
        *canary.accepted,
        *((Support.NOT_ENOUGH,) if coarse and Support.REFUTED in canary.accepted else ()),
    }
    return CanaryRow(
        id=canary.id,
        kind="label",
        expected=OR.join(canary.accepted),
        given=answer.value,
        rule=ruled or "",
        agreed=None if label is None else label in accepted,
        call=answer.call,
        problem=answer.problem,
        further=False,
        origin=(Origin("call", answer.call),),
    )
