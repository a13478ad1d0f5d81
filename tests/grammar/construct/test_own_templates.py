"""Tests that hand-written templates obey the rules for a model's templates; errors name the line."""

import asyncio
import inspect
import json
import re
from dataclasses import replace
from types import SimpleNamespace

import pytest

from tasks.artifacts.rows import Origin
from tasks.databases.entry import DatabaseEntry
from tasks.errors import BadInput
from tasks.grammar.construct import free_reading, sql_reading, sql_rules, text_rules
from tasks.grammar.construct.back_check import BackCheck, back_check
from tasks.grammar.construct.free_reading import read_stored
from tasks.grammar.construct.own_templates import own_templates
from tasks.grammar.construct.sql_templates import CONSTRAIN, sql_templates
from tasks.grammar.construct.template_lines import ADVICE, TemplateRules, check_lines, read_template_lines
from tasks.grammar.construct.text_templates import Criterion, TextTemplates, text_templates
from tests.grammar.construct.test_sql_templates import make_params, pick_first
from tests.grammar.scripted import ENTRY, SCHEMA, ScriptedAsk

TOWN = {
    "sql": "SELECT clinics.town FROM clinics WHERE clinics.name = [clinics.name]",
    "texts": {
        "short": "town of the clinic [clinics.name]",
        "long": "In which town is the clinic [clinics.name]? I am writing down the way for a friend who has "
        "never been there and would rather not be late on the very first morning of all.",
    },
    "tag": "places",
}
SPECIALTY = {
    "sql": "SELECT d.specialty FROM doctors d WHERE d.name = '[doctors.name]'",
    "texts": {
        "short": ["specialty of doctor [doctors.name]", "the specialty that doctor [doctors.name] has"],
        "long": "What is the specialty of the doctor [doctors.name]? My aunt has asked me to find out before "
        "she makes up her mind whom to see, as she has waited for a long while and is tired of it.",
    },
}
RATE = {
    "sql": "SELECT hourly_rate FROM doctors WHERE name = '[doctors.name]'",
    "texts": {
        "short": "hourly rate of doctor [doctors.name]",
        "long": "What is the hourly rate of the doctor [doctors.name]? We are drawing up what next year will "
        "cost us, and all that is still lacking in the long list of sums is this one, as ever.",
    },
}
LINES = [TOWN, SPECIALTY, RATE]
CRITERIA = {
    "short": {"prompt": "texts/short", "minimum_words": 3, "maximum_words": 18, "samples": 1},
    "long": {"prompt": "texts/long", "minimum_words": 30, "maximum_words": 52, "samples": 1},
}
SETTINGS = {
    **{
        f"grammar.text_templates.criteria.{name}.{key}": value
        for name, fields in CRITERIA.items()
        for key, value in fields.items()
    },
    "grammar.balanced.criteria": ["short", "long"],
    "grammar.balanced.texts": 1,
}
RULES = TemplateRules(
    "clinic", SCHEMA, {name: Criterion(**fields) for name, fields in CRITERIA.items()},
    {"short": 1, "long": 1}, instead=True,
)  # fmt: skip
STRICT = replace(RULES, strict=True)


def check(tmp_path, *lines, rules=RULES):
    path = tmp_path / "lines.jsonl"
    path.write_bytes(b"\n".join(x if isinstance(x, bytes) else json.dumps(x).encode() for x in lines))
    return check_lines(list(read_template_lines(str(path))), rules)


def change(**fields):
    return {**TOWN, **fields}


def reword(**texts):
    return change(texts={**TOWN["texts"], **texts})


def test_templates_are_kept_in_canonical_sql_with_their_texts_and_tag(tmp_path):
    checked = check(tmp_path, *LINES)
    assert not checked.problems
    town, specialty, _ = checked.templates
    assert town.sql == "SELECT DISTINCT clinics.town FROM clinics WHERE clinics.name = '[clinics.name]'"
    assert (town.tag, specialty.tag) == ("places", "")
    assert [text.criterion for text in specialty.texts] == ["short", "short", "long"]
    assert town.origin[0] == Origin("evidence", "data/templates/clinic.jsonl, line 1")
    assert Origin("row", "schema#clinics.town") in town.origin


