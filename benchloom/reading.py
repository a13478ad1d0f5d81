"""Read samples, calls, figures and lineage of a project or a published dataset as tables.

pyarrow reads the files; pandas is used only if a DataFrame is requested. Both packages are imported on the
first read.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

from benchloom.places import Refused, find_project, import_from
from benchloom.results import list_cells

Form = Literal["pandas", "arrow"]
CARD = "README.md"
ROWS = (".jsonl", ".parquet")
CALLS = ".calls.parquet"
# pyarrow cannot read a line that is longer than a block; its default is 1 MiB.
JSON_BLOCK = 64 * 1024 * 1024
"""The maximum length of a line in a JSON file, in bytes."""


class Unreadable(ValueError):
    """The requested data does not exist or cannot be read; the message lists the available data."""


def samples(place: str | Path = ".", name: str = "", *, form: Form = "pandas") -> Any:
    """Read the questions of a dataset, one row per question.

    `place`: a project, a folder of a published dataset, or a single data file. `name`: in a project, an entry
    of params.yaml (`films`, `longform.sets.sample`) or the path of an artifact. In a dataset's folder, `name`
    is one of the card's configurations, by default the card's default. `form`: `pandas` for a
    pandas.DataFrame, `arrow` for a pyarrow.Table.

    The columns are described on the dataset's card. All datasets have `id` and `origin`. `origin` lists the
    kind and reference of every source of the row. GRAMMAR's datasets have `group` (questions with the same
    answer), `criterion`, `question`, `answer`, `sql`, `sql_template`, `text_template` and `answer_rows`
    (JSON). Raises Unreadable if the dataset does not exist.
    """
    path = Path(place)
    if path.is_file():
        return give(read_rows(path), form)
    if is_dataset(path):
        return give(read_rows(find_config(path, name)), form)
    root = require_project(path)
    if name.endswith(ROWS):
        return give(read_rows(root / name), form)
    found = list_samples(root)
    return give(read_rows(root / choose(found, name, f"{root}: samples")), form)


def calls(place: str | Path = ".", name: str = "", *, form: Form = "pandas") -> Any:
    """Read the model calls that produced artifacts, one row per call.

    `place`: a project, a folder of artifacts, or a single file of calls. `name`: in a project, an entry of
    params.yaml or a folder below data/ (`grammar/films`); by default all calls are read.

    Columns that identify a call: `artifact` (path of the calls file), `id` (ledger key), `stage`, `row`,
    `role`, `model`, `identity`, `sample`, `attempt`, `epoch`. Columns of the request: `prompt` (the prompt's
    name), `prompt_digest`, and the JSON columns `messages`, `decoding` and `constraint`. Columns of the
    reply: `text`, `finish_reason`, `parsed`, `problem`, `prompt_tokens` and `completion_tokens`. `estimated`
    is true if the provider did not count the tokens. Raises Unreadable if there are no calls.
    """
    pa = import_arrow()
    path = Path(place)
    root = path if path.is_file() or is_dataset(path) else find_project(path) or path
    if name and (root / "params.yaml").is_file():
        below = root / choose(list_folders(root), name, f"{root}: calls")
    else:
        below = root / name
    files = [below] if below.is_file() else sorted(below.rglob(f"*{CALLS}"))
    # No recorded artifact was made with the calls of a preview.
    files = [file for file in files if ".preview" not in file.parts]
    if not files:
        raise Unreadable(f"{below}: contains no calls (files that end in {CALLS})")
    tables = [(file, read_rows(file)) for file in files]
    named = [
        table.add_column(0, "artifact", [[name_file(file, root)] * table.num_rows]) for file, table in tables
    ]
    return give(pa.concat_tables(named, promote_options="default"), form)


def figures(place: str | Path = ".", name: str = "", *, form: Form = "pandas") -> Any:
    """Read the figures that reports show, one row per figure.

    `place`: a project, or a folder of reports. `name`: text that the path of a report must contain, such as
    `films-good`.

    Columns: `report` is the path of the report.json. `pointer` is the figure's JSON pointer in that file.
    `flow` and `name` are the names of the flow and of the entry. `label` is the figure's label. `note` is the
    text next to the label, such as an interval. `label` and `note` are empty for a figure without a label.
    `value` is null if the figure has no numeric value. `measure` states how the value is computed. `lineage`
    accepts `report#pointer` as a target. Raises Unreadable if there are no reports.
    """
    pa = import_arrow()
    path = Path(place)
    root = find_project(path) or path
    below = root / "data/reports" if (root / "data/reports").is_dir() else root
    files = [file for file in sorted(below.rglob("report.json")) if name in name_file(file, root)]
    if not files:
        raise Unreadable(f"{below}: contains no report.json{f' with {name!r} in its path' if name else ''}")
    rows = [row for file in files for row in read_report(file, name_file(file, root))]
    texts = ("report", "pointer", "flow", "name", "label", "note")
    columns = {**dict.fromkeys(texts, pa.string()), "value": pa.float64(), "measure": pa.string()}
    return give(pa.Table.from_pylist(rows, schema=pa.schema(columns)), form)


def lineage(target: str, row: str = "", *, place: str | Path = ".", form: Form = "pandas") -> Any:
    """Trace a figure, an artifact or one of its rows back to its sources, one row per node.

    `target`: the path of an artifact in the project, or `report.json#/pointer` for a figure. `row`: the id of
    a row; required for a dataset. `place`: a project, or the folder of a published dataset. For a dataset,
    `target` is a configuration (`balanced`), and the trace covers only the files in the folder.

    Columns: `kind` is figure, row, call, prompt, source, raw, evidence, stage, file or gap. `reference`
    identifies the node among nodes of the same kind. `made_from` lists the references of the node's parents.
    `summary` has details as JSON. Raises Unreadable if the target is unknown.
    """
    pa = import_arrow()
    path = Path(place)
    rows = list(walk_dataset(path, target, row) if is_dataset(path) else walk_project(path, target, row))
    made_from = pa.list_(pa.string())
    columns = {"kind": pa.string(), "reference": pa.string(), "made_from": made_from, "summary": pa.string()}
    return give(pa.Table.from_pylist(rows, schema=pa.schema(columns)), form)


def walk_project(place: Path, target: str, row: str) -> Iterator[dict[str, Any]]:
    """Trace a target of a project to its sources with the project's code; yield one row per node."""
    root = require_project(place)
    trace = borrow(root, "flows.commands.lineage").trace_target
    name, mark, pointer = target.partition("#")
    # `trace_target` looks for a relative path in the current folder, not in `place`.
    found = ask(lambda: trace(f"{root / name}{mark}{pointer}", row or None, root))
    for node in found.nodes:
        summary = json.dumps(node.summary, ensure_ascii=False, sort_keys=True, default=str)
        made_from = [parent.reference for parent in node.parents]
        yield {"kind": node.kind, "reference": node.reference, "made_from": made_from, "summary": summary}
    for gap in found.gaps:
        yield {"kind": "gap", "reference": gap.at, "made_from": [], "summary": json.dumps({"what": gap.what})}


