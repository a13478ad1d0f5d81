import bz2
import gzip
import json
import os
from collections import Counter
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.errors import BadInput
from tasks.sources.wikidata.dump import DumpSource
from tasks.sources.wikidata.entities import EntityClaim, EntitySelection, Qualifier, Sitelink
from tasks.sources.wikidata.report import ReadingReport
from tasks.sources.wikidata.values import ItemValue, Precision, Quantity, Text, Time
from tasks.sources.wikidata.wikibase_json import read_entity
from tests.shared_data import SHARED, needs
from tests.sources.wikidata.scenes import entity, item, quantity, snak, statement, text, time, write_dump

EXCERPT = SHARED / "wikidata"
"""An excerpt of the real dump on this machine, if present; it is not part of the project."""
NAMES = ("dump.json", "dump.json.gz", "dump.json.bz2")
FILM = (statement(item("P31", "Q11424")), statement(time("P577", "+1979-05-25T00:00:00Z"), entity="Q2"))


def read(*paths, most=2**20, **selected):
    lines = []
    report = ReadingReport(lines.append)
    found = list(DumpSource(paths, most).read(EntitySelection(**selected), report))
    report.finish()
    return found, report, [json.loads(line) for line in lines]


def ids(found):
    return [result.id for result in found]


@pytest.mark.parametrize("name", NAMES)
def test_an_entity_has_all_that_is_asked_of_it(tmp_path, name):
    made = entity(
        "Q1",
        statement(item("P57", "Q3"), 0, rank="preferred", P580=[time("P580", "+1950-00-00T00:00:00Z", 9)]),
        statement(item("P57", "Q4"), 1, rank="deprecated"),
        labels={"en": {"language": "en", "value": "one"}, "de": {"language": "de", "value": "eins"}},
        aliases={"en": [{"language": "en", "value": "1"}, {"language": "en", "value": "unit"}]},
    )
    (found,), report, lines = read(write_dump(tmp_path / name, made))
    assert (found.id, found.kind, found.revision) == ("Q1", "item", 7)
    assert found.labels == (Text("eins", "de"), Text("one", "en"))
    assert found.aliases == (Text("1", "en"), Text("unit", "en"))
    assert found.sitelinks == (Sitelink("enwiki", "One"),)
    since = Qualifier("P580", Time(1950, None, None, Precision.YEAR))
    assert found.claims == (
        EntityClaim("Q1$P57-0", "P57", 0, "preferred", ItemValue("Q3"), (since,)),
        EntityClaim("Q1$P57-1", "P57", 1, "deprecated", ItemValue("Q4")),
    )
    assert (report.counts, lines) == ({}, [])


def test_a_selection_takes_ids_classes_properties_languages_and_sites(tmp_path):
    deprecated = statement(item("P31", "Q11424"), rank="deprecated", entity="Q4")
    path = write_dump(
        tmp_path / "dump.json",
        entity("Q1"), entity("Q2", *FILM), entity("Q3", statement(item("P31", "Q5"))),
        entity("Q4", deprecated), entity("P577"), entity("P31"),
    )  # fmt: skip
    found, report, lines = read(
        path, entities=frozenset({"Q1"}), classes=frozenset({"Q11424"}), properties=frozenset({"P577"}),
        languages=frozenset({"de"}), sites=frozenset(),
    )  # fmt: skip
    assert ids(found) == ["Q1", "Q2", "P577"]
    assert [claim.property for claim in found[1].claims] == ["P577"]
    # German falls back to English.
    assert [(result.labels, result.sitelinks) for result in found] == [((Text("one", "en"),), ())] * 3
    assert report.not_asked == 2
    assert lines == [
        {"reason": "no item", "where": "dump.json, line 7", "entity": "P31",
         "detail": "is a property that was not asked for", "count": 1}
    ]  # fmt: skip


def test_the_beginning_of_a_line_decides_as_its_whole_does(tmp_path):
    made = [entity("Q1"), entity("Q2", *FILM), entity("Q11424")]
    tight = [json.dumps(row, separators=(",", ":")).encode() for row in made]
    # In another order, the beginning is not sufficient, so the whole line is read.
    turned = [json.dumps(dict(reversed(row.items()))).encode() for row in made]
    for lines in (made, tight, turned):
        path = write_dump(tmp_path / "dump.json", *lines)
        for selected in ({"entities": frozenset({"Q2"})}, {"classes": frozenset({"Q11424"})}):
            found, report, _ = read(path, **selected)
            assert (ids(found), report.not_asked) == (["Q2"], 2)


