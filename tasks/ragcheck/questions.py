"""Stage: import a set's questions and reference answers, sampled evenly over its datasets."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

from tasks.artifacts.rows import Drafts, Dropped, Origin, make_id
from tasks.errors import BadInput
from tasks.ragcheck.question_sets import QUESTIONS, QuestionSet, read_lines, read_text
from tasks.sources.jsquad import read_squad
from tasks.sources.mtrag import read_tasks


@dataclass(frozen=True)
class Exchange:
    """An earlier question and answer of a conversation."""

    question: str
    answer: str


@dataclass(frozen=True)
class ReferenceQuestion:
    """Row of the stage `questions`: a question with its reference answer, which by definition scores 5."""

    id: str
    key: str
    """The question's id in the source data."""
    dataset: str
    """The dataset within the set; figures are also computed per dataset."""
    language: str
    question: str
    reference: str
    history: tuple[Exchange, ...]
    origin: tuple[Origin, ...]

    @property
    def conversation(self) -> str:
        """The id of the question's conversation: the part of `key` before `<::>`, or the whole `key`."""
        return self.key.partition("<::>")[0]


def questions(entry: QuestionSet) -> Drafts[ReferenceQuestion]:
    """Import a set's questions, and sample `entry.take` questions.

    Questions are dropped if they have no reference answer, are filtered out by the entry, or are not sampled.
    In a set of kind `lines`, a question without a reference answer is an error. The rows have no `origin`,
    because they come from the set's file, which dvc.lock records.

    Raises BadInput if the set cannot be read, contains no usable question, or contains two questions with the
    same id.
    """
    drafts = {"mtrag": _read_mtrag, "jsquad": _read_jsquad, "lines": _read_lines}[entry.kind](entry)
    if not drafts.rows:
        raise BadInput(
            entry.path, "contains no question with a reference answer", hint="see docs/ragcheck.md"
        )
    ids = [question.id for question in drafts.rows]
    if len(set(ids)) < len(ids):
        raise BadInput(entry.path, "contains two questions with the same id")
    kept = sample_evenly(drafts.rows, entry.take, entry.seed)
    sampled = {question.id for question in kept}
    rest = [
        Dropped(question.id, "not_taken", question.key)
        for question in drafts.rows
        if question.id not in sampled
    ]
    return Drafts(kept, [*drafts.dropped, *rest])


def sample_evenly(
    questions: Sequence[ReferenceQuestion], count: int | None, seed: int
) -> list[ReferenceQuestion]:
    """Sample `count` questions (None: all), one per dataset in turn. `seed` shuffles each dataset."""
    queues: defaultdict[str, list[ReferenceQuestion]] = defaultdict(list)
    # Sorted by hash, so that an additional question does not change the order of the others.
    for question in sorted(questions, key=lambda question: make_id(seed, question.id)):
        queues[question.dataset].append(question)
    rounds = (
        queue[turn]
        for turn in range(max(map(len, queues.values()), default=0))
        for _, queue in sorted(queues.items())
        if turn < len(queue)
    )
    return list(islice(rounds, count))


def _read_mtrag(entry: QuestionSet) -> Drafts[ReferenceQuestion]:
    kept, dropped = [], []
    for task in read_tasks(entry.path):
        row_id = make_id("mtrag", task.id)
        if entry.answerability and task.answerability not in entry.answerability:
            dropped.append(Dropped(row_id, "other_answerability", f"{task.id}: {task.answerability}"))
        elif entry.first_turn and task.history:
            dropped.append(Dropped(row_id, "later_turn", task.id))
        elif not task.reference or not task.question:
            dropped.append(Dropped(row_id, "no_reference", task.id))
        else:
            history = tuple(Exchange(*pair) for pair in task.history)
            kept.append(
                ReferenceQuestion(
                    row_id,
                    task.id,
                    task.collection,
                    entry.language,
                    task.question,
                    task.reference,
                    history,
                    (),
                )
            )
    return Drafts(kept, dropped)


def _read_jsquad(entry: QuestionSet) -> Drafts[ReferenceQuestion]:
    kept, dropped = [], []
    for item in read_squad(entry.path)[0]:
        row_id = make_id("jsquad", item.id)
        if item.reference and item.question:
            kept.append(
                ReferenceQuestion(
                    row_id, item.id, "jsquad", entry.language, item.question, item.reference, (), ()
                )
            )
        else:
            dropped.append(Dropped(row_id, "no_reference", item.id))
    return Drafts(kept, dropped)


def _read_lines(entry: QuestionSet) -> Drafts[ReferenceQuestion]:
    path = entry.path / QUESTIONS
    kept: dict[str, ReferenceQuestion] = {}
    for line, record in read_lines(entry.path, QUESTIONS):
        key = read_text(record, "id", path, line)
        row_id = make_id("lines", key)
        if row_id in kept:
            raise BadInput(path, f"the id {key!r} occurs twice", line=line)
        kept[row_id] = ReferenceQuestion(
            row_id,
            key,
            read_text(record, "dataset", path, line, "all"),
            read_text(record, "language", path, line, entry.language),
            read_text(record, "question", path, line),
            read_text(record, "reference", path, line),
            (),
            (),
        )
    return Drafts(list(kept.values()))
