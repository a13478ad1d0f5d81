import pytest

from tasks.sources.wikipedia.pages import read_page


@pytest.mark.parametrize(
    ("wikitext", "text"),
    [
        ("5.97{{e|24}} kg", "5.97 × 10^24 kg"),
        ("1.9{{x10^|27}} kg", "1.9 × 10^27 kg"),
        ("10{{esp|-7}} and 10{{sup|12}}", "10⁻⁷ and 10¹²"),
        ("10<sup>-120</sup> and 2<sup>82589933</sup>", "10^-120 and 2^82589933"),
        ("the 20<sup>th</sup>, x<sup>2</sup>", "the 20th, x²"),
        ("5{{frac|1|2}} inches", "5 1/2 inches"),
        ("a {{frac|1|2}} inch", "a 1/2 inch"),
        ("{{gaps|299|792|458}} m/s", "299792458 m/s"),
        ("{{gaps|6.022|140|76|e=23|u=mol}}", "6.02214076 × 10^23 mol"),
        ("{{val|9.8|u=m|up=s2}}", "9.8 m/s²"),
        ("{{val|1.23|0.05|u=kg}}", "1.23 ± 0.05 kg"),
        ("{{val|1.23|0.05|0.06|e=3|ul=kg|upl=m3}}", "(1.23 +0.05/−0.06) × 10^3 kg/m³"),
        ("{{val|1.234|(56)|u=kg}}", "1.234(56) kg"),
        ("{{val|5|-|7|u=km}}", "5–7 km"),
        ("{{convert|30|ST|t}} and {{convert|12|st|kg}}", "30 short tons and 12 st"),
        ("{{INRConvert|500}} and {{INRConvert|2|c}}", "₹500 and ₹2 crore"),
        ("{{ntsh|5000}}x {{dtsh|2001|5|6}}y {{hs|z}}", "x y"),
    ],
)
def test_quantities_are_those_that_the_page_gives(wikitext, text):
    assert [part.text for part in read_page(f"a {wikitext} b").parts] == [f"a {text} b"]
