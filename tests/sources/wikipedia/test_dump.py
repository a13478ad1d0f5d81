import gzip

import pytest

from tasks.errors import BadInput
from tasks.sources.wikipedia import dump
from tasks.sources.wikipedia.article import MOST_BYTES
from tasks.sources.wikipedia.dump import Dump
from tests.sources.wikipedia.scenes import ALM, HEAD, PAGES, Heard, make_page, read_all, write_dump


@pytest.mark.parametrize("name", ["pages.xml", "pages.xml.bz2", "pages.xml.gz"])
def test_articles_have_ids_and_aliases_and_all_else_is_said(tmp_path, name):
    path = write_dump(tmp_path / name)
    if name.endswith("gz"):
        path.write_bytes(gzip.compress(path.read_bytes()))
    heard = Heard()
    articles = read_all(Dump(path, heard.append))
    assert list(articles) == ["Alm", "Brack"]
    alm = articles["Alm"]
    assert (alm.id, alm.revision, alm.aliases) == (1, 901, ("Alm town", "Old Alm"))
    assert [part.text for part in alm.parts] == ["Alm is a town.", "It has 5 km of walls.", "A tower."]
    assert [part.text for part in articles["Brack"].parts] == ["Brack & its river."]
    assert heard.reasons() == {
        "A": "redirect_circle", "B": "redirect_circle", "Gone": "redirect_nowhere", "Alm": "duplicate",
        "Data": "not_wikitext", "Blank": "empty",
    }  # fmt: skip
    assert len(heard) == 6


def test_an_article_is_found_by_a_title_that_redirects_to_it(tmp_path):
    heard = Heard()
    source = Dump(write_dump(tmp_path / "pages.xml"), heard.append)
    assert source.find("old_Alm").title == "Alm"
    assert source.find("Brack#River").title == "Brack"
    heard.clear()
    assert source.find("Vexham") is None
    assert source.find("A") is None
    assert heard.reasons() == {"Vexham": "missing", "A": "redirect_circle"}
    source.close()


def test_titles_asked_for_twice_are_given_once(tmp_path):
    articles = read_all(
        Dump(write_dump(tmp_path / "pages.xml"), Heard().append), ["Alm town", "Alm", "Old Alm"]
    )
    assert list(articles) == ["Alm"]


@pytest.mark.parametrize("packed", [True, False])
def test_a_dump_that_was_cut_gives_what_came_before(tmp_path, packed):
    pages = [
        make_page(f"Town {number}", f"Town number {number}. {number * 7919}", number) for number in range(400)
    ]
    path = write_dump(tmp_path / ("pages.xml.bz2" if packed else "pages.xml"), pages)
    if packed:  # successive streams, as in a multistream dump; the second is truncated
        whole = path.read_bytes()
        head = write_dump(tmp_path / "head.xml.bz2", pages[:5], "").read_bytes()
        path.write_bytes(head + whole[: len(whole) // 2])
    else:
        content = path.read_bytes()
        path.write_bytes(content[: len(content) // 2])
    heard = Heard()
    articles = read_all(Dump(path, heard.append))
    assert len(articles) >= 5
    (ended,) = heard
    assert (ended.where, ended.reason, ended.ended) == (path.name, "truncated", True)


BOMB = '<!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;">]>'


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (BOMB + HEAD + "&b;</mediawiki>", "contains a DOCTYPE"),
        ('<!DOCTYPE x SYSTEM "file:///etc/passwd">' + HEAD, "contains a DOCTYPE"),
        ("<html></html>", "is not a MediaWiki XML export"),
        ("<", "is not a MediaWiki XML export"),
        ("", "is not a MediaWiki XML export"),
    ],
)
def test_what_is_no_dump_or_an_attack_is_refused_in_one_line(tmp_path, content, what):
    path = tmp_path / "pages.xml"
    path.write_text(content)
    with pytest.raises(BadInput, match=what) as error:
        read_all(Dump(path, Heard().append))
    assert "\n" not in str(error.value)


def test_a_gigantic_page_is_counted_and_what_follows_is_read(tmp_path):
    pages = [make_page("Giant", "x " * MOST_BYTES, 1), make_page("Alm", ALM, 2)]
    heard = Heard()
    assert list(read_all(Dump(write_dump(tmp_path / "pages.xml", pages), heard.append))) == ["Alm"]
    assert heard.reasons() == {"Giant": "too_large"}


@pytest.mark.parametrize(
    "tail", ["<page><title " + "a" * 3_000_000, "<page>" + "<b>" * 100, "<!--" + "a" * 3_000_000]
)
def test_tags_without_end_and_depth_are_not_followed(tmp_path, tail, monkeypatch):
    monkeypatch.setattr(dump, "LONGEST_TOKEN", 1_000_000)
    heard = Heard()
    path = write_dump(tmp_path / "pages.xml", (*PAGES[:1], tail), "")
    assert list(read_all(Dump(path, heard.append))) == ["Alm"]
    assert heard[-1].ended


def test_a_full_history_gives_the_last_revision(tmp_path):
    page = make_page("Alm", "Old text.", 1)
    again = page.partition("<revision>")[2].replace("Old", "New").replace("<id>901", "<id>902")
    both = page.replace("</page>", f"<revision>{again}")
    article = read_all(Dump(write_dump(tmp_path / "pages.xml", [both]), Heard().append))["Alm"]
    assert (article.revision, [part.text for part in article.parts]) == (902, ["New text."])


def test_a_dump_is_read_once_where_no_title_is_in_it(tmp_path, monkeypatch):
    heard = Heard()
    source = Dump(write_dump(tmp_path / "pages.xml"), heard.append)
    passes = []
    list_pages = source.list_pages

    def count(*, only_titles):
        passes.append(only_titles)
        return list_pages(only_titles=only_titles)

    monkeypatch.setattr(source, "list_pages", count)
    assert list(source.stream(["Nowhere"])) == []
    source.close()
    assert passes == [True]
    assert heard.reasons()["Nowhere"] == "missing"
