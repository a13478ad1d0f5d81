"""Build the data of an assessment's item viewer: each question with its answer, verdicts and documents."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tasks.grammar.assess.ablation import ablate_corpus, plan_ablation
from tasks.grammar.assess.answers import AssessedAnswer
from tasks.grammar.assess.assessment import join_rows
from tasks.grammar.assess.assessment_entry import AssessmentEntry
from tasks.grammar.assess.assessment_figures import HeadlineFault
from tasks.grammar.assess.baselines import BaselineVerdict
from tasks.grammar.assess.judged import (
    ATTRIBUTIONS,
    GAP,
    MODES,
    MODULES,
    NON_ROBUST,
    ROBUST,
    SETS,
    TaggedRow,
    tag_rows,
)
from tasks.grammar.assess.judgements import Judgement
from tasks.grammar.corpus.questions import AskedQuestion
from tasks.grammar.corpus.statements import AnswerFacts
from tasks.judging.findings import show_rule
from tasks.reports import blocks
from tasks.reports.blocks import BAD, GOOD, OFF, Block, Tag
from tasks.reports.viewer import Filter, FilterChoice, ViewedRow, Viewer
from tasks.scoring.correctness import Correctness
from tasks.scoring.label import Label
from tasks.systems.contract import Document

UNSCORED = "unscored"
TONES: Mapping[Label, str] = {Correctness.CORRECT: GOOD, Correctness.INCORRECT: BAD}


@dataclass(frozen=True)
class AssessedQuestion:
    """A question with its answer, judgement, tagged rows and reference-free verdicts.

    `tagged` maps each mode to the question's row with the group's tag, and is empty for an unscored row. The
    tag depends on all asked texts of the group, in both sets.
    """

    question: AskedQuestion
    answer: AssessedAnswer
    judgement: Judgement
    tagged: Mapping[str, TaggedRow]
    baselines: Sequence[BaselineVerdict]

    @property
    def sets(self) -> list[str]:
        """The sets that contain the question."""
        flags = zip(SETS, (self.question.in_balanced, self.question.in_unbalanced), strict=True)
        return [name for name, is_in in flags if is_in]

    @property
    def calls(self) -> list[str]:
        """The ledger keys of all calls for the answer and its verdicts."""
        origins = [*self.answer.origin, *self.judgement.origin]
        origins += [origin for baseline in self.baselines for origin in baseline.origin]
        return [origin.reference for origin in origins if origin.kind == "call"]

    def find_label(self, mode: str) -> Correctness | None:
        """Return the answer's label in a mode; None if the answer is unscored."""
        tagged = self.tagged.get(mode)
        if tagged is None:
            return None
        return Correctness.CORRECT if tagged.correct else Correctness.INCORRECT

    def find_module(self, mode: str, rule: str) -> str:
        """Return the module that caused a wrong answer, or an empty string if no module is at fault."""
        tagged = self.tagged.get(mode)
        return (tagged.find_module(rule) if tagged else None) or ""


def join_questions(
    questions: Sequence[AskedQuestion],
    documents: Sequence[Document],
    answers: Iterable[AssessedAnswer],
    judgements: Sequence[Judgement],
    baselines: Iterable[BaselineVerdict],
    entry: AssessmentEntry,
    facts: Iterable[AnswerFacts],
) -> list[AssessedQuestion]:
    """Join the judged questions with their answers and verdicts, sorted by group and criterion."""
    answer_of = {answer.question: answer for answer in answers}
    judgement_of = {judgement.question: judgement for judgement in judgements}
    corpus = ablate_corpus(documents, questions, entry.withheld)
    rows = join_rows(judgements, answer_of.values(), questions, corpus, facts)
    tags: dict[str, dict[str, TaggedRow]] = {
        mode: {tagged.judged.id: tagged for tagged in tag_rows(rows, mode)} for mode in MODES
    }
    tried: defaultdict[str, list[BaselineVerdict]] = defaultdict(list)
    for baseline in baselines:
        tried[baseline.answer].append(baseline)
    return [
        AssessedQuestion(
            question,
            answer_of[question.id],
            judgement_of[question.id],
            {mode: tags[mode][row_id] for mode in MODES for row_id in [answer_id] if row_id in tags[mode]},
            tried.get(answer_id, ()),
        )
        for question in sorted(questions, key=lambda asked: (asked.group, asked.criterion, asked.id))
        if question.id in judgement_of
        for answer_id in [answer_of[question.id].id]
    ]


