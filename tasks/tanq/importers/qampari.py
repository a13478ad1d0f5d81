"""List questions of QAMPARI become seeds of tanq."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from tasks.errors import BadInput
from tasks.sources.base_importer import Imported, Project, option
from tasks.sources.json_records import BrokenRecord, read_records
from tasks.sources.loose_fields import BadRecord
from tasks.sources.qampari import read_question
from tasks.tanq.graph.seed_question import SeedQuestion
from tasks.tanq.importers.graph_names import GraphNames, WantedNames
from tasks.tanq.importers.imported_seeds import find_answers, make_imported_seed, take_given, want_names
from tasks.tanq.importers.records import ReadRecord, RecordsImporter

SOURCES = "tanq.sources"
LEAST = 2
"""Answers of a list question."""


class Qampari(RecordsImporter):
    """Bring in list questions of QAMPARI, which tanq extends (docs/tanq.md).

    Example: benchloom import qampari dev_data.jsonl.gz --graph data/raw/wikidata/main
    """

    name = "qampari"
    folder, file, row = Path("data/raw/qampari"), "seeds.parquet", SeedQuestion
    source = "https://samsam3232.github.io/qampari/"
    licence = "CC0-1.0"
    attribution = "QAMPARI (Amouyal et al., 2022); the texts of proofs are Wikipedia's, CC BY-SA"
    rows, records, none = "questions", "list questions", "no list question of {:,}"
    counted, then = "answers", "now: tanq.sources.*.seeds: {folder}/{file}"

    graph: Path | None = option("An imported Wikidata: finds answers by id, link and label.", "FOLDER")
    called: str = option("Of the folder under data/raw/qampari.", "NAME", "--name", default="main")
    whole: bool = option("Leave out a question that loses one of its answers.", default=False)
    tanq_source: str | None = option(
        "Of `tanq.sources`: these become its list questions.", "NAME", "--source"
    )
    names: GraphNames | None = None
    """The names of the graph's entities; without them only answers with an id are taken."""

    def bring_in(self, project: Project) -> Imported:
        """Write the questions, and name them in params.yaml if a source of tanq is to have them."""
        if self.tanq_source is not None and self.tanq_source not in (project.find(SOURCES) or {}):
            raise BadInput("--source", f"params.yaml has no {SOURCES}.{self.tanq_source}")
        self.names = self._read_graph(self.graph) if self.graph else None
        done = super().bring_in(project)
        if self.tanq_source is None:
            return done
        place = (self.folder / self.called / self.file).as_posix()
        return replace(done, settings={("tanq", "sources", self.tanq_source, "seeds"): place})

    def _read_graph(self, graph: Path) -> GraphNames:
        """Read all answers' names, then the graph: twice through the file, so that memory stays bounded."""
        wanted = WantedNames()
        for _, record in read_records(self.path):
            if not isinstance(record, BrokenRecord):
                with suppress(BadRecord):
                    want_names(read_question(record), wanted)
        return GraphNames(graph, wanted)

    def read_row(self, where: str, record: object) -> ReadRecord | None:
        """Make a question's row, and write down what it loses; None if too little is left."""
        question = read_question(record)
        answers = find_answers(question, self.names) if self.names else take_given(question)
        for answer in answers.lost:
            self.skipped.add(f"answer_{answer.reason}", where, answer.name, question.id)
        for reason, count in (("answer_unread", question.unread), ("proof_unread", question.unread_proofs)):
            if count:
                self.skipped.add(reason, where, f"{count} of them", question.id)
        if len(answers.found) < LEAST:
            self.skipped.add("few_answers", where, question.text, question.id)
            return None
        if self.whole and (answers.lost or question.unread):
            self.skipped.add("lost_answers", where, question.text, question.id)
            return None
        place = f"{self.path.name}#{question.id or where}"
        seed = make_imported_seed(question, answers.found, self.names, place)
        counts = {"answers": len(seed.answers), "with_conditions": int(bool(seed.conditions))}
        return ReadRecord(seed, seed.text, question.id, counts)

    def describe_options(self) -> Mapping[str, object]:
        """Name the graph."""
        return {"graph": self.graph.name if self.graph else None}

    def word_more(self) -> list[str]:
        """Word how many questions' demands are known."""
        known = self.counts["with_conditions"]
        return [f"what the question demands is known by the graph: {known:,} questions"]

    def advise(self) -> str:
        """Say why no question was taken."""
        if self.graph is None and self.skipped.counts["answer_no_id"]:
            return "its answers have no Wikidata ids: --graph FOLDER finds them in an imported graph"
        return super().advise()
