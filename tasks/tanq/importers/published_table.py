"""Read the table of a published record, and match its cells with answers and proofs.

The release names the entity of an answer only in the table. Rows are therefore matched with answers by the
answer's name, article or id, and then by shared values. If equal numbers of rows and answers remain, the
remaining rows and answers are matched in order.

Columns are matched with properties by id or label, then by shared words, then by shared values. A label alone
is not enough, because a skill (a calculation in the question, such as a conversion) may have renamed the
header.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest

from tasks.artifacts.rows import make_id
from tasks.sources.loose_fields import BadRecord
from tasks.sources.tanq_records import (
    PublishedProof,
    PublishedRecord,
    PublishedTanqAnswer,
    PublishedValue,
    Rows,
)
from tasks.sources.wikipedia.article import CELL, INFOBOX
from tasks.tanq.build.tanq_item import (
    ENTITY,
    FinalCell,
    FinalColumn,
    FinalRow,
    ItemProof,
    ItemThing,
    clean_cell,
)
from tasks.tanq.labels import Support

VERDICTS: Mapping[str, Support] = {
    **dict.fromkeys(
        ("", Support.SUPPORTED, "supports", "verifiable", "verified", "true", "yes", "entailment", "1"),
        Support.SUPPORTED,
    ),
    **dict.fromkeys((Support.REFUTED, "refutes", "contradiction"), Support.REFUTED),
    **dict.fromkeys(
        (
            Support.NOT_ENOUGH, "not verifiable", "not verified", "unverifiable", "unverified", "false", "no",
            "neutral", "unknown", "0",
        ),
        Support.NOT_ENOUGH,
    ),
}  # fmt: skip
"""Map the verdicts in published records to our labels.

An empty verdict means supported, because the release contains only facts that passed verification. An unknown
verdict means not enough information (`find_verdict`).
"""
UNIT = re.compile(r"\(([^()]+)\)$")
REMARK = re.compile(r"\s*\([^()]*\)$")
NUMBER = re.compile(r"-?[\d,]*\.?\d+(?:e[+-]?\d+)?%?", re.IGNORECASE)
DATE = re.compile(
    r"(?:\d{1,2} )?(?:[A-Z][a-z]+ )?(?:\d{1,2}, )?\d{4}(?: BCE)?|\d{4}-\d\d-\d\d|\d+(?:st|nd|rd|th) century.*"
)
DAY = re.compile(r"(\d{4})-\d\d-\d\d")
MOST_PAIRS = 200_000
"""Maximum number of (row, answer) pairs whose values are compared.

