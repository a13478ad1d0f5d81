"""Build the data of the item viewer: questions, answers with evidence for each cell, and predictions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from tasks.reports import blocks
from tasks.reports.blocks import BAD, GOOD, OFF, Block, Tag
from tasks.reports.plurals import count_of
from tasks.reports.viewer import ViewedRow
from tasks.tanq.build.tanq_item import ItemProof, TanqItem
from tasks.tanq.labels import CellState, Support
from tasks.tanq.outcomes import RULE_NAMES, RULES, TableOutcome
from tasks.tanq.score.table_match import TableMatch, match_table
from tasks.tanq.solve.prediction import MAIN, OpenStep

PAGES = Path(__file__).parent / "pages"
ASSETS = (PAGES / "answer.css", PAGES / "answer.js")
"""The styles and the script of the answer table."""
LEGEND = (
    CellState.RIGHT, CellState.PARTIAL, CellState.WRONG, CellState.MISSING, CellState.OTHER,
    CellState.UNREQUESTED, CellState.FAILING,
)  # fmt: skip
OWN_LINEAGE = (("", ""),)
"""An empty placeholder for lineage commands; the page shows the commands for the selected prediction."""


def view_questions(items: Iterable[TanqItem], calls: Mapping[str, Sequence[str]]) -> list[ViewedRow]:
    """Return the viewer's rows for the questions of a set, with the facets kind, skills and shape.

    calls: maps each item to the keys of its calls in the ledger.
    """
    return [
        ViewedRow(
            item.id,
            item.question,
            (item.kind, list_skills(item), item.shape),
            tag_item(item),
            [
                *show_question(item),
                blocks.component("answer", encode_answer(item)),
                blocks.calls("Calls", calls[item.id]),
                blocks.ids(
                    question=item.id, shape=item.shape, source=item.source, **{"made from": name_origin(item)}
                ),
            ],
            find=find_words(item),
        )
        for item in items
    ]


def view_predictions(outcomes: Iterable[TableOutcome]) -> list[ViewedRow]:
    """Return the viewer's rows for questions with predictions, with the facets kind, skills and failures."""
    by_item: dict[str, list[TableOutcome]] = {}
    for outcome in outcomes:
        by_item.setdefault(outcome.item.id, []).append(outcome)
    return [view_outcomes(by_item[name][0].item, by_item[name]) for name in sorted(by_item)]


def view_outcomes(item: TanqItem, outcomes: Sequence[TableOutcome]) -> ViewedRow:
    """Return the viewer's row for a question, with all tables predicted for this question."""
    failures = dict.fromkeys(kind.shown for outcome in outcomes for kind in outcome.score.failures)
    predicted = {
        "predictions": [encode_prediction(outcome) for outcome in outcomes],
        "notes": {state: state.shown for state in CellState},
        "legend": LEGEND,
        "ids": [("question", item.id), ("made from", name_origin(item))],
    }
    return ViewedRow(
        item.id,
        item.question,
        (item.kind, list_skills(item), list(failures)),
        tag_item(item),
        [*show_question(item), blocks.component("answer", {**encode_answer(item), **predicted})],
        OWN_LINEAGE,
        find_words(item),
        [outcome.prediction.id for outcome in outcomes],
    )


def list_skills(item: TanqItem) -> list[str]:
    """List the display names of a question's skills."""
    return [skill.name.replace("_", " ") for skill in item.skills]


def tag_item(item: TanqItem) -> list[Tag]:
    """Return tags for a question: the kind, the skills, and the number of rows in the answer."""
    rows = sum(row.filter_pass for row in item.rows)
    return [(item.kind, OFF), *((name, "") for name in list_skills(item)), (count_of(rows, "row"), OFF)]


def find_words(item: TanqItem) -> str:
    """Return the searchable text of an item: the headers, names and values of the answer."""
    rows = ((row.label, *(value for cell in row.cells for value in cell.values)) for row in item.rows)
    return "\n".join([*(column.header for column in item.columns), *(text for row in rows for text in row)])


def name_origin(item: TanqItem) -> str:
    """Describe the rows, documents or files that a question was made from."""
    return ", ".join(f"{origin.kind} {origin.reference}" for origin in item.origin)


def show_question(item: TanqItem) -> list[Block]:
    """Return the blocks for a question, its skills, and the earlier versions of its text."""
    texts = {
        "list question": item.init_question,
        "extended": item.ext_question,
        "rephrased, with tags": item.ext_question_rephrased,
    }
    steps = {name: text for name, text in texts.items() if text and text != item.question}
    through = ", ".join(thing.label for thing in item.intermediates)
    return [
        blocks.heading("Question", (item.kind, OFF)),
        blocks.text(item.question, "question"),
        *(
            blocks.tags((name, ""), beside=skill.words)
            for name, skill in zip(list_skills(item), item.skills, strict=True)
        ),
        *([blocks.dim(f"Intermediate entities: {through}.")] if through else []),
        *([blocks.fold("Earlier versions of the question", [blocks.facts(steps)])] if steps else []),
    ]


def encode_answer(item: TanqItem) -> dict[str, object]:
    """Encode the answer for pages/answer.js: headers, rows and proofs by fact.

    A row consists of its label, whether it passes the filters, and its cells. A cell consists of its values
    and the ids of its facts. The proofs of a fact are blocks.
    """
    proofs: dict[str, list[Block]] = {}
    for proof in item.proofs:
        proofs.setdefault(proof.fact, []).append(show_proof(proof))
    return {
        "headers": [column.header for column in item.columns],
        "rows": [
            [row.label, row.filter_pass, [[", ".join(cell.values), cell.facts] for cell in row.cells]]
            for row in item.rows
        ],
        "proofs": proofs,
    }