@pytest.mark.parametrize(
    ("line", "reason", "said"),
    [
        (b'{"sql": "\xff\xfe"}', "unreadable_line", "is not valid UTF-8"),
        (b"nonsense", "unreadable_line", "is not valid JSON"),
        (b"[1]", "unreadable_line", "is a list; expected a JSON object"),
        (b"x" * (16 * 2**20 + 1), "unreadable_line", "is longer than 16 MiB"),
        (change(sql="SELECT 1; DROP TABLE x"), "unreadable", "expected one statement, got 2"),
        (change(sql="DELETE FROM clinics"), "not_select", "Delete"),
        (change(sql="PRAGMA table_info(x)"), "not_select", "Pragma"),
        (change(sql="SELECT ("), "unreadable", ""),
        (change(sql="SELECT " + "(" * 1900 + "1" + ")" * 1900), "", ""),
        (change(sql="x" * 4001), "wrong_field", "sql is longer than 4,000 characters"),
        (change(sql="SELECT \x00"), "wrong_field", "sql contains characters that cannot be printed"),
        (change(sql=7), "wrong_field", "sql is a number; expected text"),
        ({"texts": TOWN["texts"]}, "wrong_field", "sql is missing; expected text"),
        (change(sql="SELECT town FROM nope WHERE name = '[nope.name]'"), "unknown_name", "table nope"),
        (change(sql="SELECT nope FROM clinics WHERE name = '[clinics.name]'"), "unknown_name", "column nope"),
        (change(sql="SELECT clinics.* FROM clinics"), "star", ""),
        (change(sql="SELECT town FROM clinics"), "no_placeholder", "the SQL has no placeholder"),
        (change(sql="SELECT town FROM clinics WHERE name = 'Vex'"), "constant", "name = 'Vex'"),
        (change(txt={}), "wrong_field", "has the unknown field 'txt'"),
        (change(database="films"), "other_database", "is for 'films', not 'clinic'"),
        (change(texts={}), "missing_text", "the field `texts` is missing"),
        (change(texts=["x"]), "missing_text", "`texts` is a list; expected an object that maps"),
        ({"sql": TOWN["sql"]}, "missing_text", "the field `texts` is missing"),
        (
            change(texts={"short": TOWN["texts"]["short"]}),
            "missing_text",
            "has 0 texts under 'long'; expected at least 1",
        ),
        (change(texts={"short": 7}), "wrong_field", "a text under 'short' is a number; expected text"),
        (
            change(texts={"short": ["x"] * 101}),
            "wrong_field",
            "has 101 texts under 'short'; expected at most 100",
        ),
        (reword(odd="town of the clinic [clinics.name]"), "unknown_criterion", "(known: long, short)"),
        (
            reword(short="town of the clinic [name]"),
            "wrong_placeholders",
            "contains [name], but its SQL contains [clin",
        ),
        (
            reword(short="town of the clinic"),
            "wrong_placeholders",
            "contains no placeholder, but its SQL contains [clinics.name]",
        ),
        (reword(short="[clinics.name]"), "too_short", "has 1 words; expected 3 to 18"),
        (reword(short="what of the clinic [clinics.name]"), "wanted_missing", "(town)"),
        (reword(short="x" * 2001), "wrong_field", "is too long"),
        (reword(short=[TOWN["texts"]["short"], TOWN["texts"]["short"] + "?"]), "duplicate", "is the same"),
    ],
)
def test_what_breaks_a_rule_is_one_clear_line(tmp_path, line, reason, said):
    checked = check(tmp_path, *LINES[1:], line, rules=STRICT)
    assert len(checked.templates) == 2 + (reason in ("unknown_criterion", "duplicate"))
    (problem,) = checked.problems
    assert problem.line == 3
    assert problem.reason == reason or not reason
    assert said in problem.what
    assert problem.advice
    assert "\n" not in problem.what
    assert len(problem.what) < 400


