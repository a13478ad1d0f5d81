"""Run all stages from a graph and its articles to finished items, with a preset and a scripted model."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from flows.presets import fill_presets
from tasks.artifacts.rows import Drafts, make_id
from tasks.models.ask import Answer, try_parse
from tasks.tanq.build.candidates import Candidates, candidates
from tasks.tanq.build.extend import Extend, ExtendedQuestion, extend
from tasks.tanq.build.items import Items, items
from tasks.tanq.build.proofs import Proof, Proofs, proofs
from tasks.tanq.build.rephrase import Rephrase, rephrase
from tasks.tanq.build.seeds import Seeds, seeds
from tasks.tanq.build.skills import Skills, skills
from tasks.tanq.build.tables import Tables, tables
from tasks.tanq.build.tanq_item import TanqItem
from tasks.tanq.build.verify import Verify, verify
from tasks.tanq.entries import GraphSource, TanqSet
from tasks.tanq.graph.articles import articles
from tasks.tanq.graph.facts import Fact, facts
from tasks.tanq.graph.list_questions import ListQuestions, list_questions
from tasks.tanq.graph.relations import Relation, relations
from tasks.tanq.graph.seed_question import SeedQuestion
from tasks.tanq.graph.things import Thing, things
from tasks.tanq.graph.unread import unread

ROOT = Path(__file__).parents[2]
Reply = Callable[[Mapping[str, Any], str], str]


@dataclass
class ScriptedModel:
    """Replies to each prompt by a function of the prompt's fields and row."""

    replies: Mapping[str, Reply]
    counts: Counter[str] = field(default_factory=Counter)
    said: dict[str, str] = field(default_factory=dict)
    """Proof -> the last reply about the proof."""

    async def __call__(
        self, prompt: str, fields: Mapping[str, object], *, row: str, parse: Callable[[str], Any], **_: Any
    ) -> Answer[Any]:
        text = self.replies[prompt](fields, row)
        self.counts[prompt] += 1
        self.said[row] = text
        value, problem = try_parse(parse, text)
        return Answer(value, text, make_id(prompt, row, self.counts[prompt]), 1, problem or "")


@dataclass
class Built:
    """The stages' results, and the dropped rows by stage and reason."""

    facts: Sequence[Fact]
    things: Sequence[Thing]
    relations: Sequence[Relation]
    seeds: Sequence[SeedQuestion]
    extended: Sequence[ExtendedQuestion]
    proofs: Sequence[Proof]
    items: Sequence[TanqItem]
    drops: dict[str, Counter[str]]
    kept: dict[str, int]


def read_settings(preset: str, changes: Mapping[str, Mapping[str, Any]]) -> Mapping[str, Any]:
    """Return the settings of the flow's stages with a preset, and with a test's changes."""
    written = yaml.safe_load((ROOT / "params.yaml").read_text(encoding="utf-8"))["tanq"]
    own = {name: {**written.get(name, {}), **changed} for name, changed in changes.items()}
    filled: Mapping[str, Any] = fill_presets({"tanq": {**written, **own, "preset": preset}})["tanq"]
    return filled


def build(
    folder: Path,
    source: GraphSource,
    entry: TanqSet,
    make_model: Callable[[Built], Any],
    preset: str = "paper",
    **changes: Mapping[str, Any],
) -> Built:
    """Run all stages. make_model: receives the results before the first call. changes: stage -> settings."""
    settings = read_settings(preset, changes)
    built = Built((), (), (), (), (), (), (), {}, {})

    def keep(name: str, drafts: Drafts[Any]) -> list[Any]:
        built.drops[name] = Counter(drop.reason for drop in drafts.dropped)
        built.kept[name] = len(drafts.rows)
        return list(drafts.rows)

    built.facts = keep("facts", facts(source))
    built.things = keep("things", things(built.facts, source))
    built.relations = keep("relations", relations(built.facts, source))
    articles(built.things, source, folder / "articles")
    missed = list(unread(source).rows)
    listed = keep(
        "list_questions",
        list_questions(
            list(built.facts), list(built.things), list(built.relations), missed, source,
            ListQuestions(**settings["list_questions"]),
        ),
    )  # fmt: skip
    own_things, own_relations = list(built.things), list(built.relations)
    built.seeds = keep("seeds", seeds(listed, Seeds(**settings["seeds"]), entry))
    asked = list(built.seeds)
    built.extended = keep(
        "extend",
        extend(asked, list(built.facts), own_things, own_relations, missed, Extend(**settings["extend"])),
    )
    found = keep(
        "proofs",
        proofs(
            list(built.extended), built.facts, own_things, own_relations, folder / "articles",
            Proofs(**settings["proofs"]),
        ),
    )  # fmt: skip
    built.proofs = found
    flat = {
        f"tanq.{stage}.{key}": value
        for stage in ("tables", "verify")
        for key, value in settings[stage].items()
    }
    likely = keep(
        "candidates",
        candidates(
            list(built.extended), asked, found, built.facts, own_relations, flat,
            Candidates(**settings["candidates"]), entry,
        ),
    )  # fmt: skip
    ask = make_model(built)
    verdicts = keep(
        "verify",
        asyncio.run(
            verify(found, likely, built.facts, own_things, own_relations, Verify(**settings["verify"]), ask)
        ),
    )
    answers = keep(
        "tables",
        tables(likely, asked, verdicts, built.facts, own_things, own_relations, Tables(**settings["tables"])),
    )
    reworded = keep(
        "rephrase",
        asyncio.run(
            rephrase(answers, asked, own_relations, own_things, Rephrase(**settings["rephrase"]), entry, ask)
        ),
    )
    skilled = keep(
        "skills",
        skills(
            reworded, answers, likely, asked, built.facts, own_relations, own_things, found, verdicts,
            Skills(**settings["skills"]), entry,
        ),
    )  # fmt: skip
    built.items = keep(
        "items",
        items(
            skilled, reworded, answers, asked, built.facts, own_things, own_relations, found, verdicts,
            Items(**settings["items"]), entry,
        ),
    )  # fmt: skip
    return built
