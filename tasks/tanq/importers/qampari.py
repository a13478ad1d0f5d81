"""Import QAMPARI's list questions, and look up their answers and conditions in a graph."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from tasks.artifacts.rows import Origin, make_id
from tasks.english import make_plural
from tasks.errors import BadInput
from tasks.sources.base_importer import Imported, Project, option
from tasks.sources.json_records import BrokenRecord, read_records
from tasks.sources.loose_fields import BadRecord
from tasks.sources.qampari import QampariAnswer, QampariQuestion, read_question
from tasks.tanq.graph.seed_question import COMPOSITION, Condition, SeedAnswer, SeedProof, SeedQuestion
from tasks.tanq.importers.answer_noun import find_noun
from tasks.tanq.importers.graph_names import (
    BY_NAME,
    GraphNames,
    ItemClaim,
    WantedNames,
    count_classes,
    fold_name,
)
from tasks.tanq.importers.records import ReadRecord, RecordsImporter

SOURCES = "tanq.sources"
LEAST = 2
"""Minimum number of answers to a list question."""
NO_ID, NOT_THERE, AMBIGUOUS, OTHER_CLASS = "no_id", "not_in_graph", "ambiguous", "other_class"
PEOPLE = "Q5"
SOURCE = "qampari"


class Qampari(RecordsImporter):
    """Import QAMPARI's list questions, from which tanq builds its questions (docs/tanq.md).

    Example: benchloom import qampari dev_data.jsonl.gz --graph data/raw/wikidata/main
    """

    name = "qampari"
    folder, file, row = Path("data/raw/qampari"), "seeds.parquet", SeedQuestion
    source = "https://samsam3232.github.io/qampari/"
    licence = "CC0-1.0"
    attribution = "QAMPARI (Amouyal et al., 2022); the texts of proofs are Wikipedia's, CC BY-SA"
    rows, records, none = "questions", "list questions", "no list question of {:,}"
    counted, then = "answers", "now: tanq.sources.*.seeds: {folder}/{file}"

    graph: Path | None = option(
        "An imported Wikidata folder, in which answers are found by id, link and label.", "FOLDER"
    )
    called: str = option("Name of the new folder under data/raw/qampari.", "NAME", "--name", default="main")
    whole: bool = option("Skip a question if one of its answers is not found.", default=False)
    tanq_source: str | None = option(
        "Use the questions as the list questions of this entry of `tanq.sources`.", "NAME", "--source"
    )
    names: GraphNames | None = None
    """The names in the graph; None if there is no graph.

    Without a graph, only answers with an id are used.
    """

    def bring_in(self, project: Project) -> Imported:
        """Write the questions, and set their path in params.yaml if `--source` names an entry."""
        if self.tanq_source is not None and self.tanq_source not in (project.find(SOURCES) or {}):
            raise BadInput("--source", f"params.yaml has no {SOURCES}.{self.tanq_source}")
        self.names = self._read_graph(self.graph) if self.graph else None
        done = super().bring_in(project)
        if self.tanq_source is None:
            return done
        place = (self.folder / self.called / self.file).as_posix()
        return replace(done, settings={("tanq", "sources", self.tanq_source, "seeds"): place})

    def _read_graph(self, graph: Path) -> GraphNames:
        """Collect the names of all answers, then look them up in the graph.

        The input file is read twice, so that memory use stays bounded.
        """
        wanted = WantedNames()
        for _, record in read_records(self.path):
            if not isinstance(record, BrokenRecord):
                with suppress(BadRecord):
                    want_names(read_question(record), wanted)
        return GraphNames(graph, wanted)

    def read_row(self, where: str, record: object) -> ReadRecord | None:
        """Convert a record to a question, and log answers that were not found; None if too few are left."""
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
        """Return the graph's folder name for about.json; None without a graph."""
        return {"graph": self.graph.name if self.graph else None}

    def word_more(self) -> list[str]:
        """Return a line with the number of questions whose conditions were found in the graph."""
        known = self.counts["with_conditions"]
        return [f"what the question demands is known by the graph: {known:,} questions"]

    def advise(self) -> str:
        """Return the reason why no question could be imported."""
        if self.graph is None and self.skipped.counts["answer_no_id"]:
            return "its answers have no Wikidata ids: --graph FOLDER looks them up in an imported graph"
        return super().advise()


