import time

import pytest

from tasks.sources.wikipedia.article import MOST_BYTES
from tasks.sources.wikipedia.markup import tidy
from tasks.sources.wikipedia.pages import UnreadablePage, find_redirect, read_page, read_plain
from tasks.sources.wikipedia.reading import PageReader
from tests.shared_data import SHARED, needs

"""Real pages on this machine, if present; they are not part of the project."""

PAGE = """{{Short description|x}}{{Infobox person
| name = Ada Quill <!-- a note -->
| image = Ada.jpg
| birth_date = {{birth date and age|1957|5|12|df=y}}
| established_title = Founded
| established_date = {{start date|1990|3}}
| children = Ann<br />Bo
| spouse = {{marriage|Jo Brack|1991|2003}}
| area = {{convert|1250|sqmi|km2}}<ref>{{cite web|url=x}}</ref>
}}
'''Ada Quill''' (born {{circa|1957}}) lives in [[St. Alm|St. Alm]].<ref name="a">No.</ref> She is [[tall]].

== Life ==
=== Youth ===
She went to school{{citation needed|date=May 2010}} in Brack. {{lang|fr|Oui}}.
* One thing
* Another
[[File:x.jpg|thumb|A picture]]
{| class="wikitable"
|+ Her prizes
! rowspan=2 | Year !! colspan=2 | Prize
|-
! Name !! Sum
|-
| rowspan="2" | 1990 || Orb || {{US$|5}}
|-
| Star || 7
|}
== End ==
[[Category:People]]
"""


def find(parts, kind):
    return [part for part in parts if part.kind == kind]


def test_a_page_becomes_its_parts_in_order_with_their_sections():
    read = read_page(PAGE, "Ada Quill")
    assert [(part.section, part.parent, part.text) for part in find(read.parts, "text")] == [
        ("", "", "Ada Quill (born c. 1957) lives in St. Alm."),
        ("", "", "She is tall."),
        ("Youth", "Life", "She went to school in Brack."),
        ("Youth", "Life", "Oui."),
        ("Youth", "Life", "One thing"),
        ("Youth", "Life", "Another"),
        ("Youth", "Life", "Her prizes"),
    ]
    assert [part.position for part in read.parts] == list(range(len(read.parts)))
    assert (read.unread, read.problems) == ({}, ())


def test_infobox_entries_have_key_label_and_a_value_without_markup():
    entries = [(*part.headers, part.text) for part in find(read_page(PAGE).parts, "infobox")]
    assert entries == [
        ("name", "name", "Ada Quill"),
        ("birth_date", "birth date", "12 May 1957"),
        ("established_date", "Founded", "March 1990"),
        ("children", "children", "Ann; Bo"),
        ("spouse", "spouse", "Jo Brack (m. 1991; ended 2003)"),
        ("area", "area", "1,250 sq mi"),
    ]


def test_cells_have_the_headers_of_all_levels_and_stand_in_every_row_they_span():
    cells = [
        (part.row, part.column, *part.headers, part.text) for part in find(read_page(PAGE).parts, "cell")
    ]
    assert cells == [
        (2, 0, "Orb", "Year", "1990"),
        (2, 1, "", "Prize / Name", "Orb"),
        (2, 2, "Orb", "Prize / Sum", "US$5"),
        (3, 0, "Star", "Year", "1990"),
        (3, 1, "", "Prize / Name", "Star"),
        (3, 2, "Star", "Prize / Sum", "7"),
    ]


@pytest.mark.parametrize(
    ("wikitext", "text"),
    [
        ("a {{convert|6|ft|2|in|m}} b", "a 6 ft 2 in b"),
        ("a {{convert|5|to|7|km|mi}} b", "a 5 to 7 km b"),
        ("a {{cvt|3.5|-|4|C}} b", "a 3.5–4 °C b"),
        ("a {{start date|1990|3|5}} b", "a March 5, 1990 b"),
        ("a {{death date and age|1990|3|5|1920|4|1}} b", "a March 5, 1990 (aged 69) b"),
        ("a {{death date and age|1990||}} b", "a 1990 b"),
        ("a {{coord|39|06|00|N|84|30|45|W|region:US}} b", "a 39°06′00″N 84°30′45″W b"),
        ("a {{frac|3|1|2}} b", "a 3 1/2 b"),
        ("a {{nihongo|Cross|X|Kurosu}} b", "a Cross (X, Kurosu) b"),
        ("a {{formatnum:1234567}} b", "a 1,234,567 b"),
        ("a {{as of|2019|4}} b", "a As of April 2019 b"),
        ("a {{sortname|Ann|Brack}} b", "a Ann Brack b"),
        ("Germany ({{langx|de|Deutschland}}) b", "Germany (Deutschland) b"),
        ("King Bo ({{reign|1500|1510}}) b", "King Bo (r. 1500–1510) b"),
        ("a {{foo|bar}} b", "a bar b"),
        ("a{{efn|note}} ({{IPA-en|x}}, born) b", "a (born) b"),
        ("x<sup>2</sup> &amp; y<br>z", "x² & y z"),
        ("a &#xD800; &#57343; b", "a \ufffd \ufffd b"),
        ("a <ref>open b", "a open b"),
        ("a <ref>b <ref name=c>d</ref> e", "a e"),
        ("'''Bo'''s' and ''''x'''", "Bos' and 'x"),
        ("[[:Category:X|y]] [[fr:Z]] [http://a.org site] [http://a.org]", "y site"),
    ],
)
def test_markup_and_templates_become_what_a_reader_sees(wikitext, text):
    assert " ".join(part.text for part in read_page(wikitext).parts) == text


