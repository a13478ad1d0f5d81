"""Items of three kinds about fictitious islands, and predictions for these items."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from tasks.tanq.build.skill_use import SkillUse
from tasks.tanq.build.tanq_item import FinalCell, FinalColumn, FinalRow, ItemProof, ItemThing, TanqItem
from tasks.tanq.labels import Support
from tasks.tanq.solve.prediction import ORACLE, OpenStep, Prediction

COLUMNS = (
    FinalColumn("P36", "capital", "item", ""),
    FinalColumn("P1082", "population", "quantity", ""),
    FinalColumn("P37", "official languages", "item", ""),
    FinalColumn("P571", "date of founding", "time", ""),
)
ANSWERS = {
    "Ruvay": (("Port Ruvay",), ("28000",), ("Ruvish", "Old Norse"), ("14 March 1879",)),
    "Skarholm": (("Skar",), ("5300",), ("Skarsk",), ("44 BCE",)),
    "Overmere": (("Mere, Upper",), ("910000",), (), ("19th century",)),
}
FAILING = {"Tarn": (("Tarnby",), ("90",), ("Skarsk",), ("1901",))}
"""Rows that fail the filter of an item."""
FILTER = SkillUse("filter_number", "P1082", "", ">=", "1000", "Keep those of at least 1,000 people.")


def make_rows(cells: Mapping[str, tuple[tuple[str, ...], ...]], passes: bool = True) -> tuple[FinalRow, ...]:
    return tuple(
        FinalRow(
            f"island/{name.lower()}", name, passes, tuple(FinalCell(values, (f"{name}-f",)) for values in row)
        )
        for name, row in cells.items()
    )  # fmt: skip


def write_text(rows: Sequence[FinalRow]) -> str:
    lines = [["entity", *(column.header for column in COLUMNS)]]
    lines += [[row.label, *(", ".join(cell.values) for cell in row.cells)] for row in rows if row.filter_pass]
    return "\n".join("|".join(line) for line in lines)


def make_proof(name: str, relation: str, value: str, text: str, **more: Any) -> ItemProof:
    proof = ItemProof(
        f"{name}-{relation}-{value}", f"{name}-f", f"island/{name.lower()}", relation, value, name, 7,
        "History", "", 0, "text", (), "", text, Support.SUPPORTED,
    )  # fmt: skip
    return replace(proof, **more)


def make_item(name: str = "i1", *, filtered: bool = False, **more: Any) -> TanqItem:
    rows = make_rows(ANSWERS) + (make_rows(FAILING, passes=False) if filtered else ())
    item = TanqItem(
        id=name, kind="simple", shape="simple P31", init_qid=f"q-{name}",
        init_question="Which islands are there?", ext_question="", ext_question_rephrased="",
        ext_question_cleaned="",
        question="Which islands are there, and what are their capital, population, languages and founding?",
        noun="islands", relations=("P36", "P1082", "P37", "P571"), extended_types=("item",),
        skills=(FILTER,) if filtered else (), columns=COLUMNS, rows=rows, answer_table=write_text(rows),
        intermediates=(), things=(ItemThing("island/ruvay", "Ruvay", "Ruvay"),), instance_type=("island",),
        init_answer_proof=(),
        proofs=(make_proof("Ruvay", "P36", "Port Ruvay", "Its capital is Port Ruvay."),),
        source="graph", origin=(),
    )  # fmt: skip
    return replace(item, **more)


HEAD = ("Entity", "Capital", "Population", "Official language(s)", "Founding date")
PERFECT = (
    HEAD,
    ("Ruvay", "Port Ruvay", "28,000", "Ruvish and Old Norse", "March 14, 1879"),
    ("Skarholm", "Skar", "5.3 thousand", "Skarsk", "44 BC"),
    ("Overmere", "Mere, Upper", "910000", "", "19th century"),
)


def make_prediction(
    item: str = "i1", table: Sequence[Sequence[str]] | None = PERFECT, **more: Any
) -> Prediction:
    rows = None if table is None else tuple(tuple(row) for row in table)
    prediction = Prediction(
        id=f"p-{item}", item=item, system="oracle-agent-3-random-simple", setting=ORACLE, model="agent",
        shots=3, shot_choice="random", instruction="simple", reply="a reply", table=rows, left_out=(),
        steps=(), failed="", origin=(),
    )  # fmt: skip
    return replace(prediction, **more)


def make_step(tool: str, argument: str, result: str, agent: str = "main") -> OpenStep:
    return OpenStep(agent, "Let me see.", tool, argument, result)
