"""Check texts against the rules for text templates. The drop reasons follow.

- `wrong_placeholders`: the text does not contain exactly the placeholders of the SQL, each once.
- `too_short`, `too_long`: the number of words is outside the criterion's limits.
- `code_words`: the text contains words about SQL, underscores, or names such as `films.title`.
- `wanted_missing`: the text does not name the column that the SQL asks for.
- `given_missing`: the text does not name a placeholder's kind of entity, such as `film`.
- `relation_missing`: another relation between the same tables would fit the text as well.
- `measure_missing`: the text does not state the count, average, extreme or bound that the query asks for.
- `measure_added`: the question states a count, average, extreme or bound that the query does not ask for.
- `asks_twice`: the text has several questions, or a question that lacks a placeholder.
- `says_or`: the question contains `or`.
- `says_again`: the question needlessly repeats a word for the requested column or for a given value.
- `speaks_of_you`: the question is about the person asked: your flight, the film you mentioned.
- `names_other`: the text mentions a column, relation or table that the SQL does not use.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from tasks.databases.columns import Column
from tasks.english import make_singular
from tasks.grammar.construct.measured_words import name_amount
from tasks.grammar.construct.names import (
    LOOSE,
    NAMES,
    UNITS,
    WEAK,
    list_column_words,
    mentions,
    name_column,
    name_table,
    names_person,
    says_role,
    split_words,
)
from tasks.grammar.construct.queries import PLACEHOLDER, Query, table_of
from tasks.grammar.construct.verbalisation import Verbalisation
from tasks.models.ask import Unparsed

CODE_WORDS = frozenset(
    ["select", "distinct", "join", "sql", "query", "queries", "table", "tables", "column", "columns",
     "database", "placeholder", "placeholders", "bracket", "brackets", "template"]
)  # fmt: skip
"""Words about SQL and databases that a text must not contain."""
LINKS = frozenset(["of", "the", "in", "with", "and"])
"""Function words in names. A text may repeat these words or leave them out."""
SECOND_QUESTION = re.compile(r"\band (\w+ )?(what|which|who|whom|whose|when|where|why|how)\b")
MEASURES: tuple[frozenset[str], ...] = (
    frozenset(["how many", "total", "count"]),
    frozenset(["average", "mean"]),
    frozenset(["most", "highest", "longest", "largest", "biggest", "greatest", "maximum", "top", "at most"]),
    frozenset(["least", "fewest", "lowest", "shortest", "smallest", "minimum", "at least"]),
    frozenset(["latest", "newest", "youngest", "most recent"]),
    frozenset(["earliest", "oldest"]),
    frozenset(["more than", "longer than", "higher than", "exceeds"]),
    frozenset(["less than", "fewer than", "shorter than", "lower than", "below"]),
)
"""Sets of words and phrases; each set states one kind of count, average, extreme or bound in a text."""
TIMED = frozenset(["when", "first", "last", "earlier", "earliest", "later", "latest"])
"""Words that imply a question about a date or year."""
GENERIC = NAMES | LOOSE | {"type", "code", "model"}


def parse_text(
    text: str,
    query: Query,
    verbalisation: Verbalisation,
    columns: Sequence[Column],
    minimum: int,
    maximum: int,
) -> str:
    """Parse a reply as a text that satisfies every rule. Raises Unparsed with `<reason>: <detail>`."""
    text = " ".join(text.strip().strip('"`').split())
    found = PLACEHOLDER.findall(text)
    if sorted(found) != sorted(f"[{name}]" for name in query.placeholders):
        raise Unparsed(f"wrong_placeholders: {', '.join(found) or 'none'}")
    check_length(text, minimum, maximum)
    bare = PLACEHOLDER.sub(" ", text)
    words = re.findall(r"[^\W\d_]+", bare.lower())
    banned = sorted(set(words) & CODE_WORDS) or re.findall(r"[_\[\]]|\b\w+\.\w", bare)
    if banned:
        raise Unparsed(f"code_words: {banned[0]}")
    questions = [
        sentence for sentence in re.findall(r"[^.?!]+[.?!]*", PLACEHOLDER.sub("[]", text)) if "?" in sentence
    ]
    asking = questions or [PLACEHOLDER.sub("[]", text)]
    if any(re.search(r"\bor\b", sentence) for sentence in asking):
        raise Unparsed("says_or: or")
    if len(questions) > 1 or any(question.count("[]") < len(found) for question in questions):
        raise Unparsed(f"asks_twice: {len(questions)} questions")
    if second := SECOND_QUESTION.search(" ".join(asking).lower()):
        raise Unparsed(f"asks_twice: {second[0]}")
    asked = re.findall(r"[^\W\d_]+", " ".join(asking).lower())
    _check_question(asked, query, verbalisation, columns)
    _check_measure(asked, query, verbalisation, columns)
    _check_meaning(words, asked, query, verbalisation, columns)
    return text


def check_length(text: str, minimum: int, maximum: int) -> None:
    """Check the number of words in a text. Raises Unparsed."""
    count = len(text.split())
    if not minimum <= count <= maximum:
        raise Unparsed(f"{'too_short' if count < minimum else 'too_long'}: {count} words")


def _check_question(
    asked: Sequence[str], query: Query, verbalisation: Verbalisation, columns: Sequence[Column]
) -> None:
    addressed = asked[1:2] == ["you"] and asked[0] in ("can", "could", "do", "may", "might", "will", "would")
    if "your" in asked or asked.count("you") > addressed:
        raise Unparsed("speaks_of_you: you")
    plain = PLACEHOLDER.sub(" ", " ".join((*verbalisation.wanted, *verbalisation.given)))
    counts = Counter(re.findall(r"[^\W\d_]+", plain.lower()))
    repeated = [word for word in counts if word not in LINKS and asked.count(word) > counts[word]]
    if repeated:
        raise Unparsed(f"says_again: {repeated[0]}")
    own = {word for table in query.tables for word in name_table(table, columns).split()}
    own |= {word for column in query.columns for word in list_column_words(column, columns)}
    own |= set(verbalisation.relation_words)
    for table in sorted({column.table for column in columns if column.descriptive} - set(query.tables)):
        thing = name_table(table, columns)
        if thing not in own and thing in {make_singular(word) for word in asked}:
            raise Unparsed(f"names_other: {thing}")


def _check_measure(
    asked: Sequence[str], query: Query, verbalisation: Verbalisation, columns: Sequence[Column]
) -> None:
    for due in verbalisation.required:
        if not any(_says(asked, phrase) for phrase in due):
            raise Unparsed(f"measure_missing: {min(due)}")
    types = {column.id: column.type for column in columns}
    numbers = [
        word
        for column in query.projection
        if types.get(column) in ("integer", "real")
        for word in list_column_words(column, columns)
    ]
    required = frozenset[str]().union(*verbalisation.required)
    own = {word for column in query.columns for word in list_column_words(column, columns)}
    for measure in MEASURES:
        said = sorted(phrase for phrase in measure if _says(asked, phrase))
        if not said or measure & required or own.intersection(*map(str.split, said)):
            continue
        if said == ["how many"] and mentions(numbers, asked[(asked.index("many") + 1) % len(asked)]):
            continue  # `how many minutes` asks for runtime_minutes
        raise Unparsed(f"measure_added: {said[0]}")


def _says(words: Sequence[str], phrase: str) -> bool:
    return f" {phrase} " in f" {' '.join(words)} "


def _check_meaning(
    words: Sequence[str],
    asked: Sequence[str],
    query: Query,
    verbalisation: Verbalisation,
    columns: Sequence[Column],
) -> None:
    for wanted in verbalisation.named:
        if missing := _find_missing(asked, wanted, verbalisation, columns):
            raise Unparsed(f"wanted_missing: {missing}")
    related = verbalisation.relation_words
    for given in query.placeholders:
        kinds = split_words(name_table(table_of(given), columns))
        kinds += [word for word in split_words(name_column(given, columns)) if word not in WEAK | LINKS]
        if not any(mentions(words, word) for word in kinds) and not any(
            says_role(words, word) for word in related
        ):
            raise Unparsed(f"given_missing: {given}")
    for relation in verbalisation.relations:
        if relation.contested and not all(says_role(words, word) for word in relation.words):
            raise Unparsed(f"relation_missing: {' '.join(relation.words)}")
    used = set(query.columns)
    allowed = {word for column in used for word in list_column_words(column, columns)}
    allowed |= {word for table in query.tables for word in split_words(name_table(table, columns))}
    allowed |= GENERIC | UNITS
    allowed |= set(verbalisation.relation_words)
    rivals = [word for relation in verbalisation.relations for word in relation.rivals]
    others = [split_words(c.words or c.name) for c in columns if c.table in query.tables and c.id not in used]
    for rival in rivals:
        if not mentions(sorted(allowed), rival) and says_role(asked, rival):
            raise Unparsed(f"names_other: {rival}")
    for phrase in others:
        distinctive = [word for word in phrase if word not in LINKS and not mentions(sorted(allowed), word)]
        if distinctive and all(mentions(asked, word) for word in phrase if word not in UNITS):
            raise Unparsed(f"names_other: {' '.join(phrase)}")


def _find_missing(
    words: Sequence[str], wanted: str, verbalisation: Verbalisation, columns: Sequence[Column]
) -> str:
    """Return the words of the requested column that a text leaves out.

    If the column contains names, "who" or the kind of entity is enough. A text may leave out words such as
    number, date or year if its other words fit no other column of the table.
    """
    content = _content_words(wanted, columns)
    if content <= NAMES | {"full"}:
        subject = split_words(name_table(table_of(wanted), columns))
        by_who = {"who", "whom", "whose"} & set(words) and names_person(table_of(wanted), columns)
        named = any(says_role(words, word) for word in (*subject, *verbalisation.relation_words))
        return "" if by_who or named else subject[-1]
    specific = content - LOOSE
    others = [c for c in columns if c.table == table_of(wanted) and c.id != wanted]
    if specific and not any(specific <= _content_words(column.id, columns) for column in others):
        content = specific
    when = TIMED.intersection(words) and content & {"date", "year", "time"}
    return " ".join(
        sorted(word for word in content if not (when and word in LOOSE) and not mentions(words, word))
    )


def _content_words(column: str, columns: Sequence[Column]) -> set[str]:
    return set(split_words(name_amount(column, columns))) - UNITS - LINKS
