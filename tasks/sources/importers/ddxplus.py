"""Import DDXPlus (Fansi Tchango et al., 2022; CC BY 4.0): patients with one of 49 medical conditions.

`release_test_patients` is a CSV file, or a zip file that contains one; the suffix is optional. Its columns
are AGE, SEX, PATHOLOGY, EVIDENCES and INITIAL_EVIDENCE. EVIDENCES is a list of codes; the code `E_55_@_V_29`
is the evidence `E_55` with the value `V_29`. `release_evidences.json` contains the question for each code.
`release_conditions.json` lists the conditions; the label of a condition is its position in this list.
"""

from __future__ import annotations

import csv
import io
import json
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from tasks.errors import BadInput
from tasks.sources.base_importer import option
from tasks.sources.importer import Importer
from tasks.sources.stream_dataset import DatasetItem, DatasetShot, LeftOutRecord, tidy, tidy_line
from tasks.sources.whole_json import read_json_object

CONDITIONS, EVIDENCES = "release_conditions.json", "release_evidences.json"
COLUMNS = ("AGE", "SEX", "PATHOLOGY", "EVIDENCES", "INITIAL_EVIDENCE")
LABELS = 49
# Limits of untrusted input: the size of a CSV field, and of the unpacked CSV file.
FIELD_BYTES = 1_000_000
MOST_BYTES = 8 * 2**30
SEXES = {"F": "female", "M": "male"}
TAKEN = 36 * LABELS
"""Default number of patients (T in STREAMBENCH, appendix F.2.6): 36 per diagnosis."""


class Ddxplus(Importer):
    """Import DDXPlus patients, balanced across diagnoses, as a dataset for streambench.

    Example: benchloom import ddxplus ddxplus --take 490
    """

    name = "ddxplus"
    kind = "ddxplus"
    title, licence, source = "DDXPlus", "CC BY 4.0", "https://github.com/mila-iqia/ddxplus"
    files = (CONDITIONS,)
    stratum = "pathology"

    take: int | None = option(
        "Number of patients, balanced across diagnoses. Default: 1,764; 0: all.", "N", least=0
    )

    def read_items(self) -> Iterator[tuple[str, DatasetItem | LeftOutRecord]]:
        """Yield the patients of the test split as items."""
        return read_patients(self.tested, self.words)

    def read_shots(self) -> Iterator[tuple[str, DatasetShot | LeftOutRecord]]:
        """Yield the patients of the validation split as few-shot examples, if that split exists."""
        for where, item in read_patients(self.others, self.words) if self.others else ():
            if isinstance(item, LeftOutRecord):
                yield where, item
            else:
                answer = f"{item.gold}. {self.words.conditions[int(item.gold)]}"
                yield where, DatasetShot(item.key, item.text, item.memory_key, answer)

    def list_files(self, items: Sequence[DatasetItem]) -> Mapping[str, Path | bytes]:
        """Return diagnoses.json: the names of the diagnoses, in the order of their labels."""
        labels = json.dumps(list(self.words.conditions), ensure_ascii=False, indent=1) + "\n"
        return {"diagnoses.json": labels.encode()}

    def list_read(self) -> Sequence[Path]:
        """List the vocabulary files and the split files, whose checksums the dataset stores."""
        vocabulary = [self.folder / CONDITIONS, self.folder / EVIDENCES]
        return [*vocabulary, self.tested, *([self.others] if self.others else [])]

    def find_take(self) -> int | None:
        """Return the number of patients to sample, by default StreamBench's number; None for all patients."""
        if self.take is not None:
            return self.take or None
        count = sum(not isinstance(item, LeftOutRecord) for _, item in self.read_items())
        return min(TAKEN, count) or None

    @cached_property
    def words(self) -> Vocabulary:
        """Return the release's vocabulary: its conditions and evidences."""
        return read_vocabulary(self.folder)

    @cached_property
    def tested(self) -> Path:
        """Return the file with the patients of the test split. Raises BadInput if it is missing."""
        # `self.words` is read first, so that an error in the vocabulary is reported before missing patients.
        found = find_patients(self.folder, "test") if self.words else None
        if found is None:
            what = "contains no release_test_patients (.zip, .csv)"
            raise BadInput(self.path, what, hint="give the folder of the DDXPlus release")
        return found

    @cached_property
    def others(self) -> Path | None:
        """Return the file with the patients of the validation split; None if it does not exist."""
        return find_patients(self.folder, "validate")


@dataclass(frozen=True)
class Vocabulary:
    """The conditions and evidences (symptoms and history) of the release.

    - `conditions`: names; a condition's index is its label.
    - `questions`: evidence code -> question.
    - `values`: (evidence code, value) -> meaning.
    - `antecedents`: the codes of questions about the patient's history.
    """

    conditions: tuple[str, ...]
    questions: Mapping[str, str]
    values: Mapping[tuple[str, str], str]
    antecedents: frozenset[str]


