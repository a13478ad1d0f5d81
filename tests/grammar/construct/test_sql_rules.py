import pytest

from tasks.grammar.construct.sql_reading import BrokenRule
from tasks.grammar.construct.sql_rules import read_template
from tests.grammar.scripted import SCHEMA

JOINED = "doctors JOIN visits ON doctors.doctor_id = visits.leading_doctor"
BROKEN = {
    "unreadable": ["SELECT FROM WHERE", "", "SELECT name FROM clinics; SELECT town FROM clinics"],
    "not_select": ["DELETE FROM clinics", "SELECT name FROM clinics UNION SELECT town FROM clinics"],
    "other_operator": [
        "SELECT SUM(hourly_rate) FROM doctors WHERE doctors.specialty = '[doctors.specialty]'",
        "SELECT name FROM doctors WHERE specialty = '[doctors.specialty]' ORDER BY hourly_rate",
        "SELECT name FROM doctors WHERE specialty = '[doctors.specialty]' ORDER BY hourly_rate LIMIT 2",
        "SELECT name FROM doctors WHERE specialty = '[doctors.specialty]' GROUP BY name",
        "SELECT COUNT(DISTINCT doctor_id), name FROM doctors WHERE specialty = '[doctors.specialty]'",
        "SELECT ROUND(AVG(hourly_rate), 2) FROM doctors WHERE specialty = '[doctors.specialty]'",
        "SELECT name FROM doctors WHERE specialty = '[doctors.specialty]' AND NOT name = '[doctors.name]'",
        "SELECT name FROM doctors WHERE specialty = '[doctors.specialty]' AND hourly_rate IS NOT NULL",
        "SELECT name FROM doctors WHERE specialty = '[doctors.specialty]' LIMIT 1",
        "SELECT name FROM doctors WHERE specialty > '[doctors.specialty]'",
        "SELECT town FROM clinics WHERE name = '[clinics.name]' OR name = '[clinics.name:other]'",
        "SELECT town FROM clinics WHERE name = '[clinics.name]' OR town = '[clinics.town]'",
        "SELECT town FROM clinics WHERE name IN (SELECT name FROM doctors)",
        "WITH a AS (SELECT 1) SELECT town FROM clinics WHERE name = '[clinics.name]'",
        f"SELECT doctors.name FROM {JOINED.replace('JOIN', 'LEFT JOIN')} WHERE visits.day = '[visits.day]'",
        "SELECT a.name FROM doctors a JOIN doctors b ON a.doctor_id = b.doctor_id WHERE b.name = '[doctors.name]'",  # noqa: E501
        "SELECT town, town FROM clinics WHERE name = '[clinics.name]'",
    ],
    "clock": [
        "SELECT name FROM clinics WHERE town = '[clinics.town]' AND name = date('now')",
        "SELECT name FROM clinics WHERE town = '[clinics.town]' AND name = CURRENT_TIMESTAMP",
        "SELECT julianday() FROM clinics WHERE town = '[clinics.town]'",
    ],
    "star": ["SELECT * FROM clinics WHERE name = '[clinics.name]'"],
    "unknown_name": [
        "SELECT colour FROM clinics WHERE name = '[clinics.name]'",
        "SELECT name FROM wards WHERE town = '[wards.town]'",
        "SELECT x.name FROM clinics WHERE town = '[clinics.town]'",
        "SELECT name FROM clinics JOIN doctors ON clinics.clinic_id = doctors.clinic_id WHERE town = '[clinics.town]'",  # noqa: E501
    ],
    "not_descriptive": [
        "SELECT clinic_id FROM clinics WHERE name = '[clinics.name]'",
        "SELECT name FROM clinics WHERE clinic_id = '[clinics.clinic_id]'",
    ],
    "no_placeholder": ["SELECT town FROM clinics"],
    "unfit_measure": [
        "SELECT COUNT(DISTINCT name) FROM doctors WHERE specialty = '[doctors.specialty]'",
        "SELECT AVG(name) FROM doctors WHERE specialty = '[doctors.specialty]'",
        "SELECT name FROM doctors WHERE specialty = '[doctors.specialty]' ORDER BY name LIMIT 1",
    ],
    "constant": ["SELECT town FROM clinics WHERE name = 'Xanadu House'", "SELECT 'Vex' FROM clinics"],
    "wrong_placeholder": [
        "SELECT town FROM clinics WHERE name = '[clinics.town]'",
        "SELECT town FROM clinics WHERE name = '[name]'",
    ],
    "unfit_placeholder": ["SELECT name FROM doctors WHERE hourly_rate = '[doctors.hourly_rate]'"],
    "answer_given": ["SELECT town, name FROM clinics WHERE name = '[clinics.name]'"],
    "unconnected": [
        "SELECT clinics.town FROM clinics, doctors WHERE doctors.name = '[doctors.name]'",
        "SELECT clinics.town FROM clinics JOIN doctors ON clinics.name = doctors.name WHERE doctors.name = '[doctors.name]'",  # noqa: E501
    ],
    "idle_table": [f"SELECT doctors.name FROM {JOINED} WHERE doctors.specialty = '[doctors.specialty]'"],
}  # fmt: skip


@pytest.mark.parametrize(
    ("reason", "sql"), [(reason, sql) for reason, all_sql in BROKEN.items() for sql in all_sql]
)
def test_each_broken_rule_has_its_word(reason, sql):
    with pytest.raises(BrokenRule) as broken:
        read_template(sql, SCHEMA)
    assert broken.value.reason == reason


def test_what_is_asked_for_may_not_be_given_by_way_of_a_key():
    schema = [
        *(column for column in SCHEMA if column.table == "clinics"),
        *(column for column in SCHEMA if column.table == "doctors"),
    ]
    natural = [
        type(column)(column.id, column.table, column.name, column.type, False, True, column.references, True)
        if column.name == "clinic_id"
        else column
        for column in schema
    ]
    sql = (
        "SELECT clinics.clinic_id FROM clinics JOIN doctors ON clinics.clinic_id = doctors.clinic_id "
        "WHERE doctors.clinic_id = '[doctors.clinic_id]'"
    )
    with pytest.raises(BrokenRule) as broken:
        read_template(sql, natural)
    assert broken.value.reason == "answer_given"


def test_a_good_template_is_read():
    query = read_template(
        f"SELECT doctors.name FROM {JOINED} WHERE visits.reason = '[visits.reason]'", SCHEMA
    )
    assert query.projection == ("doctors.name",)
    assert query.placeholders == ("visits.reason",)
    assert query.joins == (("doctors.doctor_id", "visits.leading_doctor"),)
    assert query.tables == ("doctors", "visits")
