import pytest

from tasks.sources.wikipedia.pages import read_page


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("dts|1995|May|3", "May 3, 1995"),
        ("dts|1995|May|3|format=dmy", "3 May 1995"),
        ("dts|1995|5", "May 1995"),
        ("dts|3 May 1995", "3 May 1995"),
        ("dts|-44|3|15", "March 15, 44 BC"),
        ("dts|44|3|15|BC", "March 15, 44 BC"),
        ("date|5 May 2010|mdy", "5 May 2010"),
        ("start date|2001|9|11|8|46", "September 11, 2001"),
        ("birth-date and given age|12 May 1957|60", "12 May 1957"),
        ("death-date and given age|12 May 1957|60", "12 May 1957"),
        # Aged 27 on 12 May 2012: born between 13 May 1984 and 12 May 1985.
        ("birth based on age as of date|27|2012|5|12", "1984/1985"),
    ],
)
def test_dates_are_those_that_the_page_gives(template, text):
    assert [part.text for part in read_page(f"a {{{{{template}}}}} b").parts] == [f"a {text} b"]
