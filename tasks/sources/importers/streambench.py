"""Import StreamBench's release (Wu et al., 2024): seven datasets, with their rows in the published order.

On the Hugging Face Hub, the release is `appier-ai-research/StreamBench`, with one configuration per dataset.
The `datasets` library saves each configuration in a folder of `SPLIT-*.parquet` files. JSON Lines files with
the same columns can be read too. With `order: released` in params.yaml, a stream permutes these rows as in
the StreamBench paper.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import ClassVar, TypeVar

from tasks.errors import BadInput
from tasks.sources.base_importer import Imported, Project, argument, check_name, count_reasons, option
from tasks.sources.importer import FOLDER, NO_SHOTS, Importer, Sieve, read_own_shots
from tasks.sources.importers.bird import Bird
from tasks.sources.importers.cosql import Cosql
from tasks.sources.importers.ddxplus import Ddxplus
from tasks.sources.importers.ds1000 import Ds1000, make_problem
from tasks.sources.importers.hotpotqa import Hotpotqa, make_hotpotqa_item, make_hotpotqa_shot
from tasks.sources.importers.spider import Spider
from tasks.sources.importers.toolbench import DESCRIPTIONS, Toolbench, list_descriptions
from tasks.sources.json_records import BrokenRecord
from tasks.sources.released_splits import find_files, find_folder, open_released, read_rows
from tasks.sources.sql_importer import SqlImporter
from tasks.sources.sql_questions import (
    Placed,
    SqlQuestion,
    make_question,
    make_sql_items,
    make_sql_shots,
)
from tasks.sources.stream_dataset import (
    DatasetHead,
    DatasetItem,
    DatasetShot,
    LeftOutRecord,
    SplitRows,
    digest_file,
    tidy,
    tidy_line,
    write_dataset,
)

EXAMPLES = Path(__file__).parents[1] / "examples"
FIRST_SHOTS = 16
"""Number of few-shot examples to import for datasets where StreamBench uses the first rows of a split."""
DIAGNOSES = (
    "Acute COPD exacerbation / infection", "Acute dystonic reactions", "Acute laryngitis",
    "Acute otitis media", "Acute pulmonary edema", "Acute rhinosinusitis", "Allergic sinusitis",
    "Anaphylaxis", "Anemia", "Atrial fibrillation", "Boerhaave", "Bronchiectasis", "Bronchiolitis",
    "Bronchitis",
    "Bronchospasm / acute asthma exacerbation", "Chagas", "Chronic rhinosinusitis", "Cluster headache",
    "Croup", "Ebola", "Epiglottitis", "GERD", "Guillain-Barré syndrome", "HIV (initial infection)",
    "Influenza", "Inguinal hernia", "Larygospasm", "Localized edema", "Myasthenia gravis", "Myocarditis",
    "PSVT", "Pancreatic neoplasm", "Panic attack", "Pericarditis", "Pneumonia", "Possible NSTEMI / STEMI",
    "Pulmonary embolism", "Pulmonary neoplasm", "SLE", "Sarcoidosis", "Scombroid food poisoning",
    "Spontaneous pneumothorax", "Spontaneous rib fracture", "Stable angina", "Tuberculosis", "URTI",
    "Unstable angina", "Viral pharyngitis", "Whooping cough",
)  # fmt: skip
"""The 49 pathologies of DDXPlus in StreamBench's numbering: sorted by English name, starting at 0."""
Row = TypeVar("Row")
Made = TypeVar("Made", DatasetItem, DatasetShot)
NUMBERS = {name.lower(): number for number, name in enumerate(DIAGNOSES)}


@dataclass(frozen=True)
class Configuration:
    """The splits to read from a configuration of the release.

    - `dataset`: the importer for the same dataset's original release; it defines the kind, title and licence.
    - `split`: possible names of the evaluated split.
    - `rows`: maximum number of rows to read from the evaluated split; None means all rows.
    - `shots`: the split with the few-shot examples; empty if the release has no examples.
    - `shuffled`: whether the stream's seed shuffles the examples; otherwise the first rows are the examples.
    """

    dataset: type[Importer]
    split: tuple[str, ...] = ("test",)
    shots: str = ""
    shuffled: bool = False
    rows: int | None = None