def test_lines_with_one_sql_are_one_template_with_all_of_their_texts(tmp_path):
    twin = change(
        sql="select c.town from clinics as c where '[clinics.name]' = c.name",
        texts={"short": ["[CLINICS.name], which town?", TOWN["texts"]["short"]]},
    )
    checked = check(tmp_path, TOWN, SPECIALTY, twin)
    town, _ = checked.templates
    assert [text.text for text in town.texts if text.criterion == "short"] == [
        TOWN["texts"]["short"], "[clinics.name], which town?",
    ]  # fmt: skip
    assert [origin.reference.partition(", ")[2] for origin in town.origin[:2]] == ["line 1", "line 3"]
    assert not checked.errors
    assert [(problem.line, problem.reason) for problem in checked.warnings] == [
        (3, "given_missing"), (3, "duplicate"),
    ]  # fmt: skip
    (problem,) = check(tmp_path, TOWN, {**twin, "tag": "other"}).errors
    assert (problem.line, problem.reason) == (2, "other_tag")


PEOPLE = [
    # (SQL, text): fragments, no grammar, any length, other than a model's templates
    ("SELECT AVG(hourly_rate), MAX(doctors.hourly_rate) FROM doctors "
     "WHERE hourly_rate > '[doctors.hourly_rate]'",
     "mean n max rate, over [doctors.hourly_rate]"),
    ("SELECT COUNT(*) FROM doctors d JOIN clinics c ON d.clinic_id = c.clinic_id "
     "WHERE c.name = '[clinics.name]'", "[clinics.name] doctors how many"),
    ("SELECT name FROM doctors WHERE hourly_rate BETWEEN [doctors.hourly_rate] AND [doctors.hourly_rate#2]",
     "who is between [doctors.hourly_rate] and [doctors.hourly_rate#2], I wonder, or not"),
    ("SELECT name FROM clinics EXCEPT SELECT c.name FROM clinics c JOIN doctors d USING (clinic_id) "
     'WHERE d.specialty = "[doctors.specialty]"', "no [doctors.specialty] there"),
    ("SELECT name FROM doctors WHERE name LIKE '%[doctors.specialty]%'", "[doctors.specialty] in the name"),
    ("SELECT town FROM clinics GROUP BY town ORDER BY COUNT(*) DESC LIMIT 1", "most common town"),
]  # fmt: skip


@pytest.mark.parametrize(("sql", "text"), PEOPLE)
def test_any_select_that_runs_is_taken_with_any_text_that_has_its_values(tmp_path, sql, text):
    line = {"sql": sql, "texts": {"short": text, "long": text}}
    checked = check(tmp_path, line)
    assert not checked.errors
    assert checked.warnings
    (template,) = checked.templates
    assert [text.criterion for text in template.texts] == ["short", "long"]
    query = read_stored(template.sql, SCHEMA)
    assert query.placeholders == template.placeholders
    assert query.id == template.id
    # In strict mode, warnings are errors, so no template remains.
    strict = check(tmp_path, line, rules=STRICT)
    assert not strict.templates
    assert strict.errors


@pytest.mark.parametrize(
    ("sql", "reason"),
    [
        ("SELECT nope FROM clinics", "unknown_name"),
        ("SELECT name FROM clinics WHERE nope(name) = 1", "cannot_run"),
        ("SELECT name FROM clinics WHERE town = '[clinics.nope]'", "wrong_placeholder"),
        ("SELECT name FROM clinics WHERE town = ?", "wrong_placeholder"),
        ("SELECT name FROM clinics WHERE date('now') > '[clinics.town]'", "clock"),
        ("DELETE FROM clinics", "not_select"),
        ("SELECT 1; SELECT 2", "unreadable"),
        ("SELECT name FROM main.clinics WHERE town = '[clinics.town]'", "unknown_name"),
    ],
)
def test_what_cannot_run_stays_an_error(tmp_path, sql, reason):
    (problem,) = check(tmp_path, {"sql": sql, "texts": {"short": "x", "long": "y"}}).errors
    assert (problem.reason, bool(problem.advice)) == (reason, True)


def test_a_text_without_a_value_of_its_sql_stays_an_error(tmp_path):
    (problem,) = check(tmp_path, reword(short="town of the clinic")).errors
    assert problem.reason == "wrong_placeholders"


