"""Make the data for the item viewers on ragcheck's pages: graded answers and conversations."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from tasks.artifacts.rows import Origin
from tasks.ragcheck.answers import SystemAnswer
from tasks.ragcheck.baselines import MEASURES, BaselineSimilarity
from tasks.ragcheck.contexts import BY_QUESTION, BY_REFERENCE, RULES, Context
from tasks.ragcheck.conversations import Conversation, ConversationTurn, End
from tasks.ragcheck.grading import Grade
from tasks.ragcheck.guards import ASKED, COMPOSED, FINISHED, Guard
from tasks.ragcheck.questions import ReferenceQuestion
from tasks.ragcheck.ratings import Rating
from tasks.ragcheck.scores import JudgeScore
from tasks.reports import blocks
from tasks.reports.blocks import BAD, OFF, Block, Tag
from tasks.reports.viewer import Filter, ViewedRow, Viewer
from tasks.systems.contract import Passage

CONTEXTS = {
    BY_QUESTION: f"Contexts {BY_QUESTION}, from the question",
    BY_REFERENCE: f"Contexts {BY_REFERENCE}, from the question and the reference",
}
JUDGED_BY = f"Contexts that the judge saw ({BY_REFERENCE})"
STORED = "details"
"""Name of the data file with content that is not searched, such as passages; a page loads it on demand."""
Asked = TypeVar("Asked", SystemAnswer, Conversation)
OfAnswer = TypeVar("OfAnswer", JudgeScore, BaselineSimilarity, Rating)
SYSTEM, DATASET = Filter("system", "System"), Filter("dataset", "Dataset")


def view_answers(
    questions: Sequence[ReferenceQuestion],
    answers: Sequence[SystemAnswer],
    contexts: Sequence[Context],
    scores: Sequence[JudgeScore],
    baselines: Sequence[BaselineSimilarity],
    ratings: Sequence[Rating],
    judges: Sequence[str],
    artifact: Path,
) -> Viewer:
    """Return a viewer of the answers to the given questions, sorted by dataset, question and system."""
    scores_of, baselines_of, ratings_of = _group(scores), _group(baselines), _group(ratings)
    contexts_of: defaultdict[tuple[str, str], list[Block]] = defaultdict(list)
    for context in sorted(contexts, key=lambda context: RULES.index(context.rule)):
        passages = _view_passages(CONTEXTS[context.rule], context.passages)
        contexts_of[context.question, context.system].append(passages)
    rows, stored = [], {}
    for question, answer in _pair(questions, answers):
        graded = sorted(scores_of[answer.id], key=lambda score: (score.judge, score.rule))
        measured = sorted(baselines_of[answer.id], key=lambda row: MEASURES.index(row.measure))
        shown = _view_response(answer, graded, ratings_of[answer.id])
        marks = [
            _mark_grade(score.score, f"{f'{score.judge}, ' if len(judges) > 1 else ''}{score.rule}: ")
            for score in graded
        ]
        score = _name_score(answer, graded, judges[0])
        tags = marks if answer.text is not None else [("no answer", BAD)]
        rows.append(_make_row(question, answer.id, answer.system, score, tags, shown))
        stored[answer.id] = [
            *_view_similarities(measured),
            *contexts_of[answer.question, answer.system],
            _view_calls(answer.origin, *(score.origin for score in graded)),
            blocks.ids(answer=answer.id, question=question.key),
        ]
    return Viewer(
        "row",
        "answers",
        "words in a question, its reference or the response",
        "Choose an answer to see its grades, the contexts that the judges were shown, and the calls.",
        (SYSTEM, DATASET, Filter("score", f"Grade ({BY_REFERENCE}, {judges[0]})")),
        rows,
        artifact,
        files={STORED: stored},
    )


def view_conversations(
    questions: Sequence[ReferenceQuestion],
    conversations: Sequence[Conversation],
    guards: Sequence[Guard],
    artifact: Path,
) -> Viewer:
    """Return a viewer for the conversations about some questions, by dataset, question and system."""
    guards_of: defaultdict[tuple[str, int], dict[str, Guard]] = defaultdict(dict)
    for guard in guards:
        guards_of[guard.conversation, guard.turn][guard.task] = guard
    of_question: defaultdict[str, list[Conversation]] = defaultdict(list)
    for conversation in conversations:
        of_question[conversation.question].append(conversation)
    rows, stored = [], {}
    for question, conversation in _pair(questions, conversations):
        scores = [_mark_grade(score) for score in conversation.scores]
        others = [other for other in of_question[question.id] if other is not conversation]
        turns = [
            _view_turn(number, turn, conversation.system, guards_of[conversation.id, number])
            for number, turn in enumerate(conversation.turns, 1)
        ]
        ended = conversation.ended
        tags = [(ended.shown, BAD)] if ended is End.FAILED else [*scores, (ended.shown, OFF)]
        shown = [*_view_scores(conversation, scores, others), *turns]
        rows.append(_make_row(question, conversation.id, conversation.system, ended, tags, shown))
        stored[conversation.id] = [
            _view_passages(JUDGED_BY, conversation.passages),
            _view_calls(conversation.origin),
            blocks.ids(conversation=conversation.id, question=question.key),
        ]
    return Viewer(
        "row",
        "conversations",
        "words in a question, an answer or a review",
        "Choose a conversation to read it turn by turn, with its scores and reviews.",
        (SYSTEM, DATASET, Filter("ended", "Ended by", [(end.value, end.shown) for end in End])),
        rows,
        artifact,
        files={STORED: stored},
    )


def _pair(
    questions: Sequence[ReferenceQuestion], rows: Iterable[Asked]
) -> list[tuple[ReferenceQuestion, Asked]]:
    """Pair answers or conversations with their questions, sorted by dataset, question and system."""
    question_of = {question.id: question for question in questions}
    pairs = [(question_of[row.question], row) for row in rows if row.question in question_of]
    return sorted(pairs, key=lambda pair: (pair[0].dataset, pair[0].key, pair[1].system))


def _group(rows: Iterable[OfAnswer]) -> defaultdict[str, list[OfAnswer]]:
    grouped: defaultdict[str, list[OfAnswer]] = defaultdict(list)
    for row in rows:
        grouped[row.answer].append(row)
    return grouped


def _make_row(
    question: ReferenceQuestion,
    row: str,
    system: str,
    value: str,
    tags: Sequence[Tag],
    shown: Sequence[Block],
) -> ViewedRow:
    """Make a viewer's row, with the question at its top.

    value: the value for the third filter, which is the grade of an answer or the reason why a conversation
    ended.
    """
    said = [
        blocks.group(f"say {style}", [blocks.text(text)])
        for exchange in question.history
        for style, text in (("asked", exchange.question), ("answered", exchange.answer))
    ]
    begin = [
        blocks.heading("Question", (question.dataset, OFF)),
        blocks.text(question.question, "question", question.language),
        *([blocks.fold(f"Earlier turns ({len(question.history)})", said)] if said else []),
        blocks.heading("Reference"),
        blocks.text(question.reference, "reply", question.language),
    ]
    all_tags = ((system, ""), *tags, (question.dataset, OFF))
    return ViewedRow(
        row,
        question.question,
        (system, question.dataset, value),
        all_tags,
        [*begin, *shown, blocks.stored(STORED, row)],
        find=question.key,
    )


def _view_response(
    answer: SystemAnswer,
    scores: Sequence[JudgeScore],
    ratings: Sequence[Rating],
) -> list[Block]:
    grades = [
        _view_grade(f"{score.rule} · {score.judge}", Grade(score.score, score.feedback, score.problem))
        for score in scores
    ]
    people = [
        (f"{rating.rater}: {rating.rating:g}", blocks.score_tag(round(rating.rating))[1])
        for rating in ratings
    ]
    response = f"No answer: {answer.problem}" if answer.text is None else answer.text
    return [
        blocks.heading("Response of", (answer.system, "")),
        blocks.text(response, "reply response"),
        blocks.heading("Grades"),
        *(grades or [blocks.dim("None.")]),
        *([blocks.heading("People"), blocks.tags(*people)] if people else []),
    ]


def _view_similarities(baselines: Sequence[BaselineSimilarity]) -> list[Block]:
    similarities = [
        f"{row.measure.replace('_', ' ')}: {row.problem if row.value is None else f'{row.value:.3f}'}"
        for row in baselines
    ]
    return [blocks.heading("Measures without contexts"), blocks.items(similarities)]


def _name_score(answer: SystemAnswer, scores: Sequence[JudgeScore], judge: str) -> str:
    """Return an answer's value for the filter by grade: a grade, `no grade` or `no answer`.

    The grade is that of the first existing score in this order: E3 by `judge`, E3 by another judge, E2 by
    `judge`, E2 by another judge.
    """
    if answer.text is None:
        return "no answer"
    first = sorted(scores, key=lambda score: (score.rule != BY_REFERENCE, score.judge != judge))[:1]
    return next((str(score.score) for score in first if score.score is not None), "no grade")


def _view_scores(
    conversation: Conversation, scores: Sequence[Tag], others: Sequence[Conversation]
) -> list[Block]:
    beside = f"failed: {conversation.problem}"
    if conversation.wscore is not None:
        measures = f"lscore {conversation.lscore:g} · mscore {conversation.mscore:g}"
        beside = f"wscore {conversation.wscore:.3f} · {measures} · ended by {conversation.ended.shown}"
    links = [(other.system, "", "", f"#row={other.id}") for other in others]
    return [
        blocks.heading("Scores of", (conversation.system, "")),
        blocks.tags(*scores, beside=beside),
        *(
            [blocks.heading("Conversations of other systems on the same question"), blocks.items(links)]
            if links
            else []
        ),
    ]


def _view_turn(number: int, turn: ConversationTurn, system: str, guards: Mapping[str, Guard]) -> Block:
    last = turn.final_grade or turn.grade
    probing = guards.get(ASKED)
    shown = [
        blocks.heading(f"Turn {number}", *([blocks.score_tag(last.score)] if last else [])),
        blocks.group(
            "say asked",
            [_mark_words(turn.query, probing)],
            "Follow-up question (T4, T5)" if number > 1 else "Asked",
        ),
    ]
    if probing and probing.words:
        flagged = f" · flagged: {', '.join(probing.flagged)}" if probing.flagged else ""
        shown.append(blocks.dim(f"unknown words: {', '.join(probing.words)}{flagged}"))
    shown.append(
        blocks.group("say answered", [blocks.text(turn.said or "(no answer)")], f"Composed by {system}")
    )
    if turn.tentative:
        replaced = ", replaced by the final grade" if turn.final_grade else ""
        shown += _view_composed("Composed (T2)", turn.tentative, guards.get(COMPOSED))
        shown += [_view_grade(f"Judge{replaced}", turn.grade)] if turn.grade else []
    if turn.final is not None:
        shown += _view_composed("At the reference's level of detail (T6)", turn.final, guards.get(FINISHED))
        shown += [_view_grade("Judge", turn.final_grade)] if turn.final_grade else []
    return blocks.group("turn", shown)


def _view_composed(who: str, text: str, guard: Guard | None) -> list[Block]:
    leaked = guard.words if guard else ()
    remark = [blocks.dim(f"Words that only the reference has: {', '.join(leaked)}")] if leaked else []
    return [blocks.group("note", [_mark_words(text, guard), *remark], who)]


def _mark_words(text: str, guard: Guard | None) -> Block:
    return blocks.marked(text, guard.words if guard else ())


def _view_grade(who: str, grade: Grade) -> Block:
    shown = [blocks.tags(blocks.score_tag(grade.score), beside=grade.problem), blocks.text(grade.feedback)]
    return blocks.group("note", shown, who)


def _mark_grade(score: int | None, name: str = "") -> Tag:
    """Make a tag for a grade; the tag is short, because a list entry may have many grades."""
    said, tone = blocks.score_tag(score)
    return (f"{name}{said if score is None else score}", tone)


def _view_passages(title: str, passages: Sequence[Passage]) -> Block:
    return blocks.passages(
        title,
        [
            (passage.title or passage.document, f"score {passage.score}", (), passage.text)
            for passage in passages
        ],
    )


def _view_calls(*origins: Sequence[Origin]) -> Block:
    return blocks.calls(
        "Calls",
        [origin.reference for row_origins in origins for origin in row_origins if origin.kind == "call"],
    )