With more pairs, no values are compared, to limit the time for one record.
"""
Property = tuple[str, str]
"""The normalised id and label of a property."""


class PublishedTable:
    """A record's table, with the answer for each row; built from the answers if the record has no table.

    Raises BadRecord if the record has no table, and no answer that passes the filters has a value.
    """

    def __init__(self, record: PublishedRecord) -> None:
        self._given = record.answers
        # Answers are identified by object, because a record may contain two equal answers.
        self._places = {id(answer): place for place, answer in enumerate(self._given)}
        self.rows: Rows = record.table or self._build_rows()
        self.names = self.rows[0][1:]
        self._columns = self._find_columns()
        self.answers = self._find_answers()
        """The answer of each row below the header; None if no answer was found for the row."""
        taken = {id(answer) for answer in self.answers}
        self.left = [answer for answer in self._given if id(answer) not in taken]
        """Answers that are not in the table."""
        self._texts = dict(self._choose_texts())

    def identify(self, answer: PublishedTanqAnswer) -> str:
        """Return the id of an answer: its item id, name or article, otherwise `answer` and its position."""
        own = answer.thing
        return own.item or own.name or own.article or f"answer {self._places[id(answer)] + 1}"

    def make_rows(self) -> Iterator[FinalRow]:
        """Yield the rows of the table, then the rows of answers that fail a filter."""
        for row, answer in zip(self.rows[1:], self.answers, strict=True):
            if answer is None:
                cells = (FinalCell((cell,) if cell else (), ()) for cell in row[1:])
                yield FinalRow(row[0], row[0], True, tuple(cells))
            else:
                own = (self._make_cell(cell, answer, place) for place, cell in enumerate(row[1:]))
                yield FinalRow(self.identify(answer), row[0], True, tuple(own))
        for answer in self.left:
            if answer.filter_pass is False:
                own = (self._make_cell(None, answer, place) for place in range(len(self.names)))
                yield FinalRow(self.identify(answer), self._label(answer), False, tuple(own))

    def make_column(self, place: int, rows: Sequence[FinalRow]) -> FinalColumn:
        """Return a column, with its property and kind inferred from the values."""
        name = self.names[place]
        shown = [value for row in rows for value in row.cells[place].values]
        alike = [value for answer in self._given for value in self._list_values(answer, place)]
        unit = UNIT.search(name)
        kind = "text"
        if shown and all(map(DATE.fullmatch, shown)):
            kind = "time"
        elif shown and all(map(NUMBER.fullmatch, shown)):
            kind = "quantity"
        elif any(value.item for value in alike):
            kind = "item"
        relation = next((value.id for value in alike if value.id), name)
        return FinalColumn(relation, name, kind, unit[1] if unit else "")

    def list_things(self) -> Iterator[ItemThing]:
        """Yield the entities of the answers, and of the answers' values."""
        for answer in self._given:
            yield ItemThing(self.identify(answer), self._label(answer), answer.thing.article)
            for value in answer.values:
                if value.item or value.article:
                    text = self._texts[id(value)]
                    yield ItemThing(value.item or text, text, value.article)

    def list_proofs(self) -> Iterator[ItemProof]:
        """Yield the proofs of all values, including values that are not in the table."""
        seen: Counter[ItemProof] = Counter()
        for answer in self._given:
            for value in answer.values:
                fact, text = self._name_fact(answer, value), self._texts[id(value)]
                for proof in value.proofs:
                    made = make_proof(proof, fact, self.identify(answer), value.id or value.label, text)
                    # A record may contain the same proof twice, but the ids of rows must be unique.
                    again, seen[made] = seen[made], seen[made] + 1
                    yield replace(made, id=make_id(made.id, again)) if again else made

    def _build_rows(self) -> Rows:
        """Build a table from the answers that pass the filters, for a record that has no table.

        Columns are in order of appearance. Raises BadRecord if no answer that passes the filters has a value.
        """
        passing = [answer for answer in self._given if answer.filter_pass is not False]
        labels = list(dict.fromkeys(value.label for answer in passing for value in answer.values))
        if not labels:
            raise BadRecord("no_table: no answer that passes the filters has a value")

        def show(answer: PublishedTanqAnswer, label: str) -> str:
            own = (value.texts[0] for value in answer.values if value.label == label and value.texts)
            return clean_cell(", ".join(dict.fromkeys(own)))

        header = (ENTITY, *(clean_cell(label) for label in labels))
        rows = [
            (
                clean_cell(answer.thing.name or answer.thing.article or self.identify(answer)),
                *(show(answer, label) for label in labels),
            )
            for answer in passing
        ]
        return (header, *rows)

    def _find_columns(self) -> dict[Property, int]:
        """Map each property that has a matching column to the column's position in `names`."""
        texts: defaultdict[Property, set[str]] = defaultdict(set)
        for answer in self._given:
            for value in answer.values:
                texts[_name_property(value)] |= _list_telling(value)
        headers = [_fold_header(name) for name in self.names]
        words = [set(header.split()) for header in headers]
        cells = [[_fold(row[place]) for row in self.rows[1:]] for place in range(1, len(self.rows[0]))]

        def share_words(own: Property, place: int) -> int:
            label = set(own[1].split())
            return len(label & words[place]) if label <= words[place] or words[place] <= label else 0

        def share_values(own: Property, place: int) -> int:
            return sum(_tells(texts[own], cell) for cell in cells[place])

        found = {
            variants: headers.index(name)
            for variants in texts
            for name in variants
            if name and name in headers
        }
        for alike in (share_words, share_values):
            for variants in texts:
                free = [place for place in range(len(headers)) if place not in found.values()]
                best = max(free, key=lambda place: alike(variants, place), default=None)
                if variants not in found and best is not None and alike(variants, best):
                    found[variants] = best
        return found

    def _find_answers(self) -> list[PublishedTanqAnswer | None]:
        """Return the answer for each row, or None.

        If several answers have the same name, answers that pass the filters are matched first.
        """
        waiting = sorted(self._given, key=lambda answer: answer.filter_pass is False)
        by_name: defaultdict[str, list[PublishedTanqAnswer]] = defaultdict(list)
        for answer in waiting:
            own = answer.thing
            for name in dict.fromkeys(
                map(_fold, (own.name, own.article, REMARK.sub("", own.article), own.item))
            ):
                by_name[name].append(answer)
        found: dict[int, PublishedTanqAnswer] = {}
        taken: set[int] = set()

        def take(place: int, answer: PublishedTanqAnswer | None) -> None:
            if answer is not None:
                found[place] = answer
                taken.add(id(answer))

        rows = list(enumerate(self.rows[1:]))
        for place, row in rows:
            names = (_fold(row[0]), _fold(REMARK.sub("", row[0])))
            alike = (answer for name in names for answer in by_name[name] if name)
            take(place, next((answer for answer in alike if id(answer) not in taken), None))
        passing = [answer for answer in self._given if answer.filter_pass is not False]
        free = [answer for answer in passing if id(answer) not in taken]
        open_rows = [place for place, _ in rows if place not in found]
        if len(free) * len(open_rows) <= MOST_PAIRS:
            told = {id(answer): self._list_told(answer) for answer in free}
            for place, row in rows:
                if place not in found:
                    counts = {
                        id(answer): sum(
                            _tells(words, _fold(row[at + 1])) for at, words in told[id(answer)].items()
                        )
                        for answer in free
                        if id(answer) not in taken
                    }
                    best = max(free, key=lambda answer: counts.get(id(answer), 0), default=None)
                    take(place, best if best and counts.get(id(best)) else None)
        free = [answer for answer in passing if id(answer) not in taken]
        open_rows = [place for place, _ in rows if place not in found]
        if len(free) == len(open_rows):
            for place, answer in zip(open_rows, free, strict=True):
                take(place, answer)
        return [found.get(place) for place, _ in rows]

    def _list_told(self, answer: PublishedTanqAnswer) -> dict[int, set[str]]:
        """Map each column to the normalised texts of the answer's values in that column."""
        told: defaultdict[int, set[str]] = defaultdict(set)
        for value in answer.values:
            place = self._columns.get(_name_property(value))
            if place is not None:
                told[place] |= _list_telling(value)
        return told

    def _choose_texts(self) -> Iterator[tuple[int, str]]:
        """Yield the Python `id()` of each value, and the value's text.

        A value may have several published spellings. The text is the spelling in the table's cell, otherwise
        the first spelling. A value without a spelling has the text of the cell.
        """
        cells = {
            id(answer): row[1:] for row, answer in zip(self.rows[1:], self.answers, strict=True) if answer
        }
        for answer in self._given:
            row = cells.get(id(answer), ("",) * len(self.names))
            for value in answer.values:
                place = self._columns.get(_name_property(value))
                cell = row[place] if place is not None else ""
                texts = [clean_cell(text) for text in value.texts] or [cell]
                yield id(value), next((text for text in texts if _stands_in(text, cell)), texts[0])

    def _label(self, answer: PublishedTanqAnswer) -> str:
        named = {
            id(answer): row[0] for row, answer in zip(self.rows[1:], self.answers, strict=True) if answer
        }
        own = answer.thing
        return named.get(id(answer)) or own.name or own.article or self.identify(answer)

    def _list_values(self, answer: PublishedTanqAnswer, place: int) -> list[PublishedValue]:
        return [value for value in answer.values if self._columns.get(_name_property(value)) == place]

    def _make_cell(self, cell: str | None, answer: PublishedTanqAnswer, place: int) -> FinalCell:
        """Return a cell. cell: the text, or None for an answer that is not in the table.

        The text is split into the answer's values, or at commas if there are as many parts as values.
        """
        own = self._list_values(answer, place)
        facts = {value.shown or self._texts[id(value)]: self._name_fact(answer, value) for value in own}
        texts = [text for text in facts if text]
        if cell is None:
            kept = texts
        elif not cell:
            return FinalCell((), ())
        else:
            parts = cell.split(", ")
            kept = _split(cell, texts) or (parts if len(parts) == len(texts) else [cell])
        known = {_fold(text): fact for text, fact in facts.items()}
        found = [known[_fold(text)] for text in kept if _fold(text) in known]
        return FinalCell(tuple(kept), tuple(dict.fromkeys(found or facts.values())))

    def _name_fact(self, answer: PublishedTanqAnswer, value: PublishedValue) -> str:
        return make_id(
            "published fact", self.identify(answer), *_name_property(value), self._texts[id(value)]
        )


