"""Stage: check a question set's artifacts against contracts, and recompute the tables from facts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from tasks.artifacts.contracts import Expectation, Record, RowRule, expect_match
from tasks.artifacts.export import draft_folder
from tasks.artifacts.parquet import StoredRows, read_valid_rows
from tasks.artifacts.rows import Counts, schema_of
from tasks.reports.contract_stage import Rules, check_artifacts, expect_hash, require_contracts
from tasks.tanq.build.extend import ExtendedQuestion
from tasks.tanq.build.inference import find_objection
from tasks.tanq.build.item_faults import find_disorder, find_leak, find_unlike_noun, find_unnamed_unit
from tasks.tanq.build.mention_names import NameTarget, make_names
from tasks.tanq.build.mentions import find_mention, make_value_target
from tasks.tanq.build.proofs import Proof
from tasks.tanq.build.rephrase import RephrasedQuestion
from tasks.tanq.build.skill_table import BaseRow, BaseTable, apply_skills
from tasks.tanq.build.skill_words import write_question
from tasks.tanq.build.skills import GraphByIds, SkilledQuestion, make_column, make_graph
from tasks.tanq.build.tables import AnswerTable
from tasks.tanq.build.tanq_item import FinalColumn, FinalRow, TanqItem, write_answer
from tasks.tanq.build.verify import ProofVerdict, make_evidence
from tasks.tanq.graph.facts import Fact
from tasks.tanq.graph.relations import Relation
from tasks.tanq.graph.seed_question import KINDS, SeedQuestion
from tasks.tanq.graph.showing import ITEM
from tasks.tanq.graph.things import Thing
from tasks.tanq.labels import Support

ROWS: Mapping[str, type] = {
    "seeds": SeedQuestion,
    "extend": ExtendedQuestion,
    "proofs": Proof,
    "candidates": ExtendedQuestion,
    "verify": ProofVerdict,
    "tables": AnswerTable,
    "rephrase": RephrasedQuestion,
    "skills": SkilledQuestion,
    "items": TanqItem,
}

SINGLE: Mapping[str, Sequence[Expectation]] = {
    "seeds": (
        expect_match(
            "kind",
            "The kind of each question is simple, intersection or composition.",
            "kind",
            f"^({'|'.join(KINDS)})$",
        ),
    ),
    "verify": (
        expect_match(
            "label",
            "The label of each verdict is one of the verifier's three labels.",
            "label",
            f"^({'|'.join(Support)})$",
        ),
    ),
    "skills": (expect_hash(),),
    "items": (expect_hash(),),
}
"""Map each artifact to the expectations for single rows."""
ROUNDING = Decimal("0.05")
"""Maximum relative difference between an amount in a text and the fact's amount.