def walk_dataset(folder: Path, config: str, row: str) -> Iterator[dict[str, Any]]:
    """Trace a row of a published dataset through the other configurations; yield one row per node."""
    names = {name.rpartition("/")[2].partition(".")[0]: folder / name for name in list_files(folder)}
    rows: dict[str, dict[str, Any]] = {}

    def find(name: str, key: str) -> Mapping[str, Any] | None:
        if name not in rows:
            table = read_rows(names[name]).to_pylist() if name in names else []
            rows[name] = {str(item.get("id")): item for item in table}
        return rows[name].get(key)

    first = find_config(folder, config).stem
    if find(first, row) is None:
        raise Unreadable(f"{folder}: {first} has no row {row!r} (the column `id` of samples has the ids)")
    todo, seen = [("row", f"{first}#{row}")], set[tuple[str, str]]()
    while todo:
        kind, reference = thing = todo.pop(0)
        if thing in seen:
            continue
        seen.add(thing)
        name, _, key = reference.partition("#")
        item = (find(name, key) if kind == "row" else None) or {}
        origin = [(str(entry["kind"]), str(entry["reference"])) for entry in item.get("origin") or ()]
        todo += origin
        shown = {column: value for column, value in item.items() if column != "origin"}
        yield {
            "kind": kind,
            "reference": reference,
            "made_from": [made for _, made in origin],
            "summary": json.dumps(shown, ensure_ascii=False, sort_keys=True, default=str),
        }