CONFIGURATIONS: Mapping[str, Configuration] = {
    "spider": Configuration(Spider, shots="train", shuffled=True),
    "cosql": Configuration(Cosql, shots="train", shuffled=True),
    "bird": Configuration(Bird, shots="train", shuffled=True),
    "ds_1000": Configuration(Ds1000),
    "toolbench": Configuration(Toolbench),
    "ddxplus": Configuration(Ddxplus, shots="validate", shuffled=True),
    "hotpotqa_distract": Configuration(Hotpotqa, ("validation", "test"), "train", rows=1500),
}


class Streambench(SqlImporter):
    """Import StreamBench's released datasets. With `order: released`, streams are ordered as in the paper.

    PATH is a folder with a subfolder for each configuration, or the dataset's name on the Hugging Face Hub.
    Each configuration becomes a dataset of the same name.

    Example: benchloom import streambench StreamBench --config bird --databases dev_databases
    """

    name = "streambench"
    title, licence = "StreamBench", "that of each dataset"
    source = "https://huggingface.co/datasets/appier-ai-research/StreamBench"
    files = ("README.md",)
    database_folders: ClassVar[tuple[str, ...]] = ("databases", "database", "test_database", "dev_databases")

    path: Path = argument("The folder of the released dataset, or its name on the Hugging Face Hub.", "PATH")
    config: list[str] | None = option("A configuration to import. Repeatable. Default: all.", "NAME")
    named: str | None = option("Name of the new folder, if you give one --config.", "NAME", "--name")
    called: str = ""
    apis: Path | None = option("toolbench: the folder of the STE data with API_descriptions.json.", "DIR")
    keep: bool = option(
        "SQL: keep questions without a database; they are asked but not judged.", default=False
    )
    shots: Path | None = option(
        'ds_1000, toolbench: your own few-shot examples, JSON Lines with "text" and "answer".', "FILE"
    )
    take: None = None
    seed: int = 0

    def bring_in(self, project: Project) -> Imported:
        """Write a dataset for each configuration.

        Raises BadInput and writes nothing if no dataset can be read. With `--config`, it does so if
        any of the named datasets cannot be read.
        """
        self.project = project
        wanted = self._list_wanted()
        if self.named is not None:
            check_name(self.named)
        root = project.hold(open_released(self.path, wanted))
        found = {name: folder for name in wanted if (folder := find_folder(root, name)) is not None}
        if missing := [name for name in self.config or () if name not in found]:
            raise BadInput(
                self.path, f"has no folder {missing[0]}", hint="expected CONFIGURATION/SPLIT-*.parquet"
            )
        said: list[str] = []
        ended: list[str] = []
        left: list[str] = []
        writes: list[Callable[[], None]] = []
        for name, folder in found.items():
            try:
                lines, broken, write = self._read_one(name, folder)
            except BadInput as error:
                if self.config:
                    raise
                left.append(f"left out: {name}: {' '.join(str(error).split())}")
                continue
            said += lines
            ended += broken
            writes.append(write)
        if not said:
            there = left[0] if left else f"none of {', '.join(CONFIGURATIONS)} is in it"
            raise BadInput(
                self.path, there, hint="give a folder with CONFIGURATION/SPLIT-*.parquet or .jsonl"
            )
        for write in writes:
            write()
        entry = "streambench.streams.NAME: {datasets: [CONFIGURATION], order: released, reading: released}"
        return Imported([*said, f"now: {entry}, then benchloom graph"], ended=[*ended, *left])

    def _list_wanted(self) -> list[str]:
        names = list(dict.fromkeys(self.config or CONFIGURATIONS))
        if unknown := [name for name in names if name not in CONFIGURATIONS]:
            raise BadInput(
                "--config",
                f"{unknown[0][:80]!r} is not a configuration",
                hint=f"known: {', '.join(CONFIGURATIONS)}",
            )
        if self.named is not None and len(names) != 1:
            raise BadInput("--name", "needs exactly one configuration", hint="select it with --config")
        return names

    def _read_one(self, name: str, folder: Path) -> tuple[list[str], list[str], Callable[[], None]]:
        """Read a dataset; return lines to print, errors for damaged files, and a function that writes it."""
        configuration, self.folder = CONFIGURATIONS[name], folder
        self.__dict__.pop("known", None)  # a database of another configuration may have the same name
        self.__dict__.pop("places", None)
        streamed = next((files for split in configuration.split if (files := find_files(folder, split))), [])
        if not streamed:
            hint = " or ".join(f"{split}-*.parquet or {split}.jsonl" for split in configuration.split)
            raise BadInput(folder, "has no split that can be imported as a stream", hint=f"expected {hint}")
        examples = find_files(folder, configuration.shots) if configuration.shots else []
        own = self._find_own_shots(name)
        sieve, counted = Sieve(self.where), Counter[str]()
        rows = islice(read_rows(streamed), configuration.rows)
        read = partial(number_rows, rows, "test", partial(self._make_item, name), counted)
        items = list(sieve.sift(read, DatasetItem, "item"))
        if not items:
            hint = (
                "give the folder of the databases with --databases DIR"
                if sieve.skipped["no_database"]
                else sieve.first
            )
            raise BadInput(folder, f"none of the {counted['test']:,} rows can be imported", hint=hint)
        shots = list(sieve.sift(partial(self._read_shots, name, examples, own, counted), DatasetShot, "shot"))
        own_files = self._list_files_of(name, items)
        read_files = [*streamed, *examples, *([own] if own else [])]
        head = DatasetHead(
            self.named or name,
            configuration.dataset.kind,
            f"StreamBench's {configuration.dataset.title}",
            configuration.dataset.licence,
            self.source,
            configuration.dataset.stratum,
        )
        place = FOLDER / (self.named or name)
        write = partial(
            write_dataset,
            self.project.root / place,
            head,
            items,
            shots,
            own_files,
            {f"{name}/{file.name}": digest_file(file) for file in read_files},
            sieve.lost,
            rows=SplitRows(counted["test"], counted["example"], configuration.shuffled),
        )
        counts = (
            f"{len(items):,} items of {counted['test']:,} rows, {len(shots):,} shots, "
            f"{len(own_files):,} files"
        )
        lines = [
            f"{name}: {counts}: {place.as_posix()}",
            *count_reasons(sieve.skipped, place.as_posix(), len(sieve.lost)),
            *([] if shots else [f"{name}: {NO_SHOTS}"]),
            f"{name}: licence: {head.licence}",
        ]
        broken = [f"{name}: a record is broken: {sieve.ended}"] if sieve.ended else []
        return lines, broken, write

    def _find_own_shots(self, name: str) -> Path | None:
        """Return the file of examples if the configuration's release has no examples; otherwise None."""
        if CONFIGURATIONS[name].shots:
            return None
        return self.shots or EXAMPLES / f"{name}.jsonl"

    def _read_shots(
        self, name: str, files: Sequence[Path], own: Path | None, counted: Counter[str]
    ) -> Iterator[tuple[str, DatasetShot | LeftOutRecord]]:
        """Yield the examples, from the published split or from the file `own`."""
        if own is not None:
            yield from number_rows(read_own_shots(own), "example", lambda _, shot: shot, counted)
            return
        rows = islice(read_rows(files), None if CONFIGURATIONS[name].shuffled else FIRST_SHOTS)
        yield from number_rows(rows, "example", partial(self._make_shot, name), counted)

    def _make_item(self, name: str, key: str, row: object) -> DatasetItem | LeftOutRecord:
        """Return an item for a row of a configuration. `key`: the item's key if the row has no id."""
        record = row if isinstance(row, Mapping) else {}
        match name:
            case "ds_1000":
                return make_problem(record, int(key.rpartition("-")[2]))
            case "hotpotqa_distract":
                return make_hotpotqa_item(record, key)
            case "toolbench":
                return make_tool_query(record, key)
            case "ddxplus":
                return make_patient(record, key)
        question = self._make_question(key, record)
        if isinstance(question, LeftOutRecord):
            return question
        ((_, item),) = make_sql_items([(key, question)], self.look_up, keep=self.keep)
        return item

    def _make_shot(self, name: str, key: str, row: object) -> DatasetShot | LeftOutRecord:
        """Return a few-shot example for a row of a configuration."""
        record = row if isinstance(row, Mapping) else {}
        if name in {"ddxplus", "hotpotqa_distract"}:
            item = self._make_item(name, key, record)
            if isinstance(item, LeftOutRecord):
                return item
            if name == "hotpotqa_distract":
                return make_hotpotqa_shot(item)
            answer = f"{item.gold}. {DIAGNOSES[int(item.gold)]}"
            return DatasetShot(item.key, item.text, item.memory_key, answer)
        ((_, shot),) = make_sql_shots([(key, self._make_question(key, record))])
        return shot

    def _make_question(self, key: str, record: Mapping[str, object]) -> SqlQuestion | LeftOutRecord:
        return make_question(key, record.get("db_id"), record.get("question"), record.get("SQL"))

    def read_questions(self, path: Path) -> Placed:
        """Yield nothing, because `bring_in` reads the rows from several files."""
        return iter(())

    def _list_files_of(self, name: str, items: Sequence[DatasetItem]) -> Mapping[str, Path | bytes]:
        """Return the files below `files/`. Raises BadInput for `toolbench` if `--apis` is not set."""
        if name == "ddxplus":
            return {"diagnoses.json": (json.dumps(DIAGNOSES, ensure_ascii=False, indent=1) + "\n").encode()}
        if name == "toolbench":
            if self.apis is None:
                problem = "the released set has no descriptions of the APIs, which prompts show"
                raise BadInput(
                    self.folder,
                    problem,
                    hint=f"give --apis DIR, the folder of ToolBench's STE data that contains {DESCRIPTIONS}",
                )
            words = json.dumps(list_descriptions(self.apis), ensure_ascii=False, indent=1) + "\n"
            return {"descriptions.json": words.encode()}
        return self.list_files(items) if CONFIGURATIONS[name].dataset.kind == "sql" else {}