def test_a_template_without_a_rule_is_counted():
    assert read_page("a {{foo|bar}} b {{Foo}} c").unread == {"foo": 2}


def test_an_embedded_infobox_and_a_table_in_a_box_are_read_too():
    page = "{{Infobox a|name=X|module={{Infobox b|embed=yes|height={{height|m=1.85}}}}}}\n<div>\n== S ==\n{|\n! A\n|-\n| 1\n|}\n</div>"
    parts = read_page(page).parts
    assert [(part.kind, part.section, part.headers, part.text) for part in parts] == [
        ("infobox", "", ("name", "name"), "X"),
        ("infobox", "", ("height", "height"), "1.85 m"),
        ("cell", "S", ("", "A"), "1"),
    ]


def test_spans_that_would_fill_the_memory_are_left_out_and_said():
    row = "|-\n" + "| rowspan=1000 colspan=1000 | x\n" * 3
    read = read_page("before\n{|\n" + row * 200 + "|}\n")
    assert [part.text for part in read.parts] == ["before"]
    assert read.problems == ("table 0: has more than 100,000 cells",)


def test_broken_markup_is_left_out_and_said():
    read = read_page("A good sentence. Then {{Infobox x | a = b [[c\n\nAnother.")
    assert all("{{" not in part.text for part in read.parts)
    assert read.problems == ("1 sentences with broken markup",)


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("#REDIRECT [[Foo bar#x]]", "Foo bar#x"),
        ("#Weiterleitung: [[A|b]]", "A"),
        ("text #redirect [[A]]", None),
    ],
)
def test_redirects_are_known_by_their_text(text, target):
    assert find_redirect(text) == target


def test_a_text_larger_than_a_page_is_refused():
    with pytest.raises(UnreadablePage, match="too_large"):
        read_page("ä" * (MOST_BYTES // 2 + 1))


def test_a_page_that_never_ends_is_given_up_and_the_next_is_read():
    with PageReader(longest_s=4) as reader:
        assert reader.read("First.", "A").parts[0].text == "First."
        with pytest.raises(UnreadablePage, match="too_slow"):
            reader.read("{{a|" * 100_000, "B")
        reader._longest_s = 120
        assert reader.read("Third.", "C").parts[0].text == "Third."


def test_plain_text_has_sections_where_it_has_headings():
    parts = read_plain("One. Two.\n== A ==\nThree.\n=== B ===\nFour.").parts
    assert [(part.section, part.parent, part.text) for part in parts] == [
        ("", "", "One."), ("", "", "Two."), ("A", "", "Three."), ("B", "A", "Four."),
    ]  # fmt: skip


def test_many_blanks_take_no_square_of_their_number():
    start = time.monotonic()
    read_plain("==" + " " * 200_000 + "x")
    assert tidy("equivalent to" + " " * 200_000 + "x (equivalent to $ in )") == "equivalent to x"
    assert time.monotonic() - start < 5


def test_plain_text_keeps_marks_that_would_be_broken_markup_elsewhere():
    text = "The norm ||x|| is positive. In C, a == b and c == d here."
    assert [part.text for part in read_plain(text).parts] == [
        "The norm ||x|| is positive.", "In C, a == b and c == d here.",
    ]  # fmt: skip


@needs("infobox")
@pytest.mark.parametrize(
    ("file", "expected"),
    [
        ("wikitext/royal_cinema.txt", "text"), ("wikitext/2008-British-motorcycle-Grand-Prix.txt", "cell"),
        ("infobox/cincinnati.txt", "infobox"), ("wikitext/Bodmin.txt", "text"), ("infobox/ronaldo.txt", "infobox"),
    ],
)  # fmt: skip
def test_real_pages_leave_no_markup(file, expected):
    read = read_page((SHARED / file).read_text(encoding="utf-8"))
    assert find(read.parts, expected)
    assert not [
        part.text
        for part in read.parts
        if any(mark in part.text for mark in ("{{", "[[", "<ref", "''", "|-"))
    ]


@needs("infobox")
def test_values_of_a_real_infobox_are_what_its_page_says():
    entries = {
        part.headers[0]: part
        for part in read_page((SHARED / "infobox/cincinnati.txt").read_text()).parts
        if part.headers
    }
    assert (entries["established_date2"].headers[1], entries["established_date2"].text) == (
        "Incorporated (town)",
        "January 1, 1802",
    )
    assert entries["subdivision_name2"].headers[1] == "County"
    assert entries["area_total_km2"].text == "206.26"
