"""Build the parts of an assessment's page: modules at fault, rates, groups, tables, judge reliability."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from urllib.parse import urlencode

from tasks.grammar.assess.assessment_figures import AssessmentFigures, GapRecovery, PlantedGaps, Rates
from tasks.grammar.assess.contrast import NONE_SHOWN, Contrast, CriteriaTest
from tasks.grammar.assess.judged import FEW, GAP, NON_ROBUST, ROBUST, TEMPLATES
from tasks.grammar.assess.losses import NOT_TOLD, Losses, ModuleLoss
from tasks.grammar.assess.view import AssessedQuestion
from tasks.judging.trust import HumanAgreement
from tasks.reports.charts import Bar, Bars
from tasks.reports.declared import note, tabulate
from tasks.reports.parts import (
    Browse,
    Charts,
    Facts,
    Folded,
    FormLink,
    PagePart,
    PartBlock,
    Parts,
    TableBlock,
    TextBlock,
    make_about_part,
)
from tasks.reports.plurals import count_of
from tasks.reports.tables import Cell, FigureTable, leave_empty
from tasks.reports.viewer import Viewer
from tasks.scoring.correctness import Correctness
from tasks.scoring.statistics import LEAST, Interval, explain_missing

TO_MODULES = (
    "Each wrong answer is attributed to one module. Four rules are tried in this order, and the first rule "
    "that applies decides. Judge: the response contains the true answer. Model: the retrieved documents "
    "together state every fact that the answer needs. Database: the whole corpus lacks at least one of these "
    "facts. Retrieval: every other case."
)
LOSSES = (
    f"The table covers all questions, in every phrasing. {TO_MODULES} A module is named only if it is at "
    "fault for significantly more wrong answers than every other module. In addition, the 95% interval of "
    "the module's share of all answers must start at 10% or above."
)
AGAINST = (
    f"{TO_MODULES} The tables also show the attribution by the four context rules of the GRAMMAR paper. "
    "Under these rules, the database is at fault if the system did not answer any phrasing of the question "
    "correctly. Otherwise retrieval is at fault if the context was not sufficient, and the model if the "
    "context was sufficient. The 95% intervals of the differences come from a bootstrap that resamples "
    "whole SQL templates. A module is named only if two differences are significant: in accuracy (p at most "
    "0.05), and in the module's share of wrong answers (after Holm's correction). Holm's correction is "
    "applied once across all tests under the sufficiency rule, and once across all tests under the paper's "
    "rules. To list the answers behind a share, click the share."
)
RATES = (
    "Intervals are 95% bootstrap intervals that resample whole SQL templates. For a rate of 0 or 1, the "
    "interval is a Wilson interval over the templates. Closed mode counts an answer as wrong if retrieval "
    "missed a true document. If the retrieved or the true documents of a question are not known, closed mode "
    "treats the question in the same way as open mode. In every row, accuracy = consistent across phrasings "
    "\N{MULTIPLICATION SIGN} (1 \N{MINUS SIGN} never answered). A question is a gap if no phrasing of the "
    "question is answered correctly. R is the share of correct answers among the questions that are not gaps."
)
GROUPS = (
    "Each group is one question in several phrasings. Gap: no phrasing is answered correctly. "
    "Robust: every phrasing is. Non-robust: only some phrasings are. A mutual gap is a group without a "
    "correct answer under either criterion. To list the questions in one kind of group, use the “Group” "
    "filter below. The details of each question show the retrieved documents and the verdict."
)
PEOPLE = (
    "The table compares each verdict with the label that most people gave to the "
    "answer. A rule decides an answer that "
    "equals the true answer, and the judge decides all other answers. The row “the judge's own verdicts” "
    "leaves out the answers that a rule decided. Unscored answers, and answers on which people are "
    "evenly split, are not compared."
)
UNLABELLED = (
    "No person has labelled these answers, so the agreement of the verdicts with human labels is unknown."
)
RATE_FIELDS = ("accuracy", "robustness", "retrieval_db_accuracy", "lambda")
"""The names of the rates in figures.json, in the order in which the page shows them."""


def list_parts(
    figures: AssessmentFigures,
    assessed: Sequence[AssessedQuestion],
    viewer: Viewer,
    form: str,
    unusable: Sequence[tuple[str, str]],
    about: Sequence[tuple[str, str]],
) -> Parts:
    """List the parts of the page.

    `form` is the file name of the CSV form for human labels. `unusable` contains a reason and a description
    for each unusable line of the label file.
    """
    a, b = figures.criteria
    planted = figures.planted
    return [
        PagePart("losses", "Which module is at fault", "Module at fault", list(_show_losses(figures))),
        PagePart(
            "fault",
            f"{a} versus {b}: which module causes the difference",
            f"{a.capitalize()} versus {b}",
            list(_show_contrasts(figures, assessed)),
        ),
        PagePart("rates", "Rates", "Rates", [TextBlock(RATES), *_show_rates(figures)]),
        PagePart("groups", "Groups by tag", "Groups", [TextBlock(GROUPS), Charts(draw_tags(figures))]),
        PagePart(
            "planted",
            "Documents withheld on purpose",
            "Withheld documents",
            list(_show_planted(planted)) if planted else [],
        ),
        PagePart("tables", "The paper's tables", "Tables 1 to 4", [_show_tables(figures)]),
        PagePart(
            "people", "Judge and people", "Judge and people", list(_show_people(figures, form, unusable))
        ),
        Browse("Questions", viewer),
        make_about_part(about),
    ]


def _show(value: float | None) -> Cell:
    """Make the table cell for a count, or for a figure whose denominator is in another cell."""
    return Cell(value, 0, 0, None, "", "none" if value is None else "")


def _pair(low: float | None, high: float | None) -> Interval | None:
    return None if low is None or high is None else (low, high)


def _tag_module(module: str | None) -> tuple[str, str]:
    if module == NONE_SHOWN:
        return "no module named", "off"
    return (module, "bad") if module else ("unknown", "off")


def _show_losses(figures: AssessmentFigures) -> Iterator[PartBlock]:
    losses, fault = figures.losses, figures.fault
    yield TextBlock(
        f"{losses.wrong:,} of {losses.n:,} answers in the {fault.set} set are wrong ({fault.mode} mode). "
        f"Finding: {losses.why}.",
        "",
        _tag_module(losses.module),
    )
    if losses.parts:
        pointers = [
            [f"/losses/parts/{n}/wrong", f"/losses/parts/{n}/share"] for n in range(len(losses.parts))
        ]
        if losses.of_enough is not None:
            pointers.append(["/losses/of_enough/wrong", "/losses/of_enough/share"])
        yield TableBlock({"losses": tabulate_losses(losses)}, folded=False, pointers={"losses": pointers})
    yield TextBlock(LOSSES)


def tabulate_losses(losses: Losses) -> FigureTable:
    """Tabulate the wrong answers by module."""
    rows = [("unknown" if part.module == NOT_TOLD else part.module, part) for part in losses.parts]
    if losses.of_enough is not None:
        rows.append(("model, if the retrieved documents are sufficient", losses.of_enough))
    columns: dict[str, Callable[[ModuleLoss], Cell]] = {
        "questions": lambda part: _show(part.wrong),
        "share": _show_share,
    }
    return tabulate(("Module",), rows, columns)


def _show_share(part: ModuleLoss) -> Cell:
    interval = _pair(part.low, part.high)
    why = "" if interval else explain_missing(part.clusters, TEMPLATES)
    return Cell(part.share, part.n, 0, interval, "questions", why)


def _show_contrasts(figures: AssessmentFigures, assessed: Sequence[AssessedQuestion]) -> Iterator[PartBlock]:
    """Yield the test that determines which module the headline names, and a collapsed box with all tests."""
    fault = figures.fault
    yield TextBlock(AGAINST)
    yield from _show_contrast(figures, assessed, fault.set, fault.mode, fault.rule)
    every = [
        block
        for name, modes in figures.hypothesis.items()
        for mode in modes
        for block in _show_contrast(figures, assessed, name, mode)
    ]
    yield Folded("All tables: both sets, both modes and every rule", every)


def _show_contrast(
    figures: AssessmentFigures, assessed: Sequence[AssessedQuestion], name: str, mode: str, rule: str = ""
) -> Iterator[PartBlock]:
    """Yield the comparison of criteria A and B in one set and mode.

    The comparison covers the rule of attribution `rule`, or all rules if `rule` is empty.
    """
    test = figures.hypothesis[name][mode]
    rates = {
        rate: contrast
        for rate, contrast in test.rates.items()
        if _split_rate(rate)[0] in ("", rule or _split_rate(rate)[0])
    }
    links = [_link_answers(figures, assessed, name, mode, rate, contrast) for rate, contrast in rates.items()]
    key = f"contrast-{name}-{mode}{f'-{rule}' if rule else ''}"
    yield TableBlock(
        {key: tabulate_contrast(figures.criteria, test, rates, f"{name} set, {mode} mode")},
        folded=False,
        narrows={key: [[*link, "", "", ""] for link in links]},
    )
    for tested, found in test.fault.items():
        if tested == (rule or tested):
            yield TextBlock(f"Rule “{tested}”: {found.why}.", "dim", _tag_module(found.module))


def tabulate_contrast(
    criteria: tuple[str, str], test: CriteriaTest, rates: Mapping[str, Contrast], title: str
) -> FigureTable:
    """Tabulate rates under two criteria, their differences, and p values."""
    a, b = criteria
    few = "; with so few templates, the intervals are too narrow" if 0 < test.clusters < FEW else ""
    columns: dict[str, Callable[[Contrast], Cell]] = {
        a: lambda contrast: Cell(contrast.a, contrast.n_a, 0, None, "rows"),
        b: lambda contrast: Cell(contrast.b, contrast.n_b, 0, None, "rows"),
        f"{a} minus {b}": _show_difference,
        "p": lambda contrast: _show_p(contrast.p_value, contrast),
        "p, Holm": lambda contrast: _show_p(contrast.p_holm, contrast),
    }
    said = (
        f"The tests cover the questions of {test.clusters:,} SQL templates{few}."
        if rates
        else "No answer to a question with these criteria is scored."
    )
    return tabulate(
        ("Share of questions",),
        [(_name_rate(rate), contrast) for rate, contrast in rates.items()],
        columns,
        title,
        forms=("", "", "shift:1", "p", "p"),
        notes=(said,),
    )


def _show_difference(contrast: Contrast) -> Cell:
    """Make the cell for a difference between rates, with the number of SQL templates as denominator."""
    interval, why = _pair(contrast.low, contrast.high), ""
    if interval is None and contrast.difference is not None:
        why = explain_missing(contrast.clusters, TEMPLATES)
    elif interval is None:
        why = "none"
    return Cell(contrast.difference, contrast.clusters, 0, interval, "templates", why)


def _show_p(p_value: float | None, contrast: Contrast) -> Cell:
    """Make the cell for a p value. If there is no p value, the cell states why."""
    few = f"no p-value: fewer than {LEAST} {TEMPLATES}" if contrast.clusters < LEAST else "not tested"
    return _show(p_value) if p_value is not None else leave_empty(few, TEMPLATES)


def _split_rate(rate: str) -> tuple[str, str]:
    """Return the rule and the module in a rate's name, such as `module.siblings.model`; both may be empty."""
    _, _, rest = rate.partition(".")
    rule, _, module = rest.partition(".")
    return rule, module


