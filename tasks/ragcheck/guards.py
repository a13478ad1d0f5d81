"""Stage: which agents used what the reference alone says (a guard on T2, T5 and T6)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tasks.artifacts.rows import Drafts, Origin, make_id
from tasks.ragcheck.content_words import find_content_words
from tasks.ragcheck.rows import ASKED, COMPOSED, FINISHED, Conversation, Guard, ReferenceQuestion


def guards(questions: list[ReferenceQuestion], conversations: list[Conversation]) -> Drafts[Guard]:
    """Make a row for every composed answer and further question, with the words that it has no right to.

    A content word of the reference that stands in neither the target question nor anything the system had
    said by then: in an answer it leaks; in a question it probes, and is flagged unless the review named it.
    Words are compared by their stems, and shown as the text has them.
    """
    asked = {question.id: question for question in questions}
    return Drafts(
        [
            row
            for conversation in conversations
            if conversation.question in asked
            for row in check_conversation(conversation, asked[conversation.question])
        ]
    )


def check_conversation(conversation: Conversation, question: ReferenceQuestion) -> Iterator[Guard]:
    """Check what the agents wrote, turn by turn."""
    language = question.language
    secret = {*find_content_words(question.reference, language)} - {
        *find_content_words(question.question, language)
    }
    review: set[str] = set()
    for number, turn in enumerate(conversation.turns, 1):
        if number > 1:
            words = _find(turn.query, secret, language)
            yield _make(conversation, number, ASKED, words, review)
        secret = secret - {*find_content_words(turn.said, language)}
        if turn.tentative:
            yield _make(conversation, number, COMPOSED, _find(turn.tentative, secret, language), None)
        if turn.final is not None:
            yield _make(conversation, number, FINISHED, _find(turn.final, secret, language), None)
        review = {*find_content_words(turn.grade.feedback, language)} if turn.grade else set()


def _find(text: str, secret: set[str], language: str) -> dict[str, str]:
    found = find_content_words(text, language)
    return {stem: shown for stem, shown in found.items() if stem in secret}


def _make(
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