def read_vocabulary(folder: Path) -> Vocabulary:
    """Return the conditions and evidences. Raises BadInput if a file is not valid."""
    conditions, evidences = read_json_object(folder / CONDITIONS), read_json_object(folder / EVIDENCES)
    names = tuple(tidy_line(name) for name in conditions)
    if len(set(names)) != LABELS:
        raise BadInput(folder / CONDITIONS, f"has {len(set(names))} conditions; expected {LABELS}")
    questions: dict[str, str] = {}
    values: dict[tuple[str, str], str] = {}
    antecedents = set()
    for code, record in evidences.items():
        own = record if isinstance(record, Mapping) else {}
        questions[code] = tidy_line(own.get("question_en"))
        if own.get("is_antecedent") is True:
            antecedents.add(code)
        meanings = own.get("value_meaning")
        for value, meaning in meanings.items() if isinstance(meanings, Mapping) else ():
            values[code, value] = tidy_line(meaning.get("en")) if isinstance(meaning, Mapping) else ""
    return Vocabulary(names, questions, values, frozenset(antecedents))


def find_patients(folder: Path, split: str) -> Path | None:
    """Return the file with the patients of a split (`test`, `validate`, `train`); None if it is missing."""
    name = f"release_{split}_patients"
    places = [folder / f"{name}{ending}" for ending in (".zip", ".csv", "")]
    return next((place for place in places if place.is_file()), None)


def read_patients(path: Path, words: Vocabulary) -> Iterator[tuple[str, DatasetItem | LeftOutRecord]]:
    """Yield patients as items; the key `test-12` joins the split and the row index."""
    split = path.name.removeprefix("release_").partition("_")[0].partition(".")[0]
    with _open_table(path) as lines:
        rows = csv.DictReader(lines)
        if missing := [name for name in COLUMNS if name not in (rows.fieldnames or ())]:
            raise BadInput(
                path, f"has no column {missing[0]}", hint="use an unmodified file of the DDXPlus release"
            )
        number = -1
        while True:
            number += 1
            try:
                with _long_fields():
                    row = next(rows, None)
            except (csv.Error, UnicodeDecodeError, zipfile.BadZipFile, OSError, EOFError) as error:
                yield f"row {number + 1}", LeftOutRecord("broken", str(error)[:200])
                return
            if row is None:
                return
            yield f"row {number + 1}", _make_item(f"{split}-{number}", row, words)


@contextmanager
def _long_fields() -> Iterator[None]:
    """Raise the process-wide limit on the size of CSV fields during the `with` block."""
    before = csv.field_size_limit(FIELD_BYTES)
    try:
        yield
    finally:
        csv.field_size_limit(before)


def _make_item(key: str, row: Mapping[str, object], words: Vocabulary) -> DatasetItem | LeftOutRecord:
    name = tidy_line(row.get("PATHOLOGY"))
    if name not in words.conditions:
        return LeftOutRecord("unknown_condition", f"{key}: {name[:80]}")
    age, sex = tidy_line(row.get("AGE")), SEXES.get(tidy_line(row.get("SEX")), "")
    codes = [code.strip(" '\"") for code in tidy(row.get("EVIDENCES")).strip("[] ").split(",")]
    codes = [code for code in codes if code]
    unknown = [code for code in codes if code.partition("_@_")[0] not in words.questions]
    if not age.isdigit() or not sex or not codes:
        return LeftOutRecord("incomplete", f"{key}: no age, sex or evidence")
    if unknown:
        return LeftOutRecord("unknown_evidence", f"{key}: {unknown[0][:80]}")
    text = write_profile(age, sex, codes, tidy(row.get("INITIAL_EVIDENCE")), words)
    gold = str(words.conditions.index(name))
    return DatasetItem(key, text, text, "", gold, {"pathology": name})


def write_profile(age: str, sex: str, codes: list[str], first: str, words: Vocabulary) -> str:
    """Return a patient's profile: age, sex, the presenting complaint, the history and the symptoms."""
    said: dict[str, list[str]] = {}
    for code in codes:
        evidence, _, value = code.partition("_@_")
        said.setdefault(evidence, []).append(words.values.get((evidence, value), "") or value)
    lines = [f"Age: {age}", f"Sex: {sex}"]
    if words.questions.get(first):
        lines.append(f"Came with: {words.questions[first]} {_answer(said.get(first, []))}")
    for title, old in (("History", True), ("Symptoms", False)):
        own = [code for code in said if (code in words.antecedents) is old and code != first]
        lines += [f"{title}:"] if own else []
        lines += [f"- {words.questions[code]} {_answer(said[code])}" for code in own]
    return "\n".join(lines)


def _answer(values: list[str]) -> str:
    return ", ".join(value for value in values if value) or "yes"


@contextmanager
def _open_table(path: Path) -> Iterator[Iterator[str]]:
    """Yield an iterator over the lines of a CSV file, plain or as the only file in a zip archive."""
    if not zipfile.is_zipfile(path):
        with path.open(encoding="utf-8", errors="replace", newline="") as file:
            yield iter(file)
        return
    with zipfile.ZipFile(path) as archive:
        members = [
            member
            for member in archive.infolist()
            # Zip files made on macOS also contain a folder `__MACOSX`.
            if not member.is_dir() and not member.filename.startswith("__")
        ]
        if len(members) != 1 or members[0].file_size > MOST_BYTES:
            raise BadInput(
                path,
                f"must contain one file of at most {MOST_BYTES:,} bytes; files found: {len(members)}",
                hint="use an unmodified file of the DDXPlus release",
            )
        with archive.open(members[0]) as stream:
            yield iter(io.TextIOWrapper(stream, encoding="utf-8", errors="replace", newline=""))