def _name_rate(rate: str) -> str:
    rule, module = _split_rate(rate)
    return {
        "accuracy": "correct answers",
        "robustness": "correct answers, mutual gaps excluded",
        "context": f"sufficient context (rule {rule}), mutual gaps excluded",
        "module": f"wrong: {module} at fault (rule {rule})",
    }[rate.partition(".")[0]]


def _link_answers(
    figures: AssessmentFigures,
    assessed: Sequence[AssessedQuestion],
    name: str,
    mode: str,
    rate: str,
    contrast: Contrast,
) -> tuple[str, str]:
    """Return two viewer filters, for criteria A and B, that select the wrong answers caused by a module.

    The viewer tags a group by all its questions, but a test tags a group only by its questions in the test's
    set. If the viewer and the test count different numbers of answers, or if no answer is found, the filter
    is "". Both filters are "" if `rate` names no module.
    """
    rule, module = _split_rate(rate)
    if not module:
        return "", ""

    def link(criterion: str, share: float | None, n: int) -> str:
        found = sum(
            row.find_module(mode, rule) == module
            for row in assessed
            if row.question.criterion == criterion and name in row.sets
        )
        if not found or share is None or found != round(share * n):
            return ""
        wanted = {"set": name, "criterion": criterion, "mode": mode, "rule": rule, "module": module}
        return urlencode(wanted)

    a, b = figures.criteria
    return link(a, contrast.a, contrast.n_a), link(b, contrast.b, contrast.n_b)