def make_proof(proof: PublishedProof, fact: str, entity: str, relation: str, value: str) -> ItemProof:
    """Convert a published proof.

    For a table, `row` contains all rows of the proof, each cell with a header.
    """
    text, headers, row = proof.text, proof.headers, ""
    if proof.kind == INFOBOX:
        headers = headers or ((proof.key,) if proof.key else ())
    elif proof.kind == CELL:
        row = write_proof_rows(proof)
        cells = [cell for cells in proof.rows for cell in cells if value and _fold(value) in _fold(cell)]
        text = proof.cell or next(iter(cells), row)
    return ItemProof(
        id=make_id(fact, proof.article, proof.section, proof.position, headers, row, text),
        fact=fact,
        entity=entity,
        relation=relation,
        value=value,
        article=proof.article,
        revision=proof.revision,
        section=proof.section,
        parent=proof.parent,
        position=proof.position,
        kind=proof.kind,
        headers=headers,
        row=row,
        text=text,
        eval_result=find_verdict(proof.said),
        mention=proof.mention,
    )


def write_proof_rows(proof: PublishedProof) -> str:
    """Format the table of a proof on one line: the caption, then the rows, each cell after its header."""
    header, *body = proof.rows or ((),)
    lines = [
        " | ".join(
            ": ".join(filter(None, pair)) for pair in zip_longest(header, row, fillvalue="") if any(pair)
        )
        for row in body
    ]
    return ": ".join(filter(None, (proof.caption, "; ".join(lines) or " | ".join(header))))


