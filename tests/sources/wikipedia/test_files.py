"""Folders of wikitext, JSON of plain texts, and which kind of source a path is."""

import json

import pytest

from tasks.errors import BadInput
from tasks.sources.streams import Metered
from tasks.sources.wikipedia import plain
from tasks.sources.wikipedia.folder import WikitextFolder
from tasks.sources.wikipedia.opening import open_source
from tasks.sources.wikipedia.plain import PlainTexts
from tests.sources.wikipedia.scenes import ALM, Heard, read_all, write_dump, write_lines


def test_a_folder_has_an_article_a_file_and_says_what_is_none(tmp_path):
    for name, text in {
        "Alm.txt": ALM,
        "Old_Alm.wiki": "#REDIRECT [[Alm]]",
        "LICENCE-NOTE.txt": "CC",
        "x.png": "?",
    }.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "Broken.txt").write_bytes(b"\xff\xfe\xff")
    (tmp_path / "Giant.txt").write_bytes(b"x " * 2**20 + b"x")
    heard = Heard()
    articles = read_all(WikitextFolder(tmp_path, heard.append))
    assert {title: article.aliases for title, article in articles.items()} == {"Alm": ("Old Alm",)}
    assert heard.reasons() == {"Broken": "broken", "Giant": "too_large"}


def test_texts_by_title_become_sentences(tmp_path):
    path = tmp_path / "texts.json"
    path.write_text(json.dumps({"alm": "A town. It has walls.", "Brack": 7, "Alm": "Twice.", "Empty": " "}))
    heard = Heard()
    articles = read_all(PlainTexts(path, heard.append))
    assert {title: [part.text for part in article.parts] for title, article in articles.items()} == {
        "Alm": ["A town.", "It has walls."]
    }
    assert heard.reasons() == {"Brack": "broken", "Alm": "duplicate", "Empty": "empty"}


@pytest.mark.parametrize("content", ["", "[1]", "{", "7", '{"a', "[" * 100_000, "\xff"])
def test_what_is_no_json_of_texts_is_refused_in_one_line(tmp_path, content):
    path = tmp_path / "texts.json"
    path.write_text(content, encoding="latin-1")
    with pytest.raises(BadInput, match="is no JSON of titles and texts") as error:
        read_all(PlainTexts(path, Heard().append))
    assert "\n" not in str(error.value)


def test_a_text_without_end_is_not_read_into_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(plain, "Metered", lambda file: Metered(file, 1_000_000))
    path = tmp_path / "texts.json"
    path.write_text('{"Alm": "A town.", "Giant": "' + "x" * 3_000_000 + '", "Brack": "b"}')
    heard = Heard()
    assert list(read_all(PlainTexts(path, heard.append))) == ["Alm"]
    assert [(skipped.reason, skipped.ended) for skipped in heard] == [("truncated", True)]


def test_the_kind_of_a_source_is_found_by_its_name_and_first_bytes(tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "Alm.txt").write_text(ALM)
    paths = {
        "Dump": write_dump(tmp_path / "pages-articles.xml.bz2"),
        "StructuredContents": write_lines(tmp_path / "enwiki_namespace_0.ndjson", [{"name": "A"}]),
        "WikitextFolder": folder,
        "PlainTexts": tmp_path / "texts.json",
    }
    paths["PlainTexts"].write_text('{"A": "b"}')
    for kind, path in paths.items():
        source = open_source(str(path), Heard().append, tmp_path / "cache")
        assert type(source).__name__ == kind
        source.close()


@pytest.mark.parametrize("name", ["nothing", "empty.bin", "empty"])
def test_what_is_no_source_is_refused(tmp_path, name):
    (tmp_path / "empty.bin").write_bytes(b"\0\0")
    (tmp_path / "empty").mkdir()
    with pytest.raises(BadInput, match=r"is not there|is no source|holds no pages"):
        open_source(str(tmp_path / name), Heard().append, tmp_path)
