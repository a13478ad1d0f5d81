"""Published records of TANQ become a dataset to evaluate systems on."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tasks.errors import BadInput
from tasks.sources.base_importer import Imported, Project, option
from tasks.sources.tanq_records import ASKED, read_record
from tasks.tanq.build.tanq_item import TanqItem
from tasks.tanq.importers.published_items import make_published_item
from tasks.tanq.importers.records import ReadRecord, RecordsImporter


class Tanq(RecordsImporter):
    """Bring in published records of TANQ as a dataset for `evaluate tanq` (docs/tanq.md).

    Example: benchloom import tanq tanq_test.jsonl.gz --question ext_question_rephrased
    """

    name = "tanq"
    folder, file, row = Path("data/raw/tanq"), "items.parquet", TanqItem
    source = "https://github.com/google-deepmind/tanq"
    licence = "as its publisher states; the texts of proofs are Wikipedia's, CC BY-SA 4.0"
    attribution = "TANQ (Akhtar et al., 2024)"
    rows, records, none = "items", "records", "no item of {:,} records"
    counted, then = "proofs", "now: benchloom evaluate tanq --dataset {folder} --system NAME"
    in_memory = 2_048
    """Each item holds its proofs."""

    called: str = option("Of the folder under data/raw/tanq.", "NAME", "--name", default="main")
    question: str = option(
        "That is asked. Default: the cleaned one, else what there is.", "FIELD", default=""
    )

    def bring_in(self, project: Project) -> Imported:
        """Write the records' items."""
        if self.question and self.question not in ASKED:
            what = f"{self.question[:40]!r} is no field that is read"
            raise BadInput("--question", what, hint=", ".join(ASKED))
        return super().bring_in(project)

    def read_row(self, where: str, record: object) -> ReadRecord:
        """Make a record's item, and write down what of it cannot be read."""
        read = read_record(record)
        made = make_published_item(read, self.question, f"{self.path.name}#{read.id or where}")
        for reason, count in (("answer_unread", read.unread), ("answer_not_in_table", made.apart)):
            if count:
                self.skipped.add(reason, where, f"{count} of them", read.id)
        for name in made.unknown:
            self.skipped.add("skill_unknown", where, name, read.id)
        return ReadRecord(
            made.item, made.item.question, made.item.init_qid, {"proofs": len(made.item.proofs)}
        )

    def describe_options(self) -> Mapping[str, object]:
        """Name the field that is asked."""
        return {"question": self.question or None}
