"""Stage: sample groups with a seed.

Systems are asked the balanced and unbalanced questions of these groups.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from pydantic import Field

from tasks.artifacts.rows import Drafts, Dropped, Origin, make_id
from tasks.databases.entry import DatabaseEntry
from tasks.grammar.construct.pairs import Question, take_turns
from tasks.grammar.corpus.true_documents import TrueDocument
from tasks.settings import Settings
from tasks.systems.contract import Document


class DatabaseSize(Settings):
    """The sample sizes for one database."""

    groups: int | None = Field(default=None, ge=1)
    """The number of groups; null means the value of `grammar.questions.groups`."""
    texts: int | None = Field(default=None, ge=1)
    """The maximum number of texts per group and criterion in both sets together; null means all texts. Texts
    of the balanced set come first."""


class Questions(Settings):
    """The settings in params.yaml under `grammar.questions`."""

    groups: int | None = Field(default=None, ge=1)
    """The number of groups, distributed over the SQL templates; null means all groups."""
    several: float = Field(default=0.4, ge=0, le=1)
    """The share of groups that need two or more documents.

    If too few groups need several documents, all such groups are used, and the dropped row `few_several`
    states how many there are.
    """
    criteria: tuple[str, ...] = Field(min_length=1)
    """The criteria for which every sampled group must have texts."""
    texts: int | None = Field(default=None, ge=1)
    """The maximum number of unbalanced texts per group and criterion; null means all texts."""
    sizes: Mapping[str, DatabaseSize] = Field(default_factory=dict)
    """Sample sizes for individual databases, by name."""
    grounded: bool = True
    """Whether to drop groups whose true documents are unknown, missing or incomplete.

    If false, these groups are sampled too, although the documents may not contain their answers.
    """
    seed: int = 0
    """The seed for sampling groups."""


@dataclass(frozen=True)
class AskedQuestion:
    """A sampled question for systems, and the sets that contain the question."""

    id: str
    group: str
    criterion: str
    question: str
    answer: str
    sql_template: str
    text_template: str
    in_balanced: bool
    in_unbalanced: bool
    true_document_ids: tuple[str, ...] | None
    """The ids of the documents that contain the answer; None if unknown."""
    origin: tuple[Origin, ...]


def questions(
    balanced: list[Question],
    unbalanced: list[Question],
    true_documents: list[TrueDocument],
    documents: list[Document],
    database: DatabaseEntry,
    params: Questions,
) -> Drafts[AskedQuestion]:
    """Sample groups with a seed; return the distinct questions of these groups, with flags for their sets.

    The drop reason of a question is `too_many_texts`. The dropped row `few_several` states that too few
    groups need several documents. With `params.grounded`, the dropped rows `no_document` and `untold` state
    how many groups of a SQL template are left out.
    """
    # The true documents are unknown if the documents lack a column that the question needs.
    true = {row.id: row.documents for row in true_documents if not row.untold}
    written = {document.id for document in documents}
    grounded = {group for group, ids in true.items() if ids and written.issuperset(ids)}
    eligible = (question for question in balanced if question.group in grounded or not params.grounded)
    ungrounded = note_ungrounded(balanced, grounded, true_documents) if params.grounded else []
    several = {group for group, ids in true.items() if len(ids) > 1}
    size = params.sizes.get(database.name, DatabaseSize())
    params = params.model_copy(update={"groups": size.groups or params.groups})
    groups = choose_groups(eligible, params, several)
    chosen = set(groups)
    in_balanced = {question.id for question in balanced}
    in_unbalanced, too_many = limit_texts(
        (question for question in unbalanced if question.group in chosen), params
    )
    chosen_questions, beyond = cut_texts(
        {
            question.id: question
            for question in [*balanced, *unbalanced]
            if question.group in chosen
            and question.criterion in params.criteria
            and (question.id in in_balanced or question.id in in_unbalanced)
        },
        in_balanced,
        size.texts,
    )
    rows = [
        AskedQuestion(
            id=question.id,
            group=question.group,
            criterion=question.criterion,
            question=question.question,
            answer=question.answer,
            sql_template=question.sql_template,
            text_template=question.text_template,
            in_balanced=question.id in in_balanced,
            in_unbalanced=question.id in in_unbalanced,
            true_document_ids=true.get(question.group),
            origin=_list_origins(question, in_balanced, true),
        )
        for question in chosen_questions
    ]
    dropped = [
        Dropped(question.id, "too_many_texts", question.question, _list_origins(question, in_balanced, {}))
        for question in {question.id: question for question in [*too_many, *beyond]}.values()
        if question in beyond or question.id not in in_balanced
    ]
    return Drafts(rows, [*dropped, *ungrounded, *note_shortfall(groups, several, balanced, params)])


def note_ungrounded(
    balanced: Iterable[Question], grounded: Collection[str], true_documents: Iterable[TrueDocument]
) -> list[Dropped]:
    """Return a dropped row per SQL template and reason, for the groups that are not in `grounded`.

    The reason is `untold` if the group's documents lack a column of the question. Otherwise, the reason
    is `no_document`: the true documents are unknown, or one of them was not written.
    """
    untold = {row.id: row.untold for row in true_documents if row.untold}
    left_out: defaultdict[tuple[str, str], list[Question]] = defaultdict(list)
    groups: defaultdict[str, set[str]] = defaultdict(set)
    for question in balanced:
        groups[question.sql_template].add(question.group)
        if question.group not in grounded:
            reason = "untold" if question.group in untold else "no_document"
            left_out[question.sql_template, reason].append(question)
    rows = []
    for (template, reason), questions in sorted(left_out.items()):
        names = {question.group for question in questions}
        columns = sorted({column for group in names for column in untold.get(group, ())})
        why = f"the documents do not state {', '.join(columns)}" if columns else "a row has no document"
        detail = f"SQL template {template}: {why} (groups: {len(names)} of {len(groups[template])})"
        origin = tuple(
            Origin("row", f"balanced#{name}") for name in sorted(question.id for question in questions)
        )
        rows.append(Dropped(make_id("questions", template, reason), reason, detail, origin))
    return rows


def choose_groups(
    balanced: Iterable[Question], params: Questions, several: Collection[str] = frozenset()
) -> list[str]:
    """Return up to `params.groups` groups with texts for every criterion, alternating between SQL templates.

    The order is seeded. `several` contains the groups that need two or more documents. The required number of
    these groups comes first.
    """
    criteria: defaultdict[str, set[str]] = defaultdict(set)
    templates = {}
    for question in balanced:
        criteria[question.group].add(question.criterion)
        templates[question.group] = question.sql_template
    eligible = sorted(
        (group for group, names in criteria.items() if names.issuperset(params.criteria)),
        key=lambda group: make_id("assessed", params.seed, group),
    )
    due = 0 if params.groups is None else round(params.several * params.groups)
    first = take_turns([group for group in eligible if group in several], templates.__getitem__)[:due]
    others = take_turns([group for group in eligible if group not in first], templates.__getitem__)
    return [*first, *others][: params.groups]


def note_shortfall(
    groups: Sequence[str], several: Collection[str], balanced: Iterable[Question], params: Questions
) -> list[Dropped]:
    """Return a dropped row if too few of the sampled groups need two or more documents."""
    due = round(params.several * len(groups))
    found = sum(group in several for group in groups)
    if params.groups is None or found >= due:
        return []
    chosen = set(groups)
    origin = {Origin("row", f"balanced#{question.id}") for question in balanced if question.group in chosen}
    detail = f"{found} of {len(groups)} groups need two documents or more; {due} are due"
    sources = tuple(sorted(origin, key=lambda source: source.reference))
    return [Dropped(make_id("questions", "several"), "few_several", detail, sources)]


def limit_texts(unbalanced: Iterable[Question], params: Questions) -> tuple[set[str], Sequence[Question]]:
    """Limit the unbalanced texts of `params.criteria` to `params.texts` per group and criterion.

    Returns the ids of the selected questions, and the questions beyond the limit.
    """
    kept: set[str] = set()
    beyond: list[Question] = []
    counts: Counter[tuple[str, str]] = Counter()
    for question in sorted(unbalanced, key=lambda question: question.text_template):
        if question.criterion not in params.criteria:
            continue
        counts[question.group, question.criterion] += 1
        if params.texts is not None and counts[question.group, question.criterion] > params.texts:
            beyond.append(question)
        else:
            kept.add(question.id)
    return kept, beyond


def cut_texts(
    chosen: Mapping[str, Question], in_balanced: Collection[str], most: int | None
) -> tuple[list[Question], list[Question]]:
    """Return the questions to ask, up to `most` per group and criterion, and the remaining questions.

    If `most` is None, all questions are asked.
    """
    if most is None:
        return list(chosen.values()), []
    counts: Counter[tuple[str, str]] = Counter()
    kept: set[str] = set()
    for question in sorted(
        chosen.values(),
        key=lambda question: (question.id not in in_balanced, make_id("asked", question.group, question.id)),
    ):
        counts[question.group, question.criterion] += 1
        if counts[question.group, question.criterion] <= most:
            kept.add(question.id)
    return (
        [question for name, question in chosen.items() if name in kept],
        [question for name, question in chosen.items() if name not in kept],
    )


def _list_origins(
    question: Question, in_balanced: set[str], true: dict[str, tuple[str, ...]]
) -> tuple[Origin, ...]:
    stem = "balanced" if question.id in in_balanced else "unbalanced"
    origin = [Origin("row", f"{stem}#{question.id}")]
    if question.group in true:
        origin.append(Origin("row", f"true_documents#{question.group}"))
    return tuple(origin)
