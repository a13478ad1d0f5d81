"""Tests of the stages `articles` and `proofs`: found evidence, its order, and counts of missing evidence."""

from collections import Counter
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tasks.errors import BadInput
from tasks.tanq.build.proofs import Proofs, proofs, show_proof
from tasks.tanq.graph import article_index
from tasks.tanq.graph import articles as articles_stage
from tasks.tanq.graph.article_index import ArticleIndex
from tasks.tanq.graph.articles import articles
from tests.tanq.evidence import (
    FACTS,
    PARTS,
    RELATIONS,
    THINGS,
    make_part,
    make_question,
    make_thing,
    write_articles,
    write_source,
)


def test_articles_are_found_by_title_and_by_redirect(tmp_path: Path) -> None:
    counts = articles(THINGS, write_source(tmp_path / "source"), tmp_path / "out")
    assert (counts.rows_in, counts.rows_out, counts.dropped) == (5, 3, {"no_article": 2})
    index = ArticleIndex(tmp_path / "out")
    found = {thing.id: index.find(thing.id) for thing in THINGS}
    assert {thing: result.article for thing, result in found.items() if result} == {
        "varn": "Varn", "ostel": "Ostel", "skarholm": "Skarholm",
    }  # fmt: skip
    read = {
        entity.article: parts for entity, parts in index.read([result for result in found.values() if result])
    }
    assert read == {
        title: [part for part in PARTS if part.article == title] for title in ("Ostel", "Skarholm", "Varn")
    }


def test_a_large_article_is_read_over_its_groups_and_no_further(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (article_index, articles_stage):
        monkeypatch.setattr(module, "GROUP", 4)
    parts = [make_part(title, n, f"{title} {n}") for title in ("Lost", "Skarholm", "Varn") for n in range(9)]
    articles(THINGS, write_source(tmp_path / "source", parts), tmp_path / "out")
    with pq.ParquetFile(tmp_path / "out" / "parts.parquet") as file:
        assert file.num_row_groups == 7
    index = ArticleIndex(tmp_path / "out")
    for thing, title in (("varn", "Varn"), ("lost", "Lost"), ("skarholm", "Skarholm")):
        own = index.find(thing)
        assert own is not None
        assert [part.text for _, read in index.read([own]) for part in read] == [
            f"{title} {n}" for n in range(9)
        ]


def test_a_source_that_is_none_is_refused_in_one_line(tmp_path: Path) -> None:
    source = write_source(tmp_path / "source")
    for bad in (b"", b"PAR1", b"no parquet"):
        (source.articles / "parts.parquet").write_bytes(bad)
        with pytest.raises(BadInput, match=r"parts\.parquet: cannot be read as Parquet"):
            articles(THINGS, source, tmp_path / "out")
    pq.write_table(pa.table({"article": ["Varn"]}), source.articles / "parts.parquet")
    with pytest.raises(BadInput, match="has no column"):
        articles(THINGS, source, tmp_path / "out")
    scattered = [PARTS[0], PARTS[-1], PARTS[1]]
    pq.write_table(
        pa.Table.from_pylist([vars(part) for part in scattered], schema=article_schema()),
        source.articles / "parts.parquet",
    )
    with pytest.raises(BadInput, match="are not adjacent"):
        articles(THINGS, source, tmp_path / "out")


def article_schema() -> pa.Schema:
    from tasks.artifacts.rows import schema_of
    from tasks.sources.wikipedia.rows import PartRow

    return schema_of(PartRow)


def test_both_articles_are_searched_and_what_names_the_relation_comes_first(tmp_path: Path) -> None:
    found = proofs([make_question()], FACTS, THINGS, RELATIONS, write_articles(tmp_path), Proofs())
    capital = [proof for proof in found.rows if proof.fact == "varn-P36-skarholm"]
    assert [(proof.side, proof.kind, show_proof(proof)) for proof in capital] == [
        ("entity", "infobox", "Capital: Skarholm"),
        ("value", "text", "Skarholm is the capital of Varn."),
        ("entity", "text", "Skarholm has a port."),
        ("entity", "cell", "Town: Skarholm | People: 1,200"),
    ]
    area = next(proof for proof in found.rows if proof.fact == "varn-P2046-385207")
    assert (area.mention, area.article, area.revision) == ("385,207 square kilometres", "Varn", 7)
    border = next(proof for proof in found.rows if proof.fact == "varn-P47-ostel")
    assert (border.mention, border.section) == ("Ostelia", "Geography")
    assert len({proof.id for proof in found.rows}) == len(found.rows)


def test_what_is_not_found_is_counted(tmp_path: Path) -> None:
    found = proofs([make_question()], FACTS, THINGS, RELATIONS, write_articles(tmp_path), Proofs(most=1))
    assert Counter(drop.reason for drop in found.dropped) == {
        "no_mention": 3,
        "no_article": 1,
        "more_proofs": 1,
    }
    reasons = {drop.id: drop.reason for drop in found.dropped}
    assert reasons["nowhere-P2046-7"] == "no_article"
    assert reasons["ostel-P2046-1200"] == "no_mention"
    assert len(found.rows) == 3
    asked = proofs([], FACTS, THINGS, RELATIONS, write_articles(tmp_path), Proofs())
    assert (asked.rows, asked.dropped) == ([], [])


def test_of_each_kind_so_many_proofs_are_kept(tmp_path: Path) -> None:
    params = Proofs(most=1, each_kind=True)
    found = proofs([make_question()], FACTS, THINGS, RELATIONS, write_articles(tmp_path), params)
    kinds = [proof.kind for proof in found.rows if proof.fact == "varn-P36-skarholm"]
    assert sorted(kinds) == ["cell", "infobox", "text"]
    (more,) = (drop for drop in found.dropped if drop.reason == "more_proofs")
    assert (more.id, more.detail) == ("varn-P36-skarholm", "3 of 4 are kept")


def test_the_order_of_things_and_facts_does_not_matter(tmp_path: Path) -> None:
    folder = write_articles(tmp_path)
    there = proofs([make_question()], FACTS, THINGS, RELATIONS, folder, Proofs())
    back = proofs([make_question()], FACTS[::-1], THINGS[::-1], RELATIONS, folder, Proofs())
    assert {proof.id: proof for proof in there.rows} == {proof.id: proof for proof in back.rows}


def test_a_longer_name_hides_a_shorter_one(tmp_path: Path) -> None:
    things = [*THINGS, make_thing("Upper Skarholm")]
    parts = [make_part("Varn", 0, "Its capital is Upper Skarholm."), *PARTS[-2:]]
    articles(things, write_source(tmp_path / "source", parts), tmp_path / "out")
    found = proofs([make_question()], FACTS, things, RELATIONS, tmp_path / "out", Proofs())
    assert [proof.text for proof in found.rows] == ["Skarholm is the capital of Varn."]
