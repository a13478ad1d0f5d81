"""Write facts as sentences, and detect words in texts that express a relation (step 3)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache

from tasks.sources.wikidata.values import Precision
from tasks.tanq.build.wording import name_units
from tasks.tanq.graph.facts import Fact
from tasks.tanq.graph.relations import Relation
from tasks.tanq.graph.showing import ITEM, QUANTITY, TIME, say_name, show_amount
from tasks.tanq.graph.things import Thing


@dataclass(frozen=True)
class Saying:
    """The wording of a relation.

    - template: a sentence with {entity} and {value}.
    - cues: a pattern for words in texts that express the relation.
    - parts: whether the name of a part also counts as a mention, such as `Northern Europe` for Europe.
    """

    template: str
    cues: str
    parts: bool = False


NOT_FIRST = r"(?<!second.)(?<!third.)(?<!th.)(?<!two.)"
"""A pattern before `largest` that excludes `second-largest`, `fourth largest` and `two largest`."""
NO_CITY = r"(?!.municipalit)(?!.metropolitan)(?!.urban.area)"
"""A pattern after `largest` that excludes municipalities, metropolitan areas and urban areas."""
SAYINGS: Mapping[str, Saying] = {
    "P36": Saying("The capital of {entity} is {value}.", r"capital"),
    "P1376": Saying("{entity} is the capital of {value}.", r"capital"),
    "P47": Saying(
        "{entity} shares a border with {value}.",
        r"border|bounded|boundar|adjoin|neighbou?r|frontier|surround",
    ),
    "P30": Saying(
        "{entity} is in {value}.",
        r"continent|countr|nation|state|located|situated|lies|region|island|republic|kingdom|city|cities",
        parts=True,
    ),
    "P361": Saying(
        "{entity} is part of {value}.",
        r"part|region|countr|nation|state|located|situated|lies|island|republic|kingdom|belong|member",
    ),
    "largest-city": Saying(
        "The largest city of {entity} is {value}.",
        f"{NOT_FIRST}largest{NO_CITY}|{NOT_FIRST}biggest{NO_CITY}|{NOT_FIRST}most.populous|{NOT_FIRST}most.populated|primate",
    ),
    "P17": Saying("{entity} is in {value}.", r"countr|located|situated|lies|city|town|capital|in"),
    "P131": Saying("{entity} is located in {value}.", r"located|situated|lies|city|town|village|in"),
    "P276": Saying("{entity} is located in {value}.", r"located|situated|lies|in"),
    "P706": Saying("{entity} is located in {value}.", r"located|situated|lies|in|on"),
    "P2046": Saying("The area of {entity} is {value}.", r"area|cover|span|land mass|size|km|square|sq"),
    "P1082": Saying("The population of {entity} is {value}.", r"populat|inhabitant|people|resident|home to"),
    "P37": Saying(
        "{value} is an official language of {entity}.", r"official(?!ly)|national language|languages?|tongue"
    ),
    "P2936": Saying("{value} is a language used in {entity}.", r"languages?|spoken|speak"),
    "P38": Saying("The currency of {entity} is the {value}.", r"currenc|legal tender|monetary"),
    "P31": Saying("{entity} is a {value}.", r"is|was|are|were"),
    "P495": Saying("{entity} was made in {value}.", r"film|made|produc|series|song|album|novel|band"),
    "P57": Saying("{entity} was directed by {value}.", r"direct|filmmaker"),
    "P58": Saying("{value} wrote the screenplay of {entity}.", r"screenplay|written|writ|screenwriter"),
    "P161": Saying("{value} is in the cast of {entity}.", r"star|cast|play|featur|role|actor|actress"),
    "P162": Saying("{entity} was produced by {value}.", r"produc"),
    "P50": Saying("{entity} was written by {value}.", r"writ|author|novel|book|by"),
    "P86": Saying("The music of {entity} was composed by {value}.", r"compos|music|score"),
    "P175": Saying("{entity} was performed by {value}.", r"perform|record|by|album|song|single|singer|band"),
    "P170": Saying("{entity} was created by {value}.", r"creat|paint|made|by"),
    "P112": Saying("{entity} was founded by {value}.", r"found|establish|start"),
    "P569": Saying("{entity} was born {value}.", r"born|birth|b\."),
    "P570": Saying("{entity} died {value}.", r"died|death|dead|d\.|killed"),
    "P19": Saying("{entity} was born in {value}.", r"born|birth|native of"),
    "P20": Saying("{entity} died in {value}.", r"died|death|killed"),
    "P27": Saying("{entity} is a citizen of {value}.", r"citizen|national|born|from"),
    "P26": Saying("{entity} was married to {value}.", r"marri|wife|husband|spouse|wed"),
    "P69": Saying("{entity} was educated at {value}.", r"educat|stud|graduat|attend|degree|alumn|school"),
    "P106": Saying("{entity} is by occupation a {value}.", r"is|was|work|career|occupation"),
    "P166": Saying("{entity} received the {value}.", r"award|won|receiv|prize|honou?r|medal"),
    "P54": Saying("{entity} played for {value}.", r"play|join|sign|team|club|member"),
    "P571": Saying("{entity} was founded {value}.", r"found|establish|form|creat|began|start|open|built"),
    "P576": Saying("{entity} was dissolved {value}.", r"dissol|disband|defunct|abolish|ceased|merge|end"),
    "P580": Saying("{entity} began {value}.", r"began|begin|start|from|since|launch"),
    "P582": Saying("{entity} ended {value}.", r"end|until|finish|conclu|to|last"),
    "P729": Saying("{entity} entered service {value}.", r"service|commission|introduc|entered"),
    "P730": Saying("{entity} left service {value}.", r"service|decommission|retire|withdraw|left"),
    "P1619": Saying("{entity} opened {value}.", r"open|inaugurat"),
    "P3999": Saying("{entity} closed {value}.", r"clos|shut|demolish"),
    "P2031": Saying("The career of {entity} began {value}.", r"active|career|debut|began|since"),
    "P2032": Saying("The career of {entity} ended {value}.", r"active|career|retire|ended|until"),
    "P577": Saying("{entity} was published {value}.", r"releas|publish|premier|issued|film|album|song|novel"),
    "P159": Saying("The headquarters of {entity} are in {value}.", r"headquarter|based in|seat"),
    "P176": Saying("{entity} was made by {value}.", r"manufactur|made by|built|produc"),
    "P178": Saying("{entity} was developed by {value}.", r"develop"),
    "P123": Saying("{entity} was published by {value}.", r"publish"),
    "P264": Saying("{entity} was released by the label {value}.", r"label|record|releas|sign"),
    "P2044": Saying("The elevation of {entity} is {value}.", r"elevat|sea level|high|height|peak"),
    "P2048": Saying("The height of {entity} is {value}.", r"height|tall|high"),
    "P2047": Saying("The duration of {entity} is {value}.", r"duration|runtime|running time|minutes|long"),
}  # fmt: skip
"""Map each property to its wording. The wording of any other relation is derived from its label."""
LEAST = 4
"""Minimum number of letters of a word that can express a relation."""
IDLE = frozenset({"with", "from", "that", "their", "this", "main", "part", "name", "date", "number", "which"})


def say_fact(fact: Fact, relation: Relation, things: Mapping[str, Thing]) -> str:
    """Write a fact as a sentence.

    things: maps ids to entities, including the fact's entity, its value and the value's unit.
    """
    template = find_saying(relation).template
    entity = say_name(things[fact.entity].label) if fact.entity in things else fact.entity
    said = template.format(entity=entity, value=_show_value(fact, template, things))
    return said[:1].upper() + said[1:] if said.startswith("the ") else said


def find_saying(relation: Relation) -> Saying:
    """Return the wording of a relation: from `SAYINGS`, or derived from the label."""
    if relation.id in SAYINGS:
        return SAYINGS[relation.id]
    words = re.findall(r"[^\W\d_]+", f"{relation.label} {relation.one} {relation.words}".lower())
    stems = dict.fromkeys(_cut(word) for word in words if len(word) >= LEAST and word not in IDLE)
    cues = "|".join(map(re.escape, stems)) or re.escape(relation.label.lower() or relation.id)
    name = (relation.one or relation.label).replace("{", "").replace("}", "")
    return Saying(f"The {name} of {{entity}} is {{value}}.", cues)


def names_relation(text: str, relation: Relation) -> bool:
    """Return whether a text has a word that expresses a relation."""
    return bool(_match_cues(find_saying(relation).cues).search(text.lower()))


@lru_cache(maxsize=1024)
def _match_cues(cues: str) -> re.Pattern[str]:
    # A short cue must be a whole word; a longer cue may be the beginning of a word.
    return re.compile("|".join(rf"\b{cue}" + (r"\b" if len(cue) < LEAST else "") for cue in cues.split("|")))


def _cut(word: str) -> str:
    """Return the stem of a word: the word without its last two letters, but with at least `LEAST` letters."""
    return word[: max(LEAST, len(word) - 2)]


def _show_value(fact: Fact, template: str, things: Mapping[str, Thing]) -> str:
    if fact.value.kind == QUANTITY and fact.value.unit and fact.value.unit in things:
        unit = things[fact.value.unit].label
        amount = f"{Decimal(show_amount(Decimal(fact.value.amount or 0))):,}"
        return f"{amount} {unit if fact.shown == '1' else name_units(unit)}"
    if fact.value.kind == TIME and not re.search(r" (?:is|in) \{value\}", template):
        day = fact.value.precision == Precision.DAY
        return f"{'on' if day else 'in'} {_add_article(fact)}"
    plain = fact.value.kind != ITEM or " the {value}" in template or " a {value}" in template
    return fact.shown if plain else say_name(fact.shown)


def _add_article(fact: Fact) -> str:
    precision = fact.value.precision
    return fact.shown if precision is None or precision >= Precision.YEAR else f"the {fact.shown}"
