"""Stage: hold a question set's artifacts to their contracts; tables are made again of the graph's facts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from tasks.artifacts.contracts import Expectation, Record, RowRule, expect_match
from tasks.artifacts.export import draft_folder
from tasks.artifacts.parquet import StoredRows, read_valid_rows
from tasks.artifacts.rows import Counts
from tasks.reports.contract_stage import Rules, check_artifacts, expect_hash, require_contracts
from tasks.tanq.build.extend import ExtendedQuestion
from tasks.tanq.build.proofs import Proof
from tasks.tanq.build.rephrase import RephrasedQuestion
from tasks.tanq.build.skills import SkilledQuestion, make_graph
from tasks.tanq.build.tables import AnswerTable
from tasks.tanq.build.tanq_item import TanqItem
from tasks.tanq.build.verify import ProofVerdict
from tasks.tanq.graph.facts import Fact
from tasks.tanq.graph.relations import Relation
from tasks.tanq.graph.seed_question import KINDS, SeedQuestion
from tasks.tanq.graph.things import Thing
from tasks.tanq.labels import Support
from tasks.tanq.publish.item_rules import Grounds, find_no_mention, list_item_rules

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
    "seeds": (expect_match("kind", "It is of one of three kinds.", "kind", f"^({'|'.join(KINDS)})$"),),
    "verify": (expect_match("label", "Its label is one of three.", "label", f"^({'|'.join(Support)})$"),),
    "skills": (expect_hash(),),
    "items": (expect_hash(),),
}
"""What must hold of each row by itself."""


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

    facts, relations, things: of the set's source. Raises ContractBroken after writing, with one line that
    names artifact, contract, count and ids.
    """
    made = (seeds, extend, proofs, candidates, verify, tables, rephrase, skills, items)
    paths = {path.stem: path for path in made}
    with draft_folder(out) as folder:
        findings = check_artifacts(
            f"Contracts of the question set {out.parent.name}",
            {path: ROWS[stem] for stem, path in paths.items()},
            lambda origins: declare(paths, read_grounds(paths, facts, relations, things), origins),
            folder,
            sources=(facts, relations, things),
        )
    return require_contracts(findings, out)


def declare(paths: Mapping[str, Path], grounds: Grounds, origins: RowRule) -> Rules:
    """Declare the rules of each artifact: of single rows, and of rows with what they stand on."""

    def find_problem(record: Record) -> str | None:
        proof = grounds.proofs.get(record["id"])
        return None if proof is None else find_no_mention(proof, grounds.graph)

    mentions = RowRule(
        "mentions_fact",
        "Its text has the words that were found, and mentions the other end of its fact.",
        ("id", "fact", "side", "text", "mention", "headers"),
        find_problem,
    )
    grounded = {"proofs": [mentions], "items": list_item_rules(grounds)}
    return {path: [origins, *SINGLE.get(stem, ()), *grounded.get(stem, ())] for stem, path in paths.items()}


def read_grounds(paths: Mapping[str, Path], facts: Path, relations: Path, things: Path) -> Grounds:
    """Read what items stand on; of the source's facts only those that the items name or that were proven."""
    proofs = {proof.id: proof for proof in read_valid_rows(paths["proofs"], Proof)}
    named = {proof.fact for proof in proofs.values()}
    for item in read_valid_rows(paths["items"], TanqItem):
        named |= {fact for row in item.rows for cell in row.cells for fact in cell.facts}
    return Grounds(
        make_graph(
            _read_facts(facts, named), read_valid_rows(relations, Relation), read_valid_rows(things, Thing)
        ),
        proofs,
        {verdict.id: verdict for verdict in read_valid_rows(paths["verify"], ProofVerdict)},
    )


def _read_facts(path: Path, named: set[str]) -> Iterable[Fact]:
    return (fact for fact in StoredRows(path, Fact) if fact.id in named)
