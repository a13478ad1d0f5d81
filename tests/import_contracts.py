"""An import contract for all papers' packages, including new papers."""

from grimp import ImportGraph
from importlinter import Contract, ContractCheck, fields, output

from flows.code import ROOMS


class PapersContract(Contract):
    """Packages other than shared packages are papers: no paper or shared package imports (another) paper."""

    type_name = "papers"
    package = fields.StringField()

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:
        children = {child for child in graph.find_children(self.package) if graph.find_children(child)}
        papers = sorted(child for child in children if child.rpartition(".")[2] not in ROOMS)
        broken = [
            chain
            for paper in papers
            for other in sorted(children - {paper})
            for chain in graph.find_shortest_chains(importer=other, imported=paper)
        ]
        return ContractCheck(kept=not broken, metadata={"broken": broken})

    def render_broken_contract(self, check: ContractCheck) -> None:
        for chain in check.metadata["broken"]:
            output.print_error(f"{chain[0]} imports a paper: {' -> '.join(chain)}")
