"""Proofs as a prompt shows them: each once, with its page, in an order by seed, as many as have room."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tasks.artifacts.rows import make_id
from tasks.judging.prompt_room import estimate_tokens, quote_data
from tasks.judging.quoting import clean
from tasks.sources.wikipedia.article import CELL, INFOBOX
from tasks.tanq.build.tanq_item import ItemProof, TanqItem


@dataclass(frozen=True)
class ShownProof:
    """A text that proves one fact or more. ids: of its proofs."""

    ids: tuple[str, ...]
    text: str


@dataclass(frozen=True)
class FittedProofs:
    """What of the proofs has room, quoted; left_out: the ids of the others."""

    text: str
    left_out: tuple[str, ...]


def show_item_proof(proof: ItemProof) -> str:
    """Write a proof in a line: its page, a sentence's sections, a cell's row, an entry's label."""
    place, text = [proof.article], proof.text
    if proof.kind == INFOBOX:
        place, text = [proof.article, "infobox"], ": ".join(filter(None, [*proof.headers[-1:], proof.text]))
    elif proof.kind == CELL:
        place, text = [proof.article, "table"], proof.row or proof.text
    else:
        place += [name for name in (proof.parent, proof.section) if name]
    return clean(f"[{' > '.join(place)}] {text}")


def gather_proofs(proofs: Iterable[ItemProof], *seed: object) -> list[ShownProof]:
    """Gather proofs by what they show, each text once, in an order drawn by seed."""
    ids: dict[str, list[str]] = {}
    for proof in proofs:
        own = ids.setdefault(show_item_proof(proof), [])
        if proof.id not in own:
            own.append(proof.id)
    shown = [ShownProof(tuple(sorted(own)), text) for text, own in ids.items()]
    return sorted(shown, key=lambda one: (make_id("order", *seed, one.text), one.text))


def find_distractors(item: TanqItem, others: Sequence[TanqItem], count: int, seed: int) -> list[ItemProof]:
    """Draw proofs of other questions for relations that the item asks too, of other things.

    There may be fewer than `count`.
    """
    entities, facts = {row.entity for row in item.rows}, {proof.fact for proof in item.proofs}
    texts = {show_item_proof(proof) for proof in item.proofs}
    found: dict[str, ItemProof] = {}
    for other in others:
        for proof in other.proofs if other.id != item.id else ():
            own = proof.entity in entities or proof.fact in facts
            if not own and proof.relation in item.relations and show_item_proof(proof) not in texts:
                found.setdefault(show_item_proof(proof), proof)
    drawn = sorted(found, key=lambda text: (make_id("distractor", seed, item.id, text), text))
    return [found[text] for text in drawn[:count]]


def fit_proofs(proofs: Sequence[ShownProof], tokens: float) -> FittedProofs:
    """Quote proofs within a number of tokens, in their order; whole ones are left out."""
    kept: list[ShownProof] = []
    left_out: list[str] = []
    for proof in proofs:
        text = quote_data("\n".join(one.text for one in [*kept, proof]))
        if estimate_tokens(text) <= tokens:
            kept.append(proof)
        else:
            left_out += proof.ids
    return FittedProofs(quote_data("\n".join(one.text for one in kept)) if kept else "", tuple(left_out))
