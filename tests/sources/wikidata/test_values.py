from decimal import Decimal

import pytest

from tasks.sources.wikidata.snaks import KeptOut, read_snak
from tasks.sources.wikidata.values import ItemValue, NoValue, Precision, Quantity, Text, Time
from tests.sources.wikidata.scenes import JULIAN, item, quantity, snak, text, time


@pytest.mark.parametrize(
    ("written", "read"),
    [
        (time("P1", "+1952-03-11T00:00:00Z"), Time(1952, 3, 11, Precision.DAY)),
        # Dumps of the first years pad years to eleven digits.
        (time("P1", "+00000001952-03-11T00:00:00Z"), Time(1952, 3, 11, Precision.DAY)),
        (time("P1", "+2001-05-00T00:00:00Z", 10), Time(2001, 5, None, Precision.MONTH)),
        # Digits beyond the precision have no meaning.
        (time("P1", "+2001-01-01T00:00:00Z", 9), Time(2001, None, None, Precision.YEAR)),
        (time("P1", "+1987-00-00T00:00:00Z", 8), Time(1987, None, None, Precision.DECADE)),
        (time("P1", "-0500-00-00T00:00:00Z", 7), Time(-500, None, None, Precision.CENTURY)),
        (
            time("P1", "-13798000000-00-00T00:00:00Z", 3),
            Time(-13_798_000_000, None, None, Precision.MILLION_YEARS),
        ),
        (time("P1", "-0044-03-15T00:00:00Z", 11, JULIAN), Time(-44, 3, 15, Precision.DAY, "julian")),
        (time("P1", "-0001-02-29T00:00:00Z"), Time(-1, 2, 29, Precision.DAY)),
        (time("P1", "+1900-02-29T00:00:00Z", 11, JULIAN), Time(1900, 2, 29, Precision.DAY, "julian")),
        (time("P1", "+2000-02-29T00:00:00Z"), Time(2000, 2, 29, Precision.DAY)),
        (quantity("P1", "+1.960", "Q11573"), Quantity(Decimal("1.960"), "Q11573")),
        (
            quantity("P1", "-3", lowerBound="-4", upperBound="-2"),
            Quantity(Decimal(-3), None, Decimal(-4), Decimal(-2)),
        ),
        (text("P1", "Zürich", "gsw"), Text("Zürich", "gsw")),
        (item("P1", "Q5"), ItemValue("Q5")),
        (snak("P1", "wikibase-entityid", {"entity-type": "item", "numeric-id": 5}), ItemValue("Q5")),
    ],
)
def test_values_come_through(written, read):
    assert read_snak(written) == read


@pytest.mark.parametrize(
    ("written", "why"),
    [
        (time("P1", "+1900-02-29T00:00:00Z"), "not a valid date in the Gregorian calendar"),
        (time("P1", "-0004-02-29T00:00:00Z"), "not a valid date in the Gregorian"),
        (time("P1", "+1712-02-30T00:00:00Z", 11, JULIAN), "not a valid date in the Julian"),
        (time("P1", "+1952-03-00T00:00:00Z"), "not a valid date"),
        (time("P1", "+1952-00-00T00:00:00Z", 10), "not a valid month"),
        (time("P1", "+1952-13-01T00:00:00Z", 10), "not a valid month"),
        (time("P1", "+0000-00-00T00:00:00Z", 9), "no year 0"),
        (time("P1", "+1952-03-11T12:00:00Z", 12), "not a supported precision"),
        (time("P1", "+1952-03-11T12:00:00Z", True), "not a supported precision"),
        (
            time("P1", "+1952-03-11T00:00:00Z", 11, "http://www.wikidata.org/entity/Q12138"),
            "not a supported calendar",
        ),
        (time("P1", "yesterday"), "not a time"),
        (time("P1", ["+1952"]), "not a time"),
        (quantity("P1", "1e999999"), "not a decimal number"),
        (quantity("P1", "+" + "9" * 200), "not a decimal number"),
        (quantity("P1", "+1", "metre"), "not an entity id"),
        (text("P1", 3), "not text"),
        (snak("P1", "wikibase-entityid", {"entity-type": "item", "numeric-id": -5}), "not an entity id"),
        (snak("P1", "time", "+1952"), "not a JSON object"),
        ({"snaktype": "value"}, "no value"),
        ({"snaktype": "?"}, "no value"),
        (None, "not a snak"),
    ],
)
def test_what_is_no_value_says_why(written, why):
    with pytest.raises(NoValue, match=why):
        read_snak(written)


@pytest.mark.parametrize(
    ("written", "reason", "detail"),
    [
        ({"snaktype": "somevalue", "property": "P1"}, "unknown value", ""),
        ({"snaktype": "novalue", "property": "P1"}, "no value", ""),
        (snak("P1", "string", "x", "external-id"), "value of another type", "external-id"),
        (
            snak("P1", "globecoordinate", {"latitude": 1}, "globe-coordinate"),
            "value of another type",
            "globe-coordinate",
        ),
        (
            snak("P1", "wikibase-entityid", {"entity-type": "lexeme", "id": "L5"}),
            "value of another type",
            "lexeme",
        ),
    ],
)
def test_other_values_are_named_and_kept_out(written, reason, detail):
    with pytest.raises(KeptOut) as kept:
        read_snak(written)
    assert (kept.value.reason, kept.value.detail) == (reason, detail)


@pytest.mark.parametrize(
    ("year", "precision", "years"),
    [
        (1987, Precision.YEAR, (1987, 1987)),
        (1987, Precision.DECADE, (1980, 1989)),
        (5, Precision.DECADE, (1, 9)),
        (1900, Precision.CENTURY, (1801, 1900)),
        (1901, Precision.CENTURY, (1901, 2000)),
        (2000, Precision.MILLENNIUM, (1001, 2000)),
        (-44, Precision.DECADE, (-49, -40)),
        (-500, Precision.CENTURY, (-500, -401)),
        (-1, Precision.CENTURY, (-100, -1)),
        (-13_798_000_000, Precision.MILLION_YEARS, (-13_798_999_999, -13_798_000_000)),
    ],
)
def test_a_time_spans_the_years_that_its_precision_leaves_open(year, precision, years):
    assert Time(year, None, None, precision).span() == years
