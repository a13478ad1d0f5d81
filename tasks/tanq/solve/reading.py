"""Run the settings `closed` and `oracle`: one prompt with examples (and proofs for `oracle`), one reply.

A prompt contains each proof once, with its page title, in an order that depends on the seed. Proofs that do
not fit into the context window are omitted.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tasks.artifacts.rows import make_id
from tasks.judging.prompt_room import estimate_tokens, quote_data
from tasks.judging.quoting import clean
from tasks.models.ask import Ask, Unparsed
from tasks.sources.wikipedia.article import CELL, INFOBOX
from tasks.tanq.build.tanq_item import ItemProof, TanqItem
from tasks.tanq.solve.table_options import PredictionLimits
from tasks.tanq.solve.table_text import make_table_grammar

FRAME = 360
"""Maximum number of tokens in the fixed text of the prompt."""
SLACK = 0.9
"""The usable share of a context window; below 1, because token counts are estimates."""


@dataclass(frozen=True)
class TableReply:
    """A model's reply. left_out: ids of the proofs that did not fit into the prompt.

    failed: the reason why there is no reply.
    """

    reply: str
    failed: str
    calls: tuple[str, ...]
    left_out: tuple[str, ...]


async def predict_table(
    item: TanqItem,
    examples: Sequence[TanqItem],
    others: Sequence[TanqItem] | None,
    model: str,
    instruction: str,
    window: int,
    params: PredictionLimits,
    ask: Ask,
    row: str,
) -> TableReply:
    """Ask a model for the table of an item.

    others: the set's items, whose proofs are distractors in the oracle setting; None for closed book. If
    space is short, the item's proofs and distractors have priority over the proofs of the examples.
    """
    said = sum(
        estimate_tokens(clean(example.question)) + estimate_tokens(_show_answer(example))
        for example in examples
    )
    room = measure_table_room(item.question, window, params.table_tokens) - said
    if room < 0:
        return TableReply("", "not asked: the window has no room for the examples", (), ())
    fitted = FittedProofs("", ())
    shown: list[dict[str, str]] = []
    left_out: list[str] = []
    if others is not None:
        distractors = find_distractors(item, others, params.distractors, params.seed)
        fitted = fit_proofs(gather_proofs([*item.proofs, *distractors], params.seed, item.id), room)
        room -= estimate_tokens(fitted.text)
    for example in examples:
        own = FittedProofs("", ())
        if others is not None:
            own = fit_proofs(gather_proofs(example.proofs, params.seed, item.id), room)
            room -= estimate_tokens(own.text)
        left_out += own.left_out
        shown.append(
            {"question": clean(example.question), "documents": own.text, "table": _show_answer(example)}
        )
    answer = await ask(
        "predict_table",
        {
            "instruction": instruction,
            "examples": shown,
            "documents": fitted.text,
            "question": clean(item.question),
        },
        role=model,
        row=row,
        parse=parse_reply,
        grammar=make_table_grammar(),
        max_tokens=params.table_tokens,
    )
    left = (*fitted.left_out, *left_out)
    if answer.value is None:
        return TableReply("", answer.problem or "no reply", (answer.call,), left)
    return TableReply(answer.value, "", (answer.call,), left)


def measure_table_room(question: str, window: int, reply_tokens: int) -> float:
    """Estimate how many tokens of a context window remain for data besides a question and its reply."""
    return window * SLACK - reply_tokens - FRAME - estimate_tokens(clean(question))


def _show_answer(item: TanqItem) -> str:
    """Return the answer table of an example, sanitised because it contains untrusted text."""
    return "\n".join(map(clean, item.answer_table.split("\n")))


def parse_reply(reply: str) -> str:
    """Return the stripped reply, even if it has no table. Raises Unparsed if the reply is empty."""
    text = reply.encode("utf-8", "replace").decode().replace("\0", "").strip()
    if not text:
        raise Unparsed("no_reply: the reply is empty")
    return text


@dataclass(frozen=True)
class ShownProof:
    """A text that proves one or more facts. ids: the ids of the proofs with this text."""

    ids: tuple[str, ...]
    text: str


@dataclass(frozen=True)
class FittedProofs:
    """The quoted proofs that fit into the prompt. left_out: the ids of the proofs that do not fit."""

    text: str
    left_out: tuple[str, ...]


def show_item_proof(proof: ItemProof) -> str:
    """Format a proof on one line: page and section in brackets, then the text, row or infobox entry."""
    place, text = [proof.article], proof.text
    if proof.kind == INFOBOX:
        place, text = [proof.article, "infobox"], ": ".join(filter(None, [*proof.headers[-1:], proof.text]))
    elif proof.kind == CELL:
        place, text = [proof.article, "table"], proof.row or proof.text
    else:
        place += [name for name in (proof.parent, proof.section) if name]
    return clean(f"[{' > '.join(place)}] {text}")


def gather_proofs(proofs: Iterable[ItemProof], *seed: object) -> list[ShownProof]:
    """Group proofs by their shown text, so that each text occurs once; the order depends on the seed."""
    ids: dict[str, list[str]] = {}
    for proof in proofs:
        own = ids.setdefault(show_item_proof(proof), [])
        if proof.id not in own:
            own.append(proof.id)
    shown = [ShownProof(tuple(sorted(letters)), text) for text, letters in ids.items()]
    return sorted(shown, key=lambda proof: (make_id("order", *seed, proof.text), proof.text))


def find_distractors(item: TanqItem, others: Sequence[TanqItem], count: int, seed: int) -> list[ItemProof]:
    """Choose up to `count` proofs from other questions, with the item's relations but other entities."""
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
    """Quote the proofs that fit into a number of tokens, in order; proofs that do not fit are omitted."""
    kept: list[ShownProof] = []
    left_out: list[str] = []
    for proof in proofs:
        text = quote_data("\n".join(shown_proof.text for shown_proof in [*kept, proof]))
        if estimate_tokens(text) <= tokens:
            kept.append(proof)
        else:
            left_out += proof.ids
    return FittedProofs(
        quote_data("\n".join(shown_proof.text for shown_proof in kept)) if kept else "", tuple(left_out)
    )