def _show_rates(figures: AssessmentFigures) -> Iterator[PartBlock]:
    for name, modes in figures.rates.items():
        for mode, parts in modes.items():
            key = f"rates-{name}-{mode}"
            pointers = [
                ["", *(f"/rates/{name}/{mode}/{part}/{field}" for field in RATE_FIELDS)] for part in parts
            ]
            table = tabulate_rates(parts, f"{name} set, {mode} mode")
            yield TableBlock({key: table}, folded=False, pointers={key: pointers})


def tabulate_rates(parts: Mapping[str, Rates], title: str) -> FigureTable:
    """Tabulate the rates of one set in one mode. `parts` contains the rates by criterion or `all`."""
    columns: dict[str, Callable[[Rates], Cell]] = {
        "scored": lambda rates: Cell(rates.n_scored, rates.n, 0, None, "questions"),
        "accuracy": lambda rates: rates.show("accuracy"),
        "consistent across phrasings (R, Eq. 2)": lambda rates: rates.show("robustness"),
        "answered in at least one phrasing (Acc_retrieval_db, Eq. 1)": lambda rates: rates.show(
            "retrieval_db_accuracy"
        ),
        "never answered (λ, Eq. 3)": lambda rates: rates.show("gap_share"),
    }
    return tabulate(("Questions",), parts.items(), columns, title, forms=("", *["scale"] * 4))


