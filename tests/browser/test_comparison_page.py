from dataclasses import replace

import pytest

from tasks.judging.priced_means import AnswerCost
from tasks.reports.comparison import ITEMS, mark_words, show_cost
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
    assert f"This page leaves out the {changed - ITEMS} items whose score changed least" in text


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


def test_quality_is_drawn_against_price_or_tokens_and_says_why(tmp_path):
    page = tmp_path / "page.html"
    write_three(page, price=0.01)
    text = page.read_text()
    assert "accuracy against US dollars per answer" in text
    assert text.count('class="spot') >= 3
    assert "Unknown prices" not in text

    comparison = write_three(page)
    text = page.read_text()
    assert "accuracy against US dollars per answer" in text  # of the two systems with a known price
    assert "Unknown prices are not shown: &lt;img" in text
    (metric,) = comparison.means
    free = replace(
        metric, systems=[replace(mean, cost=replace(mean.cost, usd=0.0)) for mean in metric.systems]
    )
    assert show_cost(free).plot.title == "accuracy against tokens per answer"
    bare = replace(
        metric, systems=[replace(mean, cost=AnswerCost(why="no calls")) for mean in metric.systems]
    )
    assert (show_cost(bare).plot, show_cost(bare).why) == (None, "no calls")


@pytest.mark.browser
@pytest.mark.parametrize("write", [write_compared, write_three])
def test_every_look_is_quiet_and_fits(browser, tmp_path, write):
    write(tmp_path / "page.html")
    assert look_at_page(browser, COMPARISON, tmp_path / "page.html", tmp_path, looks=BRIEFLY) == []
