"""Create an entry for `benchloom add dataset`: detect the dataset's format, and read ten items.

A folder with items.jsonl and dataset.json becomes an entry of `streambench.streams`. A set of questions with
reference answers (docs/ragcheck.md) becomes an entry of `ragcheck.sets`. A table of questions and answers
(docs/qa.md) becomes an entry of `qa.sets`. If a system is named, an entry of `qa.systems` is added, too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from flows.adding.addition import Addition, require_name, require_new, trying
from flows.parameters import Parameters, refuse, suggest, validate
from flows.run.model_settings import read_mapping
from flows.settings import get_section
from tasks.errors import BadInput
from tasks.qa.entries import Scoring

STREAMS = ("streambench", "streams")
SETS = ("ragcheck", "sets")
TABLES = ("qa", "sets")
EVALUATIONS = ("qa", "systems")
COMPARISONS = ("streambench", "evaluations")
NIGHTS = ("nightly", "assessments")
STREAM_FILES = ("items.jsonl", "dataset.json")
MTRAG_FIELDS = {"task_id", "targets"}
"""Fields that distinguish MTRAG tasks from other JSON Lines files."""
ROWS = 10


@dataclass(frozen=True)
class DatasetOptions:
    """Options of `add dataset`.

    `methods` applies only to streams. `columns`, `system`, `score` and `nightly` apply only to tables.
    """

    tried: bool = True
    replace: bool = False
    methods: tuple[str, ...] = ()
    """StreamBench methods to compare on the stream."""
    columns: Mapping[str, str] = field(default_factory=dict)
    """Field of an item -> the table's column that contains it."""
    system: str | None = None
    """Name of the system in `systems` that answers the questions."""
    score: Scoring = "rules"
    nightly: bool = False
    """Whether to repeat the evaluation every night."""

    @property
    def of_tables(self) -> bool:
        """Return whether any option was given that applies only to tables."""
        return bool(self.columns) or self.system is not None or self.nightly or self.score != "rules"


def add_dataset(
    root: Path, params: Parameters, name: str, place: Path, options: DatasetOptions = DatasetOptions()
) -> Addition:
    """Read a dataset's first ten items and return its entry.

    Raises BadInput if no flow can read the dataset.
    """
    require_name(name)
    path = place.expanduser().resolve()
    stream = all((path / file).is_file() for file in STREAM_FILES)
    if not stream and not options.methods and is_table(path):
        return add_table(root, params, name, path, options)
    if options.of_tables:
        raise BadInput(
            path,
            "is not a table of questions and answers; --system, --score, "
            "--nightly and the column options require such a table",
            hint="see docs/qa.md",
        )
    if stream:
        return add_stream(root, params, name, path, options)
    if options.methods:
        raise BadInput(
            path, "is not a streambench dataset, but --method requires one", hint="see docs/streambench.md"
        )
    return add_set(root, params, name, path, tried=options.tried, replace=options.replace)


def is_table(path: Path) -> bool:
    """Return whether a file is a table of questions and answers, not a `ragcheck` set with documents."""
    from tasks.qa.tables import ENDINGS, SPLITS, STATE
    from tasks.ragcheck.question_sets import QUESTIONS
    from tasks.scoring.item_tables import read_records

    if path.is_dir():
        names = [file.name for file in path.iterdir()]
        lines = any(name.endswith(".jsonl") for name in names)
        return (
            STATE in names or SPLITS in names or (not lines and any(name.endswith(ENDINGS) for name in names))
        )
    if path.suffix != ".jsonl":
        return path.name.endswith(ENDINGS)
    if path.name == QUESTIONS or not path.is_file():
        return False
    first = next(iter(read_records(str(path))), (0, {}))[1]
    return not (isinstance(first, Mapping) and first.keys() >= MTRAG_FIELDS)


def add_stream(root: Path, params: Parameters, name: str, path: Path, options: DatasetOptions) -> Addition:
    """Add a StreamBench dataset and, if methods are given, an evaluation of the methods on it.

    Raises BadInput if the folder is not in data/raw/streambench, or if its items cannot be read.
    """
    from tasks.streambench.build.items import FOLDER, items
    from tasks.streambench.entries import Stream, StreamEvaluation

    keys = (*STREAMS, name)
    require_new(params, keys, replace=options.replace)
    if path.parent != (root / FOLDER).resolve():
        raise BadInput(
            path,
            f"is not in {FOLDER}, the only folder from which streams are read",
            hint=f"copy it: cp -r {path} {root / FOLDER}/",
        )
    count = None
    if options.tried:
        with trying(params, keys):
            count = len(items(path.parent, Stream(datasets=(path.name,)), ROWS).rows)
    values: dict[tuple[str, ...], object] = {keys: {"datasets": [path.name]}}
    stage = f"streambench-items@{name}"
    if options.methods:
        compared = (*COMPARISONS, name)
        require_new(params, compared, replace=options.replace)
        values[compared] = {"stream": name, "methods": list(options.methods)}
        validate(StreamEvaluation, values[compared], compared, params)
        stage = f"streambench-evaluation-page@{name}"
    return make_addition(name, values, count, stage)


