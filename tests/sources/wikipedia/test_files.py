"""Tests of folders of wikitext, JSON files of plain texts, and detecting the kind of a source."""

import json

import pytest

from tasks.errors import BadInput
from tasks.sources.streams import Metered
from tasks.sources.wikipedia import plain
from tasks.sources.wikipedia.article import CELL, INFOBOX, read_path
from tasks.sources.wikipedia.folder import WikitextFolder
from tasks.sources.wikipedia.opening import open_source
from tasks.sources.wikipedia.pages import read_page
from tasks.sources.wikipedia.plain import PlainTexts
from tests.shared_data import SHARED, needs
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
    with pytest.raises(BadInput, match="is not a JSON file with titles and texts") as error:
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
    with pytest.raises(BadInput, match=r"does not exist|is not a source|contains no wikitext"):
        open_source(str(tmp_path / name), Heard().append, tmp_path)


def read_folder(name, titles):
    heard = Heard()
    return read_all(WikitextFolder(SHARED / name, heard.append), titles), heard


def entries_of(article):
    return {part.headers[0]: (part.headers[1], part.text) for part in article.parts if part.kind == INFOBOX}


@needs("wikitext")
def test_real_pages_of_a_folder_are_what_they_say():
    titles = ["Redirect", "Bodmin", "2008-British-motorcycle-Grand-Prix", "Licence-note"]
    articles, heard = read_folder("wikitext", titles)
    assert [(title, article.aliases) for title, article in articles.items()] == [
        ("2008-British-motorcycle-Grand-Prix", ()), ("Bodmin", ()), ("Toronto", ("Redirect",)),
    ]  # fmt: skip
    assert heard.reasons() == {"Licence-note": "missing"}
    assert entries_of(articles["Bodmin"])["population"] == ("population", "14,736")
    race = articles["2008-British-motorcycle-Grand-Prix"].parts
    stoner = [part for part in race if part.section == "MotoGP classification" and part.row == 1]
    assert [(part.headers[1], part.text) for part in stoner] == [
        ("Pos.", "1"), ("No.", "1"), ("Rider", "Casey Stoner"), ("Manufacturer", "Ducati"), ("Laps", "30"),
        ("Time/Retired", "44:44.982"), ("Grid", "1"), ("Points", "25"),
    ]  # fmt: skip


@needs("infobox")
def test_real_boxes_of_a_folder_are_what_they_say():
    articles, heard = read_folder("infobox", ["Dublin", "Copper", "Mykola-hvylovy-ukraine"])
    # The infobox is `{{Письменник`, whose name does not distinguish it from other templates.
    assert heard.reasons() == {"Mykola-hvylovy-ukraine": "empty"}
    dublin, copper = (entries_of(articles[name]) for name in ("Dublin", "Copper"))
    assert {key: dublin[key] for key in ("subdivision_name1", "leader_name1", "population_blank1")} == {
        "subdivision_name1": ("Province", "Leinster"),
        "leader_name1": ("Lord Mayor", "Brendan Carr, (Lab)"),
        "population_blank1": ("Demonym", "Dubliner, Dub"),
    }
    assert (dublin["area_total_km2"][1], copper["melting point K"][1]) == ("114.99", "1357.77")


@pytest.fixture(scope="module")
def passages():
    """All passages of OTT-QA by title, with the number of texts; a title may be in several files."""
    found, texts = {}, 0
    for file in sorted((SHARED / "ottqa/passages").iterdir()):
        heard = Heard()
        own = read_all(PlainTexts(file, heard.append))
        assert heard == []
        found |= own
        texts += len(own)
    return found, texts


def read_tables():
    files = sorted((SHARED / "ottqa/tables").iterdir())
    return {file.stem: json.loads(file.read_bytes()) for file in files}


@needs("ottqa")
def test_passages_are_found_by_the_titles_that_tables_link_to(passages):
    found, texts = passages
    # Counted with json.load: 4,298 texts of 4,063 paths; 5,616 links of 150 tables.
    assert (texts, len(found)) == (4_298, 4_063)
    assert not [title for title in found if "_" in title or title.startswith("/")]
    assert {"Berkeley, CA", "Duleek/Bellewstown GAA", "Bert D'Angelo/Superstar"} <= found.keys()
    links = [
        link
        for table in read_tables().values()
        for row in table["data"]
        for _, linked in row
        for link in linked
    ]
    assert len(links) == 5_616
    assert {read_path(link) for link in links} <= found.keys()


@needs("ottqa")
def test_answers_stand_in_the_sentences_of_their_passages(passages):
    found, _ = passages
    items = json.loads((SHARED / "ottqa/dev.traced.subset.json").read_bytes())
    asked = [
        (item["answer-text"], read_path(path))
        for item in items
        for _, _, path, kind in item["answer-node"]
        if kind == "passage"
    ]
    told = [any(answer in part.text for part in found[title].parts) for answer, title in asked]
    whole = {}
    for file in (SHARED / "ottqa/passages").iterdir():
        whole |= {read_path(path): text for path, text in json.loads(file.read_bytes()).items()}
    # Other texts have the answer in another case (`Gold`), and no answer is split across sentences.
    assert told == [answer in whole[title] for answer, title in asked]
    assert (len(told), sum(told)) == (1_254, 1_076)


def write_wikitext(table):
    """Return the wikitext of a table of OTT-QA."""
    rows = [[f"! {name}" for name, _ in table["header"]]]
    rows += [[f"| {text}" for text, _ in row] for row in table["data"]]
    return "\n".join(['{| class="wikitable"', *("|-\n" + "\n".join(row) for row in rows), "|}"])


@needs("ottqa")
def test_cells_of_real_tables_come_back_with_their_headers():
    cells, other = 0, []
    for name, table in read_tables().items():
        parts = read_page(write_wikitext(table)).parts
        read = {(part.row, part.column): (part.headers[1], part.text) for part in parts if part.kind == CELL}
        for row, listed_cells in enumerate(table["data"], 1):
            for column, (text, _) in enumerate(listed_cells):
                expected = (table["header"][column][0], text)
                cells += bool(text.strip())
                # Remove spaces before punctuation: `Sacramento , CA`.
                if text.strip() and squeeze(read.get((row, column))) != squeeze(expected):
                    other.append((name, text, read.get((row, column))))
    # Counted with json.load: 9,252 cells with a text. Empty brackets are also removed.
    assert cells == 9_252
    assert other == [
        (
            "2018_Emerging_Nations_World_Championship_0",
            "Shane Gray , Payne Haas ( ) , Paul Sheedy",
            ("Notable players", "Shane Gray, Payne Haas, Paul Sheedy"),
        )
    ]


def squeeze(texts):
    return texts and tuple(text.replace(" ", "") for text in texts)