def number_rows(
    rows: Iterable[tuple[str, Row]],
    part: str,
    make: Callable[[str, Row], Made | LeftOutRecord],
    counted: Counter[str],
) -> Iterator[tuple[str, Made | LeftOutRecord]]:
    """Yield (position, record) for each row; `make` creates the record, which gets the row number.

    A LeftOutRecord gets no row number. `counted`: `part` -> number of rows, including invalid rows; updated
    in place.
    """
    for number, (where, row) in enumerate(rows):
        counted[part] += 1
        if isinstance(row, BrokenRecord):
            yield where, LeftOutRecord("broken", row.why)
            continue
        made = row if isinstance(row, LeftOutRecord) else make(f"{part}-{number}", row)
        yield where, made if isinstance(made, LeftOutRecord) else replace(made, row=number)


def make_tool_query(record: Mapping[str, object], key: str) -> DatasetItem | LeftOutRecord:
    """Convert a query with its gold API call to an item."""
    text, api = tidy_line(record.get("query")), tidy(record.get("api_name"))
    if not text or not api:
        return LeftOutRecord("incomplete", f"{key}: no {'api_name' if text else 'query'}")
    given = record.get("api_input")
    try:
        arguments = json.loads(given) if isinstance(given, str) else given
    except (ValueError, RecursionError):
        arguments = None
    if not isinstance(arguments, Mapping):
        return LeftOutRecord("bad_arguments", f"{key}: {str(given)[:80]}")
    # In Parquet, every row has the arguments of all APIs; arguments that the row's API lacks are null.
    call = {"api": api, "arguments": {name: value for name, value in arguments.items() if value is not None}}
    return DatasetItem(key, text, text, "", json.dumps(call, ensure_ascii=False), call)


def make_patient(record: Mapping[str, object], key: str) -> DatasetItem | LeftOutRecord:
    """Return an item for a patient's profile; the gold answer is the pathology's number."""
    text, name = tidy(record.get("PATIENT_PROFILE")), tidy_line(record.get("PATHOLOGY"))
    number = NUMBERS.get(name.lower())
    if not text:
        return LeftOutRecord("incomplete", f"{key}: no PATIENT_PROFILE")
    if number is None:
        return LeftOutRecord("unknown_condition", f"{key}: {name[:80]}")
    return DatasetItem(key, text, text, "", str(number), {"pathology": DIAGNOSES[number]})