Stage `proofs` found the texts with a stricter tolerance.
"""
TURNED = frozenset({"denied", "past"})
"""Objections that count as contradicting the fact: the text denies the fact, or is about the past."""
COLUMNS = tuple(schema_of(TanqItem).names)


def contracts(
    seeds: Path,
    extend: Path,
    proofs: Path,
    candidates: Path,
    verify: Path,
    tables: Path,
    rephrase: Path,
    skills: Path,
    items: Path,
    facts: Path,
    relations: Path,
    things: Path,
    out: Path,
) -> Counts:
    """Check the artifacts with their dropped rows and calls, and write the findings.

    facts, relations, things: artifacts of the set's source. Raises ContractBroken after writing the findings;
    the message is one line with artifact, contract, count and ids.
    """
    made = (seeds, extend, proofs, candidates, verify, tables, rephrase, skills, items)
    paths = {path.stem: path for path in made}
    with draft_folder(out) as folder:
        findings = check_artifacts(
            f"Contracts of the question set {out.parent.name}",
            {path: ROWS[stem] for stem, path in paths.items()},
            lambda origins: declare(paths, read_references(paths, facts, relations, things), origins),
            folder,
            sources=(facts, relations, things),
        )
    return require_contracts(findings, out)


def declare(paths: Mapping[str, Path], references: ItemReferences, origins: RowRule) -> Rules:
    """Return the rules for each artifact: rules for single rows, and rules that need other artifacts."""

    def find_problem(record: Record) -> str | None:
        proof = references.proofs.get(record["id"])
        return None if proof is None else find_no_mention(proof, references.graph)

    mentions = RowRule(
        "mentions_fact",
        "Each text contains the words in which the fact was found. If the article is about the entity of "
        "the fact, the text mentions the value. If the article is about the value, the text mentions the "
        "entity.",
        ("id", "fact", "side", "text", "mention", "headers"),
        find_problem,
    )
    grounded = {"proofs": [mentions], "items": list_item_rules(references)}
    return {path: [origins, *SINGLE.get(stem, ()), *grounded.get(stem, ())] for stem, path in paths.items()}


def read_references(paths: Mapping[str, Path], facts: Path, relations: Path, things: Path) -> ItemReferences:
    """Read the reference data that checks of items need.

    The result contains only the source's facts that items use or that have proofs.
    """
    proofs = {proof.id: proof for proof in read_valid_rows(paths["proofs"], Proof)}
    named = {proof.fact for proof in proofs.values()}
    for item in read_valid_rows(paths["items"], TanqItem):
        named |= {fact for row in item.rows for cell in row.cells for fact in cell.facts}
    return ItemReferences(
        make_graph(
            _read_facts(facts, named), read_valid_rows(relations, Relation), read_valid_rows(things, Thing)
        ),
        proofs,
        {verdict.id: verdict for verdict in read_valid_rows(paths["verify"], ProofVerdict)},
    )


def _read_facts(path: Path, named: set[str]) -> Iterable[Fact]:
    return (fact for fact in StoredRows(path, Fact) if fact.id in named)


@dataclass(frozen=True)
class ItemReferences:
    """The reference data for checks of items, by id: facts, relations, entities, proofs and verdicts."""

    graph: GraphByIds
    proofs: Mapping[str, Proof]
    verdicts: Mapping[str, ProofVerdict]


def list_item_rules(references: ItemReferences) -> list[RowRule]:
    """List the rules for items."""
    ranks = {relation.id: relation.rank for relation in references.graph.relations.values()}

    def make(name: str, says: str, find: Callable[[TanqItem], str]) -> RowRule:
        def check(record: Record) -> str:
            item = read_item(record)
            return item if isinstance(item, str) else find(item)

        return RowRule(name, says, COLUMNS, check)

    return [
        make(
            "cells_follow",
            "Every cell follows from its facts when the question's skills are applied again.",
            lambda item: find_wrong_cell(item, references.graph),
        ),
        make(
            "filters_hold",
            "A row passes if its facts pass every filter. The answer table contains exactly the rows that "
            "pass every filter.",
            lambda item: find_wrong_filter(item, references.graph),
        ),
        make(
            "cells_are_proven",
            "Every fact of a cell has a proof that the verifier labelled as supporting it.",
            find_unproven,
        ),
        make(
            "proofs_say_it",
            "Every proof is a verified text that mentions the value or the entity of its fact. A proof that "
            "is labelled as supporting a fact does not contradict the fact.",
            lambda item: find_false_proof(item, references),
        ),
        make(
            "question_follows",
            "The question is the rephrased question plus the phrases for its skills.",
            lambda item: find_other_question(item, references.graph),
        ),
        make("no_answer_in_question", "The question does not contain any of its answers.", find_leak),
        make(
            "relations_in_order",
            "The question mentions its relations in a fixed order: for example, birth before death, and the "
            "date of birth next to the place of birth.",
            lambda item: find_disorder(item, ranks),
        ),
        make(
            "noun_fits",
            "Every answer is an instance of the class that the question's noun names.",
            find_unlike_noun,
        ),
        make("units_are_named", "The question names the unit of every amount.", find_unnamed_unit),
    ]


def read_item(record: Record) -> TanqItem | str:
    """Convert a record to an item. Returns an error message if the record is not a valid item."""
    try:
        return _adapt_item().validate_python(record)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        return f"{'.'.join(map(str, first['loc']))} is {first['input']!r:.80}: {first['msg']}"


def find_wrong_cell(item: TanqItem, graph: GraphByIds) -> str:
    """Describe the first header or cell that is not reproduced when the skills are applied to the facts.

    Returns an empty string if all headers and cells are reproduced.
    """
    made = _rebuild_table(item, graph)
    if isinstance(made, str):
        return made
    columns, rows = made
    if columns != item.columns:
        return f"the columns are {_name(item.columns)}; expected {_name(columns)}"
    for row, rebuilt in zip(item.rows, rows, strict=True):
        for column, cell, right in zip(columns, row.cells, rebuilt.cells, strict=True):
            if cell != right:
                return (
                    f"{column.header} of {row.label} is {', '.join(cell.values) or 'empty'}; "
                    f"expected {', '.join(right.values) or 'empty'}"
                )
    return ""


def find_wrong_filter(item: TanqItem, graph: GraphByIds) -> str:
    """Describe the first row with a wrong `filter_pass`, or an answer table with wrong rows.

    Returns an empty string if all rows are correct.
    """
    made = _rebuild_table(item, graph)
    if isinstance(made, str):
        return made
    for row, rebuilt in zip(item.rows, made[1], strict=True):
        if row.filter_pass != rebuilt.filter_pass:
            return f"the facts of {row.label} {'fail' if row.filter_pass else 'pass'} the filters"
    if item.answer_table != write_answer(item.columns, item.rows):
        return "the answer table does not contain exactly the rows that pass every filter"
    return ""


def find_unproven(item: TanqItem) -> str:
    """Describe the first value without a fact, or first fact without a supporting proof; empty if none."""
    proven = {proof.fact for proof in item.proofs if proof.eval_result == Support.SUPPORTED}
    for row in item.rows:
        for column, cell in zip(item.columns, row.cells, strict=True):
            if cell.values and not cell.facts:
                return f"{column.header} of {row.label} has no fact"
            if missing := [fact for fact in cell.facts if fact not in proven]:
                return f"{column.header} of {row.label}: no proof supports the fact {missing[0]}"
    return ""


def find_false_proof(item: TanqItem, references: ItemReferences) -> str:
    """Describe the first proof that is not valid; empty if all proofs are valid.

    A proof must be a verified text with the label of its verdict. The text must mention the fact's value or
    entity. A text labelled as supporting the fact must not deny the fact.
    """
    for proof in item.proofs:
        verified, verdict = references.proofs.get(proof.id), references.verdicts.get(proof.id)
        fact = references.graph.facts.get(proof.fact)
        where = f"the proof {proof.id} from {proof.article}"
        if verified is None or verdict is None or fact is None:
            return f"{where} was never verified"
        if verdict.label != proof.eval_result or verdict.fact != proof.fact or verified.fact != proof.fact:
            return f"{where} has a different label or fact than its verdict"
        if (verified.text, verified.article, verified.row) != (proof.text, proof.article, proof.row):
            return f"{where} differs from the text that was verified: {proof.text[:80]}"
        if (proof.entity, proof.relation, proof.value) != (fact.entity, fact.relation, fact.shown):
            return f"{where} has different values than its fact {proof.fact}"
        if problem := find_no_mention(verified, references.graph) or find_denial(
            verified, verdict, references.graph
        ):
            return f"{where} {problem}"
    return ""


def find_no_mention(proof: Proof, graph: GraphByIds) -> str:
    """Return a message if a proof does not mention the fact's value, or the entity if `side` is `value`.

    Returns an empty string if the proof contains the mention, or has no fact.
    """
    fact = graph.facts.get(proof.fact)
    if fact is None:
        return ""
    if proof.mention and proof.mention not in proof.text:
        return f"does not contain the words {proof.mention}: {proof.text[:80]}"
    if mentions_end(proof, fact, graph):
        return ""
    other = fact.shown if proof.side == "entity" else fact.entity
    return f"does not mention {other}: {proof.text[:80]}"


def find_denial(proof: Proof, verdict: ProofVerdict, graph: GraphByIds) -> str:
    """Return a message if a proof labelled as supporting a fact denies the fact or is about the past.

    Returns an empty string otherwise.
    """
    fact = graph.facts.get(proof.fact)
    relation = graph.relations.get(fact.relation) if fact else None
    if verdict.label != Support.SUPPORTED or relation is None:
        return ""
    objection = find_objection(make_evidence(proof), relation)
    return f"contradicts the fact ({objection}): {proof.text[:80]}" if objection in TURNED else ""


def mentions_end(proof: Proof, fact: Fact, graph: GraphByIds) -> bool:
    """Return whether a proof mentions the fact's value, or the entity if the proof's side is `value`."""
    name = fact.entity if proof.side == "value" else fact.value.item or ""
    if proof.side == "value" or fact.value.kind == ITEM:
        thing = graph.things.get(name)
        target = NameTarget(make_names(thing.label, thing.aliases), parts=True) if thing else None
        return target is not None and bool(find_mention(proof.text, target, proof.headers))
    value = make_value_target(fact, graph.things, ROUNDING)
    return value is not None and bool(find_mention(proof.text, value, proof.headers))


def find_other_question(item: TanqItem, graph: GraphByIds) -> str:
    """Return an error message if a question is not the expected question; otherwise an empty string.

    The expected question is the rephrased question with the phrases of the skills added.
    """
    base = _make_base(item, graph)
    if isinstance(base, str):
        return base
    try:
        text = write_question(item.ext_question_rephrased, base, item.skills, item.noun)
    except ValueError as error:
        return str(error)
    return "" if text == item.question else f"the expected question is: {text[:160]}"


def _rebuild_table(
    item: TanqItem, graph: GraphByIds
) -> tuple[tuple[FinalColumn, ...], tuple[FinalRow, ...]] | str:
    base = _make_base(item, graph)
    if isinstance(base, str):
        return base
    try:
        return apply_skills(base, item.skills)
    except (ValueError, KeyError) as error:
        return f"the skills cannot be applied: {error}"


def _make_base(item: TanqItem, graph: GraphByIds) -> BaseTable | str:
    """Rebuild the table without skills from the facts of the item's cells.

    Returns an error message if the table cannot be rebuilt.
    """
    if unknown := [relation for relation in item.relations if relation not in graph.relations]:
        return f"the graph does not contain the relation {unknown[0]}"
    rows = []
    for row in item.rows:
        if len(row.cells) < len(item.relations):
            return f"the row of {row.label} has fewer cells than the question has relations"
        cells = [tuple(graph.facts.get(fact) for fact in cell.facts) for cell in row.cells]
        own = []
        for relation, cell in zip(item.relations, cells, strict=False):
            facts = tuple(fact for fact in cell if fact is not None)
            if len(facts) < len(cell):
                return f"a cell of {row.label} uses a fact that the graph does not contain"
            if any((fact.entity, fact.relation) != (row.entity, relation) for fact in facts):
                return f"a cell of {row.label} uses a fact of another entity or relation"
            own.append(facts)
        rows.append(
            BaseRow(
                row.entity, graph.things[row.entity].label if row.entity in graph.things else "", tuple(own)
            )
        )
    return BaseTable(tuple(make_column(graph.relations[name], graph) for name in item.relations), tuple(rows))


def _name(columns: tuple[FinalColumn, ...]) -> str:
    return ", ".join(column.header for column in columns)


@cache
def _adapt_item() -> TypeAdapter[TanqItem]:
    return TypeAdapter(TanqItem)
