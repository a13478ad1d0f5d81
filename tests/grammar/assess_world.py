"""Test data to assess systems: villages with documents, short and long questions, a scripted model.

The model answers with the elevation that the sources state for the village of the question; otherwise it says
that it does not know. Long questions consist mostly of words from the chronicle, an unrelated document, so a
retriever that counts shared words finds the chronicle.
"""

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tasks.artifacts.rows import Origin, make_id
from tasks.grammar.assess.answers import answers
from tasks.grammar.assess.assessment_entry import AssessmentEntry
from tasks.grammar.assess.baselines import Baselines, baselines
from tasks.grammar.assess.canaries import canaries
from tasks.grammar.assess.closed_domain import closed_domain
from tasks.grammar.assess.judgements import Judgements, judgements
from tasks.grammar.corpus.questions import AskedQuestion
from tasks.grammar.corpus.statements import AnswerFacts, AnswerSupport, StatedCells
from tasks.models.ask import Answer, Unparsed, render_prompt
from tasks.systems.contract import Document
from tasks.systems.entries import RagEntry
from tests.grammar.scripted import PROMPTS
from tests.judging.scripted import sign

LONG = (
    "I would like to know one thing about a place that I have read of in an old book and that I hope to see "
    "before the year is over: how high above the level of the sea does the village of {name} lie, if anybody "
    "has measured it and has written it down?"
)
WEAK = RagEntry(kind="rag", retriever="keyword", top_k=1)
GOOD = RagEntry(kind="rag", retriever="bm25", top_k=3)
ALONE = RagEntry(kind="rag", retriever="none")
CONCISE = RagEntry(kind="rag", retriever="none", wording="concise")
SYSTEMS = {"weak": WEAK, "good": GOOD, "alone": ALONE, "concise": CONCISE}


@dataclass(frozen=True)
class World:
    questions: list[AskedQuestion]
    documents: list[Document]


def name_village(number: int) -> str:
    first, second = ("Ba", "De", "Ki", "Lo", "Mu"), ("nor", "rand", "lesk", "vitt")
    return f"{first[number % 5]}{second[number // 5 % 4]}{number:02}"


def make_world(groups: int = 20, known: Callable[[int], bool] = lambda number: True) -> World:
    """Make two short questions and one long question per village. known: whether a true document is known."""
    questions, documents = [], []
    for number in range(groups):
        name, group = name_village(number), make_id("village", number)
        text = f"{name} lies {1000 + number} metres above the sea."
        documents.append(Document(f"d{number:02}", name, text, (Origin("file", "villages"),)))
        for criterion, sentence, kept in (
            ("short", f"{name} elevation", True),
            ("short", f"elevation of {name}", False),
            ("long", LONG.format(name=name), True),
        ):
            questions.append(
                AskedQuestion(
                    id=make_id("question", sentence),
                    group=group,
                    criterion=criterion,
                    question=sentence,
                    answer=str(1000 + number),
                    sql_template=f"t{number % 14}",
                    text_template=make_id(number % 3, criterion, kept),
                    in_balanced=kept,
                    in_unbalanced=criterion == "short" or number % 2 == 0,
                    true_document_ids=(f"d{number:02}",) if known(number) else None,
                    origin=(Origin("row", f"balanced#{make_id('question', sentence)}"),),
                )
            )
    chronicle = LONG.format(name="nowhere").replace("lie,", "lie, as")
    documents.append(Document("zz", "A chronicle", chronicle, (Origin("file", "villages"),)))
    return World(questions, documents)


def list_facts(world: World) -> list[AnswerFacts]:
    """List the facts in the villages' documents: each document states its village's elevation."""
    column = "villages.elevation"
    true = {question.group: question for question in world.questions if question.true_document_ids}
    return [
        AnswerFacts(
            id=group,
            needed=(column,),
            names=(),
            columns=(column,),
            supports=(
                AnswerSupport(0, (asked.answer,), (StatedCells(asked.true_document_ids or (), (column,)),)),
            ),
            origin=(),
        )
        for group, asked in true.items()
    ]


