"""Tests of finding names, amounts and dates in texts, and of texts that only resemble them."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.tanq.build.mention_names import NameTarget, find_longer, fold, make_names
from tasks.tanq.build.mention_numbers import AmountTarget
from tasks.tanq.build.mentions import DateTarget, find_mention

KM2, METRE, MINUTE = "kilometer ** 2", "meter", "minute"
NORWAY = 385_207


@pytest.mark.parametrize(
    ("name", "text", "found"),
    [
        ("Oslo", "Its capital and largest city is Oslo.", "Oslo"),
        ("Norway", "Oslo is Norway's capital.", "Norway"),
        ("Norway", "Norway\u2019s capital is Oslo.", "Norway"),
        ("Norway", "The Norway\u2013Sweden border is long.", "Norway"),
        ("Norway", "The Norwegian Sea lies to the west.", ""),
        ("Niger", "Nigeria lies to the south.", ""),
        ("Guinea", "It borders Guinea-Bissau.", ""),
        ("Guinea", "It borders Equatorial Guinea.", ""),
        ("Guinea", "It borders Papua New Guinea.", ""),
        ("Guinea", "It lies on the Gulf of Guinea.", ""),
        ("Guinea", "It lies on the Gulf of Guinea and borders Guinea.", "Guinea"),
        ("Mexico", "Mexico City is large.", ""),
        ("Mexico", "It borders New Mexico.", ""),
        ("Sudan", "It borders South Sudan.", ""),
        ("Sudan", "It borders Sudan to the south.", "Sudan"),
        ("Georgia (country)", "It borders Georgia and Armenia.", "Georgia"),
        ("São Tomé", "The capital is Sao Tome.", "Sao Tome"),
        ("Sao Tome", "The capital is São Tomé.", "São Tomé"),
        ("N'Djamena", "The capital is N\u2019Djamena.", "N\u2019Djamena"),
        ("Saint Lucia", "It is near St. Lucia.", "St. Lucia"),
        ("Trinidad and Tobago", "It is near Trinidad & Tobago.", "Trinidad & Tobago"),
        ("euro", "Euros are paid with.", "Euros"),
        ("euro", "European money", ""),
        ("Chad", "A chad is a piece of paper.", ""),
        ("Guinea-Bissau", "It borders Guinea\u2013Bissau.", "Guinea\u2013Bissau"),
        ("C++ (language)", "It is written in C++.", "C++"),
        ("1917", "In 1917 there was war.", ""),
        ("X", "Planet X is there.", ""),
        ("(a+)+$", "aaaaaaaaaaaaaaaaaaaaaaaaaaaa!", ""),
    ],
)
def test_a_name_is_found_whole(name: str, text: str, found: str) -> None:
    assert find_mention(text, NameTarget(make_names(name))) == found


def test_an_alias_will_do_and_a_part_where_it_is_allowed() -> None:
    target = NameTarget(make_names("United States", ["US", "USA", "America"]))
    assert find_mention("It is made in the US.", target) == "US"
    assert find_mention("He gave us nothing.", target) == ""
    europe = make_names("Europe")
    assert find_mention("It is in Northern Europe.", NameTarget(europe, parts=True)) == "Europe"
    assert find_mention("It is in Northern Europe.", NameTarget(europe)) == ""


def test_a_name_within_another_things_name_is_not_its_own() -> None:
    longer = find_longer({"Congo", "Paris"}, ["Democratic Republic of the Congo", "Paris", "Paris-Nord"])
    assert longer == {"Congo": ("Democratic Republic of the Congo",), "Paris": ("Paris-Nord",)}
    congo = NameTarget(("Congo",), longer["Congo"])
    assert find_mention("It borders the Democratic Republic of the Congo.", congo) == ""
    both = "It borders the Democratic Republic of the Congo and the Congo."
    assert find_mention(both, congo) == "Congo"


@pytest.mark.parametrize(
    ("amount", "unit", "text", "found"),
    [
        (NORWAY, KM2, "an area of 385,207 square kilometres (148,729 sq mi)", "385,207 square kilometres"),
        (NORWAY, KM2, "an area of 148,729\u00a0sq\u00a0mi", "148,729\u00a0sq\u00a0mi"),
        (NORWAY, KM2, "an area of 385 207 km2", ""),
        (NORWAY, KM2, "an area of 385\u202f207 km\u00b2", "385\u202f207 km\u00b2"),
        (NORWAY, KM2, "an area of about 385,000 km2", "385,000 km2"),
        (NORWAY, KM2, "an area of 385.2 thousand km2", "385.2 thousand km2"),
        (NORWAY, KM2, "an area of 386,000 km2", ""),
        (NORWAY, KM2, "an area of over 385,000 km2", "385,000 km2"),
        (NORWAY, KM2, "an area of over 386,000 km2", ""),
        (NORWAY, KM2, "an area of nearly 386,000 km2", "386,000 km2"),
        (NORWAY, KM2, "an area of nearly 385,000 km2", ""),
        (NORWAY, KM2, "a population of 385,207", ""),
        (NORWAY, KM2, "a coast of 385,207 km", ""),
        (NORWAY, KM2, "between 380,000 and 385,207 km2", ""),
        (NORWAY, KM2, "an area of 1385,207 km2", ""),
        (1_284_000, KM2, "around 1,300,000 km2", "1,300,000 km2"),
        (1_284_000, KM2, "around 1,000,000 km2", ""),
        (5_594_340, "", "a population of approximately 5.6 million", "5.6 million"),
        (5_594_340, "", "a population of 5.6-million", "5.6-million"),
        (5_594_340, "", "a population of over 5.5 million", "5.5 million"),
        (5_594_340, "", "a population of over 5.6 million", ""),
        (5_594_340, "", "a population of 5.5 million", ""),
        (5_594_340, "", "a population of 6 million", ""),
        (5_594_340, "", "5.6 million km2", ""),
        (5_594_340, "", "5.6 million%", ""),
        (5_594_340, "", "5,594,340 people", "5,594,340"),
        (5_594_340, "", "5,594,341 people", ""),
        (1996, "", "founded in 1996", ""),
        (1996, "", "a population of 1,996", "1,996"),
        (3, "", "She has three children.", "three"),
        (3, "", "She was born on 3 March.", ""),
        (3, "", "She was born on March 3, 1996.", ""),
        (3, "", "version 3.5", ""),
        (3, "", "the 3rd of them", ""),
        (2469, METRE, "a height of 2,469 metres", "2,469 metres"),
        (2469, METRE, "a height of 8,100 ft", "8,100 ft"),
        (2469, METRE, "a height of 2.469 km", "2.469 km"),
        (92, MINUTE, "It is 92 minutes long.", "92 minutes"),
        (92, MINUTE, "It is 90 minutes long.", ""),
        (-89, "degree_Celsius", "as cold as \u221289 \u00b0C", "\u221289 \u00b0C"),
        (45, "percent", "some 45 per cent", "45 per cent"),
        (45, "percent", "some 45%", "45%"),
        (0, "", "It has 0 inhabitants.", "0"),
        (7, "", "9" * 400, ""),
    ],
)
def test_an_amount_is_found_as_it_may_be_written(amount: float, unit: str, text: str, found: str) -> None:
    assert find_mention(text, AmountTarget(Decimal(amount), unit)) == found


def test_how_far_a_rounded_figure_may_be_off_is_a_parameter() -> None:
    assert find_mention("5 million", AmountTarget(Decimal(4_800_000), most=Decimal("0.05"))) == "5 million"
    assert find_mention("5 million", AmountTarget(Decimal(4_800_000), most=Decimal("0.02"))) == ""


def test_the_unit_may_stand_in_a_header_or_be_a_currency() -> None:
    area = AmountTarget(Decimal(NORWAY), KM2)
    assert find_mention("385,207", area, ("Norway", "Area (km2)")) == "385,207"
    assert find_mention("385,207", area, ("area_km2", "Area")) == "385,207"
    assert find_mention("385,207", area, ("Norway", "Population")) == ""
    price = AmountTarget(Decimal(30_000_000), names=("United States dollar", "US$", "$"))
    assert find_mention("It grossed US$30 million.", price) == "30 million"
    assert find_mention("It grossed over $30 million.", price) == "30 million"
    assert find_mention("It grossed 30 million.", price) == ""


DAY, MONTH, YEAR, DECADE, CENTURY = 11, 10, 9, 8, 7


@pytest.mark.parametrize(
    ("date", "text", "found"),
    [
        ((1879, 3, 14, DAY), "born on 14 March 1879 in Ulm", "14 March 1879"),
        ((1879, 3, 14, DAY), "born on March 14, 1879, in Ulm", "March 14, 1879"),
        ((1879, 3, 14, DAY), "born on March 14th 1879", "March 14th 1879"),
        ((1879, 3, 14, DAY), "born on March 14 , 1879 , in Ulm", "March 14 , 1879"),
        ((1879, 3, 14, DAY), "the 14th of March, 1879", "14th of March, 1879"),
        ((1879, 3, 14, DAY), "14 Mar. 1879", "14 Mar. 1879"),
        ((1879, 3, 14, DAY), "1879-03-14", "1879-03-14"),
        ((1879, 3, 14, DAY), "(14 March 1879 \u2013 18 April 1955)", "14 March 1879"),
        ((1955, 4, 18, DAY), "(14 March 1879 \u2013 18 April 1955)", "18 April 1955"),
        ((1879, 3, 14, DAY), "in March 1879", ""),
        ((1879, 3, 14, DAY), "114 March 1879", ""),
        ((1879, 3, 4, DAY), "14 March 1879", ""),
        ((1879, 3, 14, DAY), "14 March 1879 BC", ""),
        ((1910, 9, 20, DAY), "20 Sept. 1910", "20 Sept. 1910"),
        ((-44, 3, 15, DAY), "killed on 15 March 44 BC", "15 March 44 BC"),
        ((-44, 3, 15, DAY), "killed on 15 March 44", ""),
        ((1879, 3, None, MONTH), "in March 1879", "March 1879"),
        ((1879, 3, None, MONTH), "on 14 March 1879", "14 March 1879"),
        ((1879, 3, None, MONTH), "on March 14, 1879", "March 14, 1879"),
        ((1879, 3, None, MONTH), "in April 1879", ""),
        ((1879, None, None, YEAR), "on 14 March 1879", "1879"),
        ((1879, None, None, YEAR), "(1820\u20131879)", "1879"),
        ((1879, None, None, YEAR), "(1879\u20131955)", "1879"),
        ((1879, None, None, YEAR), "on 1879-03-14", "1879"),
        ((1879, None, None, YEAR), "the season of 1879\u201380", ""),
        ((1879, None, None, YEAR), "1,879 people", ""),
        ((1879, None, None, YEAR), "$1879", ""),
        ((1879, None, None, YEAR), "c. 1879", ""),
        ((1879, None, None, YEAR), "in 18790", ""),
        ((-44, None, None, YEAR), "in 44 BC", "44 BC"),
        ((-44, None, None, YEAR), "in 44 BCE", "44 BCE"),
        ((-100, None, None, YEAR), "(100\u201344 BC)", "100\u201344 BC"),
        ((-44, None, None, YEAR), "in 44", ""),
        ((-44, None, None, YEAR), "144 BC", ""),
        ((79, None, None, YEAR), "in AD 79", "AD 79"),
        ((79, None, None, YEAR), "in 79 CE", "79 CE"),
        ((79, None, None, YEAR), "79 people", ""),
        ((1870, None, None, DECADE), "in the 1870s", "1870s"),
        ((1870, None, None, DECADE), "in 1870", ""),
        ((1801, None, None, CENTURY), "in the early 19th century", "19th century"),
        ((1900, None, None, CENTURY), "in the nineteenth century", "nineteenth century"),
        ((-450, None, None, CENTURY), "in the 5th century BC", "5th century BC"),
        ((-450, None, None, CENTURY), "in the 5th century", ""),
        ((450, None, None, CENTURY), "in the 5th century BC", ""),
        ((-4000, None, None, 3), "millions of years ago", ""),
    ],
)
def test_a_date_is_found_down_to_its_precision(
    date: tuple[int, int | None, int | None, int], text: str, found: str
) -> None:
    assert find_mention(text, DateTarget(*date)) == found


def test_a_day_is_found_by_either_calendar() -> None:
    # Russia used the Julian calendar: 25 October there was 7 November elsewhere.
    for calendar in ("gregorian", "julian"):
        day = (7, 11) if calendar == "gregorian" else (25, 10)
        target = DateTarget(1917, day[1], day[0], DAY, calendar)  # type: ignore[arg-type] # the two names
        assert find_mention("on 25 October 1917", target) == "25 October 1917"
        assert find_mention("on 7 November 1917", target) == "7 November 1917"


@given(st.text(max_size=80), st.text(max_size=20))
def test_no_text_is_too_odd(text: str, name: str) -> None:
    assert len(fold(text)) == len(text)
    for target in (NameTarget(make_names(name)), AmountTarget(Decimal(12), KM2), DateTarget(1999, 1, 2, DAY)):
        assert find_mention(text, target) in text


@given(st.integers(1, 10**12), st.integers(0, 11))
def test_an_amount_is_found_in_what_it_rounds_to(amount: int, digits: int) -> None:
    step = 10 ** min(digits, max(0, len(str(amount)) - 2))
    rounded = (2 * amount + step) // (2 * step) * step
    target = AmountTarget(Decimal(amount), most=Decimal("0.06"))
    assert find_mention(f"about {rounded:,} people", target) or 1000 <= rounded <= 2100