def test_what_is_broken_is_skipped_with_its_line_and_the_rest_is_read(tmp_path):
    path = write_dump(
        tmp_path / "dump.json",
        entity("Q1"), b"{", b'{"type": "item", "id": "Q2", "labels', b"[" * 5_000, b"7", b'{"id": "Q3"}',
        b'{"type":"item","id":"Q0"}', b'{"type":"item","id":"P3"}', b'{"type":"lexeme","id":"L3"}',
        b"\xff\xfe",
        entity("Q1", label="again"), b'{"type":"item","id":"Q6","x":"' + b"y" * 3_000 + b'"}', entity("Q7"),
    )  # fmt: skip
    found, report, lines = read(path, most=2_000)
    assert ids(found) == ["Q1", "Q7"]
    assert found[0].labels == (Text("one", "en"),)
    assert [(line["reason"], line["where"].partition(", ")[2]) for line in lines] == [
        ("broken line", "line 3"),
        ("broken line", "line 4"),
        ("line too long", "line 5"),
        ("broken entity", "line 6"),
        ("broken entity", "line 7"),
        ("broken entity", "line 8"),
        ("broken entity", "line 9"),
        ("no item", "line 10"),
        ("broken line", "line 11"),
        ("entity twice", "line 12"),
        ("line too long", "line 13"),
    ]
    assert sum(report.counts.values()) == len(lines)


def test_deep_nesting_is_a_broken_line(tmp_path):
    found, report, _ = read(write_dump(tmp_path / "dump.json", b"[" * 500_000, entity("Q1")))
    assert (ids(found), report.counts) == (["Q1"], {"broken line": 1})


def test_broken_parts_of_an_entity_leave_the_others(tmp_path):
    sound = statement(text("P1", "x"))
    made = entity(
        "Q1", sound,
        {**sound, "mainsnak": time("P2", "+1900-02-30T00:00:00Z")},
        {**sound, "mainsnak": item("P3", "Q5"), "rank": []},
        statement(
            item("P4", "Q5"), P580=[time("P580", "never"), {"snaktype": "somevalue"}, item("P580", "Q8")]
        ),
        statement(snak("P5", "string", "a")), statement(snak("P5", "string", "b")), sound,
        labels=["x"], aliases={"en": [{"value": 3}, {"value": "ok"}], "de": 4}, sitelinks={"enwiki": 3},
    )  # fmt: skip
    made["claims"]["P6"] = {"no": "list"}
    made["claims"]["P7"] = [None]
    (found,), _, lines = read(write_dump(tmp_path / "dump.json", made))
    assert [claim.property for claim in found.claims] == ["P1", "P4"]
    assert found.claims[1].qualifiers == (Qualifier("P580", ItemValue("Q8")),)
    assert found.aliases == (Text("ok", "en"),)
    said = [(line["reason"], line.get("property", ""), line["count"]) for line in lines]
    assert said == [
        ("broken part", "", 1),  # labels
        ("broken part", "", 1),  # aliases, de
        ("broken part", "", 1),  # aliases, en
        ("broken part", "", 1),  # sitelinks
        ("statement id twice", "P1", 1),
        ("broken claim", "P2", 1),
        ("broken claim", "P3", 1),
        ("broken qualifier", "P4", 1),
        ("broken claims", "P6", 1),
        ("broken claim", "P7", 1),
        ("unknown value in a qualifier", "P4", 1),
        ("value of another type", "P5", 2),
    ]


def test_a_statement_of_another_entity_never_takes_its_id(tmp_path):
    made = [entity(name, statement(item("P1", "Q5"), entity="Q9")) for name in ("Q1", "Q2")]
    found, _, _ = read(write_dump(tmp_path / "dump.json", *made))
    assert [result.claims[0].id for result in found] == ["Q1$P1-0", "Q2$P1-0"]