def add_set(root: Path, params: Parameters, name: str, path: Path, *, tried: bool, replace: bool) -> Addition:
    """Add a set of questions with reference answers. Raises BadInput for an unknown format."""
    from tasks.ragcheck.question_sets import recognise_set
    from tasks.ragcheck.questions import questions

    keys = (*SETS, name)
    require_new(params, keys, replace=replace)
    with trying(params, keys):
        found = recognise_set(path)
        count = len(questions(found.model_copy(update={"take": ROWS})).rows) if tried else None
    fields: dict[str, object] = {"kind": found.kind, "path": name_inside(root, found.path)}
    if found.language != "en":
        fields["language"] = found.language
    return make_addition(name, {keys: fields}, count, f"ragcheck-questions@{name}")


def add_table(root: Path, params: Parameters, name: str, path: Path, options: DatasetOptions) -> Addition:
    """Add a table of questions and answers and, if a system is named, the system's evaluation."""
    from tasks.qa.columns import QaColumns
    from tasks.qa.items import read_table

    keys = (*TABLES, name)
    require_new(params, keys, replace=options.replace)
    said, count = [], None
    if options.tried:
        with trying(params, keys):
            table = read_table(path, QaColumns(**options.columns))
        count = len(table.found.items)
        left_out = list(table.found.problems)
        said = [f"read {count} questions", *table.notes]
        said += [f"skipped {len(left_out)} rows; the first: {left_out[0]}"] if left_out else []
    fields = {
        "file": name_inside(root, path),
        **({"columns": dict(options.columns)} if options.columns else {}),
    }
    values: dict[tuple[str, ...], object] = {keys: fields}
    found: dict[str, object] = {} if count is None else {"items_read": count, "section": ".".join(TABLES)}
    following = f"benchloom run qa-items@{name}"
    if options.system is not None:
        entry = f"{name}-{options.system}"
        values |= describe_evaluation(params, entry, name, options)
        following = f"benchloom run qa-evaluation-page@{entry}"
        if options.nightly:
            following += f" && git add -A && git commit -m 'Add {entry}' && benchloom nightly once"
    elif options.nightly:
        raise BadInput(
            "--nightly", "requires a system that is evaluated every night", hint="add --system NAME"
        )
    return Addition("dataset", name, values, found, said, following)


def describe_evaluation(
    params: Parameters, entry: str, name: str, options: DatasetOptions
) -> dict[tuple[str, ...], object]:
    """Return the entries that evaluate a system on a table. Raises BadInput for an unsuitable system."""
    from tasks.systems.entries import SystemEntry, needs_documents

    system = str(options.system)
    systems = read_mapping(params, "systems", SystemEntry)
    if system not in systems:
        raise refuse(
            params, ["systems", system], "is not a system of params.yaml", hint=suggest(system, list(systems))
        )
    if needs_documents(systems[system]):
        raise refuse(
            params,
            ["systems", system],
            "retrieves from documents, but a table of questions has no documents",
            hint=(
                "name a system without retrieval, such as `alone`; for evaluations with documents, see "
                "docs/ragcheck.md"
            ),
        )
    require_new(params, (*EVALUATIONS, entry), replace=options.replace)
    scored = {} if options.score == "rules" else {"score": options.score}
    values: dict[tuple[str, ...], object] = {(*EVALUATIONS, entry): {"set": name, "system": system, **scored}}
    if options.nightly:
        nights = list((get_section(params, NIGHTS[0]) or {}).get(NIGHTS[1]) or [])
        values[NIGHTS] = [*nights, *([] if entry in nights else [entry])]
    return values


def name_inside(root: Path, path: Path) -> str:
    """Return a path relative to the project's folder, or the absolute path if it is outside."""
    return (path.relative_to(root) if path.is_relative_to(root) else path).as_posix()


def make_addition(
    name: str, values: Mapping[tuple[str, ...], object], count: int | None, stage: str
) -> Addition:
    """Return the `Addition` for a dataset. count: number of items read; None if the test was skipped."""
    section = ".".join(next(iter(values))[:-1])
    found = {} if count is None else {"items_read": count, "section": section}
    said = [] if count is None else [f"read {count} items of the dataset (reads at most {ROWS})"]
    return Addition("dataset", name, values, found, said, f"benchloom run {stage}")
