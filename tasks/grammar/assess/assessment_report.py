"""Show an assessment as a page: rates, the module at fault, the paper's tables, every question."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tasks.artifacts.rows import Counts, Dropped
from tasks.databases.entry import DatabaseEntry
from tasks.grammar.assess.ablation import plant_gaps
from tasks.grammar.assess.assessment import join_rows
from tasks.grammar.assess.assessment_entry import Entry
from tasks.grammar.assess.assessment_page import AssessmentPage, Headline, write_assessment
from tasks.grammar.assess.human_labels import make_form
from tasks.grammar.assess.judged import MODES, MODULES, RULES, SETS, Tagged, tag_rows
from tasks.grammar.assessment_rows import AskedQuestion, Baseline, Judgement, SystemAnswer
from tasks.reports.calls import read_calls
from tasks.systems.contract import Document

HEADLINES = (
    ("accuracy", "accuracy"),
    ("R, gap groups removed", "robustness"),
    ("Acc_retrieval_db", "retrieval_db_accuracy"),
)


def assessment_report(
    figures: Path,
    questions: list[AskedQuestion],
    documents: list[Document],
    answers: list[SystemAnswer],
    judgements: list[Judgement],
    baselines: list[Baseline],
    human_labels_dropped: list[Dropped],
    answers_calls: Path,
    judgements_calls: Path,
    baselines_calls: Path,
    key: str,
    entry: Entry,
    database: DatabaseEntry,
    out: Path,
) -> Counts:
    """Write the page's folder from figures.json and the rows that it is made from."""
    told = json.loads(figures.read_text(encoding="utf-8"))
    browser = gather_rows(told, questions, documents, answers, judgements, baselines, entry)
    wanted = {call for row in browser["questions"] for call in row["calls"]}
    calls = read_calls((answers_calls, judgements_calls, baselines_calls), wanted)
    title = database.title or database.name
    page = AssessmentPage(
        name=key,
        title=_title(title, entry),
        subtitle=(
            "Each group asks one thing in several wordings. A system that answers some wordings and not "
            "others has the knowledge, and loses it on the way: in retrieval or in the model."
        ),
        figures=_head(told),
        told=told,
        about=[
            ("Database", title),
            ("System", f"{entry.system} (systems.{entry.system} in params.yaml)"),
            ("The model alone", entry.llm_only if entry.llm_only != key else "no run named"),
            ("Canaries", _say_canaries(told["judge"]["canaries"])),
            ("Licence of the data", database.licence),
            ("Attribution", database.attribution),
        ],
        browser=browser,
        calls=calls,
        form=_fill_form(questions, answers),
        unusable=[(each.reason, each.detail) for each in human_labels_dropped],
    )
    write_assessment(page, out)
    return Counts(len(questions), len(browser["questions"]), {})


def gather_rows(
    told: Mapping[str, Any],
    questions: Sequence[AskedQuestion],
    documents: Iterable[Document],
    answers: Iterable[SystemAnswer],
    judgements: Sequence[Judgement],
    baselines: Iterable[Baseline],
    entry: Entry,
) -> dict[str, Any]:
    """Gather what the browser of questions shows (pages/assessment.js); tags are over all texts asked."""
    answered = {each.question: each for each in answers}
    judged = {each.question: each for each in judgements}
    rows = join_rows(judgements, answered.values(), questions)
    tagged: dict[str, dict[str, Tagged]] = {
        mode: {each.row.id: each for each in tag_rows(rows, mode)} for mode in MODES
    }
    tried: defaultdict[str, list[Baseline]] = defaultdict(list)
    for each in baselines:
        tried[each.answer].append(each)
    shown = [each for each in questions if each.id in judged]
    wanted = {document for each in shown for document in each.true_document_ids or ()}
    true = {each.group: each.true_document_ids for each in questions}
    withheld = plant_gaps(true, entry.withheld).documents if entry.withheld else ()
    return {
        "modes": list(MODES),
        "mode": told["fault"]["mode"],
        "rules": list(RULES),
        "rule": told["fault"]["rule"],
        "modules": list(MODULES),
        "withheld": sorted(withheld),
        "documents": [
            {"id": each.id, "title": each.title, "text": each.text}
            for each in sorted(documents, key=lambda each: each.id)
            if each.id in wanted
        ],
        "groups": [
            {"id": group, "answer": answer}
            for group, answer in sorted({each.group: each.answer for each in shown}.items())
        ],
        "questions": [
            _show_question(each, answered[each.id], judged[each.id], tagged, tried)
            for each in sorted(shown, key=lambda each: (each.group, each.criterion, each.id))
        ],
    }