def test_every_reason_has_its_advice():
    for module in (sql_reading, sql_rules, text_rules, free_reading):
        source = inspect.getsource(module)
        reasons = set(re.findall(r'(?:BrokenRule\(|Unparsed\(f?)"([a-z_]+)', source))
        assert len(reasons) > 4
        assert reasons <= set(ADVICE)


def stage(tmp_path, *lines, mode="instead"):
    (tmp_path / "clinic.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    entry = DatabaseEntry(name="clinic", file=tmp_path / "clinic.sqlite", templates=mode)
    return own_templates(tmp_path, SCHEMA, entry, SETTINGS)


def test_a_database_without_templates_of_its_own_has_no_rows(tmp_path):
    assert stage(tmp_path, *LINES, mode=None).rows == []


def test_each_dropped_template_and_text_has_its_reason_and_its_line(tmp_path):
    lines = (TOWN, change(sql="SELECT 1"), reword(odd="x"), SPECIALTY)
    drafts = stage(tmp_path, *lines)
    assert len(drafts.rows) == 2
    assert [row.reason for row in drafts.dropped] == ["wrong_placeholders"] * 2 + ["unknown_criterion"]
    assert [row.detail.partition(":")[0] for row in drafts.dropped] == ["line 2", "line 2", "line 3"]
    assert len({row.id for row in drafts.dropped}) == 3
    assert all(row.origin for row in drafts.dropped)


def test_a_file_that_is_missing_or_of_no_use_is_one_line(tmp_path):
    with pytest.raises(
        BadInput, match=r"data/templates/clinic.jsonl: has no usable template .* \(line 1: Delete\)"
    ):
        stage(tmp_path, change(sql="DELETE FROM clinics"))
    (tmp_path / "clinic.jsonl").unlink()
    entry = DatabaseEntry(name="clinic", file=tmp_path / "clinic.sqlite", templates="beside")
    with pytest.raises(BadInput, match=r"does not exist, but databases.clinic.templates is beside"):
        own_templates(tmp_path, SCHEMA, entry, SETTINGS)


def construct(own, reply):
    ask = ScriptedAsk(reply)

    async def construct_all():
        queries = list((await sql_templates(SCHEMA, own, ENTRY, {}, make_params(), ask)).rows)
        params = TextTemplates(criteria=CRITERIA)
        groups = [SimpleNamespace(sql_template=query.id) for query in queries]
        texts = list(
            (await text_templates(queries, own, groups, SCHEMA, {CONSTRAIN: "none"}, params, ask)).rows
        )
        return queries, texts, await back_check(texts, queries, own, SCHEMA, BackCheck(), ask)

    return asyncio.run(construct_all()), ask


def test_instead_of_a_models_nobody_is_asked(tmp_path):
    own = stage(tmp_path, *LINES).rows
    (queries, texts, checked), ask = construct(own, lambda _: pytest.fail("a model was asked"))
    assert not ask.asked
    assert {query.id for query in queries} == {template.id for template in own}
    assert len(texts) == 7
    assert {(row.id, row.text) for row in checked.rows} == {(row.id, row.text) for row in texts}
    assert not checked.dropped


def test_beside_a_models_it_words_only_what_a_person_did_not_and_reads_all_back(tmp_path):
    own = stage(tmp_path, change(texts={"short": TOWN["texts"]["short"]}), mode="beside").rows

    def reply(asked):
        return "A" if asked.role == "reader" else pick_first(asked) if "join" in asked.text.lower() else "?"

    (queries, texts, checked), ask = construct(own, reply)
    assert len(queries) == 1 + 4
    worded = [
        asked.fields["sql"] for asked in ask.asked if asked.role == "generator" and "sql" in asked.fields
    ]
    assert worded.count(own[0].sql) == 1  # the long text, written by the model
    assert [text.text for text in texts] == [TOWN["texts"]["short"]]
    assert sum(asked.role == "reader" for asked in ask.asked) == 1
    assert len(checked.rows) + len(checked.dropped) == 1
