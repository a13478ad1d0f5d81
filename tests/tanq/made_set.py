"""A fictitious question set, from facts to questions with skills, in the format of the upstream stages."""

from tasks.tanq.build.extend import ExtendedQuestion
from tasks.tanq.build.proofs import Proof
from tasks.tanq.build.rephrase import RephrasedQuestion
from tasks.tanq.build.skills import Skills, skills
from tasks.tanq.build.tables import AnswerTable, TableCell, TableRow
from tasks.tanq.build.verify import ProofVerdict
from tasks.tanq.entries import TanqSet
from tasks.tanq.graph.relations import Relation
from tasks.tanq.graph.seed_question import Condition, SeedAnswer, SeedQuestion
from tasks.tanq.graph.things import Thing
from tasks.tanq.labels import Support
from tests.tanq.skill_tables import COLUMNS, NORTH, make_fact

ENTRY = TanqSet(source="trial", questions=6)
ASKED = ("P36", "P2046", "P1082", "P37")
UNIT = "Q712226"
FACTS = [
    make_fact(name, relation, given)
    for name, facts in NORTH.items()
    for relation in ASKED
    for given in facts[relation]
]
RELATIONS = [
    Relation(
        name, column.tag.replace("_", " "), column.words, column.one, column.kind,
        UNIT if column.unit else "", "", rank, 4, 4, (),
    )
    for rank, (name, column) in enumerate(COLUMNS.items())
    if name in ASKED
]  # fmt: skip
THINGS = [
    *(Thing(name, name, (), name, ("class/country",), ()) for name in NORTH),
    *(
        Thing(fact.value.item, fact.shown, (), fact.shown, (), ())
        for fact in {fact.shown: fact for fact in FACTS if fact.value.item}.values()
    ),
    Thing(UNIT, "square kilometre", (), "", (), ()),
    Thing("class/country", "country", (), "", (), ()),
]
SEEDS = [
    SeedQuestion(
        f"s{number}", kind, f"{kind} countries P{number}", f"Which countries are in {place}?", "countries",
        "class/country", (Condition("P361", place, place),),
        tuple(SeedAnswer(name, (), ("Between",) if kind == "composition" else ()) for name in NORTH),
        (), "graph", (),
    )
    for number, (kind, place) in enumerate(
        [("simple", "the North"), ("intersection", "Europe"), ("composition", "a union"),
         ("simple", "the West"), ("simple", "the league")]
    )
]  # fmt: skip


def say(fact):
    """Return a sentence that proves a fact."""
    unit = " square kilometres" if fact.relation == "P2046" else ""
    return f"The {COLUMNS[fact.relation].one} of {fact.entity} is {fact.shown}{unit}."


PROOFS = [
    Proof(
        f"proof-{fact.id}", fact.id, "entity", fact.entity, None, "", "", place, "text", (), "", say(fact),
        fact.shown, (),
    )
    for place, fact in enumerate(FACTS)
]  # fmt: skip
VERDICTS = [
    ProofVerdict(proof.id, proof.fact, proof.text, Support.SUPPORTED, "model", ()) for proof in PROOFS
]


def make_answer(seed, relations):
    rows = tuple(
        TableRow(
            name,
            tuple(
                TableCell(tuple(fact.id for fact in facts), tuple(fact.shown for fact in facts))
                for relation in relations
                for facts in ([fact for fact in FACTS if (fact.entity, fact.relation) == (name, relation)],)
            ),
        )
        for name in NORTH
    )
    listed = ", ".join(f"{COLUMNS[name].words} ({COLUMNS[name].tag})" for name in relations)
    text = f"{seed.text.rstrip('?')} and what are their {listed}?"
    return AnswerTable(f"t{seed.id}", seed.id, text, relations, rows, 0, (), (), ())


TABLES = [make_answer(seed, ASKED[: 2 + place % 3]) for place, seed in enumerate(SEEDS)]
REPHRASED = [RephrasedQuestion(table.id, table.text, table.text, ()) for table in TABLES]
EXTENDED = [
    ExtendedQuestion(
        table.id, table.seed, table.text, table.relations, tuple(NORTH),
        tuple(fact.id for fact in FACTS if fact.relation in table.relations), (),
    )
    for table in TABLES
]  # fmt: skip


def make_skilled(**params):
    made = skills(
        REPHRASED,
        TABLES,
        EXTENDED,
        SEEDS,
        FACTS,
        RELATIONS,
        THINGS,
        PROOFS,
        VERDICTS,
        Skills(**params),
        ENTRY,
    )
    return list(made.rows)
