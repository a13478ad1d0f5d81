"""Stage: find sentences, table cells and infobox entries that may prove a fact (step 2)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from pydantic import Field

from tasks.artifacts.rows import Drafts, Dropped, Origin, make_id
from tasks.artifacts.splitting import splits
from tasks.settings import Settings
from tasks.sources.wikipedia.article import CELL, INFOBOX, TEXT
from tasks.sources.wikipedia.rows import PartRow
from tasks.tanq.build.extend import ExtendedQuestion, list_wanted
from tasks.tanq.build.mentions import MentionTarget, find_mention, make_targets
from tasks.tanq.build.statements import names_relation
from tasks.tanq.graph.article_index import ArticleIndex, IndexedArticle
from tasks.tanq.graph.facts import Fact
from tasks.tanq.graph.relations import Relation
from tasks.tanq.graph.things import Thing

FACTS = 10_000
"""Number of facts in a shard."""
ENTITY, VALUE = "entity", "value"
TELLING = {INFOBOX: 0, TEXT: 1, CELL: 2}
"""Map each kind of proof to its rank; the most informative kind has rank 0."""


@dataclass(frozen=True)
class Proof:
    """A row of stage `proofs`: a text about a fact's entity that mentions the fact's value, or vice versa.

    The text is a sentence, a table cell or an infobox entry.

    - side: `entity` or `value`, whichever the article is about.
    - kind, section, parent, position, headers: copied from the part of the article.
    - row: for a table cell, the whole row with headers; otherwise empty.
    - mention: the matched words.
    """

    id: str
    fact: str
    side: str
    article: str
    revision: int | None
    section: str
    parent: str
    position: int
    kind: str
    headers: tuple[str, ...]
    row: str
    text: str
    mention: str
    origin: tuple[Origin, ...]


class Proofs(Settings):
    """The settings in params.yaml under `tanq.proofs`."""

    most: int = Field(default=4, gt=0)
    """Maximum number of proofs per fact; proofs that name the relation come first."""
    each_kind: bool = False
    """Apply `most` to text, tables and infoboxes separately."""
    rounding: float = Field(default=0.02, ge=0, lt=0.5)
    """Maximum relative error of a rounded figure in a text, such as `5.6 million` for 5,594,340."""


@dataclass(frozen=True)
class ArticleSearch:
    """A search for a fact's value in the entity's article, or for the entity in the value's article.

    side: `entity` or `value`, whichever the article is about. target: the search pattern.
    """

    fact: Fact
    side: str
    target: MentionTarget


def arrange_facts(
    extend: Iterable[ExtendedQuestion], facts: Iterable[Fact], **others: object
) -> Sequence[Fact]:
    """Return the questions' facts sorted by entity, so that few shards read the same article."""
    return sorted(list_wanted(extend, facts), key=lambda fact: (fact.entity, fact.id))


@splits("facts", FACTS, arrange_facts)
def proofs(
    extend: list[ExtendedQuestion],
    facts: Iterable[Fact],
    things: list[Thing],
    relations: list[Relation],
    articles: Path,
    params: Proofs,
) -> Drafts[Proof]:
    """Return proofs for each fact from the articles about the fact's entity and value.

    articles: the folder of stage `articles`. Drop reasons of facts: `no_article` (neither the entity nor the
    value has an article to search); `no_mention`; `more_proofs` (the fact has more proofs than `params`
    allows).
    """
    known = {fact.id: fact for fact in list_wanted(extend, facts)}
    index = ArticleIndex(articles)
    searches = plan_searches(list(known.values()), things, index, Decimal(str(params.rounding)))
    by_relation = {relation.id: relation for relation in relations}
    found: defaultdict[str, list[tuple[tuple[bool, int, bool, int, str], Proof]]] = defaultdict(list)
    for article, parts in index.read(searches):
        for search in searches[article]:
            relation = by_relation[search.fact.relation]
            for proof in search_article(article, parts, search):
                found[search.fact.id].append((rank_proof(proof, relation), proof))
    read = {search.fact.id for fact_searches in searches.values() for search in fact_searches}
    dropped = [_say_none(fact, read) for fact in known.values() if fact.id not in found]
    kept: list[Proof] = []
    for fact, ranked in found.items():
        best = [proof for _, proof in sorted(ranked, key=lambda pair: pair[0])]
        chosen = keep_best(best, params)
        kept += chosen
        if len(best) > len(chosen):
            detail = f"{len(chosen)} of {len(best)} are kept"
            dropped.append(Dropped(fact, "more_proofs", detail, (Origin("row", f"facts#{fact}"),)))
    return Drafts(kept, dropped)