def draw_tags(figures: AssessmentFigures) -> list[Bars]:
    """Draw bar charts of the number of groups by tag, one chart per set and mode."""
    tags = (GAP, NON_ROBUST, ROBUST)
    return [
        Bars(
            f"{name} set, {mode} mode",
            tags,
            [
                Bar("both criteria" if part == "mutual" else part, [counts[tag] for tag in tags])
                for part, counts in parts.items()
            ],
            tones={GAP: "warn", NON_ROBUST: "s1"},
        )
        for name, modes in figures.gaps.items()
        for mode, parts in modes.items()
    ]


def _show_planted(planted: PlantedGaps) -> Iterator[PartBlock]:
    touched = (
        f" The table leaves out {count_of(len(planted.touched), 'group')} with some true documents left."
        if planted.touched
        else ""
    )
    yield TextBlock(
        f"The assessment removed {count_of(planted.documents, 'document')} from the corpus. As a result, "
        f"{count_of(len(planted.planted), 'group')} lost all true documents.{touched} The table shows how "
        "many of the groups without true documents are detected as gaps."
    )
    columns: dict[str, Callable[[GapRecovery], Cell]] = {
        "recall": lambda found: _show_found(found.recall, found.planted, found.recall_interval),
        "precision": lambda found: _show_found(found.precision, found.called, found.precision_interval),
        "found": lambda found: _show(found.found),
        "planted": lambda found: _show(found.planted),
        "called": lambda found: _show(found.called),
    }
    rows = [((rule, mode), found) for rule, modes in planted.rules.items() for mode, found in modes.items()]
    table = tabulate(("Gap detected by", "mode"), rows, columns, forms=("scale", "scale", "", "", ""))
    yield TableBlock({"planted": table}, folded=False)