def _show_question(
    question: AskedQuestion,
    answer: SystemAnswer,
    judgement: Judgement,
    tagged: Mapping[str, Mapping[str, Tagged]],
    tried: Mapping[str, Sequence[Baseline]],
) -> dict[str, Any]:
    own = tried.get(answer.id, ())
    origins = [*answer.origin, *judgement.origin, *(origin for each in own for origin in each.origin)]
    flags = zip(SETS, (question.in_balanced, question.in_unbalanced), strict=True)
    passages = answer.passages
    return {
        "id": question.id,
        "group": question.group,
        "criterion": question.criterion,
        "sets": [name for name, is_in in flags if is_in],
        "question": question.question,
        "answer": answer.id,
        "response": answer.response,
        "problem": answer.problem,
        "judgement": judgement.judgement,
        "verdicts": list(judgement.verdicts),
        "judge_problem": judgement.problem,
        "passages": None
        if passages is None
        else [
            {"document": each.document, "title": each.title, "text": each.text, "score": each.score}
            for each in passages
        ],
        "true": None if question.true_document_ids is None else list(question.true_document_ids),
        "modes": {mode: _show_tagged(tagged[mode][answer.id]) for mode in MODES if answer.id in tagged[mode]},
        "baselines": [
            {
                "method": each.method,
                "verdict": each.verdict,
                "share": each.share,
                "problem": each.problem,
                "parts": [{"text": part.text, "holds": part.holds} for part in each.parts],
            }
            for each in own
        ],
        "calls": list(dict.fromkeys(each.reference for each in origins if each.kind == "call")),
    }


def _show_tagged(tagged: Tagged) -> dict[str, Any]:
    return {
        "outcome": "Correct" if tagged.correct else "Incorrect",
        "tag": tagged.tag,
        "sufficient": dict(tagged.sufficient),
        "modules": {rule: tagged.find_module(rule) for rule in RULES},
    }


def _fill_form(questions: Iterable[AskedQuestion], answers: Iterable[SystemAnswer]) -> str:
    """Write the form that people label answers in; a question without a response has nothing to label."""
    asked = {each.id: each for each in questions}
    return make_form(
        [
            (each.id, asked[each.question].question, asked[each.question].answer, each.response)
            for each in answers
            if each.response is not None
        ]
    )


def _title(database: str, entry: Entry) -> str:
    """Tell assessments of one system apart."""
    whole = f"{database}: the system “{entry.system}” assessed"
    return f"{whole}, {entry.withheld.share:.0%} of the groups without documents" if entry.withheld else whole


def _head(told: Mapping[str, Any]) -> list[Headline]:
    fault = told["fault"]
    rates = told["rates"][fault["set"]][fault["mode"]]["all"]
    counts = told["counts"]
    note = f"{fault['set']} set, {fault['mode']} mode"
    return [
        Headline("module at fault", fault["module"] or "not told", f"{note}, {fault['rule']}"),
        *(
            Headline(
                label,
                None if rates[name] is None else float(rates[name]),
                f"{_say_interval(rates['ci'][name])}{note}",
            )
            for label, name in HEADLINES
        ),
        Headline(
            "questions judged", counts["scored"], f"of {counts['rows']:,}; {counts['unscored']:,} unscored"
        ),
        Headline("groups", counts["groups"]),
    ]


def _say_interval(interval: Sequence[float] | None) -> str:
    return "" if interval is None else f"{interval[0]:.3f} to {interval[1]:.3f}; "


def _say_canaries(health: Mapping[str, Any]) -> str:
    right = health["n_scored"] - len(health["wrong"])
    return f"{right} of {health['n']} judged right, {health['n_failed']} not parsed"