def keep_best(ranked: Sequence[Proof], params: Proofs) -> list[Proof]:
    """Keep the first `most` proofs of a fact, or the first `most` of each kind."""
    if not params.each_kind:
        return list(ranked[: params.most])
    return [proof for kind_proofs in group_kinds(ranked).values() for proof in kind_proofs[: params.most]]


def group_kinds(proofs: Iterable[Proof]) -> dict[str, list[Proof]]:
    """Group proofs by their kind: text, table or infobox."""
    grouped: defaultdict[str, list[Proof]] = defaultdict(list)
    for proof in proofs:
        grouped[proof.kind].append(proof)
    return dict(grouped)


def plan_searches(
    facts: Sequence[Fact], things: Sequence[Thing], index: ArticleIndex, rounding: Decimal
) -> Mapping[IndexedArticle, list[ArticleSearch]]:
    """Map each article to the searches for its facts' entities and values."""
    searches: defaultdict[IndexedArticle, list[ArticleSearch]] = defaultdict(list)
    for fact, entity, value in make_targets(facts, things, rounding):
        own, other = index.find(fact.entity), index.find(fact.value.item or "")
        if own is not None and value is not None:
            searches[own].append(ArticleSearch(fact, ENTITY, value))
        if other is not None and entity is not None and other != own:
            searches[other].append(ArticleSearch(fact, VALUE, entity))
    return searches


def search_article(
    article: IndexedArticle, parts: Sequence[PartRow], search: ArticleSearch
) -> Iterator[Proof]:
    """Yield a proof for each part of an article that mentions the searched entity or value."""
    for part in parts:
        if mention := find_mention(part.text, search.target, part.headers):
            yield _make_proof(article, part, parts, search, mention)


def write_row(part: PartRow, parts: Iterable[PartRow]) -> str:
    """Return the row of a table cell as text: `Name: Oslo | Area: 454`; empty for other parts."""
    if part.kind != CELL:
        return ""
    row = sorted(
        (
            other
            for other in parts
            if other.kind == CELL and (other.table, other.row) == (part.table, part.row)
        ),
        key=lambda other: (other.column or 0, other.position),
    )
    return " | ".join(
        ": ".join(filter(None, (other.headers[-1] if other.headers else "", other.text))) for other in row
    )


def _make_proof(
    article: IndexedArticle, part: PartRow, parts: Sequence[PartRow], search: ArticleSearch, mention: str
) -> Proof:
    fact = search.fact.id
    return Proof(
        make_id(fact, article.article, part.position),
        fact,
        search.side,
        article.article,
        article.revision,
        part.section,
        part.parent,
        part.position,
        part.kind,
        part.headers,
        write_row(part, parts),
        part.text,
        mention,
        (Origin("row", f"facts#{fact}"), Origin("evidence", f"{article.article}#{part.position}")),
    )


def _say_none(fact: Fact, read: set[str]) -> Dropped:
    reason = "no_mention" if fact.id in read else "no_article"
    return Dropped(
        fact.id, reason, f"{fact.entity} {fact.relation}: {fact.shown}", (Origin("row", f"facts#{fact.id}"),)
    )


def rank_proof(proof: Proof, relation: Relation) -> tuple[bool, int, bool, int, str]:
    """Return a sort key: proofs that name the relation come first.

    Ties are broken by kind, side, position and id.
    """
    said = names_relation(" ".join((*proof.headers, proof.text)), relation)
    return not said, TELLING[proof.kind], proof.side != ENTITY, proof.position, proof.id


def show_proof(proof: Proof) -> str:
    """Return the text of a proof for a prompt: the sentence, the row, or the infobox entry with its label."""
    if proof.kind == INFOBOX:
        return f"{proof.headers[-1] if proof.headers else ''}: {proof.text}"
    return proof.row or proof.text
