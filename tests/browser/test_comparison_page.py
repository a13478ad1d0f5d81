import pytest

from tasks.judging.answered import Answered
from tasks.judging.comparison import Strand, compare_strands
from tasks.judging.scored import Scored
from tasks.reports.comparison import ITEMS, mark_words, write_comparison
from tests.browser.watch import Complaints, find_chromium, open_chromium

HOSTILE = "<img src=x onerror=alert(1)>"


def make_strand(name: str, right: list[bool], say: str) -> Strand:
    answers = [
        (Scored(f"q{number}", f"g{number}", float(mark)),
         Answered(f"q{number}", f"q{number}", name, "accuracy", f"What of {number}? {HOSTILE}", "true",
                  f"it is {say} {HOSTILE}", "Correct"))
        for number, mark in enumerate(right)
    ]  # fmt: skip
    return Strand("trial", "entry", name, answers)


def write(path, n=40):
    a = make_strand("weak", [number % 2 == 0 for number in range(n)], "red")
    b = make_strand("good", [number % 3 != 0 for number in range(n)], "blue")
    comparison = compare_strands([(a, b)], names=(HOSTILE, "good"), draws=200)
    write_comparison(comparison, path, alone=(["trial.lost"], []))
    return comparison


def test_words_that_the_other_has_not_got_are_marked():
    a, b = mark_words("it was red then", "it was dark blue then")
    assert [(piece.text, piece.own) for piece in a] == [("it was", False), ("red", True), ("then", False)]
    assert [piece.text for piece in b if piece.own] == ["dark blue"]


def test_a_page_is_bounded_and_says_what_it_leaves_out(tmp_path):
    comparison = write(tmp_path / "page.html", n=600)
    text = (tmp_path / "page.html").read_text()
    changed = len(comparison.strands[0].changed)
    assert text.count('<details class="case">') == ITEMS
    assert f"The {changed - ITEMS} whose score changed least are not on this page" in text


@pytest.mark.browser
@pytest.mark.skipif(find_chromium() is None, reason="no Chromium on this machine")
@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 1280), ("light", 420)])
def test_answers_stand_side_by_side_and_hostile_texts_are_not_run(tmp_path, scheme, width):
    write(tmp_path / "page.html")
    with open_chromium() as browser:
        page = browser.new_context(color_scheme=scheme, viewport={"width": width, "height": 900}).new_page()
        complaints = Complaints((tmp_path / "page.html").as_uri())
        complaints.hear(page)
        page.on("dialog", lambda dialog: complaints.lines.append(dialog.message) or dialog.dismiss())
        page.goto((tmp_path / "page.html").as_uri())
        page.click("details.case >> nth=0 >> summary")
        a, b = (page.locator("details.case >> nth=0 >> .sides > div").nth(n).bounding_box() for n in (0, 1))
        beside = a["y"] == b["y"]
        assert beside == (width > 860)
        assert page.inner_text("details.case mark >> nth=0") == "red"
        assert "only in A: trial.lost" in page.inner_text("main")
        assert page.locator("img").count() == 0
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
        assert complaints.lines == []