def view_questions(
    assessed: Sequence[AssessedQuestion],
    questions: Iterable[AskedQuestion],
    documents: Iterable[Document],
    fault: HeadlineFault,
    entry: AssessmentEntry,
    artifact: Path,
) -> Viewer:
    """Build the viewer of all assessed questions.

    `fault` contains the initially selected mode and rule. `artifact` is the file with the answers.
    """
    true = {question.group: question.true_document_ids for question in questions}
    withheld = plan_ablation(true, entry.withheld).documents if entry.withheld else ()
    groups: defaultdict[str, list[AssessedQuestion]] = defaultdict(list)
    for row in assessed:
        groups[row.question.group].append(row)
    wanted = sorted({name for row in assessed for name in row.question.true_document_ids or ()})
    written = {document.id: document for document in documents}
    labels = [(label.value, label.shown) for label in Correctness]
    return Viewer(
        noun="question",
        nouns="questions",
        placeholder="words in a question, its answer or the response",
        empty="Choose a question to see the retrieved documents, the answer and the verdict.",
        filters=(
            Filter("set", "Set"),
            FilterChoice("mode", "Mode", _name_alike(MODES), fault.mode),
            Filter("tag", "Group", _name_alike((GAP, NON_ROBUST, ROBUST)), varies=("mode",)),
            Filter("criterion", "Criterion"),
            Filter("judgement", "Judged", (*labels, (UNSCORED, UNSCORED)), varies=("mode",)),
            Filter("module", "Attributed to", _name_alike(MODULES), varies=("mode", "rule")),
            FilterChoice("rule", "Rule", _name_alike(ATTRIBUTIONS), fault.rule),
        ),
        rows=[_view_question(row, groups[row.question.group]) for row in assessed],
        artifact=artifact,
        shared={name: [_show_document(name, written.get(name), name in withheld)] for name in wanted},
    )


def _name_alike(names: Iterable[str]) -> list[tuple[str, str]]:
    return [(name, name) for name in names]


def _view_question(row: AssessedQuestion, group: Sequence[AssessedQuestion]) -> ViewedRow:
    question = row.question
    labels = {mode: row.find_label(mode) for mode in MODES}
    tags = {mode: tagged.tag for mode, tagged in row.tagged.items()}
    modules = {f"{mode}|{rule}": row.find_module(mode, rule) for mode in MODES for rule in ATTRIBUTIONS}
    vary = {
        f"{mode}|{rule}": [
            tag_label(labels[mode]),
            (tags.get(mode, "no tag"), OFF),
            *([(module, BAD)] if (module := modules[f"{mode}|{rule}"]) else []),
        ]
        for mode in MODES
        for rule in ATTRIBUTIONS
    }
    return ViewedRow(
        id=question.id,
        title=question.question,
        values=(
            row.sets,
            tags,
            question.criterion,
            {mode: label.value if label else UNSCORED for mode, label in labels.items()},
            modules,
        ),
        tags=[(question.criterion, OFF)],
        blocks=list(_show_question(row, [other for other in group if other is not row])),
        traced=(("answers", row.answer.id), ("questions", question.id)),
        also=[question.group],
        vary=(("mode", "rule"), vary),
    )


def tag_label(label: Label | None) -> Tag:
    """Make the coloured tag for a verdict."""
    return (UNSCORED, OFF) if label is None else (label.shown, TONES.get(label, OFF))