# Find files


def is_dataset(path: Path) -> bool:
    """Return whether a folder is a published dataset: it has a card and data files, but no dvc.yaml."""
    return (path / CARD).is_file() and bool(list_files(path)) and not (path / "dvc.yaml").is_file()


def list_files(folder: Path) -> list[str]:
    """List a dataset's data files, except files of calls, relative to its folder."""
    return sorted(
        file.relative_to(folder).as_posix()
        for file in folder.rglob("*")
        if file.suffix in ROWS and file.is_file() and not file.name.endswith(CALLS)
    )


def find_config(folder: Path, name: str) -> Path:
    """Find the file of a configuration, by default the card's default; prefer JSON Lines to Parquet."""
    files = list_files(folder)
    found: dict[str, str] = {}
    for file in sorted(files, key=lambda file: file.endswith(".parquet")):
        found.setdefault(Path(file).stem, file)
    default = next(iter(read_defaults(folder)), "")
    wanted = name or (default if default in found else "")
    return folder / choose(found, wanted, f"{folder}: configurations")


def read_defaults(folder: Path) -> Iterator[str]:
    """Read the names of the card's configurations, the default first."""
    import yaml

    head = (folder / CARD).read_text(encoding="utf-8").split("---")
    try:
        card = yaml.safe_load(head[1]) if len(head) > 2 else {}
    except yaml.YAMLError as error:
        raise Unreadable(f"{folder / CARD}: the header is not valid YAML") from error
    configs = [config for config in (card or {}).get("configs") or () if isinstance(config, dict)]
    yield from (
        str(config.get("config_name"))
        for config in sorted(configs, key=lambda config: not config.get("default"))
    )


def require_project(place: Path) -> Path:
    """Return the root of the project that contains a folder. Raises Unreadable if there is none."""
    root = find_project(place)
    if root is None:
        what = "is neither a Benchloom project nor a dataset's folder (README.md beside .jsonl or .parquet)"
        raise Unreadable(f"{place.resolve()}: {what}" if place.exists() else f"{place}: does not exist")
    return root


def list_samples(root: Path) -> dict[str, str]:
    """Map each entry of params.yaml that has a samples file to the path of that file.

    The keys are dotted names (`databases.films`) and unique short names (`films`). The paths are relative to
    `root`.
    """
    found = {
        entry: f"{folder}/{scope.samples}.parquet"
        for entry, (scope, folder) in list_entries(root).items()
        if scope.samples
    }
    return add_short_names({entry: path for entry, path in found.items() if (root / path).is_file()})


def list_folders(root: Path) -> dict[str, str]:
    """Map each entry of params.yaml, and each artifact folder's path below data/, to the artifact folder."""
    found = {entry: folder for entry, (_, folder) in list_entries(root).items()}
    below = {folder.removeprefix("data/"): folder for folder in found.values()}
    return {**below, **add_short_names(found)}


def list_entries(root: Path) -> dict[str, tuple[Any, str]]:
    """Map each entry of params.yaml to a pair: its stages' scope (group of stages), and its artifact folder.

    The keys are dotted names. Entries for which no stage runs are omitted.
    """
    scopes = ask(borrow(root, "flows.discovery").list_scopes)
    settings = borrow(root, "flows.settings")
    params = ask(lambda: settings.load_params(root))
    found: dict[str, tuple[Any, str]] = {}
    for scope in scopes:
        for key, entry in (settings.get_section(params, scope.over) if scope.over else {}).items():
            folder = scope.folder.replace("${key}", key)
            for field, value in entry.items() if isinstance(entry, dict) else ():
                folder = folder.replace(f"${{item.{field}}}", str(value))
            found[f"{scope.over}.{key}"] = scope, folder
    return found