@dataclass(frozen=True)
class LostAnswer:
    """An answer without an entity. reason: `no_id`, `not_in_graph`, `ambiguous` or `other_class`."""

    name: str
    reason: str


@dataclass(frozen=True)
class FoundAnswers:
    """A question's answers: `found` (by entity, in the question's order) and `lost` (without an entity)."""

    found: Mapping[str, QampariAnswer]
    lost: Sequence[LostAnswer]


def want_names(question: QampariQuestion, wanted: WantedNames) -> None:
    """Add the ids, articles and names of a question to the names to look up in a graph."""
    for answer in question.answers:
        wanted.ids.update(filter(None, (answer.item,)))
        wanted.articles.update(filter(None, (answer.article, *(proof.article for proof in answer.proofs))))
        if not answer.item:
            wanted.names.update(map(fold_name, answer.names))


def take_given(question: QampariQuestion) -> FoundAnswers:
    """Classify the answers with an id in the file as found, and all other answers as lost."""
    found: dict[str, QampariAnswer] = {}
    lost = []
    for answer in question.answers:
        if answer.item:
            found.setdefault(answer.item, answer)
        else:
            lost.append(LostAnswer(answer.names[0], NO_ID))
    return FoundAnswers(found, lost)


def find_answers(question: QampariQuestion, names: GraphNames) -> FoundAnswers:
    """Find the answers of a question in a graph.

    If more than half of the unambiguous answers share a class, an entity found by name must be an instance of
    the shared class. The name of a film therefore does not match a manga. If several entities remain, the
    answer is lost as ambiguous.
    """
    options = [
        (answer, *names.find(answer.item, answer.article, answer.names)) for answer in question.answers
    ]
    common = _find_common_class([entities[0] for _, _, entities in options if len(entities) == 1], names)
    found: dict[str, QampariAnswer] = {}
    lost = []
    for answer, how, entities in options:
        alike = [entity for entity in entities if not common or common in names.list_classes(entity)]
        own = alike if how == BY_NAME else entities
        if len(own) == 1:
            found.setdefault(own[0], answer)
        else:
            reason = NOT_THERE if not entities else AMBIGUOUS if own or len(entities) > 1 else OTHER_CLASS
            lost.append(LostAnswer(answer.names[0], reason))
    return FoundAnswers(found, lost)


def make_imported_seed(
    question: QampariQuestion, answers: Mapping[str, QampariAnswer], names: GraphNames | None, place: str
) -> SeedQuestion:
    """Convert a question to a row. place: the question's position in the source, as `file#id`."""
    target = _find_common_class(list(answers), names) if names else ""
    called = names.get_label(target) if names else ""
    noun = find_noun(question.text, "people" if target == PEOPLE else make_plural(called) if called else "")
    conditions, rows = _find_conditions(question, answers, names) if names else ((), None)
    relations = sorted(
        {name for condition in conditions for name in (condition.relation, condition.through) if name}
    )
    return SeedQuestion(
        id=make_id(SOURCE, question.id, question.text),
        kind=question.kind,
        shape=" ".join((question.kind, noun, *relations)),
        text=_write_question(question.text),
        noun=noun,
        target=target,
        conditions=conditions,
        answers=tuple(rows or (SeedAnswer(entity, (), ()) for entity in answers)),
        proofs=tuple(
            SeedProof(entity, proof.article, proof.text)
            for entity, answer in answers.items()
            for proof in answer.proofs
        ),
        source=SOURCE,
        origin=(Origin("evidence", place),),
    )