def show_proof(proof: ItemProof) -> Block:
    """Return the block for a proof, with the mention highlighted, or the value if no mention is stored."""
    place = " / ".join(filter(None, (proof.parent, proof.section)))
    kind = f"{proof.kind} ({', '.join(proof.headers)})" if proof.headers else proof.kind
    revision = "" if proof.revision is None else f"revision {proof.revision}"
    whole = proof.row if proof.row != proof.text else ""
    return blocks.fold(
        proof.article,
        [
            blocks.marked(proof.text, [(proof.mention or proof.value).strip()], "reply", whole=True),
            *([blocks.dim(f"Whole row: {whole}")] if whole else []),
            blocks.text(proof.id, "dim mono"),
        ],
        (proof.eval_result.shown, GOOD if proof.eval_result == Support.SUPPORTED else BAD),
        beside=" · ".join(filter(None, (place, kind, revision))),
        is_open=True,
    )


def encode_prediction(outcome: TableOutcome) -> dict[str, object]:
    """Encode a prediction for pages/answer.js.

    - cells: for each cell, the text, the state, and the row and column in the answer. If there is no table,
      `cells` is None and `note` contains the reason.
    - states: for each row of the answer, the states of its name and its cells; None if there is no reply.
    """
    item, row = outcome.item, outcome.prediction
    match = match_table(item, row.table) if row.table else None
    turned = match and row.table and match.rows[0] != tuple(cell.strip() for cell in row.table[0])
    note = (
        "The first row of the reply's table contained the entities, so the table is shown transposed."
        if turned
        else ""
    )
    if row.failed:
        note = f"No reply: {row.failed}"
    elif match is None:
        note = "The reply contains no readable table."
    return {
        "system": outcome.system.name,
        "cells": list_cells(item, match) if match else None,
        "states": None if row.failed else list_states(item, match),
        "note": note,
        "blocks": show_prediction(outcome),
        "traced": ["human_tables" if outcome.system.is_people else "predictions", row.id],
    }


def list_states(item: TanqItem, match: TableMatch | None) -> list[list[CellState]]:
    """List the states for each row of the answer: first of the row's name, then of its cells."""
    if match is None:
        missing, untold = CellState.MISSING, CellState.UNTOLD
        return [[missing, *(missing if cell.values else untold for cell in row.cells)] for row in item.rows]
    return [
        [CellState.FOUND if places else CellState.MISSING, *states]
        for places, states in zip(match.entities, match.cells, strict=True)
    ]


def list_cells(
    item: TanqItem, match: TableMatch
) -> list[list[tuple[str, CellState, tuple[int, int] | None]]]:
    """List each predicted row's cells: the text, the state, and the row and column in the answer or None."""
    golds = {place: row for row, places in enumerate(match.entities) for place in places}
    columns = {place: column for column, place in enumerate(match.columns) if place is not None}

    def judge(place: int, number: int) -> tuple[CellState, tuple[int, int] | None]:
        row, column = golds.get(place), columns.get(number)
        if place == 0 and match.head:
            return (CellState.HEAD if number in (0, *columns) else CellState.UNREQUESTED), None
        if row is None:
            return CellState.OTHER, None
        gold = None if column is None else (row, column)
        if not item.rows[row].filter_pass:
            return CellState.FAILING, gold
        if number == 0:
            return CellState.FOUND, None
        return (CellState.UNREQUESTED, None) if column is None else (match.cells[row][column], gold)

    return [
        [(text, *judge(place, number)) for number, text in enumerate(cells)]
        for place, cells in enumerate(match.rows)
    ]


def show_prediction(outcome: TableOutcome) -> list[Block]:
    """Return the blocks below a predicted table: failures, scores, the agent's steps, reply and calls."""
    row, score = outcome.prediction, outcome.score
    found = [
        *((kind.shown, BAD) for kind in score.failures),
        *((f"fault: {fault.shown}", BAD) for fault in score.faults or ()),
    ]
    measured = [
        (RULE_NAMES[rule], *(f"{100 * value:.1f}" for value in values))
        for rule in RULES
        if (values := outcome.measure(rule)) is not None
    ]
    left_out = f"Left out because the context window was too small ({len(row.left_out)})"
    steps = [show_step(number, step) for number, step in enumerate(row.steps, 1)]
    return [
        *([] if row.failed else [blocks.tags(*(found or [("rules detected no failure", GOOD)]))]),
        *([blocks.table(("x100", "precision", "recall", "F1"), measured)] if measured else []),
        *([blocks.fold(f"Steps of the agent ({len(steps)})", steps)] if steps else []),
        *([blocks.fold("Full reply", [blocks.text(row.reply)])] if row.reply else []),
        *([blocks.fold(left_out, [blocks.items(row.left_out, "plain mono")])] if row.left_out else []),
        blocks.calls(
            "Calls", (origin.reference for origin in row.origin if origin.kind == "call" and origin.reference)
        ),
    ]


def show_step(number: int, step: OpenStep) -> Block:
    """Return the block for a step of the open agent: thought, action and result."""
    is_main = step.agent == MAIN
    used = (
        f"{step.tool}({step.argument})" if step.tool else f"Found: {step.argument}" if step.argument else ""
    )
    return blocks.group(
        "step" if is_main else "step sub",
        [
            *([blocks.text(step.thought)] if step.thought else []),
            *([blocks.text(used, "mono")] if used else []),
            *([blocks.code(step.result)] if step.result else []),
        ],
        f"{number} · {'main agent' if is_main else f'sub-agent: {step.agent}'}",
    )
