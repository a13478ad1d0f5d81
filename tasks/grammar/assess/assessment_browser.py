"""The data of an assessment page's question browser: each question with answer, verdicts and calls."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from tasks.grammar.assess.ablation import ablate_corpus, plan_ablation
from tasks.grammar.assess.answers import AssessedAnswer
from tasks.grammar.assess.assessment import join_rows
from tasks.grammar.assess.assessment_entry import AssessmentEntry
from tasks.grammar.assess.assessment_figures import HeadlineFault
from tasks.grammar.assess.baselines import BaselineVerdict
from tasks.grammar.assess.judged import ATTRIBUTIONS, MODES, MODULES, SETS, TaggedRow, tag_rows
from tasks.grammar.assess.judgements import Judgement
from tasks.grammar.corpus.questions import AskedQuestion
from tasks.scoring.correctness import Correctness
from tasks.systems.contract import Document


@dataclass(frozen=True)
class BrowserDocument:
    """A document that is a true document of at least one question."""

    id: str
    title: str
    text: str


@dataclass(frozen=True)
class BrowserGroup:
    """A semantic group and its true answer."""

    id: str
    answer: str


@dataclass(frozen=True)
class BrowserPassage:
    """A passage that the system retrieved."""

    document: str
    title: str
    text: str
    score: float


@dataclass(frozen=True)
class BrowserTags:
    """A scored row in one mode: its group's tag and, by context rule, sufficiency and module at fault."""

    outcome: str
    tag: str
    sufficient: Mapping[str, bool | None]
    modules: Mapping[str, str | None]


@dataclass(frozen=True)
class BrowserBaselinePart:
    """A claim or sampled response that a reference-free method judged, see `BaselinePart`."""

    text: str
    holds: str
    rule: str


@dataclass(frozen=True)
class BrowserBaseline:
    """A reference-free method's verdict on an answer, see `BaselineVerdict`."""

    method: str
    verdict: str | None
    share: float | None
    problem: str
    parts: list[BrowserBaselinePart]


@dataclass(frozen=True)
class BrowserQuestion:
    """A question with its answer and all verdicts.

    sets: `balanced`, `unbalanced`. answer: the answer's id. passages, true: None if unknown. modes: by mode,
    for scored rows. calls: ledger keys.
    """

    id: str
    group: str
    criterion: str
    sets: list[str]
    question: str
    answer: str
    response: str | None
    problem: str
    judgement: str | None
    verdicts: list[str]
    judge_problem: str
    passages: list[BrowserPassage] | None
    true: list[str] | None
    modes: dict[str, BrowserTags]
    baselines: list[BrowserBaseline]
    calls: list[str]


@dataclass(frozen=True)
class AssessmentBrowser:
    """The browser's rows and filter values, in the form that pages/assessment.js reads.

    mode, rule: the initial selection. withheld: ids of documents removed by the ablation.
    """

    modes: list[str]
    mode: str
    rules: list[str]
    rule: str
    modules: list[str]
    withheld: list[str]
    documents: list[BrowserDocument]
    groups: list[BrowserGroup]
    questions: list[BrowserQuestion]


def make_browser(
    fault: HeadlineFault,
    questions: Sequence[AskedQuestion],
    documents: Sequence[Document],
    answers: Iterable[AssessedAnswer],
    judgements: Sequence[Judgement],
    baselines: Iterable[BaselineVerdict],
    entry: AssessmentEntry,
) -> AssessmentBrowser:
    """Collect the browser's rows; groups are tagged over all texts that were asked, whatever their set."""
    answer_of = {answer.question: answer for answer in answers}
    judgement_of = {judgement.question: judgement for judgement in judgements}
    corpus = ablate_corpus(documents, questions, entry.withheld)
    rows = join_rows(judgements, answer_of.values(), questions, [document.id for document in corpus])
    tags: dict[str, dict[str, TaggedRow]] = {
        mode: {tagged.judged.id: tagged for tagged in tag_rows(rows, mode)} for mode in MODES
    }
    tried: defaultdict[str, list[BaselineVerdict]] = defaultdict(list)
    for baseline in baselines:
        tried[baseline.answer].append(baseline)
    judged = [question for question in questions if question.id in judgement_of]
    wanted = {document for question in judged for document in question.true_document_ids or ()}
    true = {question.group: question.true_document_ids for question in questions}
    withheld = plan_ablation(true, entry.withheld).documents if entry.withheld else ()
    answers_by_group = {question.group: question.answer for question in judged}
    return AssessmentBrowser(
        modes=list(MODES),
        mode=fault.mode,
        rules=list(ATTRIBUTIONS),
        rule=fault.rule,
        modules=list(MODULES),
        withheld=sorted(withheld),
        documents=[
            BrowserDocument(document.id, document.title, document.text)
            for document in sorted(documents, key=lambda document: document.id)
            if document.id in wanted
        ],
        groups=[BrowserGroup(group, answer) for group, answer in sorted(answers_by_group.items())],
        questions=[
            _show_question(question, answer_of[question.id], judgement_of[question.id], tags, tried)
            for question in sorted(judged, key=lambda own: (own.group, own.criterion, own.id))
        ],
    )


def _show_question(
    question: AskedQuestion,
    answer: AssessedAnswer,
    judgement: Judgement,
    tags: Mapping[str, Mapping[str, TaggedRow]],
    tried: Mapping[str, Sequence[BaselineVerdict]],
) -> BrowserQuestion:
    baselines = tried.get(answer.id, ())
    origins = [
        *answer.origin,
        *judgement.origin,
        *(origin for baseline in baselines for origin in baseline.origin),
    ]
    flags = zip(SETS, (question.in_balanced, question.in_unbalanced), strict=True)
    true = question.true_document_ids
    return BrowserQuestion(
        id=question.id,
        group=question.group,
        criterion=question.criterion,
        sets=[name for name, is_in in flags if is_in],
        question=question.question,
        answer=answer.id,
        response=answer.response,
        problem=answer.problem,
        judgement=judgement.judgement and judgement.judgement.shown,
        verdicts=[verdict.shown for verdict in judgement.verdicts],
        judge_problem=judgement.problem,
        passages=None
        if answer.passages is None
        else [
            BrowserPassage(passage.document, passage.title, passage.text, passage.score)
            for passage in answer.passages
        ],
        true=None if true is None else list(true),
        modes={mode: _show_tags(tags[mode][answer.id]) for mode in MODES if answer.id in tags[mode]},
        baselines=[_show_baseline(baseline) for baseline in baselines],
        calls=list(dict.fromkeys(origin.reference for origin in origins if origin.kind == "call")),
    )


def _show_tags(tagged: TaggedRow) -> BrowserTags:
    return BrowserTags(
        outcome=(Correctness.CORRECT if tagged.correct else Correctness.INCORRECT).shown,
        tag=tagged.tag,
        sufficient=dict(tagged.sufficient),
        modules={rule: tagged.find_module(rule) for rule in ATTRIBUTIONS},
    )


def _show_baseline(baseline: BaselineVerdict) -> BrowserBaseline:
    parts = [BrowserBaselinePart(part.text, part.holds.shown, part.rule) for part in baseline.parts]
    return BrowserBaseline(
        baseline.method, baseline.verdict and baseline.verdict.shown, baseline.share, baseline.problem, parts
    )