def _tell_why(judgement: Judgement) -> str:
    """Return the reason for a judgement: a rule with the found value, several verdicts, or the problem.

    A single verdict is not stated. The problem is empty for a scored answer.
    """
    if judgement.rule:
        found = f" ({judgement.found})" if judgement.found else ""
        return f"decided by rule: {show_rule(judgement.rule)}{found}"
    said = ", ".join(verdict.shown for verdict in judgement.verdicts)
    return f"verdicts of the judge: {said}" if len(judgement.verdicts) > 1 else judgement.problem


def _show_question(row: AssessedQuestion, others: Sequence[AssessedQuestion]) -> Iterator[Block]:
    question, answer, judgement = row.question, row.answer, row.judgement
    yield blocks.title("Question", (question.criterion, ""), *((name, OFF) for name in row.sets))
    yield blocks.heading("True answer")
    yield blocks.text(question.answer, "reply")
    yield blocks.heading("Response")
    given = f"No answer: {answer.problem}" if answer.response is None else answer.response
    yield blocks.text(given, "reply response")
    yield blocks.heading("Judgement")
    yield blocks.tags(tag_label(judgement.judgement), beside=_tell_why(judgement))
    yield from _show_retrieved(answer, question.true_document_ids or ())
    yield from _show_true(question)
    yield blocks.heading("Attributed to")
    yield _show_modes(row)
    yield blocks.heading(f"Other phrasings of the question ({len(others)})")
    yield blocks.rows(other.question.id for other in others)
    if row.baselines:
        yield blocks.heading("Reference-free methods")
    for baseline in row.baselines:
        yield _show_baseline(baseline)
    yield blocks.calls("Calls", row.calls)
    yield blocks.ids(question=question.id, group=question.group, answer=answer.id)


def _show_retrieved(answer: AssessedAnswer, true: Sequence[str]) -> Iterator[Block]:
    if answer.passages is None:
        yield blocks.heading("Retrieved")
        yield blocks.dim("The system does not return the documents that it retrieved.")
        return
    yield blocks.passages(
        "Retrieved documents",
        [
            (
                passage.title or passage.document,
                f"score {passage.score}",
                [("true document", GOOD)] if passage.document in true else [],
                passage.text,
            )
            for passage in answer.passages
        ],
    )


def _show_true(question: AskedQuestion) -> Iterator[Block]:
    yield blocks.heading("True documents")
    if not question.true_document_ids:
        yield blocks.dim("Not known." if question.true_document_ids is None else "None.")
    for name in question.true_document_ids or ():
        yield blocks.shared(name)


def _show_document(name: str, document: Document | None, withheld: bool) -> Block:
    note = "withheld on purpose" if withheld else "" if document else "never written"
    text = document.text if document else "This document is not in the corpus."
    return blocks.fold(document.title if document else name, [blocks.text(text)], beside=note)


def _show_modes(row: AssessedQuestion) -> Block:
    """Build the table of a question's outcome, group tag and module at fault, by mode and rule."""
    if not row.tagged:
        return blocks.dim("The answer is unscored, so it has no group tag and is not attributed to a module.")
    contexts = {None: "unknown", True: "sufficient", False: "not sufficient"}
    return blocks.table(
        ("mode", "outcome", "group", "context rule", "context", "attributed to"),
        [
            (
                mode,
                tag_label(row.find_label(mode))[0],
                tagged.tag,
                rule,
                contexts[tagged.has_context(rule)],
                "" if tagged.correct else row.find_module(mode, rule) or "unknown",
            )
            for mode, tagged in row.tagged.items()
            for rule in ATTRIBUTIONS
        ],
    )


def _show_baseline(baseline: BaselineVerdict) -> Block:
    parts = [
        f"{part.holds.shown}{f' (by rule: {show_rule(part.rule)})' if part.rule else ''}: {part.text}"
        for part in baseline.parts
    ]
    verdict = (baseline.verdict.shown, "") if baseline.verdict else (UNSCORED, OFF)
    beside = baseline.problem or f"share {baseline.share}"
    return blocks.fold(
        baseline.method.replace("_", " "), [blocks.items(parts)] if parts else [], verdict, beside=beside
    )
