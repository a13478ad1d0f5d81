import pytest

from tasks.reports.comparison import ITEMS, mark_words
from tests.browser.compared import write_compared, write_three
from tests.browser.look import BRIEFLY, COMPARISON, look_at_page
from tests.browser.watch import open_watched


def test_words_that_the_other_has_not_got_are_marked():
    a, b = mark_words("it was red then", "it was dark blue then")
    assert [(piece.text, piece.own) for piece in a] == [("it was", False), ("red", True), ("then", False)]
    assert [piece.text for piece in b if piece.own] == ["dark blue"]


def test_a_page_is_bounded_and_says_what_it_leaves_out(tmp_path):
    comparison = write_compared(tmp_path / "page.html", n=600)
    text = (tmp_path / "page.html").read_text()
    changed = len(comparison.strands[0].changed)
    assert text.count('<details class="case">') == ITEMS
    assert f"The {changed - ITEMS} whose score changed least are not on this page" in text


@pytest.mark.browser
@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 1280), ("light", 420)])
def test_answers_stand_side_by_side_and_hostile_texts_are_not_run(browser, tmp_path, scheme, width):
    write_compared(tmp_path / "page.html")
    address, window = (tmp_path / "page.html").as_uri(), {"width": width, "height": 900}
    with open_watched(browser, address, color_scheme=scheme, viewport=window) as page:
        page.goto(address)
        page.click("details.case >> nth=0 >> summary")
        a, b = (page.locator("details.case >> nth=0 >> .sides > div").nth(n).bounding_box() for n in (0, 1))
        beside = a["y"] == b["y"]
        assert beside == (width > 860)
        assert page.inner_text("details.case mark >> nth=0") == "red"
        assert "only in A: trial.lost" in page.inner_text("main")
        assert page.locator("img").count() == 0
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


@pytest.mark.browser
@pytest.mark.parametrize("write", [write_compared, write_three])
def test_every_look_is_quiet_and_fits(browser, tmp_path, write):
    write(tmp_path / "page.html")
    assert look_at_page(browser, COMPARISON, tmp_path / "page.html", tmp_path, looks=BRIEFLY) == []
