"""Stage: find words of the reference that agents used before the system did (T2, T5 and T6)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tasks.artifacts.rows import Drafts, Origin, make_id
from tasks.ragcheck.content_words import find_content_words
from tasks.ragcheck.conversations import Conversation
from tasks.ragcheck.questions import ReferenceQuestion

COMPOSED, ASKED, FINISHED = "T2", "T5", "T6"
"""The tasks whose texts are checked for words of the reference."""
ANSWERS = (COMPOSED, FINISHED)


@dataclass(frozen=True)
class Guard:
    """Row of the stage `guards`: words in an agent's text that can only come from the reference.

    - task: T2 or T6 for an answer, whose words are leaks; T5 for a question, whose words are probes
    - words: content words of the reference that occur neither in the target question nor in the system's
      earlier answers
    - flagged: for a question, the `words` that do not occur in the judge's feedback either
    """

    id: str
    conversation: str
    question: str
    system: str
    turn: int
    task: str
    words: tuple[str, ...]
    flagged: tuple[str, ...]
    origin: tuple[Origin, ...]


def guards(questions: list[ReferenceQuestion], conversations: list[Conversation]) -> Drafts[Guard]:
    """List the words of the reference in every text that the agents wrote, one row per text.

    `Guard` defines which words are listed. Two words are the same if their stems are equal. A listed
    word has its inflected form from the text, but is case-folded.
    """
    question_of = {question.id: question for question in questions}
    return Drafts(
        [
            row
            for conversation in conversations
            if conversation.question in question_of
            for row in check_conversation(conversation, question_of[conversation.question])
        ]
    )


def check_conversation(conversation: Conversation, question: ReferenceQuestion) -> Iterator[Guard]:
    """Yield a row for each text that the agents wrote, turn by turn."""
    language = question.language
    secret = {*find_content_words(question.reference, language)} - {
        *find_content_words(question.question, language)
    }
    review: set[str] = set()
    for number, turn in enumerate(conversation.turns, 1):
        if number > 1:
            words = _find_secret_words(turn.query, secret, language)
            yield _make_row(conversation, number, ASKED, words, review)
        secret = secret - {*find_content_words(turn.said, language)}
        if turn.tentative:
            words = _find_secret_words(turn.tentative, secret, language)
            yield _make_row(conversation, number, COMPOSED, words, None)
        if turn.final is not None:
            words = _find_secret_words(turn.final, secret, language)
            yield _make_row(conversation, number, FINISHED, words, None)
        review = {*find_content_words(turn.grade.feedback, language)} if turn.grade else set()


def _find_secret_words(text: str, secret: set[str], language: str) -> dict[str, str]:
    words = find_content_words(text, language)
    return {stem: word for stem, word in words.items() if stem in secret}


def _make_row(
    conversation: Conversation,
    turn: int,
    task: str,
    words: dict[str, str],
    review: set[str] | None,
) -> Guard:
    flagged: Sequence[str] = [] if review is None else [words[stem] for stem in words if stem not in review]
    return Guard(
        id=make_id(conversation.id, turn, task),
        conversation=conversation.id,
        question=conversation.question,
        system=conversation.system,
        turn=turn,
        task=task,
        words=tuple(sorted(words.values())),
        flagged=tuple(sorted(flagged)),
        origin=(Origin("row", f"conversations#{conversation.id}"),),
    )
