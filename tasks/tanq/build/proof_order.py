"""Which proofs of a fact tell most, and how one is shown."""

from __future__ import annotations

from tasks.sources.wikipedia.article import CELL, INFOBOX, TEXT
from tasks.tanq.build.statements import names_relation
from tasks.tanq.graph.rows import Relation
from tasks.tanq.rows import Proof

ENTITY, VALUE = "entity", "value"
TELLING = {INFOBOX: 0, TEXT: 1, CELL: 2}
"""Kinds of proofs, the one that tells most first."""


def rank_proof(proof: Proof, relation: Relation) -> tuple[bool, int, bool, int, str]:
    """Rank a proof: those first that name the relation, then by kind, by whose article it is, by place."""
    said = names_relation(" ".join((*proof.headers, proof.text)), relation)
    return not said, TELLING[proof.kind], proof.side != ENTITY, proof.position, proof.id


def show_proof(proof: Proof) -> str:
    """Show what a proof says: its sentence, its row, or its entry with the label."""
    if proof.kind == INFOBOX:
        return f"{proof.headers[-1] if proof.headers else ''}: {proof.text}"
    return proof.row or proof.text
