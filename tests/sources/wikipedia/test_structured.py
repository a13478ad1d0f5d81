import gzip
import json

import pytest

from tasks.errors import BadInput
from tasks.sources.wikipedia import structured
from tasks.sources.wikipedia.structured import StructuredContents
from tests.sources.wikipedia.scenes import Heard, read_all, write_lines

RECORD = {
    "name": "Josephine_Quill",
    "identifier": 255083,
    "url": "https://en.wikipedia.org/wiki/Josephine_Quill",
    "version": {"identifier": 1227, "editor": {"identifier": 4}},
    "abstract": "Not read: the first section has it.",
    "redirects": [{"name": "J. Quill", "url": "x"}, {"name": "Josephine Quill"}],
    "infoboxes": [
        {"name": "Infobox person", "type": "infobox", "has_parts": [
            {"type": "section", "name": "Josephine Quill", "has_parts": [
                {"type": "image", "value": "x.jpg"},
                {"type": "field", "name": "Born", "value": "3 June 1906 Alm", "values": ["3 June 1906", "Alm"]},
                {"type": "field", "name": "Height:", "value": "1.70 m", "links": []},
            ]},
        ]},
    ],
    "sections": [
        {"type": "section", "name": "Abstract", "has_parts": [
            {"type": "paragraph", "value": "She was a singer. She was born in St. Alm.", "citations": []}]},
        {"type": "section", "name": "Life", "has_parts": [
            {"type": "paragraph", "value": "She sang."},
            {"type": "section", "name": "Youth", "has_parts": [
                {"type": "list", "has_parts": [{"type": "list_item", "value": "One"}]}],
             "table_references": [{"identifier": "t1", "confidence_score": 0.9}]}]},
    ],
    "tables": [
        {"identifier": "t2", "headers": [[{"value": "A"}]], "rows": [[{"value": "1"}]]},
        {"identifier": "t1", "headers": [[{"value": "Year"}, {"value": "Prize"}], [{"value": "Year"}, {"value": "Name"}]],
         "rows": [[{"value": "1990"}, {"value": "Orb"}], [{"value": "1991"}, {}]]},
    ],
}  # fmt: skip


def test_an_article_has_its_boxes_sections_and_tables(tmp_path):
    heard = Heard()
    (article,) = read_all(
        StructuredContents(write_lines(tmp_path / "a.ndjson", [RECORD]), heard.append)
    ).values()
    assert (article.title, article.id, article.revision) == ("Josephine Quill", 255083, 1227)
    assert article.aliases == ("J. Quill",)
    assert [(part.kind, part.section, part.parent, part.headers, part.text) for part in article.parts] == [
        ("infobox", "", "", ("Born", "Born"), "3 June 1906; Alm"),
        ("infobox", "", "", ("Height", "Height"), "1.70 m"),
        ("text", "", "", (), "She was a singer."),
        ("text", "", "", (), "She was born in St. Alm."),
        ("text", "Life", "", (), "She sang."),
        ("text", "Youth", "Life", (), "One"),
        ("cell", "Youth", "Life", ("Orb", "Year"), "1990"),
        ("cell", "Youth", "Life", ("", "Prize / Name"), "Orb"),
        ("cell", "Youth", "Life", ("", "Year"), "1991"),
        ("cell", "", "", ("", "A"), "1"),
    ]
    assert heard == []


def test_the_first_names_of_its_fields_are_known_too(tmp_path):
    old = {"infobox": RECORD["infoboxes"], "article_sections": RECORD["sections"]}
    record = {key: value for key, value in RECORD.items() if key not in ("infoboxes", "sections")} | old
    sources = (write_lines(tmp_path / f"{n}.ndjson", [line]) for n, line in enumerate((RECORD, record)))
    new, same = (read_all(StructuredContents(path, Heard().append)) for path in sources)
    assert same == new


def test_what_follows_an_inner_section_stands_in_the_outer_one(tmp_path):
    early = {
        "type": "section",
        "name": "Early years",
        "has_parts": [{"type": "paragraph", "value": "First."}],
    }
    history = {"type": "section", "name": "History", "has_parts": [early, {"type": "paragraph", "value": "Then."}],
               "table_references": [{"identifier": "t2"}]}  # fmt: skip
    record = {**RECORD, "sections": [history], "infoboxes": [], "tables": RECORD["tables"][:1]}
    path = write_lines(tmp_path / "a.ndjson", [record])
    (article,) = read_all(StructuredContents(path, Heard().append)).values()
    assert [(part.section, part.parent, part.text) for part in article.parts] == [
        ("Early years", "History", "First."),
        ("History", "", "Then."),
        ("History", "", "1"),
    ]


def nest(depth):
    part = {"type": "paragraph", "value": "x"}
    for _ in range(depth):
        part = {"type": "section", "name": "s", "has_parts": [part]}
    return part


def test_lines_that_are_none_are_counted_and_the_others_read(tmp_path, monkeypatch):
    monkeypatch.setattr(structured, "LONGEST_RECORD", 20_000)
    records = [
        RECORD, 7, {"identifier": 3}, {**RECORD, "name": "List", "sections": "x"}, {**RECORD, "name": "Deep", "sections": [nest(50)]},
        {**RECORD, "name": "Long", "abstract": "x" * 30_000}, {"name": "Nothing"}, RECORD,
        {**RECORD, "name": "Row", "tables": [{"rows": [7]}], "redirects": 5}, {"name": "Talk:X", "namespace": {"identifier": 1}},
        {**RECORD, "name": "Last", "redirects": []},
    ]  # fmt: skip
    path = write_lines(tmp_path / "a.ndjson", records)
    path.write_bytes(path.read_bytes() + b"{\n\xff\xfe\n")
    heard = Heard()
    articles = read_all(StructuredContents(path, heard.append))
    assert list(articles) == ["Josephine Quill", "Last"]
    reasons = heard.reasons()
    assert {name: reasons[name] for name in ("List", "Deep", "Nothing", "Row")} == {
        "List": "broken", "Deep": "broken", "Nothing": "empty", "Row": "broken",
    }  # fmt: skip
    assert [reasons[f"a.ndjson, line {number}"] for number in (2, 3, 6, 12, 13)] == [
        "broken",
        "broken",
        "too_large",
        "broken",
        "broken",
    ]
    assert "duplicate" in reasons.values()


def test_a_cut_archive_gives_what_came_before(tmp_path):
    many = "".join(
        json.dumps({**RECORD, "name": f"N{n}", "redirects": [], "url": str(n * 7919)}) + "\n"
        for n in range(2000)
    )
    path = tmp_path / "a.ndjson.gz"
    whole = gzip.compress(many.encode())
    path.write_bytes(whole[: len(whole) * 9 // 10])
    heard = Heard()
    assert len(read_all(StructuredContents(path, heard.append))) > 100
    assert [skipped.reason for skipped in heard if skipped.ended] == ["truncated"]


def test_a_file_without_articles_is_refused(tmp_path):
    with pytest.raises(BadInput, match="contains no article in the Structured Contents format"):
        read_all(StructuredContents(write_lines(tmp_path / "a.ndjson", [1, 2]), Heard().append))