def add_short_names(entries: Mapping[str, str]) -> dict[str, str]:
    """Return the mapping with additional short keys: entry names without their section.

    An entry name that occurs in several sections gets no short key.
    """
    keys = [entry.rpartition(".")[2] for entry in entries]
    short = {key: path for key, path in zip(keys, entries.values(), strict=True) if keys.count(key) == 1}
    return {**entries, **short}


def choose(found: Mapping[str, str], name: str, what: str) -> str:
    """Choose a value by name, or the only value if no name is given.

    Raises Unreadable, with the known names, if no value or several values match.
    """
    if name in found:
        return found[name]
    if not name and len(set(found.values())) == 1:
        return next(iter(found.values()))
    there = (
        ", ".join(dict.fromkeys(sorted(found, key=found.__getitem__)))
        or "none yet: `benchloom run` creates them"
    )
    raise Unreadable(f"{what} {f'of {name!r} do not exist' if name else 'of which entry?'} (known: {there})")


def name_file(file: Path, root: Path) -> str:
    """Return a file's path relative to the root; outside the root, return the path unchanged."""
    return (
        file.relative_to(root).as_posix() if file.is_relative_to(root) and file != root else file.as_posix()
    )


# Read files


def import_arrow() -> Any:
    """Import and return pyarrow. Raises Unreadable, with the install command, if pyarrow is missing."""
    try:
        return import_module("pyarrow")
    except ModuleNotFoundError as error:
        raise Unreadable("pyarrow is missing: pip install 'benchloom[score]'") from error


def read_rows(path: Path) -> Any:
    """Read a data file as a pyarrow.Table."""
    pa = import_arrow()
    import pyarrow.json
    import pyarrow.parquet

    if not path.is_file():
        raise Unreadable(f"{path}: does not exist (`benchloom status` lists missing artifacts)")
    try:
        if path.suffix == ".parquet":
            return pyarrow.parquet.read_table(path)
        if path.suffix != ".jsonl":
            raise Unreadable(f"{path}: is not a .parquet or .jsonl file")
        return pyarrow.json.read_json(path, pyarrow.json.ReadOptions(block_size=JSON_BLOCK))
    except (pa.ArrowException, OSError) as error:
        raise Unreadable(f"{path}: cannot be read: {' '.join(str(error).split())[:200]}") from error


def read_report(file: Path, name: str) -> Iterator[dict[str, Any]]:
    """Yield all figures of a report, at any depth of its JSON."""
    try:
        report = json.loads(file.read_bytes())
    except ValueError as error:
        raise Unreadable(f"{file}: is not valid JSON ({error})") from error
    of = {"report": name, "flow": report.get("flow"), "name": report.get("name")}
    for pointer, figure in list_cells(report, ""):
        value = figure["value"]
        number = float(value) if isinstance(value, int | float) else None
        own = {key: str(figure.get(key) or "") for key in ("label", "note")}
        measure = str(figure["basis"].get("measure", ""))
        yield {**of, "pointer": pointer, **own, "value": number, "measure": measure}


def give(table: Any, form: Form) -> Any:
    """Return a table in the requested form."""
    if form == "arrow":
        return table
    if form == "pandas":
        return table.to_pandas()
    raise Unreadable(f"form={form!r}: expected `pandas` or `arrow`")


def borrow(root: Path, module: str) -> Any:
    """Import a module of a project's own code."""
    try:
        import_from(root)
    except Refused as error:
        raise Unreadable(str(error)) from error
    return import_module(module)


def ask(work: Callable[[], Any]) -> Any:
    """Call a function of a project's code, and convert its errors to Unreadable."""
    errors = import_module("tasks.errors")
    try:
        return work()
    except errors.BenchloomError as error:
        raise Unreadable(str(error)) from error