@pytest.mark.parametrize("name", NAMES)
def test_a_dump_that_is_cut_off_gives_what_is_whole_and_says_so(tmp_path, name):
    made = [entity(f"Q{n}", label=os.urandom(400).hex()) for n in range(1, 2_000)]
    path = write_dump(tmp_path / name, *made)
    path.write_bytes(path.read_bytes()[: path.stat().st_size * 2 // 3])
    found, _, lines = read(path)
    assert ids(found) == [f"Q{n}" for n in range(1, len(found) + 1)]
    assert len(found) > 0
    expected = (
        ["broken line", "array without its end"] if name == "dump.json" else ["archive cut off or damaged"]
    )
    assert [line["reason"] for line in lines] == expected


@pytest.mark.parametrize("name", NAMES[1:])
def test_an_archive_that_is_damaged_is_no_traceback(tmp_path, name):
    path = write_dump(
        tmp_path / name, *[entity(f"Q{n}", label=os.urandom(400).hex()) for n in range(1, 2_000)]
    )
    content = bytearray(path.read_bytes())
    content[len(content) // 2 : len(content) // 2 + 64] = bytes(64)
    path.write_bytes(content)
    _, report, _ = read(path)
    assert report.counts.keys() & {"archive cut off or damaged", "array without its end"}


@pytest.mark.parametrize(("name", "pack"), [("dump.json.bz2", bz2.compress), ("dump.json.gz", gzip.compress)])
def test_streams_behind_each_other_are_one_dump(tmp_path, name, pack):
    lines = [b"[\n", *(json.dumps(entity(f"Q{n}")).encode() + b",\n" for n in range(1, 9)), b"]\n"]
    (tmp_path / name).write_bytes(b"".join(map(pack, lines)))
    found, report, _ = read(tmp_path / name)
    assert (len(found), report.counts) == (8, {})


def test_shards_are_read_in_turn_and_an_entity_counts_once(tmp_path):
    one = write_dump(tmp_path / "a.json", entity("Q1"), entity("Q2"))
    two = tmp_path / "b.jsonl"
    two.write_text("\n".join(json.dumps(entity(name)) for name in ("Q2", "Q3")))
    found, report, lines = read(one, two)
    assert (ids(found), report.counts) == (["Q1", "Q2", "Q3"], {"entity twice": 1})
    assert lines[0]["where"] == "b.jsonl, line 1"


def test_saved_answers_are_read_too(tmp_path):
    made = {
        "Q1": entity("Q1"),
        "Q9": entity("Q2", redirects={"from": "Q9", "to": "Q2"}),
        "Q3": {"id": "Q3", "missing": ""},
    }
    (tmp_path / "a.json").write_text(json.dumps({"entities": made, "success": 1}))
    (tmp_path / "b.json").write_text(json.dumps(entity("Q4"), indent=4))
    found, report, _ = read(tmp_path / "a.json", tmp_path / "b.json")
    assert (ids(found), report.counts) == (["Q1", "Q2", "Q4"], {"no such entity": 1})
    assert report.redirects == {"Q9": "Q2"}


def test_what_is_no_dump_is_one_clear_line(tmp_path):
    (tmp_path / "x.json").write_bytes(b"PK\x03\x04")
    for path in (tmp_path / "x.json", tmp_path / "none", tmp_path):
        with pytest.raises(BadInput):
            read(path)
    for names in (
        {"entities": frozenset({"42"})},
        {"classes": frozenset({"P5"})},
        {"properties": frozenset({"Q5"})},
    ):
        with pytest.raises(BadInput, match="is not an id"):
            EntitySelection(**names)


@needs("wikidata")
def test_a_real_excerpt_is_read_whole():
    path = EXCERPT / "sample_wikidata_items.json.bz2"
    found, report, _ = read(path, most=2**24)
    assert len(found) == 100
    # Counted in the file with json.load: 5,598 items, 2,795 quantities, 658 texts, 52 times.
    assert sum(len(result.claims) for result in found) == 5_598 + 2_795 + 658 + 52
    kinds = [claim.value for result in found for claim in result.claims if isinstance(claim.value, Time)]
    assert sum(value.precision == Precision.YEAR for value in kinds) == 22 + 7
    assert sum(value.calendar == "julian" for value in kinds) == 7 + 2
    assert not report.counts.keys() & {"broken line", "broken entity", "broken claim", "broken part"}
    (belgium,), _, _ = read(path, entities=frozenset({"Q31"}), properties=frozenset({"P36"}), most=2**24)
    assert Text("Belgium", "en") in belgium.labels
    assert ItemValue("Q239") in [claim.value for claim in belgium.claims]


@needs("wikidata")
def test_units_ranks_qualifiers_aliases_and_several_values_of_a_real_excerpt_are_kept():
    found, _, lines = read(EXCERPT / "sample_wikidata_items.json.bz2", most=2**24)
    by_id = {result.id: result for result in found}
    claims = [(result.id, claim) for result in found for claim in result.claims]
    amounts = [claim.value for _, claim in claims if isinstance(claim.value, Quantity)]
    # All numbers were counted in the file with json.load.
    assert Counter(claim.rank for _, claim in claims) == {"normal": 8_780, "preferred": 299, "deprecated": 24}
    assert Counter(value.unit for value in amounts) == {
        None: 1_792, "Q11229": 575, "Q4917": 159, "Q712226": 85, "Q24564698": 66, "Q11573": 53, "Q550207": 33,
        "Q25250": 19, "Q25343": 7, "Q180154": 2, "Q4916": 1, "Q577": 1, "Q3710": 1, "Q232291": 1,
    }  # fmt: skip
    assert sum(value.upper is not None for value in amounts) == 226
    assert (
        sum(count > 1 for count in Counter((name, claim.property) for name, claim in claims).values()) == 750
    )
    assert sum(text.language == "en" for result in found for text in result.aliases) == 178
    qualifiers = Counter(type(qualifier.value) for _, claim in claims for qualifier in claim.qualifiers)
    # Two of 4,025 dates are the 31st of June.
    assert qualifiers == {Time: 4_023, ItemValue: 2_464, Quantity: 82, Text: 4}
    assert [(line["entity"], line["detail"]) for line in lines if line["reason"] == "broken qualifier"] == [
        (name, "statement 1, P585: 2016-06-31 is not a valid date in the Gregorian calendar")
        for name in ("Q2683", "Q3543")
    ]
    moved = Time(1960, 4, 22, Precision.DAY)
    assert [claim for claim in by_id["Q155"].claims if claim.property == "P36"] == [
        EntityClaim(
            "q155$14A8A9D4-F7D1-4B46-BB83-C015F95E7DF3", "P36", 0, "preferred", ItemValue("Q2844"),
            (Qualifier("P580", moved),),
        ),
        EntityClaim(
            "Q155$21140730-4833-9970-92a7-e2db71649b10", "P36", 1, "normal", ItemValue("Q8678"),
            (Qualifier("P582", moved),),
        ),
    ]  # fmt: skip
    (area,) = (claim.value for claim in by_id["Q45"].claims if claim.property == "P2046")
    assert area == Quantity(Decimal(92_212), "Q712226", Decimal(92_211), Decimal(92_213))
    rulers = [(claim.rank, claim.value) for claim in by_id["Q585"].claims if claim.property == "P17"]
    assert rulers == [("preferred", ItemValue("Q20"))] + [
        ("normal", ItemValue(name)) for name in ("Q62589", "Q2597352", "Q62651")
    ]
    english = [text.text for text in by_id["Q31"].aliases if text.language == "en"]
    assert english == ["Kingdom of Belgium", "be", "\U0001f1e7\U0001f1ea"]


@needs("wikidata")
def test_real_answers_of_its_api_are_read():
    found, report, _ = read(
        *sorted(EXCERPT.glob("qwikidata*.json")), *sorted(EXCERPT.glob("wdtk*.json")), most=2**24
    )
    assert ids(found) == ["Q42", "Q131261", "Q1", "Q1040"]
    assert report.redirects == {"Q32063953": "Q1040"}
    assert report.counts["entity twice"] == 2
    birth = [claim.value for claim in found[0].claims if claim.property == "P569"]
    assert birth == [Time(1952, 3, 11, Precision.DAY)]


def nest(depth: int) -> list:
    made: list = []
    for _ in range(depth):
        made = [made]
    return made


ANY = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63)
    | st.floats(allow_nan=False)
    | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
) | st.builds(nest, st.sampled_from([3, 900]))
WHOLE = entity(
    "Q1",
    statement(item("P1", "Q5"), P580=[time("P580", "+1950-00-00T00:00:00Z", 9)]),
    statement(time("P2", "-0044-03-15T00:00:00Z")),
    statement(text("P3", "x")),
    statement(quantity("P4", "+1", lowerBound="0")),
    aliases={"en": [{"language": "en", "value": "1"}]},
    redirects={"from": "Q2", "to": "Q1"},
)  # fmt: skip


def list_places(value, path=()):
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    yield path
    for key, inner in inside:
        yield from list_places(inner, (*path, key))


@given(st.sampled_from([path for path in list_places(WHOLE) if path]), ANY)
def test_no_wrong_type_at_any_place_is_a_traceback(path, other):
    made = json.loads(json.dumps(WHOLE))
    place = made
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = other
    report = ReadingReport(json.loads)
    read_entity(made, EntitySelection(classes=frozenset({"Q1"}), entities=frozenset({"Q1"})), report, "here")
    report.finish()


@pytest.mark.parametrize("separators", [(", ", ": "), (",", ":")])
def test_an_item_whose_class_is_not_known_may_be_of_any_class(tmp_path, separators):
    unknown = {"snaktype": "somevalue", "property": "P31", "datatype": "wikibase-item"}
    made = [
        entity("Q1", statement(unknown)),
        entity("Q2", statement(unknown, entity="Q2", rank="deprecated")),
        entity("Q3", statement({**unknown, "snaktype": "novalue"}, entity="Q3")),
        entity("Q4", statement(item("P31", "Q5"), entity="Q4"), statement({**unknown, "property": "P57"})),
        entity("Q5", *FILM),
    ]
    lines = [json.dumps(row, separators=separators).encode() for row in made]
    found, report, named = read(write_dump(tmp_path / "dump.json", *lines), classes=frozenset({"Q11424"}))
    assert (ids(found), report.not_asked) == (["Q1", "Q5"], 3)
    assert [(line["entity"], line["reason"]) for line in named] == [("Q1", "unknown value")]
