"""Stage: compute GRAMMAR-Eval's figures (section 4.3): rates, tags, module at fault, the paper's tables."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

import pyarrow.parquet as pq
from pydantic import Field

from tasks.artifacts.parquet import count_rows
from tasks.artifacts.rows import Counts
from tasks.files import write_text
from tasks.grammar.assess.ablation import ablate_corpus
from tasks.grammar.assess.answers import AssessedAnswer
from tasks.grammar.assess.assessment_entry import AssessmentEntry
from tasks.grammar.assess.assessment_figures import HeadlineFault, JudgeFigures, RowCounts
from tasks.grammar.assess.baselines import BaselineVerdict
from tasks.grammar.assess.closed_domain import ClosedDomain
from tasks.grammar.assess.closed_domain import closed_domain as find_closed
from tasks.grammar.assess.human_labels import AnswerLabel
from tasks.grammar.assess.judged import (
    ATTRIBUTIONS,
    RULES,
    SETS,
    SUFFICIENCY,
    JudgedRow,
    Mode,
    tag_rows,
)
from tasks.grammar.assess.judgements import Judgement
from tasks.grammar.assess.losses import find_losses
from tasks.grammar.assess.set_figures import (
    attribute_wrong,
    contrast_sets,
    count_gaps,
    diagnose_gaps,
    rate_set,
)
from tasks.grammar.assess.sufficiency import SufficiencyReader
from tasks.grammar.assess.tables import (
    ModelAlone,
    compare_actions,
    compare_baselines,
    compare_domains,
    count_dataset,
)
from tasks.grammar.corpus.questions import AskedQuestion
from tasks.grammar.corpus.statements import AnswerFacts
from tasks.judging.canaries import CanaryRow, measure_further, measure_health
from tasks.judging.equality import holds_answer, normalise
from tasks.judging.human_labels import HumanLabel
from tasks.judging.trust import HumanAgreement, TrustThresholds, find_warnings, measure_agreement
from tasks.judging.words import POLAR, TURNING
from tasks.reports.tables import round_figures
from tasks.scoring.label import count_labels
from tasks.scoring.running import Bootstrap
from tasks.settings import Settings, read_section
from tasks.systems.contract import Document


class AssessmentParams(Settings):
    """The settings in params.yaml under `grammar.assessment`."""

    criteria: tuple[str, str]
    """The linguistic criteria A and B. A test compares the accuracy under A with the accuracy under B, to
    find whether the phrasing of questions matters."""
    rule: str = Field(default=SUFFICIENCY, pattern=f"^({'|'.join(ATTRIBUTIONS)})$")
    """The rule by which the page attributes errors: `sufficiency`, or a context rule of the paper.

    If sufficiency cannot determine the module, the rule `siblings` applies. figures.json contains the results
    of all rules.
    """
    mode: Mode = "open"
    """The mode of the page's headline.

    `open` counts an answer as correct if it was judged correct. `closed` also requires that the system
    retrieved every true document.
    """
    draws: int = Field(default=10_000, ge=1)
    """The number of bootstrap samples per interval."""
    seed: int = 0
    """The seed of the bootstrap."""


def assessment(
    judgements: list[Judgement],
    answers: list[AssessedAnswer],
    questions: list[AskedQuestion],
    baselines: list[BaselineVerdict],
    canaries: list[CanaryRow],
    closed_domain: list[ClosedDomain],
    documents: list[Document],
    human_labels: list[AnswerLabel],
    answer_facts: list[AnswerFacts],
    sql_templates: Path,
    second_reading: Path,
    fill_in: Path,
    balanced: Path,
    unbalanced: Path,
    key: str,
    entry: AssessmentEntry,
    settings: Mapping[str, object],
    params: AssessmentParams,
    out: Path,
) -> Counts:
    """Write figures.json.

    `closed_domain` is an artifact of the assessment `entry.llm_only`. `settings` contains the system's
    settings, and the warning thresholds in `judging.thresholds`. Every other argument is the artifact with
    the argument's name.
    """
    corpus = ablate_corpus(documents, questions, entry.withheld)
    rows = join_rows(judgements, answers, questions, corpus, answer_facts)
    intervals = Bootstrap(params.draws, params.seed)
    alone = entry.llm_only == key
    sets = {"sql_templates": sql_templates, "fill_in": fill_in, "second_reading": second_reading}
    tables = (
        compare_baselines(baselines, {judgement.id: judgement.judgement for judgement in judgements}),
        count_dataset(_count_dataset(sets, balanced, unbalanced, questions, params), params.criteria),
        compare_actions(rows, params.criteria, intervals),
        compare_domains(
            [row for row in rows if row.balanced],
            None if alone else closed_domain,
            intervals,
            "`llm_only` names this run, so no separate run of the model alone can be compared"
            if alone
            else "",
            ModelAlone(key, find_closed(judgements, entry, settings).rows),
            None if alone else ModelAlone(entry.llm_only, closed_domain),
        ),
    )
    parts = {name: [row for row in rows if row.is_in(name)] for name in SETS}
    hypothesis = contrast_sets(parts, params.criteria, intervals)
    faults = hypothesis["balanced"][params.mode].fault
    known = faults[params.rule].module is not None or params.rule != SUFFICIENCY
    rule = params.rule if known else RULES[0]
    figures: dict[str, object] = {
        "assessment": key,
        "database": entry.database,
        "system": entry.system,
        "llm_only": entry.llm_only,
        "criteria": list(params.criteria),
        "judge": _describe_judge(
            judgements,
            canaries,
            [
                compare_with_people(part, human_labels, intervals)
                for part in (judgements, [row for row in judgements if not row.rule])
                if entry.labels
            ],
            settings,
        ),
        "counts": _count_rows(rows, answers),
        "rates": {name: rate_set(part, params.criteria, intervals) for name, part in parts.items()},
        "hypothesis": hypothesis,
        "attribution": {name: attribute_wrong(part, params.criteria) for name, part in parts.items()},
        "gaps": {name: count_gaps(part, params.criteria) for name, part in parts.items()},
        "planted": diagnose_gaps(rows, entry.withheld),
        "tables": {table.number: table for table in tables},
        "fault": HeadlineFault("balanced", params.mode, rule, **asdict(faults[rule])),
        "losses": find_losses(tag_rows(parts["balanced"], params.mode), intervals),
    }
    write_text(out, json.dumps(round_figures(figures), ensure_ascii=False, indent=1, allow_nan=False) + "\n")
    return Counts(len(judgements), len(rows), {"unscored": sum(not row.scored for row in rows)})


def join_rows(
    judgements: Iterable[Judgement],
    answers: Iterable[AssessedAnswer],
    questions: Iterable[AskedQuestion],
    corpus: Sequence[Document] | None,
    facts: Iterable[AnswerFacts],
) -> list[JudgedRow]:
    """Join questions, retrieved documents and judgements into one row per judgement.

    `corpus` contains the documents that the system could retrieve; None means that the system has its own,
    unknown corpus. `facts` contains the facts that answers need, for corpora that were made from a database.
    """
    reader = SufficiencyReader(corpus, {row.id: row for row in facts})
    answered = {answer.id: answer for answer in answers}
    asked = {asked_question.id: asked_question for asked_question in questions}
    rows = []
    for judgement in judgements:
        answer = answered[judgement.id]
        retrieved = answer.retrieved_document_ids
        question = asked[judgement.question]
        true = question.true_document_ids
        found = reader.read(question, answer)
        rows.append(
            JudgedRow(
                id=judgement.id,
                group=judgement.group,
                criterion=judgement.criterion,
                judgement=judgement.judgement,
                retrieved=None if retrieved is None else frozenset(retrieved),
                true=None if true is None else frozenset(true),
                balanced=question.in_balanced,
                unbalanced=question.in_unbalanced,
                template=question.sql_template,
                enough=found.retrieved,
                obtainable=found.corpus,
                holds=not judgement.rule and gives_answer(question, answer.response or ""),
            )
        )
    return rows


def gives_answer(question: AskedQuestion, response: str) -> bool:
    """Return whether the response contains all parts of the true answer, and the question contains no part.

    Returns False if the true answer is yes or no, or if the response may negate the answer or offers several
    answers.
    """
    given, asked = normalise(response), normalise(question.question)
    items = [item for item in map(normalise, question.answer.split(";")) if item]
    if not items or items[0] in POLAR or TURNING.search(given):
        return False
    return all(holds_answer(item, given) and not holds_answer(item, asked) for item in items)


def compare_with_people(
    judgements: Iterable[Judgement], labels: Iterable[AnswerLabel], intervals: Bootstrap
) -> HumanAgreement:
    """Measure the agreement of judgements with human labels of the same answers."""
    verdicts = {judgement.id: judgement.judgement for judgement in judgements}
    return measure_agreement(
        verdicts,
        [HumanLabel(label.answer, label.label, label.rater) for label in labels if label.answer in verdicts],
        draws=intervals.draws,
        seed=intervals.seed,
    )


def _describe_judge(
    judgements: Sequence[Judgement],
    canaries: Sequence[CanaryRow],
    people: Sequence[HumanAgreement],
    settings: Mapping[str, object],
) -> JudgeFigures:
    """Return the figures about the judge's reliability.

    `people` contains the agreement of all verdicts with human labels, and then the agreement of the verdicts
    that no rule decided. `people` is empty if there are no human labels.
    """
    health, further = measure_health(canaries), measure_further(canaries)
    unscored = count_labels(judgement.judgement for judgement in judgements).unscored
    thresholds = read_section(settings, "judging.thresholds", TrustThresholds)
    over_all, by_judge = people or (None, None)
    warnings = find_warnings(
        thresholds, n=len(judgements), n_unscored=unscored, canaries=health, further=further, human=over_all
    )
    ruled = Counter(judgement.rule for judgement in judgements if judgement.rule)
    return JudgeFigures(warnings, health, further, unscored, dict(sorted(ruled.items())), over_all, by_judge)


def _count_rows(rows: Sequence[JudgedRow], answers: Sequence[AssessedAnswer]) -> RowCounts:
    return RowCounts(
        rows=len(rows),
        groups=len({row.group for row in rows}),
        scored=sum(row.scored for row in rows),
        unscored=sum(not row.scored for row in rows),
        failed_answers=sum(answer.response is None for answer in answers),
        balanced=sum(row.balanced for row in rows),
        unbalanced=sum(row.unbalanced for row in rows),
    )


def _count_dataset(
    sets: Mapping[str, Path],
    balanced: Path,
    unbalanced: Path,
    questions: Sequence[AskedQuestion],
    params: AssessmentParams,
) -> dict[str, dict[str, int]]:
    whole = {
        "SQL templates": count_rows(sets["sql_templates"]),
        "SQL queries (groups)": count_rows(sets["fill_in"]),
        "text templates": count_rows(sets["second_reading"]),
    }
    asked = {
        "SQL templates": len({question.sql_template for question in questions}),
        "SQL queries (groups)": len({question.group for question in questions}),
        "text templates": len({question.text_template for question in questions}),
    }
    for name, path, flag in (
        ("text queries", unbalanced, "in_unbalanced"),
        ("balanced", balanced, "in_balanced"),
    ):
        count = Counter(pq.read_table(path, columns=["criterion"])["criterion"].to_pylist())
        for criterion in params.criteria:
            whole[f"{name}, {criterion}"] = count[criterion]
            asked[f"{name}, {criterion}"] = sum(
                question.criterion == criterion and bool(getattr(question, flag)) for question in questions
            )
    return {"whole": whole, "asked": asked}