def find_verdict(said: str) -> Support:
    """Convert a published verdict to our label."""
    return VERDICTS.get(said, Support.NOT_ENOUGH)


def _split(text: str, values: Sequence[str]) -> list[str]:
    """Split a text into the given values, longest first, so that commas within values are kept.

    Returns an empty list if the text contains anything other than values and separators.
    """
    if not values:
        return []
    pattern = "|".join(re.escape(name) for name in sorted(values, key=lambda name: (-len(name), name)))
    found = re.findall(pattern, text, re.IGNORECASE)
    rest = re.sub(pattern, "", text, flags=re.IGNORECASE)
    return list(dict.fromkeys(found)) if not rest.strip(" ,;") else []


def _stands_in(text: str, cell: str) -> bool:
    return bool(text) and f", {_fold(text)}," in f", {_fold(cell)},"


def _list_telling(value: PublishedValue) -> set[str]:
    """Return the normalised texts that count as a given value in a cell, including the year of a date."""
    texts = {_fold(text) for text in value.texts}
    return texts | {day[1] for text in texts if (day := DAY.fullmatch(text))}


def _tells(texts: set[str], cell: str) -> bool:
    """Return whether a normalised cell, or one of its comma-separated parts, is one of the texts."""
    return cell in texts or any(part in texts for part in cell.split(", ") if part)


def _name_property(value: PublishedValue) -> Property:
    return _fold_header(value.id), _fold_header(value.label)


def _fold(text: str) -> str:
    return " ".join(text.casefold().split())


def _fold_header(name: str) -> str:
    return _fold(UNIT.sub("", name).replace("_", " "))