@dataclass
class Model:
    """The scripted model for all roles; stores its requests as (prompt, role, sample, text)."""

    reply: Callable[[str, str, int, dict[str, Any]], str] | None = None
    asked: list[tuple[str, str, int, str]] = field(default_factory=list)

    async def __call__(
        self, prompt, fields, *, role, row, parse, grammar=None, schema=None, sample=0, max_tokens=None,
        top_logprobs=0, turns=(), tools=(),
    ) -> Answer[Any]:  # fmt: skip
        path = prompt if isinstance(prompt, Path) else PROMPTS / f"{prompt}.md"
        rendered = render_prompt(path, fields)
        self.asked.append((path.stem, role, sample, rendered.messages[-1]["content"]))
        said = self.reply and self.reply(path.stem, role, sample, fields)
        text = answer_as_told(path.stem, fields) if said is None else said
        call = make_id(path.stem, role, sample, [dict(message) for message in rendered.messages])
        try:
            return Answer(parse(sign(text, rendered.messages[-1]["content"])), text, call, 1)
        except Unparsed as error:
            return Answer(None, text, call, 1, str(error))

    def count(self, prompt: str) -> int:
        return sum(asked[0] == prompt for asked in self.asked)


def answer_as_told(prompt: str, fields: dict[str, Any]) -> str:
    """Reply like a model that reads well but has no knowledge."""
    if prompt == "answer":
        fits = (source.text for source in fields["sources"] if source.title in fields["question"])
        return next((text.split(" lies ")[-1] for text in fits if " lies " in text), "I do not know")
    if prompt in ("answer_alone", "answer_concise"):
        return "I do not know"
    if prompt == "judge":
        return f"Verdict: {'Correct' if str(fields['answer']) in str(fields['response']) else 'Incorrect'}"
    if prompt == "claims":
        said = str(fields["response"])
        return "None" if "know" in said else f"- It lies {said.split('> ')[1].split(' ')[0]} metres high."
    if prompt == "claim_check":
        heights = [str(claim).split("lies ")[1].split(" ")[0] for claim in fields["claims"]]
        return number_verdicts(height in str(fields["sources"]) for height in heights)
    if prompt == "same_answer":
        one, *others = (str(text).splitlines()[1] for text in (fields["answer"], *fields["others"]))
        return number_verdicts(one.split()[1] == other.split()[1] for other in others)
    raise AssertionError(prompt)


def describe_system(name: str) -> dict[str, object]:
    return {f"systems.{name}.{key}": value for key, value in SYSTEMS[name].model_dump().items()}


def number_verdicts(found: Iterable[bool]) -> str:
    return "\n".join(f"Verdict: {n} {'Yes' if yes else 'No'}" for n, yes in enumerate(found, 1))


def assess(world: World, name: str, *, withheld=None, model: Model | None = None, sample: int = 6):
    """Run the stages up to the judgements; return the row arguments of `assessment` by name."""
    ask = model or Model()
    entry = AssessmentEntry(database="villages", system=name, llm_only=f"v-{name}", withheld=withheld)
    system = SYSTEMS[name]

    async def run():
        answered = (await answers(world.questions, world.documents, f"v-{name}", entry, system, ask)).rows
        judged = (await judgements(answered, world.questions, [], Judgements(), ask)).rows
        free = await baselines(
            answered, world.questions, world.documents, entry, system, Baselines(sample=sample), ask
        )
        tried = await canaries({"grammar.judgements.feedback": False}, ask)
        return {
            "answers": answered,
            "judgements": judged,
            "questions": world.questions,
            "baselines": free.rows,
            "canaries": tried.rows,
            "closed_domain": closed_domain(judged, entry, describe_system(name)).rows,
            "documents": world.documents,
            "human_labels": [],
            "answer_facts": list_facts(world),
            "entry": entry,
        }

    return asyncio.run(run())
