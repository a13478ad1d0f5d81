"""Ask a judge for an opinion: a verdict and, if requested, a rationale before the verdict."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from pydantic import Field

from tasks.artifacts.rows import Origin, make_id
from tasks.judging.verdicts import VerdictForm, make_form
from tasks.longform.judge.exhibits import Exhibit
from tasks.longform.judge.peers import Review
from tasks.longform.labels import CHOICES, Verdict
from tasks.longform.solve.interaction import Interaction
from tasks.models.ask import Answer, Ask, Unparsed
from tasks.scoring.label import Label
from tasks.settings import Settings

Word = TypeVar("Word", bound=Label)


class PeerPrompts(Settings):
    """The settings that the prompts of `reviews`, `meta_reviews` and `revisions` share."""

    prompt_tokens: int = Field(default=3000, ge=1500)
    """Maximum number of tokens in a prompt (an estimate); query results are shortened to fit."""
    rationale_words: int = Field(default=25, gt=0)
    """Maximum number of words in a rationale."""
    reply_tokens: int = Field(default=160, gt=0)
    """Maximum number of tokens in a reply. Reasoning models need more tokens."""


@dataclass(frozen=True)
class Opinion(Generic[Word]):
    """A parsed reply. `rationale` is empty if no rationale was requested."""

    verdict: Word
    rationale: str


async def ask_opinion(
    prompt: str,
    exhibits: Sequence[Exhibit],
    values: Sequence[Word],
    *,
    words: int,
    tokens: int,
    role: str,
    row: str,
    ask: Ask,
    step: str = "",
    field: str = "Verdict",
    sample: int = 0,
) -> Answer[Opinion[Word]]:
    """Ask a judge to choose one of `values`, given the exhibits.

    - words: maximum number of words in the rationale before the verdict; 0 requests no rationale
    - tokens: maximum number of tokens in the reply
    - row: the id for error messages
    - step: the judged step, for prompts that differ by step

    The answer's value is None if no reply can be parsed. Raises ModelFailed, BudgetSpent, CallMissing.
    """
    form = make_form(values, (exhibit.text for exhibit in exhibits), field=field, feedback=words > 0)
    return await ask(
        prompt,
        {"exhibits": exhibits, "verdict": form, "words": words, "step": step},
        role=role,
        row=row,
        parse=lambda text: parse_opinion(text, form, type(values[0])),
        grammar=form.make_grammar(),
        sample=sample,
        max_tokens=tokens,
    )


async def ask_peer(
    prompt: str,
    exhibits: Sequence[Exhibit],
    step: str,
    params: PeerPrompts,
    *,
    role: str,
    row: str,
    ask: Ask,
    sample: int = 0,
) -> Answer[Opinion[Verdict]]:
    """Ask for a verdict on a step, preceded by a rationale. Raises the same errors as `ask_opinion`."""
    return await ask_opinion(
        prompt,
        exhibits,
        CHOICES[step],
        words=params.rationale_words,
        tokens=params.reply_tokens,
        role=role,
        row=row,
        ask=ask,
        step=step,
        sample=sample,
    )


def parse_opinion(text: str, form: VerdictForm, labels: type[Word]) -> Opinion[Word]:
    """Parse a reply. Raises Unparsed if the verdict or a requested rationale is missing."""
    said, before = form.parse(text)
    verdict = labels.read(said)
    if not form.feedback:
        return Opinion(verdict, "")
    rationale = before.removeprefix("Rationale:").strip()
    if not rationale:
        raise Unparsed("no_rationale: the reply has a verdict but no rationale")
    return Opinion(verdict, rationale)


def skip(problem: str) -> Answer[Opinion[Verdict]]:
    """Return an empty answer for a judge that was not asked. problem: the reason."""
    return Answer(None, "", "", 0, problem)


def make_review(
    stage: str,
    interaction: Interaction,
    step: str,
    reviewer: int,
    answer: Answer[Opinion[Verdict]],
    seen: Sequence[Review] = (),
    seen_in: str = "",
) -> Review:
    """Make the row of a review; if the reply cannot be parsed, the rationale is the raw text.

    answer: the judge's reply; its `call` is empty if the judge was not asked. seen: the reviews that the
    judge saw. seen_in: the stage of these reviews.
    """
    origin = [Origin("row", f"interactions#{interaction.id}")]
    origin += [Origin("row", f"{seen_in}#{review.id}") for review in seen]
    origin += [Origin("call", answer.call)] if answer.call else []
    return Review(
        id=make_review_id(stage, interaction, step, reviewer),
        interaction=interaction.id,
        item=interaction.item,
        step=step,
        reviewer=reviewer,
        verdict=answer.value.verdict if answer.value else None,
        rationale=answer.value.rationale if answer.value else answer.text,
        problem="" if answer.value else answer.problem,
        origin=tuple(origin),
    )


def make_review_id(stage: str, interaction: Interaction, step: str, reviewer: int) -> str:
    """Make the id of the row in which a stage records one reviewer's review of a step."""
    return make_id(stage, interaction.id, step, reviewer)
