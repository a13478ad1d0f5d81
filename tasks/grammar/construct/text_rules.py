"""The rules that a text template must keep, each with the word it is dropped under.

wrong_placeholders  not exactly the SQL template's placeholders, each once
too_short, too_long outside the criterion's number of words
code_words          SQL, underscores or the names of columns as the schema spells them
wanted_missing      it never says what is asked for
given_missing       it never says what kind of thing a placeholder is
relation_missing    another relation between the same tables would fit it as well
asks_twice          more than one question, or one that does not hold every placeholder
says_or             it leaves open which of two things it means
says_again          its question repeats a word of what is asked for or given: padding, not meaning
speaks_of_you       its question is about whoever is asked: your flight, the film you mentioned
names_other         it speaks of a column, relation or table that is neither asked for nor given
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from tasks.databases.columns import Column
from tasks.grammar.construct.names import (
    LOOSE,
    NAMES,
    UNITS,
    WEAK,
    make_singular,
    name_column,
    name_table,
    split_words,
)
from tasks.grammar.construct.queries import Query, table_of
from tasks.grammar.construct.verbalisation import Gloss
from tasks.models.ask import Unparsed

PLACEHOLDER = re.compile(r"\[[^\[\]]*\]")
CODE_WORDS = frozenset(
    ["select", "distinct", "join", "sql", "query", "queries", "table", "tables", "column", "columns",
     "database", "placeholder", "placeholders", "bracket", "brackets", "template"]
)  # fmt: skip
LINKS = frozenset(["of", "the", "in", "with", "and"])
SECOND_QUESTION = re.compile(r"\band (\w+ )?(what|which|who|whom|whose|when|where|why|how)\b")
GENERIC = NAMES | LOOSE | {"type", "code", "model"}


def parse_text(
    text: str, query: Query, gloss: Gloss, columns: Sequence[Column], minimum: int, maximum: int
) -> str:
    """Read a reply as a text template that keeps every rule. Raises Unparsed: `<reason>: <detail>`."""
    text = " ".join(text.strip().strip('"`').split())
    found = PLACEHOLDER.findall(text)
    if sorted(found) != [f"[{each}]" for each in query.placeholders]:
        raise Unparsed(f"wrong_placeholders: {', '.join(found) or 'none'}")
    count = len(text.split())
    if not minimum <= count <= maximum:
        raise Unparsed(f"{'too_short' if count < minimum else 'too_long'}: {count} words")
    bare = PLACEHOLDER.sub(" ", text)
    words = re.findall(r"[a-z]+", bare.lower())
    banned = sorted(set(words) & CODE_WORDS) or re.findall(r"[_\[\]]|\b\w+\.\w", bare)
    if banned:
        raise Unparsed(f"code_words: {banned[0]}")
    questions = [each for each in re.findall(r"[^.?!]+[.?!]*", PLACEHOLDER.sub("[]", text)) if "?" in each]
    asking = questions or [PLACEHOLDER.sub("[]", text)]
    if any(re.search(r"\bor\b", each) for each in asking):
        raise Unparsed("says_or: or")
    if len(questions) > 1 or any(each.count("[]") < len(found) for each in questions):
        raise Unparsed(f"asks_twice: {len(questions)} questions")
    if second := SECOND_QUESTION.search(" ".join(asking).lower()):
        raise Unparsed(f"asks_twice: {second[0]}")
    asked = re.findall(r"[a-z]+", " ".join(asking).lower())
    _check_question(asked, query, gloss, columns)
    _check_meaning(words, query, gloss, columns)
    return text


def _check_question(asked: Sequence[str], query: Query, gloss: Gloss, columns: Sequence[Column]) -> None:
    addressed = asked[:2] in (["could", "you"], ["can", "you"])
    if "your" in asked or asked.count("you") > addressed:
        raise Unparsed("speaks_of_you: you")
    said = Counter(
        re.findall(r"[a-z]+", PLACEHOLDER.sub(" ", " ".join((*gloss.wanted, *gloss.given))).lower())
    )
    again = [word for word in said if word not in LINKS and asked.count(word) > said[word]]
    if again:
        raise Unparsed(f"says_again: {again[0]}")
    own = {word for each in query.tables for word in name_table(each).split()}
    own |= {word for each in (*query.projection, *query.placeholders) for word in split_words(each)}
    own |= {word for relation in gloss.relations for word in relation.words}
    for table in sorted({each.table for each in columns if each.descriptive} - set(query.tables)):
        thing = name_table(table)
        if thing not in own and thing in {make_singular(word) for word in asked}:
            raise Unparsed(f"names_other: {thing}")


def _check_meaning(words: Sequence[str], query: Query, gloss: Gloss, columns: Sequence[Column]) -> None:
    for wanted in query.projection:
        if missing := _find_missing(words, wanted, gloss, columns):
            raise Unparsed(f"wanted_missing: {missing}")
    related = [word for relation in gloss.relations for word in relation.words]
    for given in query.placeholders:
        kinds = [make_singular(word) for word in split_words(table_of(given))]
        kinds += [word for word in name_column(given).split() if word not in WEAK]
        if not any(mentions(words, each) for each in (*kinds, *related)):
            raise Unparsed(f"given_missing: {given}")
    for relation in gloss.relations:
        if relation.rivals and not all(mentions(words, each) for each in relation.words):
            raise Unparsed(f"relation_missing: {' '.join(relation.words)}")
    spoken = {*query.projection, *query.placeholders}
    allowed = {word for each in spoken for word in (*split_words(each), *split_words(table_of(each)))}
    allowed |= {make_singular(word) for each in query.tables for word in split_words(each)} | GENERIC | UNITS
    allowed |= {word for relation in gloss.relations for word in relation.words}
    rivals = [word for relation in gloss.relations for word in relation.rivals]
    others = [split_words(c.name) for c in columns if c.table in query.tables and c.id not in spoken]
    for phrase in [[word] for word in rivals] + others:
        telling = [word for word in phrase if word not in LINKS and not mentions(sorted(allowed), word)]
        if telling and all(mentions(words, word) for word in phrase if word not in UNITS):
            raise Unparsed(f"names_other: {' '.join(phrase)}")


def _find_missing(words: Sequence[str], wanted: str, gloss: Gloss, columns: Sequence[Column]) -> str:
    """Name the words of what is asked for that a text leaves out.

    A bare name is asked for by who or by the kind of thing; a number, date or year need not be said
    as such where no other column of the table could be meant.
    """
    content = _telling_words(wanted)
    if content <= NAMES:
        subject = [make_singular(word) for word in split_words(table_of(wanted))]
        related = [word for relation in gloss.relations for word in relation.words]
        asked = {"who", "whom", "whose"} & set(words) and "person" in subject
        return "" if asked or any(mentions(words, each) for each in (*subject, *related)) else subject[-1]
    firm = content - LOOSE
    others = [c for c in columns if c.table == table_of(wanted) and c.id != wanted]
    if firm and not any(firm <= _telling_words(each.id) for each in others):
        content = firm
    when = {"when"} & set(words) and content & {"date", "year", "time"}
    return " ".join(
        sorted(each for each in content if not (when and each in LOOSE) and not mentions(words, each))
    )


def _telling_words(column: str) -> set[str]:
    return set(name_column(column).split()) - UNITS - LINKS


def mentions(words: Iterable[str], word: str) -> bool:
    """Tell whether a word stands among others in any of its forms: director, directed, directs."""
    stem = word[: max(4, len(word) - 3)]
    return any(each.startswith(stem) for each in words)