def _show_found(share: float | None, groups: int, interval: Interval | None) -> Cell:
    """Make the cell for a share of groups, with the number of groups as the denominator."""
    if share is None:
        return leave_empty("none", "groups")
    return Cell(share, groups, 0, interval, "groups", "" if interval else explain_missing(groups, "groups"))


def _show_tables(figures: AssessmentFigures) -> TableBlock:
    """Return the paper's tables; a note under Table 3 states the number of mutual gaps."""
    gaps = figures.gaps["unbalanced"]
    mutual = " and ".join(f"{counts['mutual'][GAP]} in {mode} mode" for mode, counts in gaps.items())
    said = (
        "In each column, a group is a gap if no text with the column's criterion is answered correctly. In "
        "the unbalanced set, the number of mutual gaps (groups without a correct answer under either "
        f"criterion) is {mutual}."
    )
    return TableBlock(
        {
            number: note(table, said) if number == "3" else table
            for number, table in sorted(figures.tables.items())
        },
        closed=("3",),
    )


def _show_people(
    figures: AssessmentFigures, form: str, unusable: Sequence[tuple[str, str]]
) -> Iterator[PartBlock]:
    judge = figures.judge
    named = (("all verdicts", judge.people), ("the judge's own verdicts", judge.people_by_judge))
    people = {name: agreement for name, agreement in named if agreement is not None}
    yield TextBlock(PEOPLE if people else UNLABELLED)
    if people:
        yield TableBlock({"people": tabulate_people(people)}, folded=False)
    if people and unusable:
        lines = [(reason.replace("_", " "), detail) for reason, detail in unusable]
        yield Folded(f"{count_of(len(unusable), 'line')} of the label file could not be used", [Facts(lines)])
    words = " or ".join(Correctness)
    yield FormLink(
        form,
        "Answers to label (CSV)",
        f"Write {words} in the “label” column, and your name in the “rater” column. Then put the file into "
        "data/labels, and set this assessment's `labels` in params.yaml to the path of the file.",
    )


def tabulate_people(people: Mapping[str, HumanAgreement]) -> FigureTable:
    """Tabulate the agreement of verdicts with human labels. The keys of `people` are names of verdicts."""
    columns: dict[str, Callable[[HumanAgreement], Cell]] = {
        "same verdict": lambda found: _show_agreement(found.agreement, found.n, _pair(found.low, found.high)),
        "Cohen's kappa": lambda found: _show_agreement(found.kappa, found.n, found.kappa_interval),
        "agreement among people (Krippendorff's alpha)": lambda found: _show_agreement(
            found.raters_alpha, found.n_rated, found.raters_alpha_interval
        ),
        "labelled answers": lambda found: _show(found.n_items),
        "answers on which people are evenly split": lambda found: _show(found.n_unsettled),
        "answers without a verdict": lambda found: _show(found.n_unscored),
    }
    return tabulate(("Verdicts",), people.items(), columns, forms=("scale", *[""] * 5))


def _show_agreement(value: float | None, answers: int, interval: Interval | None) -> Cell:
    if value is None:
        return leave_empty("not defined", "answers")
    return Cell(
        value, answers, 0, interval, "answers", "" if interval else explain_missing(answers, "answers")
    )
