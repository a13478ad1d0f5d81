"""Stage: test the verifier on statements and proofs with known labels, as the facts are verified."""

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
    """A canary: a statement, and a proof with the words in it that were found."""

    accepted: tuple[Support, ...]
    relation: str
    statement: str
    article: str
    kind: str = "text"
    headers: tuple[str, ...] = ()
    text: str
    mention: str


async def verify_canaries(settings: Mapping[str, object], ask: Ask) -> Drafts[CanaryRow]:
    """Have the verifier decide cases beyond doubt, about invented things.

    settings: `tanq.verify`, by which facts are verified. The model is asked about all of them, also where a
    rule decides before it: `given` is its own label, `rule` says what decided. Raises BadInput for an
    unreadable file.
    """
    params = read_section(settings, "tanq.verify", Verify)
    tried = (try_canary(canary, params, ask) for canary in read_cases(FILE, VerifyCanary))
    return Drafts(await asyncio.gather(*tried))


async def try_canary(canary: VerifyCanary, params: Inference, ask: Ask) -> CanaryRow:
    """Try one canary. Raises ModelFailed, BudgetSpent, CallMissing."""
    evidence = Evidence(canary.article, canary.kind, canary.text, canary.mention, canary.headers)
    relation = Relation(canary.relation, "", "", "", ITEM, "", "", 0, 0, 0, ())
    ruled = decide_by_rule(evidence, relation, params)
    answer = await ask_inference(canary.statement, evidence, params, canary.id, ask)
    label = ruled or answer.value
    # What counts is whether a fact is supported: that a proof refutes it or tells nothing is all one to it
    # where a rule decides, or two labels are asked for.
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
