"""The settings closed and oracle: one prompt with examples, and in oracle with proofs, and its reply."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tasks.judging.prompt_room import estimate_tokens
from tasks.judging.quoting import clean
from tasks.models.ask import Ask, Unparsed
from tasks.tanq.build.tanq_item import TanqItem
from tasks.tanq.solve.shown_proofs import FittedProofs, find_distractors, fit_proofs, gather_proofs
from tasks.tanq.solve.table_options import PredictionLimits
from tasks.tanq.solve.table_text import make_table_grammar

FRAME = 360
"""Tokens of the longest prompt without its fields, at most."""
SLACK = 0.9
"""The share of a window that is filled: tokens are estimated."""


@dataclass(frozen=True)
class TableReply:
    """What a model replied, and what its prompt had no room for. failed: why there is no reply."""

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

    others: the set's items, whose proofs distract in the oracle setting; None asks closed-book. The item's
    own documents have room first, the examples' after them.
    """
    said = sum(estimate_tokens(clean(own.question)) + estimate_tokens(_show_answer(own)) for own in examples)
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
    """Measure how many tokens of a window are left for data beside a question and its reply."""
    return window * SLACK - reply_tokens - FRAME - estimate_tokens(clean(question))


def _show_answer(item: TanqItem) -> str:
    """Show an example's answer table; its lines are anyone's text, too."""
    return "\n".join(map(clean, item.answer_table.split("\n")))


def parse_reply(reply: str) -> str:
    """Read a reply as it is; whether it holds a table is not said here. Raises Unparsed if empty."""
    text = reply.encode("utf-8", "replace").decode().replace("\0", "").strip()
    if not text:
        raise Unparsed("no_reply: it is empty")
    return text