def _find_common_class(entities: Sequence[str], names: GraphNames) -> str:
    """Return the class of more than half of the entities; empty if no class is that frequent."""
    counts = count_classes(entities, names)
    most = max(counts, key=lambda noun: counts[noun], default="")
    return most if most and 2 * counts[most] > len(entities) else ""


def _find_conditions(
    question: QampariQuestion, answers: Mapping[str, QampariAnswer], names: GraphNames
) -> tuple[tuple[Condition, ...], list[SeedAnswer]]:
    """Return the conditions of a question, and the answers with their facts.

    Conditions are facts that all answers have in common and whose values the question names. If a composition
    has no such facts, its conditions are facts about intermediate entities. The articles of these entities
    must be among the proofs.
    """
    direct = {entity: _list_named(question.text, entity, names) for entity in answers}
    found = _share(
        {entity: {(claim.relation, claim.value, "") for claim in claims} for entity, claims in direct.items()}
    )
    ways = {entity: _find_ways(question.text, entity, answers[entity], names) for entity in answers}
    if question.kind == COMPOSITION and not found:
        found = _share(
            {
                entity: {(claim.relation, claim.value, link.relation) for _, link, claim in way if claim}
                for entity, way in ways.items()
            }
        )
    rows = []
    for entity in answers:
        facts = [claim.id for claim in direct[entity] if (claim.relation, claim.value, "") in found]
        for _, link, claim in ways[entity]:
            if claim and (claim.relation, claim.value, link.relation) in found:
                facts += [link.id, claim.id]
        through = dict.fromkeys(thing for thing, _, _ in ways[entity]) if question.kind == COMPOSITION else ()
        rows.append(SeedAnswer(entity, tuple(dict.fromkeys(facts)), tuple(through)))
    conditions = [
        Condition(relation, value, names.get_label(value), through)
        for relation, value, through in sorted(found)
    ]
    return tuple(conditions), rows


def _share(own: Mapping[str, set[tuple[str, str, str]]]) -> set[tuple[str, str, str]]:
    return set.intersection(*own.values()) if own else set()


def _find_ways(
    text: str, entity: str, answer: QampariAnswer, names: GraphNames
) -> list[tuple[str, ItemClaim, ItemClaim | None]]:
    """Find the intermediate entities between an answer and the values that the question names.

    The articles of the intermediate entities are among the answer's proofs. Each result is a
    tuple: the entity, the fact that links the entity to the answer, and the entity's fact whose value the
    question names. The third element is None if the question names no value of the entity.
    """
    ways: list[tuple[str, ItemClaim, ItemClaim | None]] = []
    for title in dict.fromkeys(proof.article for proof in answer.proofs):
        thing = names.find_article(title)
        if not thing or thing == entity:
            continue
        links = [claim for claim in names.list_claims(thing) if claim.value == entity]
        links += [claim for claim in names.list_claims(entity) if claim.value == thing]
        named: list[ItemClaim | None] = [
            claim for claim in _list_named(text, thing, names) if claim.value != entity
        ]
        ways += [(thing, link, claim) for link in links for claim in named or [None]]
    return ways


def _list_named(text: str, entity: str, names: GraphNames) -> list[ItemClaim]:
    """List the statements of an entity whose values the text names."""
    return [claim for claim in names.list_claims(entity) if _names_thing(text, names.get_label(claim.value))]


def _names_thing(text: str, label: str) -> bool:
    return bool(label) and re.search(rf"(?<!\w){re.escape(label)}(?!\w)", text, re.IGNORECASE) is not None


def _write_question(text: str) -> str:
    """Capitalise the first letter of a question, and end the question with one question mark."""
    plain = re.sub(r"(?<![A-Z])[.\s]+$", "", text.rstrip(" ?"))  # keep the period of `U.S.`
    return f"{plain[:1].upper()}{plain[1:]}?"
