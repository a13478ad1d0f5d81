"""Stage: rephrase questions with a model, and preserve the tags of all relations (step 4)."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pydantic import Field

from tasks.artifacts.rows import Drafts, Dropped, Origin, make_id
from tasks.models.ask import Ask, Unparsed
from tasks.models.frames import Parts, write_frame
from tasks.models.rounds import ask_in_rounds
from tasks.settings import Settings
from tasks.tanq.build.skill_words import find_tags, make_tags, remove_tags
from tasks.tanq.build.tables import AnswerTable
from tasks.tanq.build.wording import list_words, name_column
from tasks.tanq.entries import TanqSet
from tasks.tanq.graph.relations import Relation
from tasks.tanq.graph.seed_question import SeedQuestion, choose_pronoun
from tasks.tanq.graph.things import Thing

NAME = re.compile(r"(?<![\w'\u2019-])[^\W\d_a-z][\w'\u2019-]*")
"""Matches a word that does not begin with a lower-case letter: a name, or the first word of a sentence."""
NUMBER = re.compile(r"\d[\d,.]*\d|\d")
FIRST_WORDS = frozenset({
    "Among", "As", "By", "For", "From", "Give", "How", "In", "Of", "On", "The", "What", "When", "Where",
    "Which", "Who", "Whose",
})  # fmt: skip
"""Capitalised words that a question may begin with."""
SUBJECT = re.compile(r"(?!(?:does|do|did|has|have been|will|can) )\w+ .+")
"""Matches the rest of a question after `Which countries`, if the countries are the subject of the verb."""
SHORT, A_COLUMN = 160, 25
"""Maximum number of tokens in a reply, and the number of extra tokens per column after the third."""
LONGER = 12
"""Maximum number of words by which a rephrased question may exceed the original."""


@dataclass(frozen=True)
class RephrasedQuestion:
    """A row of stage `rephrase`: a question that a model rephrased (step 4).

    tagged: the question with the tag of each relation in parentheses. text: the question without tags.
    """

    id: str
    tagged: str
    text: str
    origin: tuple[Origin, ...]


class Rephrase(Settings):
    """The settings in params.yaml under `tanq.rephrase`."""

    rounds: int = Field(default=5, ge=1)
    """Maximum number of attempts per question."""
    questions: int | None = Field(default=None, ge=1)
    """Number of questions to rephrase, sampled with a seed; null rephrases all questions."""


async def rephrase(
    tables: list[AnswerTable],
    seeds: list[SeedQuestion],
    relations: list[Relation],
    things: list[Thing],
    params: Rephrase,
    entry: TanqSet,
    ask: Ask,
) -> Drafts[RephrasedQuestion]:
    """Rephrase every question with a model, without changing its relations, names or numbers.

    Drop reasons: `unrephrased` (no reply passed the checks); `not_asked` (not in the sample of `questions`).
    """
    by_seed = {seed.id: seed for seed in seeds}
    tags = make_tags({relation.id: relation.label for relation in relations})
    by_relation = {relation.id: relation for relation in relations}
    units = {thing.id: thing for thing in things}
    order = sorted(tables, key=lambda table: make_id(entry.seed, table.id))
    asked = order[: params.questions]
    outcomes = await asyncio.gather(
        *(
            _rephrase(
                table,
                by_seed[table.seed],
                tag_columns(table, by_relation, units, tags),
                tag_columns(table, by_relation, units, tags, of_each=True),
                params,
                ask,
            )
            for table in asked
        )
    )
    left = [
        Dropped(table.id, "not_asked", table.text, (Origin("row", f"tables#{table.id}"),))
        for table in order[len(asked) :]
    ]
    return Drafts(
        [outcome for outcome in outcomes if isinstance(outcome, RephrasedQuestion)],
        [*(outcome for outcome in outcomes if isinstance(outcome, Dropped)), *left],
    )


def tag_columns(
    table: AnswerTable,
    relations: Mapping[str, Relation],
    things: Mapping[str, Thing],
    tags: Mapping[str, str],
    *,
    of_each: bool = False,
) -> dict[str, str]:
    """Map each tag to the name of its column, followed by the tag: `capitals (capital)`.

    of_each: use the singular, unless an answer has several values.
    """
    several = {
        name
        for place, name in enumerate(table.relations)
        if any(len(row.cells[place].values) > 1 for row in table.rows)
    }
    return {
        tags[
            name
        ]: f"{name_column(relations[name], things, one=of_each and name not in several)} ({tags[name]})"
        for name in table.relations
    }


def list_frames(seed: SeedQuestion, columns: Mapping[str, str], each: Mapping[str, str]) -> Parts:
    """Return one part: the extended question, then the wordings that the grammar allows.

    columns, each: the results of `tag_columns` without and with `of_each`.
    """
    asked = " ".join(seed.text.split()).rstrip("?. ")
    listed, single = list_words(list(columns.values())), list_words(list(each.values()))
    verb = "is" if len(each) == 1 and each != columns else "are"
    frames = [
        f"{asked} and what are their {listed}",
        f"{asked}, and what {verb} the {single} of each",
        f"{asked}, and what are their {listed}",
    ]
    rest = asked.removeprefix(f"Which {seed.noun} ")
    if rest != asked and SUBJECT.fullmatch(rest):
        of = f"the {seed.noun} {choose_pronoun(seed.noun)} {rest}"
        frames += [f"What are the {listed} of {of}", f"For {of}, what are their {listed}"]
    return (frames,)


def check_rephrased(text: str, tagged: str, seed: SeedQuestion, tags: Sequence[str]) -> str:
    """Return a reply with normalised whitespace, after checking it against the tagged question.

    Raises Unparsed with the first problem found.
    """
    question = " ".join(text.split())
    if not question.endswith("?") or question.count("?") > 1 or re.search(r"[<>{}|`\[\]]", question):
        raise Unparsed("the reply is not a single question that ends with a question mark")
    if len(question.split()) > len(tagged.split()) + LONGER:
        raise Unparsed(f"the reply has more than {len(tagged.split()) + LONGER} words")
    found = find_tags(question, tags)
    if lost := [tag for tag in tags if tag not in found]:
        raise Unparsed(f"the tag ({lost[0]}) is missing")
    if len(found) > len(tags):
        raise Unparsed("a tag occurs twice")
    plain, given = remove_tags(question, tags), remove_tags(tagged, tags)
    if "(" in re.sub(r"\([^()]*\)", lambda match: "" if match[0] in given else match[0], plain):
        raise Unparsed("the reply contains text in parentheses that is not one of the tags")
    if lost := [condition.shown for condition in seed.conditions if condition.shown not in plain]:
        raise Unparsed(f"the reply does not mention {lost[0]}")
    if lost := sorted(list_names(given) - list_names(plain)):
        raise Unparsed(f"the reply does not mention {lost[0]}")
    if more := sorted(list_names(plain) - list_names(given)):
        raise Unparsed(f"the reply mentions {more[0]}, which is not in the original question")
    if sorted(NUMBER.findall(plain)) != sorted(NUMBER.findall(given)):
        raise Unparsed("its numbers differ from the numbers in the original question")
    return question


def list_names(text: str) -> set[str]:
    """List the capitalised words of a text, except the words in `FIRST_WORDS`."""
    return {name for name in NAME.findall(text) if name not in FIRST_WORDS}


async def _rephrase(
    table: AnswerTable,
    seed: SeedQuestion,
    columns: Mapping[str, str],
    each: Mapping[str, str],
    params: Rephrase,
    ask: Ask,
) -> RephrasedQuestion | Dropped:
    frames = list_frames(seed, columns, each)
    tagged = f"{frames[0][0]}?"
    tags = list(columns)
    # The example in the prompt varies between questions; otherwise a small model always copies the same
    # wording.
    meant = sorted(frames[0][1:], key=lambda frame: make_id(table.id, frame))
    written = await ask_in_rounds(
        ask,
        "rephrase",
        {"question": tagged, "meant": f"{meant[0]}?"},
        rounds=params.rounds,
        row=table.id,
        parse=lambda text: check_rephrased(text, tagged, seed, tags),
        grammar=write_frame((meant,)),
        max_tokens=SHORT + A_COLUMN * max(0, len(columns) - 3),
    )
    if written.text is None:
        return Dropped(table.id, "unrephrased", written.problem, written.calls)
    origin = (Origin("row", f"tables#{table.id}"), *written.calls)
    return RephrasedQuestion(table.id, written.text, remove_tags(written.text, tags), origin)
