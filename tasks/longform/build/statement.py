"""What the rows of a question's database say: its figures in words, and an answer held against them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tasks.longform.build.answers import Choices, conclude_figures, say_figure
from tasks.longform.build.evidence import FoundFigure, make_claim, read_script
from tasks.longform.build.prose import check_prose
from tasks.longform.rows import Claim, ControlledQuestion


@dataclass(frozen=True)
class Statement:
    """The figures of a question as its database has them.

    stated: the wordings of each figure; verdicts: those of what they come to; claims: a figure each.
    """

    question: ControlledQuestion
    figures: Sequence[FoundFigure]
    stated: Sequence[Choices]
    verdicts: Choices
    claims: tuple[Claim, ...]

    @property
    def opening(self) -> str:
        """`Yes` or `No`, with which the answer to a definite question begins; an open one has none."""
        return "" if self.question.quality else self.verdicts[0][:3].rstrip(",:. ")

    @property
    def sentences(self) -> list[Choices]:
        """The sentences of an answer in order, as wordings to choose among."""
        return [self.verdicts, *self.stated] if self.opening else [*self.stated, self.verdicts]

    def check(self, answer: str) -> str:
        """Return an answer if the rows bear it out, all of it. Raises Unparsed."""
        return check_prose(answer, self.figures, self.stated, self.verdicts, self.question, self.opening)


def state_figures(script: str, question: ControlledQuestion) -> Statement:
    """Run the queries of a question's figures on its database, and put what they find into words."""
    figures = read_script(script, question)
    stated = [say_figure(figure, question) for figure in figures]
    claims = tuple(make_claim(said[0], figure) for said, figure in zip(stated, figures, strict=True))
    return Statement(question, figures, stated, conclude_figures(figures, question), claims)
